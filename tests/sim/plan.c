/* plan.c - see plan.h. */
#include "sim/plan.h"
#include "check/check.h"
#include "common/fakempi.h"
#include "exec/move/accumulate.h"
#include "exec/payload/parcels.h"
#include "exec/payload/sized.h"
#include "exec/transport/mailbox/mailbox.h"
#include "plan/kinds/array_block.h"
#include "plan/kinds/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 300, GUARD = 64, GUARD_BYTE = 0x5c, GAP_BYTE = 0x3a };

enum { MOST_ARRAYS = 4 };

enum { MOST = 48 }; /* elements of the largest block, but huge ones */

const char *const mode_name[N_MODES] = {"fixed",    "rebase",   "varying",
                                        "in_place", "exchange", "units",
                                        "reverse",  "arrays"};
const char *const bound_name[N_BOUNDS] = {"none", "all", "some"};
const char *const metadata_name[ROTA_N_METADATA] = {"once", "fused",
                                                    "two_phase", "combined"};

static void *must(void *p)
{
    if (!p) {
        fputs("no memory\n", stderr);
        abort();
    }
    return p;
}

static bool tell(char *text, int rank, const char *what)
{
    snprintf(text, TEXT, "rank %d: %s", rank, what);
    return false;
}

/* A status of the library's. */
static bool ok(int err, char *text, int rank, const char *what)
{
    if (err == MPI_SUCCESS)
        return true;
    const char *const why = rota_fail_text();
    snprintf(text, TEXT, "rank %d: %s failed: %s", rank, what,
             why ? why : "MPI's error");
    return false;
}

/* ---- sizes --------------------------------------------------------------- */

/* Is it a sparse exchange, whose partners are found by consensus? */
static bool is_sparse(const spec *c)
{
    return spec_is_exchange(c) && (c->algo == &rota_algo_consensus ||
                                   c->algo == &rota_algo_consensus_node);
}

static bool varies(const spec *c)
{
    return c->mode == MODE_VARYING || spec_is_exchange(c) ||
           c->mode == MODE_UNITS;
}

/* Bytes in which the counts of a run are. */
static size_t unit_of(const spec *c, int run)
{
    enum { LARGEST = 7 };

    return c->mode == MODE_UNITS ? 1 + mix(c->seed, (uint64_t)run) % LARGEST
                                 : 1;
}

/* How many arrays, and the bytes of an element of one. */
static int n_arrays(const spec *c)
{
    return 1 + (int)(mix(c->seed, 9) % MOST_ARRAYS);
}

static size_t width_of(const spec *c, int array)
{
    enum { WIDEST = 16 };

    return 1 + mix(c->seed, 10 + (uint64_t)array) % WIDEST;
}

static size_t most_of(const spec *c)
{
    return (1 + (size_t)(c->seed % MOST)) * (c->scale ? (size_t)c->scale : 1);
}

/* Elements of a part. */
static size_t count_between(const spec *c, int array, int run, int src, int dst)
{
    const uint64_t seed = mix(c->seed, (uint64_t)(run * MOST_ARRAYS + array));

    return pattern_bytes(c->pattern, seed, c->P, most_of(c), src, dst);
}

static size_t block_of_arrays(const spec *c, int run, int src, int dst)
{
    size_t bytes[MOST_ARRAYS];

    for (int i = 0; i < n_arrays(c); i++)
        bytes[i] = count_between(c, i, run, src, dst) * width_of(c, i);
    return rota_array_block_bytes(n_arrays(c), bytes, 1);
}

static size_t bytes_between(const spec *c, const layout *l, int run, int src,
                            int dst)
{
    const bool counts_vary = varies(c) && c->mode != MODE_UNITS;
    const uint64_t seed = counts_vary ? mix(c->seed, (uint64_t)run) : c->seed;
    const size_t most = most_of(c);

    if (c->mode == MODE_ARRAYS)
        return block_of_arrays(c, run, src, dst);
    if (c->mode == MODE_IN_PLACE && src > dst)
        return bytes_between(c, l, run, dst, src);
    return pattern_bytes(c->pattern, seed, c->P, most, src, dst) *
           l->type.size * unit_of(c, run);
}

static size_t *matrix_of(const spec *c, const layout *l, int run)
{
    const int P = c->P;
    size_t *const matrix = must(malloc((size_t)(P * P) * sizeof *matrix));

    for (int src = 0; src < P; src++)
        for (int dst = 0; dst < P; dst++)
            matrix[src * P + dst] = bytes_between(c, l, run, src, dst);
    return matrix;
}

/* Bytes of the largest block in runs of the plan. */
static size_t largest(const sim_plan *plan, int runs)
{
    const int P = plan->spec.P;
    size_t most = 0;

    for (int run = 0; run < runs; run++)
        for (int i = 0; i < P * P; i++)
            most = plan->matrix[run][i] > most ? plan->matrix[run][i] : most;
    return most;
}

static size_t max_block(const sim_plan *plan)
{
    switch (plan->spec.bound) {
    case BOUND_ALL:
        return largest(plan, RUNS);
    case BOUND_SOME:
        return largest(plan, RUNS) / 2;
    default:
        return SIZE_MAX;
    }
}

/* Both sides have 6 bytes in an element, differently strewn. */
static void choose_layouts(sim_plan *plan)
{
    static const layout bytes = {{MPI_BYTE, 1, 1, 0, 1, NULL, NULL}, 1, 1, 1};

    plan->side[0] = plan->side[1] = bytes;
    if (!plan->spec.typed)
        return;
    plan->side[0] =
        (layout){{fakempi_vector(2, 3, 5, 9), 6, 9, 0, 8, NULL, NULL}, 2, 3, 5};
    plan->side[1] = (layout){
        {fakempi_vector(3, 2, 4, 12), 6, 12, 0, 10, NULL, NULL}, 3, 2, 4};
}

/* ---- data ---------------------------------------------------------------- */

/* The bytes of a reverse: no two orders give the same. */
static char combined(char there, char came)
{
    return (char)(3 * there + came);
}

