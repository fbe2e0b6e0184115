/* bind.c - from a schedule to memory and requests. */
#include "exec/consensus.h"
#include "exec/exec.h"
#include "exec/flow.h"
#include "exec/ipc.h"
#include "exec/late.h"
#include "exec/move.h"
#include "exec/native.h"
#include "exec/shm.h"
#include "exec/staging.h"

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
static bool is_typed(const rota_exec *x, const rota_wire *w, rota_block b)
{
    return w->parcel && x->fixed && !rota_type_is_bytes(rota_block_type(x, b));
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
            rota_wire *const w = &x->wire[dir][m];
            const bool shares =
                !s->phase[phase].flow &&
                shares_place(x, item, n, use->by[!dir], use->n[!dir]);
            const bool apart = !w->late && (!end_to_end(x, item, n) || shares ||
                                            is_typed(x, w, item[0]));
            w->gathered =
                apart && !shares && !w->parcel && may_gather(x, item, n, bytes);
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
    if (rota_shm_wants_arena(x))
        x->area = rota_arena_take(x->area_bytes);
    if (!x->area)
        x->area = aligned_alloc(CACHE_LINE, (x->area_bytes + CACHE_LINE - 1) /
                                                CACHE_LINE * CACHE_LINE);
    return x->area ? MPI_SUCCESS : rota_fail_mem("the packing area");
}

static int make_request(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];
    rota_wire *const w = &x->wire[dir][m];

    if (w->gathered)
        ROTA_TRY(rota_gather_type(x, l->item + l->msg[m].first,
                                  l->msg[m + 1].first - l->msg[m].first,
                                  &w->type));
    const rota_payload p = rota_payload_of(x, dir, m);
    ROTA_TRY(rota_payload_init(&p, dir, l->msg[m].peer, x->tag, x->comm,
                               &x->request[dir][m]));
    w->persistent = true;
    return MPI_SUCCESS;
}

static int make_requests(rota_exec *x)
{
    for (uint32_t p = 0; x->fixed && p < x->s->n_phases; p++) {
        const rota_phase *const phase = &x->s->phase[p];
        for (int dir = 0; !phase->native && dir < ROTA_N_DIRS; dir++)
            for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++)
                if (!x->wire[dir][m].parcel)
                    ROTA_TRY(make_request(x, (rota_dir)dir, m));
    }
    return MPI_SUCCESS;
}

static int make_lanes(rota_exec *x)
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
    x->lane = malloc(2 * widest * sizeof *x->lane);
    x->lane_msg = malloc(2 * widest * sizeof *x->lane_msg);
    x->lane_done = malloc(2 * widest * sizeof *x->lane_done);
    x->lane_status = malloc(2 * widest * sizeof *x->lane_status);
    return x->lane && x->lane_msg && x->lane_done && x->lane_status
               ? MPI_SUCCESS
               : rota_fail_mem("messages in flight");
}

static int make_wires(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const size_t n = (size_t)x->s->msgs[dir].n + 1;
        x->wire[dir] = calloc(n, sizeof *x->wire[dir]);
        x->request[dir] = malloc(n * sizeof *x->request[dir]);
        for (size_t m = 0; x->request[dir] && m < n; m++)
            x->request[dir][m] = MPI_REQUEST_NULL;
        if (!x->wire[dir] || !x->request[dir])
            return rota_fail_mem("requests");
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++) {
            x->wire[dir][m].parcel = rota_shm_parcel(x, (rota_dir)dir, m);
            x->by_mpi = x->by_mpi || !x->wire[dir][m].parcel;
        }
    }
    return MPI_SUCCESS;
}

static bool has_native(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].native)
            return true;
    return false;
}

