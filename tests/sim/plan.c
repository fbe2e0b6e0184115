/* plan.c - see plan.h. */
#include "sim/plan.h"
#include "common/fakempi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 200, GUARD = 64, GUARD_BYTE = 0x5c, GAP_BYTE = 0x3a };

enum { MOST = 48 }; /* elements of the largest block, but huge ones */

const char *const mode_name[N_MODES] = {"fixed", "rebase", "varying",
                                        "in_place"};

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

static size_t bytes_between(const spec *c, const layout *l, int run, int src,
                            int dst)
{
    const uint64_t seed =
        c->mode == MODE_VARYING ? mix(c->seed, (uint64_t)run) : c->seed;

    if (c->mode == MODE_IN_PLACE && src > dst)
        return bytes_between(c, l, run, dst, src);
    return pattern_bytes(c->algo->uniform ? UNIFORM : c->pattern, seed, c->P, 1 + (size_t)(c->seed % MOST),
                         src, dst) *
           l->type.size;
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

/* Both sides have 6 bytes in an element, differently strewn. */
static void choose_layouts(sim_plan *plan)
{
    static const layout bytes = {{MPI_BYTE, 1, 1}, 1, 1, 1};

    plan->side[0] = plan->side[1] = bytes;
    if (!plan->spec.typed)
        return;
    plan->side[0] = (layout){{fakempi_vector(2, 3, 5, 9), 6, 9}, 2, 3, 5};
    plan->side[1] = (layout){{fakempi_vector(3, 2, 4, 12), 6, 12}, 3, 2, 4};
}

/* ---- data ---------------------------------------------------------------- */

/* Write the block that src sends to dst in a run of the plan to at. */
static void put_block(const sim_plan *plan, int run, int src, int dst,
                      const layout *l, char *at)
{
    const int P = plan->spec.P;
    const int iteration = plan->index * RUNS + run;
    const size_t bytes = plan->matrix[run][src * P + dst];

    for (size_t i = 0; i < bytes;) {
        char *const element =
            at + (ptrdiff_t)(i / l->type.size) * l->type.extent;
        for (int k = 0; k < l->pieces; k++)
            for (int b = 0; b < l->piece_bytes; b++)
                element[k * l->stride + b] =
                    (char)payload(src, dst, i++, iteration);
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

/* Sizes and places of the user's blocks for a run. */
static void set_sides(sim_plan *plan, int rank, int run)
{
    rank_plan *const r = &plan->rank[rank];
    const int P = plan->spec.P;
    const uint64_t seed =
        mix(plan->spec.seed,
            (uint64_t)rank * 2 +
                (plan->spec.mode == MODE_VARYING ? (uint64_t)run << 32 : 0));
    size_t size[2];

    for (int q = 0; q < P; q++) {
        r->bytes[rota_src(&r->s, q)] = plan->matrix[run][rank * P + q];
        r->bytes[rota_dst(&r->s, q)] = plan->matrix[run][q * P + rank];
    }
    for (int i = 0; i < 2; i++)
        size[i] = lay_out(P, r->bytes + i * P, &plan->side[i],
                          seed + (uint64_t)i, r->offset + i * P);
    for (int k = 0; k < 2; k++) {
        memory_make(&r->send[k], size[0]);
        memory_make(&r->recv[k], size[1]);
    }
}

int sim_plan_buffer(const sim_plan *plan, int rank)
{
    return plan->spec.mode == MODE_REBASE && plan->rank[rank].runs > 0;
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
        put_block(plan, run, q, rank, &plan->side[1],
                  in->wanted + r->offset[P + q]);
    }
    memcpy(out->wanted, out->data, out->size);
}

static const char *differs(const memory *m, const char *what)
{
    return memcmp(m->data, m->wanted, m->size) == 0 ? NULL : what;
}

static bool guards_intact(const rank_plan *r)
{
    for (size_t i = 0; i < GUARD; i++)
        if (r->scratch_room[i] != GUARD_BYTE ||
            r->scratch_room[GUARD + r->scratch + i] != GUARD_BYTE)
            return false;
    return true;
}

/* ---- making -------------------------------------------------------------- */

static bool build(sim_plan *plan, char *text)
{
    const spec *const c = &plan->spec;
    const rota_topo topo = {.P = c->P, .n_nodes = 1};
    bool good = true;

    for (int q = 0; q < c->P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        good = ok(rota_sched_init(&r->s, c->P, q), text, q, "init") &&
               ok(c->algo->build(&topo, &c->params, &r->s), text, q, "build");
        r->bytes = must(calloc(r->s.n_blocks, sizeof *r->bytes));
        r->offset = must(calloc(r->s.n_blocks, sizeof *r->offset));
    }
    return good;
}

static bool all_learnt(sim_plan *plan, char *text)
{
    const int P = plan->spec.P;

    for (int64_t sweeps = 0; sweeps < 1000000; sweeps++) {
        bool done = true;
        for (int q = 0; q < P && done; q++)
            done = !plan->rank[q].sizes.x.active;
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
                                  plan->index, plan->matrix[0] + q * P),
                  text, q, "rota_sizes_init") &&
               ok(rota_exec_start(&r->sizes.x), text, q, "start of sizes");
    }
    good = good && all_learnt(plan, text);
    for (int q = 0; q < P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        good =
            ok(r->sizes.x.err, text, q, "learning sizes") &&
            (sizes_are_right(plan, q) || tell(text, q, "learnt wrong sizes"));
        memcpy(r->bytes, r->sizes.cell, r->s.n_blocks * sizeof *r->bytes);
    }
    for (int q = 0; q < P; q++)
        if (plan->rank[q].sizes.cell)
            rota_sizes_free(&plan->rank[q].sizes);
    return good;
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

/* Bytes of the largest block in the first run. */
static size_t largest(const sim_plan *plan)
{
    const int P = plan->spec.P;
    size_t most = 0;

    for (int i = 0; i < P * P; i++)
        most = plan->matrix[0][i] > most ? plan->matrix[0][i] : most;
    return most;
}

static bool fold(sim_plan *plan, char *text)
{
    const spec *const c = &plan->spec;
    rota_counts counts;
    bool good = true;

    if (c->algo->sizes == ROTA_SIZES_LEARNT && !learn(plan, text))
        return false;
    for (int q = 0; q < c->P && good; q++) {
        rank_plan *const r = &plan->rank[q];
        set_sides(plan, q, 0);
        rota_sched_pad(&r->s, largest(plan), r->bytes);
        rota_sched_fold(&r->s, r->bytes);
        good = ok(rota_sched_place(&r->s, r->bytes, r->offset, &r->scratch),
                  text, q, "rota_sched_place");
        rota_sched_count(&r->s, NULL, &counts);
        plan->messages += counts.messages;
    }
    return good && check(plan, true, text);
}

static bool bind(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const bool in_place = plan->spec.mode == MODE_IN_PLACE;
    static const rota_type byte = {MPI_BYTE, 1, 1};

    /* A varying plan's largest run: packing areas are made for it. */
    for (int run = plan->spec.mode == MODE_VARYING ? RUNS - 1 : 0; run >= 0;
         run--)
        set_sides(plan, rank, run);
    r->scratch_room = must(malloc(r->scratch + 2 * GUARD));
    memset(r->scratch_room, GUARD_BYTE, r->scratch + 2 * GUARD);
    r->stage = must(malloc(r->send[0].size));
    r->x = (rota_exec){
        .s = &r->s,
        .comm = fakempi_comm(0, rank),
        .tag = plan->index,
        .native = fakempi_comm(1 + plan->index, rank),
        .type = {in_place ? byte : plan->side[0].type, plan->side[1].type,
                 byte},
        .base = {in_place ? r->stage : r->send[0].data, r->recv[0].data,
                 r->scratch_room + GUARD},
        .bytes = r->bytes,
        .offset = r->offset,
        .fixed = plan->spec.mode != MODE_VARYING,
        .stage_in = in_place,
    };
    return ok(rota_exec_bind(&r->x), text, rank, "rota_exec_bind");
}

/* In place, the plan's own send buffer is plain bytes; its layout needs no
 * more room than that of the elements. */
static void adapt(sim_plan *plan)
{
    if (plan->spec.mode == MODE_VARYING &&
        plan->spec.algo->sizes != ROTA_SIZES_STATED)
        plan->spec.mode = MODE_FIXED;
    choose_layouts(plan);
}

bool sim_plan_make(sim_plan *plan, const spec *spec, int index, char *text)
{
    const int P = spec->P;

    *plan = (sim_plan){.spec = *spec, .index = index};
    adapt(plan);
    plan->rank = must(calloc((size_t)P, sizeof *plan->rank));
    for (int run = 0; run < RUNS; run++)
        plan->matrix[run] = matrix_of(&plan->spec, &plan->side[0], run);
    bool good = build(plan, text);
    if (good && plan->spec.mode == MODE_VARYING)
        good = check(plan, false, text);
    else if (good)
        good = fold(plan, text);
    for (int q = 0; q < P && good; q++)
        good = bind(plan, q, text);
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
        if (r->x.s)
            rota_exec_unbind(&r->x);
        rota_sched_free(&r->s);
        free(r->bytes);
        free(r->offset);
        for (int k = 0; k < 2; k++) {
            memory_free(&r->send[k]);
            memory_free(&r->recv[k]);
        }
        free(r->stage);
        free(r->scratch_room);
    }
    free(plan->rank);
    for (int run = 0; run < RUNS; run++)
        free(plan->matrix[run]);
    *plan = (sim_plan){0};
}

/* ---- running ------------------------------------------------------------- */

bool sim_plan_start(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const int k = sim_plan_buffer(plan, rank);

    if (plan->spec.mode == MODE_VARYING)
        set_sides(plan, rank, r->runs);
    fill(plan, rank);
    if (plan->spec.mode == MODE_REBASE && r->runs == 1 &&
        !ok(rota_exec_rebase(&r->x, r->send[k].data, r->recv[k].data), text,
            rank, "rota_exec_rebase"))
        return false;
    r->running = true;
    return ok(rota_exec_start(&r->x), text, rank, "rota_exec_start");
}

bool sim_plan_finish(sim_plan *plan, int rank, char *text)
{
    rank_plan *const r = &plan->rank[rank];
    const int k = sim_plan_buffer(plan, rank);
    const char *wrong = differs(&r->recv[k], "receive buffer differs");

    if (!wrong)
        wrong = differs(&r->send[k], "send buffer was changed");
    if (!wrong && !guards_intact(r))
        wrong = "scratch was written beyond its ends";
    r->running = false;
    r->runs++;
    if (!ok(r->x.err, text, rank, "the run"))
        return false;
    return !wrong || tell(text, rank, wrong);
}