static int combine(const rota_operator *o, const char *from, char *into,
                   size_t width, size_t n, ptrdiff_t step)
{
    (void)o;
    for (size_t i = 0; i < n; i++, into += step)
        for (size_t k = 0; k < width; k++)
            into[k] = combined(into[k], *from++);
    return MPI_SUCCESS;
}

/* What a byte of a part is. */
static char part_is(const sim_plan *plan, int array, int run, int src, int dst,
                    size_t i)
{
    return (char)payload(src, dst, i * MOST_ARRAYS + (size_t)array,
                         plan->index * RUNS + run);
}

/* As a start does it. */
static void put_arrays(const sim_plan *plan, int run, int src, int dst,
                       char *at)
{
    const spec *const c = &plan->spec;
    char *part = at + rota_array_head(n_arrays(c));

    memset(at, 0, plan->matrix[run][src * c->P + dst]);
    for (int array = 0; array < n_arrays(c); array++) {
        const size_t count = count_between(c, array, run, src, dst);
        const size_t bytes = count * width_of(c, array);
        rota_array_tell(at, array, count);
        for (size_t i = 0; i < bytes; i++)
            part[i] = part_is(plan, array, run, src, dst, i);
        part += rota_array_padded(bytes);
    }
}

/* Write the block that src sends to dst in a run of the plan to at; or combine it
 * with what is there, as its receiver does. */
static void put_block(const sim_plan *plan, int run, int src, int dst,
                      const layout *l, char *at)
{
    const int P = plan->spec.P;
    const int iteration = plan->index * RUNS + run;
    const size_t bytes = plan->matrix[run][src * P + dst];
    const bool combines =
        plan->spec.mode == MODE_REVERSE && l == &plan->side[1];

    if (plan->spec.mode == MODE_ARRAYS && bytes > 0) {
        put_arrays(plan, run, src, dst, at);
        return;
    }
    for (size_t i = 0; i < bytes;) {
        char *const element =
            at + (ptrdiff_t)(i / l->type.size) * l->type.extent;
        for (int k = 0; k < l->pieces; k++)
            for (int b = 0; b < l->piece_bytes; b++) {
                char *const to = &element[k * l->stride + b];
                const char is = (char)payload(src, dst, i++, iteration);
                *to = combines ? combined(*to, is) : is;
            }
    }
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Place n blocks in an order of their own with gaps between; returns the size
 * of the buffer. */
static size_t lay_out(int n, const size_t bytes[], const layout *l,
                      uint64_t seed, ptrdiff_t offset[])
{
    int *const order = must(malloc((size_t)n * sizeof *order));
    size_t at = (size_t)(seed % 5);

    for (int i = 0; i < n; i++) {
        const int j = (int)(mix(seed, (uint64_t)i) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < n; i++) {
        const size_t units = bytes[order[i]] / l->type.size;
        /* MPI's own all-to-all wants displacements in whole elements */
        at = (at + (size_t)l->type.extent - 1) / (size_t)l->type.extent *
             (size_t)l->type.extent;
        offset[order[i]] = (ptrdiff_t)at;
        at += units * (size_t)l->type.extent +
              min_size(units, 1) * (size_t)(mix(seed, at) % 4);
    }
    free(order);
    return at + 8;
}

static void memory_make(memory *m, size_t size)
{
    if (size <= m->size)
        return;
    m->data = must(realloc(m->data, size));
    m->wanted = must(realloc(m->wanted, size));
    m->size = size;
}

/* The block is above the bound, or its receiver states another size. */
static bool is_left_out(const sim_plan *plan, int run, int src, int dst)
{
    return plan->matrix[run][src * plan->spec.P + dst] > plan->max_block;
}

/* What the receiver states beside the truth, in elements: -1, 0 or 1. Of blocks
 * of which only the sum is told, all in one direction: lies that make up for each
 * other would not be found. */
static int lie_about(const sim_plan *plan, int run, int src, int dst)
{
    const int P = plan->spec.P;
    const rank_plan *const r = &plan->rank[dst];
    const bool less =
        mix(plan->spec.seed, r->sum[src] ? r->sum[src] : (uint64_t)src) % 2;

    if (!plan->spec.lies || !r->told[src] ||
        mix(plan->spec.seed, (uint64_t)(run * 4096 + src * 64 + dst)) % 3)
        return 0;
    if (!less)
        return 1;
    if (plan->matrix[run][src * P + dst] > 0)
        return -1;
    return r->sum[src] ? 0 : 1;
}

static bool is_lied_about(const sim_plan *plan, int run, int src, int dst)
{
    return lie_about(plan, run, src, dst) != 0;
}

/* Is there a lie in the message that brings the block? */
static bool is_withheld(const sim_plan *plan, int run, int src, int dst)
{
    const uint32_t *const sum = plan->rank[dst].sum;
    bool withheld = is_lied_about(plan, run, src, dst);

    for (int q = 0; sum[src] && q < plan->spec.P; q++)
        withheld = withheld ||
                   (sum[q] == sum[src] && is_lied_about(plan, run, q, dst));
    return withheld;
}

static size_t stated(const sim_plan *plan, int run, int src, int dst)
{
    const size_t bytes = plan->matrix[run][src * plan->spec.P + dst];
    const int lie = lie_about(plan, run, src, dst);

    if (lie < 0)
        return bytes - plan->side[1].type.size;
    return lie > 0 ? bytes + plan->side[1].type.size : bytes;
}

/* Blocks that are combined arrive in the landing. */
static void land(sim_plan *plan, rank_plan *r)
{
    const int P = plan->spec.P;
    rota_accumulation *a = r->accumulation;

    if (!a && rota_accumulation_make(P, &a) != MPI_SUCCESS)
        abort();
    r->accumulation = a;
    a->what = (rota_operator){.size = mix(plan->spec.seed, 6) % 4 ? 1 : 3,
                              .combine = combine};
    a->straight = a->apart = mix(plan->spec.seed, 8) % 4 > 0;
    r->received = (rota_types){&plan->side[1].type, NULL, 1};
    a->types = &r->received;
    memcpy(a->offset, r->offset + P, (size_t)P * sizeof *a->offset);
    if (rota_accumulation_land(a, P, r->bytes + P, r->offset + P) !=
        MPI_SUCCESS)
        abort();
}

/* Sizes and places of the user's blocks for a run. */
static void set_sides(sim_plan *plan, int rank, int run)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P;
    const uint64_t seed = mix(
        plan->spec.seed,
        (uint64_t)rank * 2 + (varies(&plan->spec) ? (uint64_t)run << 32 : 0));
    size_t size[2];

    for (int q = 0; q < P; q++) {
        r->bytes[rota_src(&r->s, q)] = plan->matrix[run][rank * P + q];
        r->bytes[rota_dst(&r->s, q)] = stated(plan, run, q, rank);
    }
    for (int i = 0; i < 2; i++)
        size[i] = lay_out(P, r->bytes + i * P, &plan->side[i],
                          seed + (uint64_t)i, r->offset + i * P);
    for (int k = 0; k < 2; k++) {
        memory_make(&r->send[k], size[0]);
        memory_make(&r->recv[k], size[1]);
    }
    if (plan->spec.mode == MODE_REVERSE)
        land(plan, r);
}

static void expect(rank_plan *r, rota_note note, size_t size)
{
    if (r->note == ROTA_NOTHING || size > r->note_size)
        r->note_size = size;
    r->note = note;
}

/* As a start does: blocks above the bound are left out, told of if there is a
 * way. Notes what the run should report. */
static void leave_out(sim_plan *plan, int rank, int run)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P;
    const bool told = plan->spec.metadata != ROTA_META_ONCE;

    r->note = r->x.status.note = ROTA_NOTHING;
    r->note_size = 0;
    for (int q = 0; q < P; q++) {
        size_t *const out = &r->bytes[q], *const in = &r->bytes[P + q];
        const size_t sent = *out, comes = plan->matrix[run][q * P + rank];
        if (is_left_out(plan, run, rank, q)) {
            expect(r, ROTA_ABOVE_BOUND, sent);
            rota_status_note(&r->x.status, ROTA_ABOVE_BOUND, q, sent, 0);
            *out = told && q != rank ? sent | ROTA_LEFT_OUT : 0;
        }
        if (is_left_out(plan, run, q, rank)) {
            expect(r, ROTA_ABOVE_BOUND, comes);
            if (!spec_is_exchange(&plan->spec))
                rota_status_note(&r->x.status, ROTA_ABOVE_BOUND, q, *in, 0);
            *in = 0;
        }
        if (is_lied_about(plan, run, q, rank))
            expect(r, ROTA_MISMATCH, 0);
        if (spec_is_exchange(&plan->spec))
            *in = 0;
    }
}

