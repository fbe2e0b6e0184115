/* bind.c - from a schedule to memory and requests. */
#include "device/ipc.h"
#include "device/staging.h"
#include "exec/exec.h"
#include "exec/flow.h"
#include "exec/late.h"
#include "exec/move.h"
#include "exec/program.h"
#include "exec/steps.h"
#include "exec/transport/consensus.h"
#include "exec/transport/lines.h"
#include "exec/transport/native.h"
#include "exec/transport/p2p.h"

#include <limits.h>
#include <stdlib.h>

/* Packed messages begin on cache lines of their own. */
enum { CACHE_LINE = 64 };

/* Memory that a block leaves to others or takes: bytes of scratch, or one below
 * zero for a block of the receive buffer. */
typedef struct span {
    ptrdiff_t begin, end;
} span;

/* Which memory the messages of a phase use. Where one block leaves it and
 * another takes it in the same phase, that is safe only if both messages are
 * packed: data may arrive before what leaves has been packed, and what leaves
 * may still be on its way when data arrive. */
typedef struct place_use {
    span *by[ROTA_N_DIRS]; /* in order; those of a direction do not overlap */
    uint32_t n[ROTA_N_DIRS];
} place_use;

static span span_of(const rota_exec *x, rota_block b)
{
    const ptrdiff_t rank = (ptrdiff_t)rota_block_slot(x->s, b);

    switch (rota_block_region(x->s, b)) {
    case ROTA_TMP:
        return (span){x->offset[b], x->offset[b] + (ptrdiff_t)x->bytes[b]};
    case ROTA_DST:
        return (span){-1 - rank, -rank};
    default:
        return (span){0, 0};
    }
}

static int compare_spans(const void *a, const void *b)
{
    const span *const x = a, *const y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void find_places(const rota_exec *x, uint32_t phase, place_use *use)
{
    const rota_phase *const p = &x->s->phase[phase];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &x->s->msgs[dir];
        use->n[dir] = 0;
        for (uint32_t i = l->msg[p->msg[dir]].first;
             i < l->msg[p[1].msg[dir]].first; i++) {
            const span at = span_of(x, l->item[i]);
            if (at.begin < at.end)
                use->by[dir][use->n[dir]++] = at;
        }
    }
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        if (use->n[!dir] > 0)
            qsort(use->by[dir], use->n[dir], sizeof *use->by[dir],
                  compare_spans);
}

/* Does a message in the other direction of this phase use some of its memory?
 * If so, then the last one that begins before the end. Where data flow through,
 * that is of the same block, which leaves after it came. */
static bool shares_place(const rota_exec *x, const rota_block item[],
                         uint32_t n, const span other[], uint32_t n_other)
{
    for (uint32_t i = 0; i < n && n_other > 0; i++) {
        const span at = span_of(x, item[i]);
        uint32_t begin = 0, end = n_other;
        while (begin < end) {
            const uint32_t middle = begin + (end - begin) / 2;
            if (other[middle].begin < at.end)
                begin = middle + 1;
            else
                end = middle;
        }
        if (begin > 0 && other[begin - 1].end > at.begin)
            return true;
    }
    return false;
}

/* Room for the busiest phase. */
static int make_place_use(const rota_sched *s, place_use *use)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &s->msgs[dir];
        size_t most = 1;
        for (uint32_t p = 0; p < s->n_phases; p++) {
            const size_t n = l->msg[s->phase[p + 1].msg[dir]].first -
                             l->msg[s->phase[p].msg[dir]].first;
            most = n > most ? n : most;
        }
        use->by[dir] = malloc(most * sizeof *use->by[dir]);
    }
    return use->by[ROTA_RECV] && use->by[ROTA_SEND]
               ? MPI_SUCCESS
               : rota_fail_mem("the packing area");
}

/* Do n blocks lie end to end, as plain bytes of one region? */
static bool end_to_end(const rota_exec *x, const rota_block item[], uint32_t n)
{
    const rota_region region = rota_block_region(x->s, item[0]);

    if (n == 1)
        return true;
    if (!x->fixed || !rota_type_is_bytes(&x->type[region]))
        return false;
    for (uint32_t i = 1; i < n; i++)
        if (rota_block_region(x->s, item[i]) != region ||
            x->offset[item[i]] !=
                x->offset[item[i - 1]] + (ptrdiff_t)x->bytes[item[i - 1]])
            return false;
    return true;
}

