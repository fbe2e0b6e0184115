/* varying.c - a start with counts and buffers of its own. */
#include "plan/plan.h"

#include <stdlib.h>

/* Blocks above the bound are left out on both ends, which both know the
 * counts; the largest is remembered for the wait to report. */
static void leave_out(rota_plan *p)
{
    const int P = p->comm->P;

    p->over_peer = -1;
    p->over_bytes = p->max_block;
    for (int b = 0; b < 2 * P; b++) {
        if (p->bytes[b] <= p->max_block)
            continue;
        if (p->bytes[b] > p->over_bytes) {
            p->over_bytes = p->bytes[b];
            p->over_peer = b % P;
        }
        p->bytes[b] = 0;
    }
}

/* In place: send blocks are those of the receive buffer, to be staged one
 * after the other. Staging memory grows by half at least. */
static int lay_out_stage(rota_plan *p)
{
    const int P = p->comm->P, me = p->comm->me;
    size_t at = 0;

    for (int d = 0; d < P; d++) {
        const bool stays = d == me && !p->choice.algo->native;
        p->bytes[d] = stays ? 0 : p->bytes[P + d];
        p->offset[d] = (ptrdiff_t)at;
        at += p->bytes[d];
    }
    if (at <= p->stage_bytes)
        return MPI_SUCCESS;
    const size_t grown = p->stage_bytes + p->stage_bytes / 2;
    const size_t room = at > grown ? at : grown;
    char *const stage = realloc(p->stage, room);
    if (!stage)
        return rota_fail_mem("staging what is sent in place");
    p->stage = stage;
    p->stage_bytes = room;
    return MPI_SUCCESS;
}

int rota_varying_start(rota_plan *p, const rota_args *args)
{
    const int P = p->comm->P;
    const bool in_place = args->sendbuf == MPI_IN_PLACE;
    static const rota_type bytes_type = {MPI_BYTE, 1, 1};

    if (args->recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    ROTA_TRY(rota_side_fill("recv", P, args->recvbuf, &args->recvcounts,
                            &args->rdispls, &p->unit, p->bytes + P,
                            p->offset + P));
    if (in_place)
        ROTA_TRY(lay_out_stage(p));
    else
        ROTA_TRY(rota_side_fill("send", P, args->sendbuf, &args->sendcounts,
                                &args->sdispls, &p->unit, p->bytes, p->offset));
    leave_out(p);
    p->exec.stage_in = in_place;
    p->exec.type[ROTA_SRC] = in_place ? bytes_type : p->problem.send.type;
    /* What MPI takes as const it does not write. */
    p->exec.base[ROTA_SRC] = in_place ? p->stage : (char *)args->sendbuf;
    p->exec.base[ROTA_DST] = args->recvbuf;
    return rota_exec_start(&p->exec);
}