int sim_plan_buffer(const sim_plan *plan, int rank)
{
    return plan->spec.mode == MODE_REBASE && plan->rank[rank].runs > 0;
}

/* From the receive buffer to the block of rank q. */
static ptrdiff_t received_at(const rank_plan *r, int q)
{
    return r->accumulation ? r->accumulation->offset[q]
                           : r->offset[rota_dst(&r->s, q)];
}

/* Fresh data to send; junk where data will arrive. What should be there in
 * the end is written into wanted. */
static void fill(sim_plan *plan, int rank)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P, run = r->runs, k = sim_plan_buffer(plan, rank);
    const bool in_place = plan->spec.mode == MODE_IN_PLACE;
    memory *const out = &r->send[k], *const in = &r->recv[k];

    memset(out->data, GAP_BYTE, out->size);
    memset(in->data, GAP_BYTE + run, in->size);
    memcpy(in->wanted, in->data, in->size);
    for (int q = 0; q < P; q++) {
        const int side = in_place ? 1 : 0;
        char *const at = side ? in->data : out->data;
        put_block(plan, run, rank, q, &plan->side[side],
                  at + r->offset[side * P + q]);
        if (!spec_is_exchange(&plan->spec) &&
            !is_left_out(plan, run, q, rank) &&
            !is_withheld(plan, run, q, rank))
            put_block(plan, run, q, rank, &plan->side[1],
                      in->wanted + received_at(r, q));
    }
    memcpy(out->wanted, out->data, out->size);
    if (plan->spec.parts) { /* sim_plan_go_on will write it */
        memset(out->data, GAP_BYTE, out->size);
        memset(r->made, 0, (size_t)P * sizeof *r->made);
    }
}

static const char *differs(const memory *m, const char *what)
{
    return memcmp(m->data, m->wanted, m->size) == 0 ? NULL : what;
}

static bool guards_intact(const rank_plan *r)
{
    for (size_t i = 0; i < GUARD; i++)
        if (r->scratch_room[i] != GUARD_BYTE ||
            r->scratch_room[GUARD + r->scratch.bytes + i] != GUARD_BYTE)
            return false;
    return true;
}

/* ---- making -------------------------------------------------------------- */

/* Do receivers know sizes that nevertheless are told? */
static bool knows_counts(const spec *c)
{
    return varies(c) && !spec_is_exchange(c) && c->metadata != ROTA_META_ONCE;
}

static uint32_t count_landing(const rank_plan *r, uint32_t m)
{
    const rota_msgs *const l = &r->s.msgs[ROTA_RECV];
    uint32_t n = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        n += rota_block_region(&r->s, l->item[i]) == ROTA_DST;
    return n;
}

/* Which blocks reach their destination in a message with a header? */
static void find_told(const sim_plan *plan, rank_plan *r)
{
    const rota_msgs *const l = &r->s.msgs[ROTA_RECV];

    r->told = must(calloc((size_t)plan->spec.P, sizeof *r->told));
    r->sum = must(calloc((size_t)plan->spec.P, sizeof *r->sum));
    for (uint32_t m = 0; m < l->n; m++) {
        const bool sums = knows_counts(&plan->spec) && count_landing(r, m) > 1;
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
            if (rota_block_region(&r->s, l->item[i]) != ROTA_DST)
                continue;
            const uint32_t src = rota_block_slot(&r->s, l->item[i]);
            r->told[src] = !rota_msg_is_direct(&r->s, ROTA_RECV, m);
            r->sum[src] = sums ? m + 1 : 0;
        }
    }
}