/* MPI sends elements of a datatype from where they lie; else they are packed,
 * provided that their number is known. */
static bool is_typed(const rota_exec *x, const rota_op *op, rota_block b)
{
    return op->via == &rota_transport_lines && x->fixed &&
           !rota_type_is_bytes(rota_block_type(x, b));
}

/* May MPI gather the blocks, by a datatype that says where they lie? */
static bool may_gather(const rota_exec *x, const rota_block item[], uint32_t n,
                       size_t bytes)
{
    if (!x->by_datatype || !x->fixed || bytes > INT_MAX)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!rota_type_is_bytes(rota_block_type(x, item[i])))
            return false;
    return true;
}

/* Decide which messages of a phase are packed and where; the phases share one
 * packing area. Returns the bytes this phase needs of it. */
static size_t lay_out_phase(rota_exec *x, uint32_t phase, place_use *use)
{
    const rota_sched *const s = x->s;
    size_t used = 0;

    find_places(x, phase, use);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &s->msgs[dir];
        for (uint32_t m = s->phase[phase].msg[dir];
             m < s->phase[phase + 1].msg[dir]; m++) {
            const rota_block *const item = l->item + l->msg[m].first;
            const uint32_t n = l->msg[m + 1].first - l->msg[m].first;
            const size_t bytes = rota_message_bytes(x, (rota_dir)dir, m);
            rota_op *const w = &x->op[dir][m];
            const bool shares =
                !s->phase[phase].flow &&
                shares_place(x, item, n, use->by[!dir], use->n[!dir]);
            const bool apart = !w->late && (!end_to_end(x, item, n) || shares ||
                                            is_typed(x, w, item[0]));
            w->gathered = apart && !shares && w->via == &rota_transport_p2p &&
                          may_gather(x, item, n, bytes);
            w->packed = apart && !w->gathered;
            if (!w->packed)
                continue;
            w->stage = used;
            used += (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        }
    }
    return used;
}

/* Copies between two datatypes go through the packing area as well. */
static size_t copy_room(const rota_exec *x)
{
    size_t room = 0;

    for (uint32_t c = 0; c < x->s->n_copies; c++) {
        const rota_copy *const k = &x->s->copy[c];
        const rota_type *const a = rota_block_type(x, k->from);
        const rota_type *const b = rota_block_type(x, k->to);
        if (rota_type_is_bytes(a) || rota_type_is_bytes(b) ||
            (x->fixed && x->bytes[k->from] == 0))
            continue;
        const size_t step = rota_copy_step(a, b);
        room = step > room ? step : room;
    }
    return room;
}

static int lay_out(rota_exec *x)
{
    place_use use;
    size_t room = 0;

    const int err = make_place_use(x->s, &use);
    for (uint32_t p = 0; err == MPI_SUCCESS && p < x->s->n_phases; p++) {
        const size_t need = lay_out_phase(x, p, &use);
        room = need > room ? need : room;
    }
    free(use.by[ROTA_RECV]);
    free(use.by[ROTA_SEND]);
    x->copy_stage = room;
    return err;
}

static int make_area(rota_exec *x)
{
    ROTA_TRY(lay_out(x));
    x->copy_step = copy_room(x);
    x->area_bytes = x->copy_stage + x->copy_step;
    if (x->area_bytes == 0)
        return MPI_SUCCESS;
    x->area = aligned_alloc(CACHE_LINE, (x->area_bytes + CACHE_LINE - 1) /
                                            CACHE_LINE * CACHE_LINE);
    return x->area ? MPI_SUCCESS : rota_fail_mem("the packing area");
}

