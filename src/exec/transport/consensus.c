/* consensus.c - non-blocking consensus over point-to-point messages.
 *
 * Sends are synchronous: they complete when the receiver has matched them. A
 * rank whose sends are complete enters a dissemination barrier; once that is
 * through, all sends of all ranks have been matched, so nothing more can come.
 *
 * A fast rank may be through with this start while a slow one still probes, and
 * its next message must not be taken for one of this start: starts use two pairs
 * of tags in turn. It cannot be two starts ahead, since its next barrier waits
 * for the slow one.
 */
#include "exec/transport/consensus.h"

#include "exec/late.h"
#include "exec/move.h"
#include "exec/steps.h"

#include <stdlib.h>

struct rota_consensus {
    uint32_t *send;    /* [P] messages of this start that have bytes */
    uint32_t *recv;    /* [P] messages matched and not yet received */
    uint32_t *recv_of; /* [P] the message from each rank */
    uint32_t n_sends, first_send; /* first one that is not complete */
    uint32_t n_recvs;
    int distance; /* of the barrier's round; 0 before it begins */
    MPI_Request barrier[2];
    char token[2];
    bool odd; /* start */
};

static int data_tag(const rota_exec *x)
{
    return x->tag + 2 * x->consensus->odd;
}

int rota_consensus_bind(rota_exec *x)
{
    const size_t P = (size_t)x->s->P;
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];
    struct rota_consensus *const c = calloc(1, sizeof *c);

    x->consensus = c;
    if (!c)
        return rota_fail_mem("consensus");
    c->barrier[0] = c->barrier[1] = MPI_REQUEST_NULL;
    c->send = malloc(P * sizeof *c->send);
    c->recv = malloc(P * sizeof *c->recv);
    c->recv_of = calloc(P, sizeof *c->recv_of);
    if (!c->send || !c->recv || !c->recv_of)
        return rota_fail_mem("consensus");
    for (uint32_t m = 0; m < l->n; m++)
        c->recv_of[l->msg[m].peer] = m;
    return MPI_SUCCESS;
}

void rota_consensus_unbind(rota_exec *x)
{
    struct rota_consensus *const c = x->consensus;

    if (!c)
        return;
    if (c->barrier[0] != MPI_REQUEST_NULL)
        MPI_Cancel(&c->barrier[0]); /* a run that failed */
    for (int i = 0; i < 2; i++)
        if (c->barrier[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&c->barrier[i]);
    free(c->send);
    free(c->recv);
    free(c->recv_of);
    free(c);
    x->consensus = NULL;
}

static int enter(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step->phase;
    struct rota_consensus *const c = x->consensus;
    const rota_msgs *const l = &x->s->msgs[ROTA_SEND];

    c->odd = !c->odd;
    c->n_sends = c->first_send = c->n_recvs = 0;
    c->distance = 0;
    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++) {
        char *data;
        size_t bytes;
        if (x->bytes[l->item[l->msg[m].first]] == 0)
            continue;
        ROTA_TRY(rota_late_pack(x, m, &data, &bytes));
        ROTA_TRY(rota_synchronous_post(data, bytes, l->msg[m].peer, data_tag(x),
                                       x->comm, &x->request[ROTA_SEND][m]));
        c->send[c->n_sends++] = m;
    }
    return MPI_SUCCESS;
}

/* Match whatever has come. */
static int probe(rota_exec *x)
{
    struct rota_consensus *const c = x->consensus;

    for (;;) {
        MPI_Message message;
        MPI_Status status;
        int flag;
        ROTA_TRY(MPI_Improbe(MPI_ANY_SOURCE, data_tag(x), x->comm, &flag,
                             &message, &status));
        if (!flag)
            return MPI_SUCCESS;
        const uint32_t m = c->recv_of[status.MPI_SOURCE];
        ROTA_TRY(rota_late_receive(x, m, &message, &status));
        c->recv[c->n_recvs++] = m;
    }
}

static int test_recvs(rota_exec *x)
{
    struct rota_consensus *const c = x->consensus;

    for (uint32_t i = 0; i < c->n_recvs;) {
        const uint32_t m = c->recv[i];
        int flag;
        ROTA_TRY(MPI_Test(&x->request[ROTA_RECV][m], &flag, MPI_STATUS_IGNORE));
        if (!flag) {
            i++;
            continue;
        }
        ROTA_TRY(rota_late_unpack(x, m));
        c->recv[i] = c->recv[--c->n_recvs];
    }
    return MPI_SUCCESS;
}

static int test_sends(rota_exec *x, bool *done)
{
    struct rota_consensus *const c = x->consensus;

    for (; c->first_send < c->n_sends; c->first_send++) {
        int flag;
        ROTA_TRY(MPI_Test(&x->request[ROTA_SEND][c->send[c->first_send]], &flag,
                          MPI_STATUS_IGNORE));
        if (!flag)
            return MPI_SUCCESS;
    }
    *done = true;
    return MPI_SUCCESS;
}

static int post_round(rota_exec *x, int distance)
{
    struct rota_consensus *const c = x->consensus;
    const int P = x->s->P, me = x->s->me, tag = data_tag(x) + 1;

    c->distance = distance;
    if (distance >= P)
        return MPI_SUCCESS;
    ROTA_TRY(MPI_Irecv(&c->token[0], 1, MPI_BYTE, (me + P - distance) % P, tag,
                       x->comm, &c->barrier[0]));
    return MPI_Isend(&c->token[1], 1, MPI_BYTE, (me + distance) % P, tag,
                     x->comm, &c->barrier[1]);
}

static int test_barrier(rota_exec *x, bool *done)
{
    struct rota_consensus *const c = x->consensus;

    while (c->distance < x->s->P) {
        int flag = 1;
        for (int i = 0; i < 2 && flag; i++)
            ROTA_TRY(MPI_Test(&c->barrier[i], &flag, MPI_STATUS_IGNORE));
        if (!flag)
            return MPI_SUCCESS;
        ROTA_TRY(post_round(x, 2 * c->distance));
    }
    *done = true;
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    struct rota_consensus *const c = x->consensus;
    bool sent = false, through = false;

    (void)step;
    ROTA_TRY(probe(x));
    ROTA_TRY(test_recvs(x));
    ROTA_TRY(test_sends(x, &sent));
    if (sent && c->distance == 0)
        ROTA_TRY(post_round(x, 1));
    if (c->distance > 0)
        ROTA_TRY(test_barrier(x, &through));
    *done = through && c->n_recvs == 0;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_consensus = {.enter = enter, .poll = poll};