static int build_sparse(rota_sched *s)
{
    rota_sparse_begin(s);
    return rota_sched_end(s);
}

static bool build(sim_plan *plan, char *text)
{
    const spec *const c = &plan->spec;
    rota_topo topo = shape_topo(c->shape, c->P);
    bool good = true;

    for (int q = 0; q < c->P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        good = ok(rota_sched_init(&r->s, c->P, q), text, q, "init") &&
               ok(is_sparse(c) ? build_sparse(&r->s)
                               : c->algo->build(&topo, &c->params, &r->s),
                  text, q, "build");
        r->s.by_datatype = c->params.by_datatype;
        find_told(plan, r);
        r->bytes = must(calloc(r->s.n_blocks, sizeof *r->bytes));
        r->offset = must(calloc(r->s.n_blocks, sizeof *r->offset));
    }
    rota_topo_free(&topo);
    return good;
}

static bool all_learnt(sim_plan *plan, char *text)
{
    const int P = plan->spec.P;

    for (int64_t sweeps = 0; sweeps < 1000000; sweeps++) {
        bool done = true;
        for (int q = 0; q < P && done; q++)
            done = !rota_exec_is_active(&plan->rank[q].sizes.x);
        if (done)
            return true;
        rota_exec_test(&plan->rank[0].sizes.x, &done);
    }
    return tell(text, 0, "learning sizes hangs");
}

static bool sizes_are_right(const sim_plan *plan, int rank)
{
    const rank_plan *const r = &plan->rank[rank];
    const size_t *const cell = r->sizes.cell;
    const int P = plan->spec.P;

    for (int q = 0; q < P; q++)
        if (cell[rota_src(&r->s, q)] != plan->matrix[0][rank * P + q] ||
            cell[rota_dst(&r->s, q)] != plan->matrix[0][q * P + rank])
            return false;
    return true;
}

/* Learn the sizes of all blocks, all ranks together. */
static bool learn(sim_plan *plan, char *text)
{
    const int P = plan->spec.P;
    bool good = true;

    for (int q = 0; q < P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        good = ok(rota_sizes_init(&r->sizes, &r->s, fakempi_comm(0, q),
                                  plan->index * PLAN_TAGS,
                                  plan->matrix[0] + q * P),
                  text, q, "rota_sizes_init") &&
               ok(rota_exec_start(&r->sizes.x), text, q, "start of sizes");
    }
    good = good && all_learnt(plan, text);
    for (int q = 0; q < P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        good =
            ok(r->sizes.x.status.err, text, q, "learning sizes") &&
            (sizes_are_right(plan, q) || tell(text, q, "learnt wrong sizes"));
        memcpy(r->bytes, r->sizes.cell, r->s.n_blocks * sizeof *r->bytes);
    }
    for (int q = 0; q < P; q++)
        if (plan->rank[q].sizes.cell)
            rota_sizes_free(&plan->rank[q].sizes);
    return good;
}

/* Which blocks land where they are received, all ranks together. */
static bool learn_landing(sim_plan *plan, char *text)
{
    const int P = plan->spec.P;
    size_t *const label = must(malloc((size_t)P * sizeof *label));
    bool good = true;

    for (int q = 0; q < P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        rota_sizes_label(P, q, label);
        good = ok(rota_sizes_init(&r->sizes, &r->s, fakempi_comm(0, q),
                                  plan->index * PLAN_TAGS, label),
                  text, q, "rota_sizes_init") &&
               ok(rota_exec_start(&r->sizes.x), text, q, "start of labels");
    }
    free(label);
    good = good && all_learnt(plan, text);
    for (int q = 0; q < P; q++) {
        rank_plan *const r = &plan->rank[q];
        good = good && ok(rota_sizes_landing(&r->sizes, r->landing), text, q,
                          "rota_sizes_landing");
        if (r->sizes.cell)
            rota_sizes_free(&r->sizes);
    }
    return good;
}

/* Of what lands in a message with others the sum is told, of the rest each size.
 */
static bool headers_are_right(const sim_plan *plan, char *text)
{
    size_t sent = 0, cells = 0;

    for (int q = 0; q < plan->spec.P; q++) {
        const rank_plan *const r = &plan->rank[q];
        const rota_msgs *const l = &r->s.msgs[ROTA_RECV];
        sent += rota_sized_told(&r->x);
        for (uint32_t m = 0; m < l->n; m++) {
            const uint32_t n = l->msg[m + 1].first - l->msg[m].first;
            const uint32_t land = count_landing(r, m);
            if (!rota_msg_is_direct(&r->s, ROTA_RECV, m))
                cells += land > 1 ? n - land + 1 : n;
        }
    }
    return sent == cells * sizeof(size_t) ||
           tell(text, 0, "headers of another length");
}

static bool check(const sim_plan *plan, bool with_sizes, char *text)
{
    const int P = plan->spec.P;
    const rota_sched **const set = must(malloc((size_t)P * sizeof *set));
    const size_t **const bytes = must(malloc((size_t)P * sizeof *bytes));

    for (int q = 0; q < P; q++) {
        set[q] = &plan->rank[q].s;
        bytes[q] = plan->rank[q].bytes;
    }
    const int err = rota_sched_check(set, P, with_sizes ? bytes : NULL);
    free(set);
    free(bytes);
    return ok(err, text, 0, "rota_sched_check");
}

static bool fold(sim_plan *plan, char *text)
{
    const spec *const c = &plan->spec;
    bool good = true;

    if (c->algo->sizes == ROTA_SIZES_LEARNT && !learn(plan, text))
        return false;
    for (int q = 0; q < c->P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        set_sides(plan, q, 0);
        rota_sched_pad(&r->s, largest(plan, 1), r->bytes);
        rota_sched_fold(&r->s, r->bytes);
        good = ok(rota_sched_place(&r->s, r->bytes, r->offset, &r->scratch),
                  text, q, "rota_sched_place");
    }
    return good && check(plan, true, text);
}