int rota_exec_bind(rota_exec *x)
{
    int err = make_wires(x);

    x->native_request = MPI_REQUEST_NULL;
    if (err == MPI_SUCCESS && x->metadata != ROTA_META_ONCE)
        err = rota_late_bind(x);
    if (err == MPI_SUCCESS)
        err = make_area(x);
    if (err == MPI_SUCCESS)
        err = make_lanes(x);
    if (err == MPI_SUCCESS && has_native(x->s))
        err = rota_native_bind(x);
    if (err == MPI_SUCCESS && x->collect && rota_sched_is_sparse(x->s))
        err = rota_consensus_bind(x);
    if (err == MPI_SUCCESS && rota_sched_flows(x->s))
        err = rota_flow_bind(x);
    if (err == MPI_SUCCESS)
        err = make_requests(x);
    if (err != MPI_SUCCESS)
        rota_exec_unbind(x);
    return err;
}

/* Requests of a run that failed may still be active: receives are cancelled,
 * so that nothing writes to memory that goes away. Not so inactive ones: to
 * cancel one is an error, which belongs to no communicator and so would end
 * the program. */
static void free_request(const rota_exec *x, rota_dir dir, MPI_Request *request)
{
    int idle = true;

    if (*request == MPI_REQUEST_NULL)
        return;
    if (x->broken && dir == ROTA_RECV)
        MPI_Request_get_status(*request, &idle, MPI_STATUS_IGNORE);
    if (!idle)
        MPI_Cancel(request);
    MPI_Request_free(request);
}

void rota_exec_unbind(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0; x->request[dir] && m < x->s->msgs[dir].n; m++)
            free_request(x, (rota_dir)dir, &x->request[dir][m]);
        for (uint32_t m = 0; x->wire[dir] && m < x->s->msgs[dir].n; m++)
            if (x->wire[dir][m].persistent && x->wire[dir][m].gathered)
                MPI_Type_free(&x->wire[dir][m].type);
    }
    rota_late_unbind(x);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        free(x->request[dir]);
        free(x->wire[dir]);
        x->request[dir] = NULL;
        x->wire[dir] = NULL;
    }
    rota_native_unbind(x);
    rota_consensus_unbind(x);
    rota_flow_unbind(x);
    free(x->lane);
    free(x->lane_msg);
    free(x->lane_done);
    free(x->lane_status);
    if (!rota_arena_put(x->area))
        free(x->area);
    rota_shm_unbind(x);
    rota_ipc_free(x);
    rota_staging_free(x);
    x->lane = NULL;
    x->lane_msg = NULL;
    x->lane_done = NULL;
    x->lane_status = NULL;
    x->area = NULL;
}

int rota_exec_packing(rota_exec *x, size_t *room)
{
    int err = make_wires(x);

    if (err == MPI_SUCCESS)
        err = lay_out(x);
    if (err == MPI_SUCCESS)
        *room = x->copy_stage;
    rota_exec_unbind(x);
    return err;
}

/* Does a message have to do with memory that has moved? */
static bool is_moved(const rota_exec *x, rota_dir dir, uint32_t m,
                     const bool moved[])
{
    const rota_msgs *const l = &x->s->msgs[dir];

    if (x->wire[dir][m].packed || !x->wire[dir][m].persistent)
        return false;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        if (moved[rota_block_region(x->s, l->item[i])])
            return true;
    return false;
}

/* Requests of message m were bound to memory that has moved. */
static int bind_anew(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_wire *const w = &x->wire[dir][m];

    w->persistent = false;
    ROTA_TRY(MPI_Request_free(&x->request[dir][m]));
    if (!w->gathered)
        return MPI_SUCCESS;
    ROTA_TRY(MPI_Type_free(&w->type));
    return make_request(x, dir, m);
}

int rota_exec_rebase(rota_exec *x, char *src, char *dst)
{
    int err = MPI_SUCCESS;
    const bool moved[ROTA_N_REGIONS] = {
        [ROTA_SRC] = src != x->base[ROTA_SRC],
        [ROTA_DST] = dst != x->base[ROTA_DST],
    };

    x->base[ROTA_SRC] = src;
    x->base[ROTA_DST] = dst;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++)
            if (err == MPI_SUCCESS && is_moved(x, (rota_dir)dir, m, moved))
                err = bind_anew(x, (rota_dir)dir, m);
    x->broken = x->broken || err != MPI_SUCCESS; /* requests are missing */
    return err;
}
