/* window.c - steps with so many messages in flight. */
#include "device/staging.h"
#include "exec/steps.h"
#include "exec/transport/p2p.h"

#include <stdlib.h>

/* A lane without a message. */
#define NO_MSG UINT32_MAX

/* What is in flight: receives first, then sends. */
struct rota_lanes {
    MPI_Request *request; /* [2 * widest window] */
    uint32_t *msg;        /* [2 * widest window] its message */
    int *done;            /* [2 * widest window] */
    MPI_Status *status;
    int n, recvs, in_flight;
    uint32_t next[ROTA_N_DIRS]; /* first not posted */
    bool by_mpi;                /* all of the step's, each by one request */
};

/* ---- messages one by one ------------------------------------------------------- */

int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->op[dir][m].via->post(x, dir, m);
}

int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    ROTA_TRY(x->op[dir][m].via->test(x, dir, m, done));
    return *done && dir == ROTA_RECV && x->staging ? rota_staging_arrived(x, m)
                                                   : MPI_SUCCESS;
}

int rota_message_may_go(rota_exec *x, uint32_t m, bool *may)
{
    *may = true;
    return x->staging ? rota_staging_may_send(x, m, may, &x->moved)
                      : MPI_SUCCESS;
}

/* ---- lanes --------------------------------------------------------------------- */

static rota_dir lane_dir(const struct rota_lanes *k, int lane)
{
    return lane < k->recvs ? ROTA_RECV : ROTA_SEND;
}

/* Has a message that was posted nothing to wait for? */
static bool is_nothing(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_op *const op = &x->op[dir][m];

    return op->via->needs_mpi && op->kind != ROTA_OP_LATE &&
           x->request[dir][m] == MPI_REQUEST_NULL;
}

/* Post the next message of the lane's direction that has bytes, if what it sends
 * is here. */
static int refill(rota_exec *x, const rota_phase *phase, int lane)
{
    struct rota_lanes *const k = x->lanes;
    const rota_dir dir = lane_dir(k, lane);

    k->request[lane] = MPI_REQUEST_NULL;
    k->msg[lane] = NO_MSG;
    while (k->next[dir] < phase[1].msg[dir]) {
        bool may = true;
        if (dir == ROTA_SEND)
            ROTA_TRY(rota_message_may_go(x, k->next[dir], &may));
        if (!may)
            break;
        const uint32_t m = k->next[dir]++;
        ROTA_TRY(rota_message_post(x, dir, m));
        if (is_nothing(x, dir, m))
            continue;
        k->request[lane] = x->request[dir][m];
        k->msg[lane] = m;
        k->in_flight++;
        break;
    }
    return MPI_SUCCESS;
}

/* Can MPI say which of all messages are complete? */
static bool is_by_mpi(const rota_exec *x, const rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++)
        if (!step->batch[i].via->needs_mpi ||
            step->batch[i].kind == ROTA_OP_LATE)
            return false;
    return !x->staging;
}

static int enter(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step->phase;
    struct rota_lanes *const k = x->lanes;
    int n[ROTA_N_DIRS];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t messages = phase[1].msg[dir] - phase->msg[dir];
        n[dir] =
            messages < (uint32_t)phase->window ? (int)messages : phase->window;
        k->next[dir] = phase->msg[dir];
    }
    k->recvs = n[ROTA_RECV];
    k->n = n[ROTA_RECV] + n[ROTA_SEND];
    k->in_flight = 0;
    k->by_mpi = is_by_mpi(x, step);
    for (int lane = 0; lane < k->n; lane++)
        ROTA_TRY(refill(x, phase, lane));
    return rota_step_copies(x, step);
}

static int first_error(const MPI_Status status[], int n)
{
    for (int i = 0; i < n; i++)
        if (status[i].MPI_ERROR != MPI_SUCCESS &&
            status[i].MPI_ERROR != MPI_ERR_PENDING)
            return status[i].MPI_ERROR;
    return MPI_ERR_OTHER;
}

/* MPI has freed the ordinary requests among n completed lanes. */
static void forget_requests(rota_exec *x, int n)
{
    const struct rota_lanes *const k = x->lanes;

    for (int i = 0; i < n; i++) {
        const rota_dir dir = lane_dir(k, k->done[i]);
        const uint32_t m = k->msg[k->done[i]];
        if (!x->op[dir][m].persistent)
            x->request[dir][m] = MPI_REQUEST_NULL;
    }
}

/* Messages that tell sizes take more than one request, one after the other,
 * those within the node take none, and lanes may wait for what they send. */
static int poll_each(rota_exec *x, const rota_phase *phase, bool *done)
{
    struct rota_lanes *const k = x->lanes;

    for (int lane = 0; lane < k->n; lane++) {
        if (k->msg[lane] == NO_MSG)
            ROTA_TRY(refill(x, phase, lane));
        while (k->msg[lane] != NO_MSG) {
            bool complete = false;
            ROTA_TRY(rota_message_test(x, lane_dir(k, lane), k->msg[lane],
                                       &complete));
            if (!complete)
                break;
            k->in_flight--;
            ROTA_TRY(refill(x, phase, lane));
        }
    }
    *done = k->in_flight == 0 && k->next[ROTA_SEND] == phase[1].msg[ROTA_SEND];
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    struct rota_lanes *const k = x->lanes;

    if (!k->by_mpi)
        return poll_each(x, step->phase, done);
    while (k->in_flight > 0) {
        int n = 0;
        const int err = MPI_Testsome(k->n, k->request, &n, k->done, k->status);
        forget_requests(x, n);
        if (err != MPI_SUCCESS)
            return n > 0 ? first_error(k->status, n) : err;
        if (n == 0)
            return MPI_SUCCESS;
        x->moved = true;
        for (int i = 0; i < n; i++) {
            const int lane = k->done[i];
            k->in_flight--;
            ROTA_TRY(rota_p2p_finish(x, lane_dir(k, lane), k->msg[lane]));
            ROTA_TRY(refill(x, step->phase, lane));
        }
    }
    *done = true;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_window = {
    .one_by_one = true, .enter = enter, .poll = poll};

/* ---- making -------------------------------------------------------------------- */

int rota_lanes_make(rota_exec *x)
{
    size_t widest = 0;

    for (uint32_t p = 0; p < x->s->n_phases; p++) {
        const rota_phase *const phase = &x->s->phase[p];
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            const size_t n = phase[1].msg[dir] - phase->msg[dir];
            const size_t w =
                (size_t)phase->window < n ? (size_t)phase->window : n;
            widest = w > widest ? w : widest;
        }
    }
    if (widest == 0)
        return MPI_SUCCESS;
    struct rota_lanes *const k = x->lanes = calloc(1, sizeof *x->lanes);
    if (!k)
        return rota_fail_mem("messages in flight");
    k->request = malloc(2 * widest * sizeof *k->request);
    k->msg = malloc(2 * widest * sizeof *k->msg);
    k->done = malloc(2 * widest * sizeof *k->done);
    k->status = malloc(2 * widest * sizeof *k->status);
    return k->request && k->msg && k->done && k->status
               ? MPI_SUCCESS
               : rota_fail_mem("messages in flight");
}

void rota_lanes_free(rota_exec *x)
{
    if (!x->lanes)
        return;
    free(x->lanes->request);
    free(x->lanes->msg);
    free(x->lanes->done);
    free(x->lanes->status);
    free(x->lanes);
    x->lanes = NULL;
}