static int place_parcels(const sim_plan *plan, rank_plan *r)
{
    rota_sizing sizing = {.parcels = true};
    rota_exec x = {.blocks = {.s = &r->s, .offset = r->offset},
                   .sizing = &sizing,
                   .max_block = plan->max_block};

    return rota_parcels_place(&x, &r->scratch.bytes);
}

/* Where sizes are not known before a run, only padded blocks stay in scratch. */
static bool make_scratch(sim_plan *plan, char *text)
{
    bool good = true;

    for (int q = 0; q < plan->spec.P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        rota_sched_pad(&r->s, plan->max_block, r->bytes);
        if (plan->spec.params.parcels)
            good = ok(place_parcels(plan, r), text, q, "rota_parcels_place");
        else
            good = ok(rota_sched_place(&r->s, r->bytes, r->offset, &r->scratch),
                      text, q, "rota_sched_place");
    }
    return good;
}

/* ---- nodes --------------------------------------------------------------- */

/* Ranks of a node do not follow each other. */
static int node_of(const sim_plan *plan, int rank)
{
    return (int)(mix(plan->spec.seed, (uint64_t)rank) %
                 (uint64_t)plan->spec.nodes);
}

/* All ranks are in this process, whose arena all of them have: each rank's own
 * part of it is what it allocates. */
static void make_nodes(sim_plan *plan)
{
    const int P = plan->spec.P;
    rota_arena_address address;

    if (rota_arena_open(&address) != MPI_SUCCESS)
        abort();
    plan->near = must(calloc((size_t)plan->spec.nodes, sizeof *plan->near));
    for (int i = 0; i < plan->spec.nodes; i++) {
        plan->near[i] = must(calloc((size_t)P, sizeof *plan->near[i]));
        for (int k = 0; k < P; k++)
            plan->near[i][k] = (rota_near){
                .peer = rota_arena_self(),
                .endpoints = must(calloc((size_t)P, sizeof(rota_endpoint)))};
    }
}

static void free_nodes(sim_plan *plan)
{
    for (int i = 0; plan->near && i < plan->spec.nodes; i++) {
        for (int k = 0; k < plan->spec.P; k++)
            free(plan->near[i][k].endpoints);
        free(plan->near[i]);
    }
    free(plan->near);
}

/* Each rank by itself. */
static int join_groups(const sim_plan *plan, rank_plan *r)
{
    const int P = plan->spec.P, me = r->s.me;
    rota_groups g = {.n = P, .size = 1, .leader = me};

    for (int d = 1; d < P; d *= 2)
        g.rounds++;
    g.to = must(malloc((2 * (size_t)g.rounds + 1) * sizeof *g.to));
    g.from = g.to + g.rounds;
    for (int i = 0, d = 1; d < P; i++, d *= 2) {
        g.to[i] = (me + d) % P;
        g.from[i] = (me + P - d) % P;
    }
    return rota_sparse_make(&r->x, &g, NULL);
}

/* Messages of few bytes may be copied by the receiver, as only long ones are
 * in earnest. */
static void join_node(sim_plan *plan, int rank)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P, mine = node_of(plan, rank);
    const uint64_t chance = mix(plan->spec.seed, 11);

    r->node = (rota_node){.near = plan->near[mine],
                          .of = must(malloc((size_t)P * sizeof(int)))};
    for (int q = 0; q < P; q++) {
        r->node.me = q == rank ? r->node.n : r->node.me;
        r->node.of[q] = node_of(plan, q) == mine ? r->node.n++ : -1;
    }
    const size_t threshold = chance % 2 ? 2048 : 24;
    r->reach = (rota_reach){.node = &r->node,
                            .arena_threshold = threshold,
                            .saving_threshold = threshold,
                            .attach_threshold = SIZE_MAX};
}

/* By datatype nothing is packed, provided that data are plain bytes. */
static bool packs_in_vain(const sim_plan *plan, int rank)
{
    return plan->spec.params.by_datatype && sim_plan_is_persistent(plan) &&
           plan->spec.nodes == 0 && !plan->spec.typed &&
           plan->rank[rank].x.program.area_bytes > 0;
}

/* As rota_accumulate_make does. */
static void combine_blocks(rank_plan *r)
{
    rota_accumulation *const a = r->accumulation;

    a->into = r->recv[0].data;
    r->x.accumulation = a;
    r->x.blocks.types[ROTA_DST] = rota_types_bytes;
    r->x.blocks.base[ROTA_DST] = a->landing;
}