/* What carries each message. */
static int make_ops(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const size_t n = (size_t)x->s->msgs[dir].n + 1;
        x->op[dir] = calloc(n, sizeof *x->op[dir]);
        x->request[dir] = malloc(n * sizeof *x->request[dir]);
        for (size_t m = 0; x->request[dir] && m < n; m++)
            x->request[dir][m] = MPI_REQUEST_NULL;
        if (!x->op[dir] || !x->request[dir])
            return rota_fail_mem("requests");
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++) {
            const bool near = rota_lines_carry(x, (rota_dir)dir, m);
            x->op[dir][m].via =
                near ? &rota_transport_lines : &rota_transport_p2p;
            x->by_mpi = x->by_mpi || !near;
        }
    }
    return MPI_SUCCESS;
}

/* What kind of operation it is, when it is known what is packed. */
static void choose_kinds(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++) {
            rota_op *const op = &x->op[dir][m];
            const bool by_lines = op->via == &rota_transport_lines;
            if (op->late)
                op->kind = ROTA_OP_LATE;
            else if (by_lines && x->ipc)
                op->kind = ROTA_OP_DEVICE;
            else if (op->packed)
                op->kind = ROTA_OP_GATHERED;
            else
                op->kind = x->fixed ? ROTA_OP_PLAIN : ROTA_OP_VARYING;
        }
}

static bool has_native(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].native)
            return true;
    return false;
}

/* Parts that only some schedules need. */
static int bind_parts(rota_exec *x)
{
    ROTA_TRY(rota_lanes_make(x));
    if (has_native(x->s))
        ROTA_TRY(rota_native_bind(x));
    if (x->collect && rota_sched_is_sparse(x->s))
        ROTA_TRY(rota_consensus_bind(x));
    if (rota_sched_flows(x->s))
        ROTA_TRY(rota_flow_bind(x));
    return MPI_SUCCESS;
}

static int bind(rota_exec *x)
{
    ROTA_TRY(make_ops(x));
    if (x->metadata != ROTA_META_ONCE)
        ROTA_TRY(rota_late_bind(x));
    ROTA_TRY(make_area(x));
    choose_kinds(x);
    ROTA_TRY(bind_parts(x));
    ROTA_TRY(rota_p2p_bind(x));
    if (x->lines)
        rota_lines_bind(x);
    return rota_program_make(x);
}

int rota_exec_bind(rota_exec *x)
{
    const int err = bind(x);

    if (err != MPI_SUCCESS)
        rota_exec_unbind(x);
    return err;
}

static const rota_transport *const transports[] = {&rota_transport_p2p,
                                                   &rota_transport_lines};

enum { N_TRANSPORTS = sizeof transports / sizeof *transports };

void rota_exec_unbind(rota_exec *x)
{
    for (int i = 0; i < N_TRANSPORTS; i++)
        transports[i]->release(x);
    rota_late_unbind(x);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        free(x->request[dir]);
        free(x->op[dir]);
        x->request[dir] = NULL;
        x->op[dir] = NULL;
    }
    rota_native_unbind(x);
    rota_consensus_unbind(x);
    rota_flow_unbind(x);
    rota_lanes_free(x);
    rota_program_free(x);
    free(x->area);
    x->area = NULL;
    rota_ipc_free(x);
    rota_staging_free(x);
}

int rota_exec_packing(rota_exec *x, size_t *room)
{
    int err = make_ops(x);

    if (err == MPI_SUCCESS)
        err = lay_out(x);
    if (err == MPI_SUCCESS)
        *room = x->copy_stage;
    rota_exec_unbind(x);
    return err;
}

int rota_exec_rebase(rota_exec *x, char *src, char *dst)
{
    const bool moved[ROTA_N_REGIONS] = {
        [ROTA_SRC] = src != x->base[ROTA_SRC],
        [ROTA_DST] = dst != x->base[ROTA_DST],
    };

    x->base[ROTA_SRC] = src;
    x->base[ROTA_DST] = dst;
    int err = MPI_SUCCESS;
    for (int i = 0; i < N_TRANSPORTS && err == MPI_SUCCESS; i++)
        err = transports[i]->rebase(x, moved);
    rota_program_rebase(x);
    x->broken = x->broken || err != MPI_SUCCESS; /* requests are missing */
    return err;
}
