/* bind.c - binds a schedule to memory and requests. */
#include "exec/exec.h"
#include "exec/move/accumulate.h"
#include "exec/move/blocks.h"
#include "exec/payload/sized.h"
#include "exec/run/program.h"

#include <stdlib.h>

/* Packed messages start on cache lines of their own. */
enum { CACHE_LINE = 64 };

/* Memory of a block: bytes of scratch, or negative numbers, one for each block
 * of the receive buffer. */
typedef struct span {
    ptrdiff_t begin, end;
} span;

/* The memory that the messages of a phase use. Where one block leaves memory
 * that another takes in the same phase, both messages must be packed: data may
 * arrive before what leaves is packed, and what leaves may still be on its way
 * when data arrive. */
typedef struct place_use {
    span *by[ROTA_N_DIRS]; /* sorted; spans of one direction do not overlap */
    uint32_t n[ROTA_N_DIRS];
} place_use;

static span span_of(const rota_exec *x, rota_block b)
{
    const ptrdiff_t rank = (ptrdiff_t)rota_block_slot(x->blocks.s, b);

    switch (rota_block_region(x->blocks.s, b)) {
    case ROTA_TMP:
        return (span){x->blocks.offset[b],
                      x->blocks.offset[b] + (ptrdiff_t)x->blocks.bytes[b]};
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
    const rota_phase *const p = &x->blocks.s->phase[phase];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &x->blocks.s->msgs[dir];
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

/* Do blocks of a message use memory that the other direction of the phase uses?
 * For each block, look at the last span that begins before the block's end. Not
 * for flow phases, where both directions use a block's memory for the same
 * block. */
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

/* Allocate for the phase with the most blocks. */
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
    const rota_region region = rota_block_region(x->blocks.s, item[0]);

    if (n == 1)
        return true;
    if (!x->fixed || !rota_types_are_bytes(&x->blocks.types[region]))
        return false;
    for (uint32_t i = 1; i < n; i++)
        if (rota_block_region(x->blocks.s, item[i]) != region ||
            x->blocks.offset[item[i]] !=
                x->blocks.offset[item[i - 1]] +
                    (ptrdiff_t)x->blocks.bytes[item[i - 1]])
            return false;
    return true;
}

/* Is the block of a datatype that must be packed? MPI sends elements from where
 * they lie, unless the program alone can pack them; other paths pack them if their
 * number is known. */
static bool is_typed(const rota_exec *x, const rota_op *op, rota_block b)
{
    const rota_type *const t = rota_block_type(&x->blocks, b);

    return x->fixed && !rota_type_is_bytes(t) &&
           (t->packer || !op->via->needs_mpi);
}

/* The last payload that takes the message. */
static const rota_payload *choose_payload(const rota_exec *x,
                                          const rota_makeup *k)
{
    int i = ROTA_N_PAYLOADS - 1;

    while (!rota_payloads[i]->takes(x, k))
        i--;
    return rota_payloads[i];
}

static void look_at(const rota_exec *x, uint32_t phase, const place_use *use,
                    rota_makeup *k)
{
    const rota_msg *const msg = &x->blocks.s->msgs[k->dir].msg[k->m];
    const rota_op *const op = &x->program.op[k->dir][k->m];

    k->via = op->via;
    k->item = &x->blocks.s->msgs[k->dir].item[msg->first];
    k->n = rota_msg_blocks(msg);
    k->bytes = rota_message_bytes(&x->blocks, k->dir, k->m);
    k->handed = rota_message_is_handed(x, k->dir, k->m);
    k->shares =
        !x->blocks.s->phase[phase].flow &&
        shares_place(x, k->item, k->n, use->by[!k->dir], use->n[!k->dir]);
    k->apart = !k->handed && (k->shares || !end_to_end(x, k->item, k->n) ||
                              is_typed(x, op, k->item[0]));
}

/* Decide what the messages of a phase hold, and where those are packed that are;
 * the phases share one packing area. Returns the bytes this phase needs of
 * it. */
static size_t lay_out_phase(rota_exec *x, uint32_t phase, place_use *use)
{
    const rota_sched *const s = x->blocks.s;
    size_t used = 0;

    find_places(x, phase, use);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = s->phase[phase].msg[dir];
             m < s->phase[phase + 1].msg[dir]; m++) {
            rota_op *const op = &x->program.op[dir][m];
            rota_makeup k = {.dir = (rota_dir)dir, .m = m};
            look_at(x, phase, use, &k);
            op->payload = choose_payload(x, &k);
            if (!op->payload->stages || !op->payload->stages(&k))
                continue;
            op->stage = used;
            used += (k.bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        }
    return used;
}

/* Room for copies between two datatypes, which pass through the packing
 * area. */
static size_t copy_room(const rota_exec *x)
{
    size_t room = 0;

    for (uint32_t c = 0; c < x->blocks.s->n_copies; c++) {
        const rota_copy *const k = &x->blocks.s->copy[c];
        const rota_type *const a = rota_block_type(&x->blocks, k->from);
        const rota_type *const b = rota_block_type(&x->blocks, k->to);
        if (rota_type_is_bytes(a) || rota_type_is_bytes(b) ||
            (x->fixed && x->blocks.bytes[k->from] == 0))
            continue;
        const size_t step = rota_copy_step(a, b);
        room = step > room ? step : room;
    }
    return room;
}

/* Staging memory that putting messages needs. */
static size_t put_room(const rota_exec *x)
{
    size_t room = 0;

    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_SEND].n; m++) {
        const size_t need = x->program.op[ROTA_SEND][m].payload->stage;
        room = need > room ? need : room;
    }
    return room;
}