static bool reserve(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const bool in_place = plan->spec.mode == MODE_IN_PLACE;

    /* Of all runs, so that no buffer moves later. */
    for (int run = varies(&plan->spec) ? RUNS - 1 : 0; run >= 0; run--)
        set_sides(plan, rank, run);
    if (plan->spec.metadata == ROTA_META_FUSED && plan->max_block < SIZE_MAX)
        fakempi_let_fall_short(0, plan->index * PLAN_TAGS);
    const size_t room = r->scratch.bytes + 2 * GUARD;
    r->scratch_room =
        must(plan->spec.nodes > 0 ? rota_arena_alloc(room) : malloc(room));
    memset(r->scratch_room, GUARD_BYTE, r->scratch.bytes + 2 * GUARD);
    r->stage = must(malloc(r->send[0].size));
    r->x = (rota_exec){
        .blocks = {.s = &r->s,
                   .types = {in_place
                                 ? rota_types_bytes
                                 : (rota_types){&plan->side[0].type, NULL, 1},
                             {&plan->side[1].type, NULL, 1},
                             rota_types_bytes},
                   .base = {in_place ? r->stage : r->send[0].data,
                            r->recv[0].data, r->scratch_room + GUARD},
                   .bytes = r->bytes,
                   .offset = r->offset},
        .comm = fakempi_comm(0, rank),
        .tag = plan->index * PLAN_TAGS,
        .native = fakempi_comm(1 + plan->index, rank),
        .fixed = sim_plan_is_persistent(plan),
        .max_block = plan->max_block,
        .counts_unknown = spec_is_exchange(&plan->spec),
        .stage_in = in_place,
    };
    r->sizing = (rota_sizing){
        .metadata = plan->spec.metadata,
        .parcels = plan->spec.params.parcels,
        .landing = {r->landing[ROTA_RECV], r->landing[ROTA_SEND]}};
    if (plan->spec.metadata != ROTA_META_ONCE)
        r->x.sizing = &r->sizing;
    if (r->accumulation)
        combine_blocks(r);
    if (rota_has_parcels(&r->x))
        rota_parcels_make(&r->x);
    if (is_sparse(&plan->spec))
        return ok(join_groups(plan, r), text, rank, "rota_sparse_make");
    if (plan->spec.nodes == 0)
        return true;
    rota_refusal refusal;
    join_node(plan, rank);
    return ok(rota_exec_reserve(&r->x, &r->reach, &refusal), text, rank,
              "reserve") &&
           (refusal == ROTA_REFUSED_NOTHING ||
            tell(text, rank, "no room in shared memory"));
}

static bool bind(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];

    if (!rota_exec_attach(&r->x))
        return tell(text, rank, "memory that cannot be mapped");
    if (plan->spec.parts) {
        r->made = must(calloc((size_t)plan->spec.P, sizeof *r->made));
        if (!ok(rota_parts_make(&r->x), text, rank, "rota_parts_make"))
            return false;
    }
    return ok(rota_exec_bind(&r->x), text, rank, "rota_exec_bind") &&
           (!packs_in_vain(plan, rank) ||
            tell(text, rank, "packs what MPI could gather"));
}

static bool has_equal_blocks(pattern p)
{
    return p == UNIFORM || p == ONE_BYTE || p == ALL_ZERO;
}

/* Modes and patterns that the algorithm is for. */
static void adapt_mode(spec *c)
{
    const bool padded = c->algo->sizes == ROTA_SIZES_PADDED;

    if (c->mode == MODE_ARRAYS && is_sparse(c))
        c->mode = MODE_EXCHANGE;
    if (c->mode == MODE_ARRAYS) { /* whose blocks are gathered by the start */
        c->typed = false;
        c->parts = false;
    }
    if (c->algo->uniform && varies(c))
        c->mode = MODE_FIXED;
    if (c->algo->uniform && !has_equal_blocks(c->pattern))
        c->pattern = UNIFORM;
    if (spec_is_exchange(c) && (c->algo->native || padded))
        c->mode = MODE_VARYING;
    if (!varies(c))
        c->bound = BOUND_NONE;
    else if (padded && c->bound == BOUND_NONE)
        c->bound = BOUND_ALL;
}

/* Turn what no plan is made with into what some plan is. */
static void adapt(spec *c)
{
    const rota_algo *const algo = c->algo;
    const bool learnt = algo->sizes == ROTA_SIZES_LEARNT;

    adapt_mode(c);
    if (learnt ? varies(c) : spec_is_exchange(c)) {
        if (c->metadata == ROTA_META_ONCE)
            c->metadata = algo->metadata ? algo->metadata : ROTA_META_FUSED;
    } else if (!learnt) {
        c->metadata = ROTA_META_ONCE;
    }
    c->params.sized = c->metadata != ROTA_META_ONCE;
    if (is_sparse(c)) {
        c->metadata = ROTA_META_ONCE;
        c->bound = BOUND_NONE;
        c->typed = false;
    }
    c->params.parcels =
        c->metadata == ROTA_META_FUSED && c->bound != BOUND_NONE;
    if (c->mode == MODE_UNITS) {
        c->typed = false;
        c->bound = c->bound == BOUND_SOME ? BOUND_ALL : c->bound;
    }
    c->lies =
        c->lies && learnt && c->mode == MODE_VARYING && c->bound != BOUND_SOME;
    c->parts = c->parts && c->mode != MODE_IN_PLACE &&
               c->mode != MODE_REVERSE && !is_sparse(c);
    c->params.by_datatype =
        algo->by_datatype || (c->params.by_datatype && !varies(c) &&
                              (algo->params & ROTA_P_PACKING));
}

bool sim_plan_make(sim_plan *plan, const spec *spec, int index, char *text)
{
    const int P = spec->P;

    *plan = (sim_plan){.spec = *spec, .index = index};
    adapt(&plan->spec);
    choose_layouts(plan);
    plan->rank = must(calloc((size_t)P, sizeof *plan->rank));
    for (int run = 0; run < RUNS; run++)
        plan->matrix[run] = matrix_of(&plan->spec, &plan->side[0], run);
    plan->max_block = max_block(plan);
    bool good = build(plan, text);
    if (good)
        good = sim_plan_is_persistent(plan)
                   ? fold(plan, text)
                   : (is_sparse(&plan->spec) || check(plan, false, text)) &&
                         make_scratch(plan, text);
    if (good && knows_counts(&plan->spec))
        good = learn_landing(plan, text);
    if (plan->spec.nodes > 0)
        make_nodes(plan);
    for (int q = 0; q < P && good; q++)
        good = reserve(plan, q, text);
    for (int q = 0; q < P && good; q++)
        good = bind(plan, q, text);
    if (good && knows_counts(&plan->spec))
        good = headers_are_right(plan, text);
    return good;
}

static void memory_free(memory *m)
{
    free(m->data);
    free(m->wanted);
}

void sim_plan_free(sim_plan *plan)
{
    for (int q = 0; q < plan->spec.P; q++) {
        rank_plan *const r = &plan->rank[q];
        if (r->x.blocks.s)
            rota_exec_unbind(&r->x);
        rota_accumulation_free(r->accumulation);
        rota_sched_free(&r->s);
        free(r->bytes);
        free(r->offset);
        for (int k = 0; k < 2; k++) {
            memory_free(&r->send[k]);
            memory_free(&r->recv[k]);
        }
        free(r->told);
        free(r->sum);
        free(r->made);
        free(r->landing[ROTA_RECV]);
        free(r->landing[ROTA_SEND]);
        free(r->stage);
        if (plan->spec.nodes > 0)
            rota_arena_free(r->scratch_room);
        else
            free(r->scratch_room);
        free(r->node.of);
    }
    free_nodes(plan);
    free(plan->rank);
    for (int run = 0; run < RUNS; run++)
        free(plan->matrix[run]);
    *plan = (sim_plan){0};
}

/* ---- running ------------------------------------------------------------- */

/* What a sparse exchange sends. */
static int name_blocks(const sim_plan *plan, int rank)
{
    rank_plan *const r = &plan->rank[rank];
    rota_sparse_block *block;
    size_t n = 0;

    ROTA_TRY(rota_sparse_blocks(&r->x, (size_t)plan->spec.P, &block));
    for (int q = 0; q < plan->spec.P; q++) {
        const size_t bytes = r->bytes[rota_src(&r->s, q)];
        if (bytes > 0)
            block[n++] = (rota_sparse_block){
                q, bytes, r->send[0].data + r->offset[rota_src(&r->s, q)]};
    }
    return rota_sparse_blocks(&r->x, n, &block); /* their final number */
}

bool sim_plan_start(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const int k = sim_plan_buffer(plan, rank);

    if (varies(&plan->spec))
        set_sides(plan, rank, r->runs);
    fill(plan, rank);
    leave_out(plan, rank, r->runs);
    if (plan->spec.mode == MODE_REBASE && r->runs == 1 &&
        !ok(rota_exec_rebase(&r->x, r->send[k].data, r->recv[k].data), text,
            rank, "rota_exec_rebase"))
        return false;
    if (is_sparse(&plan->spec) &&
        !ok(name_blocks(plan, rank), text, rank, "rota_sparse_blocks"))
        return false;
    r->running = true;
    return ok(rota_exec_start(&r->x), text, rank, "rota_exec_start");
}

/* Write a send block of the run under way. */
static void write_block(sim_plan *plan, int rank, int q)
{
    rank_plan *const r = &plan->rank[rank];

    r->made[q] = true;
    put_block(plan, r->runs, rank, q, &plan->side[0],
              r->send[sim_plan_buffer(plan, rank)].data + r->offset[q]);
}

/* Write the first block from q on that is not ready, and say that it is. */
static bool make_ready(sim_plan *plan, int rank, int q, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P;

    for (int i = 0; i < P; i++, q = (q + 1) % P) {
        if (r->made[q])
            continue;
        write_block(plan, rank, q);
        return ok(rota_parts_ready(&r->x, q, q), text, rank,
                  "rota_parts_ready");
    }
    return true;
}

/* Is all of a block there that is said to have arrived? */
static bool arrived_rightly(const sim_plan *plan, int rank, int src)
{
    const rank_plan *const r = &plan->rank[rank];
    const memory *const in = &r->recv[sim_plan_buffer(plan, rank)];
    const rota_block b = rota_dst(&r->s, src);
    const layout *const l = &plan->side[1];
    const size_t n = rota_cell_bytes(r->bytes[b]) / l->type.size;
    const size_t all = n * (size_t)l->type.extent;

    return spec_is_exchange(&plan->spec) || plan->spec.lies || n == 0 ||
           !rota_parts_arrived(&r->x, src) ||
           memcmp(in->data + r->offset[b], in->wanted + r->offset[b],
                  all - (size_t)(l->type.extent - l->type.ub)) == 0;
}

bool sim_plan_go_on(sim_plan *plan, int rank, uint64_t chance, char *text)
{
    const int P = plan->spec.P;

    if (!plan->spec.parts || chance % 2)
        return true;
    return (arrived_rightly(plan, rank, (int)(chance / 2 % (uint64_t)P)) ||
            tell(text, rank, "a block is not what arrived")) &&
           make_ready(plan, rank, (int)(chance / 1024 % (uint64_t)P), text);
}

/* The blocks that a sparse exchange has found: those with bytes, by rank. */
static const char *compare_sparse(const sim_plan *plan, int rank)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P, iteration = plan->index * RUNS + r->runs;
    const rota_sparse_block *found;
    size_t n, k = 0;

    if (rota_sparse_found(&r->x, &found, &n) != MPI_SUCCESS)
        return "found nothing";
    for (int src = 0; src < P; src++) {
        const size_t bytes = plan->matrix[r->runs][src * P + rank];
        if (bytes == 0)
            continue;
        if (k == n || found[k].rank != src || found[k].bytes != bytes)
            return "found other blocks";
        for (size_t i = 0; i < bytes; i++)
            if ((unsigned char)found[k].data[i] !=
                payload(src, rank, i, iteration))
                return "found wrong data";
        k++;
    }
    rota_sparse_finish(&r->x);
    return k == n ? NULL : "found too many blocks";
}

/* The data of a block that was found. */
static const char *compare_data(const sim_plan *plan, int src, int dst,
                                const char *block, size_t bytes)
{
    const int iteration = plan->index * RUNS + plan->rank[dst].runs;

    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)block[i] != payload(src, dst, i, iteration))
            return "found wrong data";
    return NULL;
}

/* The parts of a block that was found, which has bytes. */
static const char *compare_parts(const sim_plan *plan, int src, int dst,
                                 const char *block, size_t bytes)
{
    const spec *const c = &plan->spec;
    const int run = plan->rank[dst].runs;
    size_t at = rota_array_head(n_arrays(c));

    for (int array = 0; array < n_arrays(c); array++) {
        const size_t n = rota_array_told(block, array) * width_of(c, array);
        if (rota_array_told(block, array) !=
            count_between(c, array, run, src, dst))
            return "found a wrong count";
        for (size_t i = 0; i < n; i++)
            if (block[at + i] != part_is(plan, array, run, src, dst, i))
                return "found a wrong part";
        at += rota_array_padded(n);
    }
    return at == bytes ? NULL : "found too many bytes";
}