static int lay_out(rota_exec *x)
{
    place_use use;
    size_t room = 0;

    if (x->accumulation)
        rota_accumulation_look(x->accumulation, &x->blocks);
    const int err = make_place_use(x->blocks.s, &use);
    for (uint32_t p = 0; err == MPI_SUCCESS && p < x->blocks.s->n_phases; p++) {
        const size_t need = lay_out_phase(x, p, &use);
        room = need > room ? need : room;
    }
    free(use.by[ROTA_RECV]);
    free(use.by[ROTA_SEND]);
    x->program.area_bytes = room;
    return err;
}

static int make_area(rota_exec *x)
{
    rota_program *const p = &x->program;

    ROTA_TRY(lay_out(x));
    const size_t packed = p->area_bytes, put = put_room(x);
    x->blocks.step = copy_room(x);
    p->area_bytes += x->blocks.step > put ? x->blocks.step : put;
    if (p->area_bytes == 0)
        return MPI_SUCCESS;
    p->area = aligned_alloc(CACHE_LINE, (p->area_bytes + CACHE_LINE - 1) /
                                            CACHE_LINE * CACHE_LINE);
    if (!p->area)
        return rota_fail_mem("the packing area");
    x->blocks.stage = p->area + packed;
    return MPI_SUCCESS;
}

static void choose_path(rota_exec *x, rota_dir dir, uint32_t m)
{
    int i = ROTA_N_PATHS - 1;

    while (!rota_paths[i]->carries || !rota_paths[i]->carries(x, dir, m))
        i--;
    x->program.op[dir][m].via = rota_paths[i];
    x->program.op[dir][m].stage = ROTA_NO_STAGE;
    x->program.by_mpi = x->program.by_mpi || rota_paths[i]->needs_mpi;
}

/* Choose the path of each message. */
static int make_ops(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const size_t n = (size_t)x->blocks.s->msgs[dir].n + 1;
        x->program.op[dir] = calloc(n, sizeof *x->program.op[dir]);
        if (!x->program.op[dir])
            return rota_fail_mem("messages");
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++)
            choose_path(x, (rota_dir)dir, m);
    }
    return MPI_SUCCESS;
}