/* The blocks that an exchange has found, end to end without gaps. */
static const char *compare_found(const sim_plan *plan, int rank)
{
    const rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P;
    const char *wrong = NULL;

    for (int src = 0; src < P && !wrong; src++) {
        const rota_block b = rota_dst(&r->s, src);
        const bool out = is_left_out(plan, r->runs, src, rank);
        const size_t bytes = out ? 0 : plan->matrix[r->runs][src * P + rank];
        const char *const block = r->x.blocks.place[b];
        if (src == rank) /* it never moves */
            continue;
        if (r->bytes[b] != bytes)
            wrong = "found a wrong size";
        else if (bytes > 0)
            wrong = plan->spec.mode == MODE_ARRAYS
                        ? compare_parts(plan, src, rank, block, bytes)
                        : compare_data(plan, src, rank, block, bytes);
    }
    return wrong;
}

/* Of several blocks only the sum is known to be wrong. */
static bool is_sum_of_lies(const sim_plan *plan, int rank)
{
    const rank_plan *const r = &plan->rank[rank];
    const rota_msgs *const l = &r->s.msgs[ROTA_RECV];
    const int P = plan->spec.P;

    for (uint32_t m = 0; m < l->n; m++) {
        size_t sent = 0, expected = 0;
        for (int q = 0; q < P; q++)
            if (r->sum[q] == m + 1) {
                sent += plan->matrix[r->runs][q * P + rank];
                expected += stated(plan, r->runs, q, rank);
            }
        if (r->x.status.peer == l->msg[m].peer && r->x.status.sent == sent &&
            r->x.status.expected == expected && sent != expected)
            return true;
    }
    return false;
}

static bool note_is_right(const sim_plan *plan, int rank)
{
    const rank_plan *const r = &plan->rank[rank];
    const rota_exec *const x = &r->x;
    const int run = r->runs, q = x->status.peer, P = plan->spec.P;

    if (x->status.note != r->note)
        return false;
    if (x->status.note == ROTA_ABOVE_BOUND)
        return x->status.sent == r->note_size &&
               (plan->matrix[run][q * P + rank] == r->note_size ||
                plan->matrix[run][rank * P + q] == r->note_size);
    return x->status.note == ROTA_NOTHING ||
           (is_lied_about(plan, run, q, rank) &&
            x->status.sent == plan->matrix[run][q * P + rank] &&
            x->status.expected == stated(plan, run, q, rank)) ||
           is_sum_of_lies(plan, rank);
}

/* Where partners are found by consensus: messages that have something, and
 * those of a barrier. */
static void count_sparse(sim_plan *plan, const rank_plan *r)
{
    const int P = plan->spec.P;

    for (int q = 0; q < P; q++)
        plan->messages += q != r->s.me && r->bytes[rota_src(&r->s, q)] != 0;
    for (int distance = 1; distance < P; distance *= 2)
        plan->messages++;
}

/* Add the messages that a rank's run has to send: one for each in the
 * schedule that has bytes, or with sizes to tell as their form has it. Not
 * those that go through shared memory. */
static void count_sent(sim_plan *plan, const rank_plan *r)
{
    const rota_metadata metadata = plan->spec.metadata;
    const rota_msgs *const l = &r->s.msgs[ROTA_SEND];

    if (is_sparse(&plan->spec)) {
        count_sparse(plan, r);
        return;
    }
    for (uint32_t m = 0; m < l->n && !plan->spec.algo->native; m++) {
        const bool header = metadata != ROTA_META_ONCE &&
                            (spec_is_exchange(&plan->spec) ||
                             !rota_msg_is_direct(&r->s, ROTA_SEND, m));
        size_t bytes = 0;
        if (rota_path_lines.carries(&r->x, ROTA_SEND, m))
            continue;
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
            bytes += rota_cell_bytes(r->bytes[l->item[i]]);
        plan->messages +=
            bytes > 0 || (header && metadata != ROTA_META_TWO_PHASE);
        plan->messages += header && metadata != ROTA_META_FUSED;
    }
}

fakempi_counts sim_plan_counts(const sim_plan *plan)
{
    fakempi_counts sum = {0};

    for (int i = 0; i < PLAN_TAGS; i++) {
        const fakempi_counts c = fakempi_counts_of(plan->index * PLAN_TAGS + i);
        sum.inits += c.inits;
        sum.posts += c.posts;
        sum.starts += c.starts;
        sum.sent += c.sent;
        sum.bytes += c.bytes;
    }
    return sum;
}

/* A run by parts may end before blocks that are left out are ready: write those.
 * Returns whether all others were. */
static bool write_rest(sim_plan *plan, int rank)
{
    const rank_plan *const r = &plan->rank[rank];

    for (int q = 0; plan->spec.parts && q < plan->spec.P; q++) {
        if (r->made[q])
            continue;
        if (rota_cell_bytes(r->bytes[rota_src(&r->s, q)]) > 0)
            return false;
        write_block(plan, rank, q);
    }
    return true;
}

bool sim_plan_finish(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const int k = sim_plan_buffer(plan, rank);
    if (!write_rest(plan, rank))
        return tell(text, rank, "complete before all blocks were ready");
    const char *wrong = differs(&r->recv[k], "receive buffer differs");

    if (!wrong && spec_is_exchange(&plan->spec))
        wrong = is_sparse(&plan->spec) ? compare_sparse(plan, rank)
                                       : compare_found(plan, rank);

    if (!wrong)
        wrong = differs(&r->send[k], "send buffer was changed");
    if (!wrong && !guards_intact(r))
        wrong = "scratch was written beyond its ends";
    if (!wrong && !note_is_right(plan, rank))
        wrong = "notes what it should not, or not what it should";
    count_sent(plan, r);
    r->running = false;
    r->runs++;
    if (!ok(r->x.status.err, text, rank, "the run"))
        return false;
    return !wrong || tell(text, rank, wrong);
}