static int bind_payloads(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++) {
            const rota_payload *const has = x->program.op[dir][m].payload;
            x->program.rooms =
                x->program.rooms || (dir == ROTA_SEND && has->room);
            if (has->bind)
                ROTA_TRY(has->bind(x, (rota_dir)dir, m));
        }
    return MPI_SUCCESS;
}

static void unbind_payloads(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; x->program.op[dir] && m < x->blocks.s->msgs[dir].n;
             m++) {
            const rota_payload *const has = x->program.op[dir][m].payload;
            if (has && has->unbind)
                has->unbind(x, (rota_dir)dir, m);
        }
}

static int bind(rota_exec *x)
{
    x->blocks.comm = x->comm;
    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->meet)
            ROTA_TRY(rota_paths[i]->meet(x));
    ROTA_TRY(make_ops(x));
    ROTA_TRY(rota_sized_begin(x));
    ROTA_TRY(make_area(x));
    ROTA_TRY(bind_payloads(x));
    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (rota_paths[i]->bind)
            ROTA_TRY(rota_paths[i]->bind(x));
    return rota_program_make(x);
}

/* ---- the life of paths --------------------------------------------------- */

int rota_exec_reserve(rota_exec *x, const rota_reach *reach,
                      rota_refusal *refusal)
{
    *refusal = ROTA_REFUSED_NOTHING;
    for (int i = 0; i < ROTA_N_PATHS; i++) {
        rota_refusal found = ROTA_REFUSED_NOTHING;
        if (rota_paths[i]->sweep)
            rota_paths[i]->sweep();
        if (rota_paths[i]->reserve)
            ROTA_TRY(rota_paths[i]->reserve(x, reach, &found));
        *refusal = found > *refusal ? found : *refusal;
    }
    return MPI_SUCCESS;
}

bool rota_exec_attach(rota_exec *x)
{
    bool all = true;

    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->attach)
            all = rota_paths[i]->attach(x) && all;
    return all;
}

void rota_exec_detach(rota_exec *x)
{
    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->release)
            rota_paths[i]->release(x);
    x->shared = NULL;
}

rota_path_facts rota_exec_facts(const rota_exec *x)
{
    rota_path_facts facts = {0};

    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->describe)
            rota_paths[i]->describe(x, &facts);
    return facts;
}

/* ---- binding ------------------------------------------------------------- */

int rota_exec_bind(rota_exec *x)
{
    const int err = bind(x);

    if (err != MPI_SUCCESS)
        rota_exec_unbind(x);
    return err;
}

void rota_exec_unbind(rota_exec *x)
{
    rota_exec_detach(x);
    unbind_payloads(x);
    rota_sized_end(x);
    rota_program_free(x);
    if (x->gate)
        x->gate->release(x);
}

int rota_exec_packing(rota_exec *x, size_t *room)
{
    int err = make_ops(x);

    if (err == MPI_SUCCESS)
        err = lay_out(x);
    if (err == MPI_SUCCESS)
        *room = x->program.area_bytes;
    rota_exec_unbind(x);
    return err;
}

int rota_exec_rebase(rota_exec *x, char *src, char *dst)
{
    const bool moved[ROTA_N_REGIONS] = {
        [ROTA_SRC] = src != x->blocks.base[ROTA_SRC],
        [ROTA_DST] = dst != x->blocks.base[ROTA_DST],
    };

    x->blocks.base[ROTA_SRC] = src;
    x->blocks.base[ROTA_DST] = dst;
    int err = MPI_SUCCESS;
    for (int i = 0; i < ROTA_N_PATHS && err == MPI_SUCCESS; i++)
        if (x->path[i] && rota_paths[i]->rebase)
            err = rota_paths[i]->rebase(x, moved);
    rota_program_rebase(x);
    x->status.broken =
        x->status.broken || err != MPI_SUCCESS; /* some requests do not exist */
    return err;
}
