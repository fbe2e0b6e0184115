/* test_place.c - where rota_sched_place puts temporary blocks, against a map of
 * the bytes of scratch that says whose each is.
 *
 * A schedule is gone through on the map, in the order in which a run may read
 * and write that is worst for it. Whatever is read must be all there. Sizes are
 * made up for each block number: placing looks at one rank and knows nothing of
 * where blocks come from. */
#include "algos/algo.h"
#include "common/pattern.h"
#include "common/quick.h"
#include "common/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_P = 64, LARGEST = 24, MOST_WASTE = 3 };

typedef struct placed {
    rota_sched s;
    size_t *bytes;
    ptrdiff_t *offset;
    rota_scratch scratch;
    rota_block *owner; /* [scratch.bytes] */
} placed;

/* ---- the map ------------------------------------------------------------- */

static bool in_scratch(const placed *w, rota_block b)
{
    return rota_block_region(&w->s, b) == ROTA_TMP;
}

static void write_block(placed *w, rota_block b)
{
    if (!in_scratch(w, b))
        return;
    assert_true(w->offset[b] >= 0);
    assert_true((size_t)w->offset[b] + w->bytes[b] <= w->scratch.bytes);
    for (size_t i = 0; i < w->bytes[b]; i++)
        w->owner[(size_t)w->offset[b] + i] = b;
}

static void read_block(placed *w, rota_block b)
{
    for (size_t i = 0; in_scratch(w, b) && i < w->bytes[b]; i++)
        assert_int_equal(w->owner[(size_t)w->offset[b] + i], b);
}

static void each_in(placed *w, uint32_t phase, rota_dir dir,
                    void (*use)(placed *w, rota_block b))
{
    const rota_msgs *const l = &w->s.msgs[dir];
    const rota_phase *const p = &w->s.phase[phase];

    for (uint32_t i = l->msg[p->msg[dir]].first;
         i < l->msg[p[1].msg[dir]].first; i++)
        use(w, l->item[i]);
}

/* Make the copies, or look whether both ends of all are intact. */
static void copies(placed *w, uint32_t phase, bool make)
{
    for (uint32_t c = w->s.phase[phase].copy; c < w->s.phase[phase + 1].copy;
         c++) {
        read_block(w, w->s.copy[c].from);
        if (make)
            write_block(w, w->s.copy[c].to);
        else
            read_block(w, w->s.copy[c].to);
    }
}

/* What is received may arrive at once or at the end. What is sent must stay all the
 * time; in a flow phase, from when it is received. But if all is packed first, what
 * has been sent may be overwritten once copies have been made. */
static void run_phase(placed *w, uint32_t phase)
{
    const rota_phase *const p = &w->s.phase[phase];
    const bool packed_first =
        p->window == 0 && !p->flow && !p->native && !w->s.by_datatype;

    if (!packed_first)
        each_in(w, phase, ROTA_RECV, write_block);
    if (!p->flow) /* or they wait for copies, too */
        each_in(w, phase, ROTA_SEND, read_block);
    copies(w, phase, true);
    each_in(w, phase, ROTA_SEND, read_block);
    if (packed_first)
        each_in(w, phase, ROTA_RECV, write_block);
    copies(w, phase, false);
    each_in(w, phase, ROTA_RECV, read_block);
}

/* MPI's alltoall finds the block of rank q in the q-th place. */
static void check_end_to_end(const placed *w, uint32_t phase)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &w->s.msgs[dir];
        const uint32_t m = w->s.phase[phase].msg[dir];
        for (uint32_t i = m; i < w->s.phase[phase + 1].msg[dir]; i++) {
            const rota_block b = l->item[l->msg[i].first];
            const rota_block first = l->item[l->msg[m].first];
            assert_int_equal(w->offset[b] - w->offset[first],
                             (size_t)l->msg[i].peer * w->bytes[b]);
        }
    }
}

static void run(placed *w)
{
    w->owner = calloc(w->scratch.bytes + 1, sizeof *w->owner);
    assert_non_null(w->owner);
    for (uint32_t p = 0; p < w->s.n_phases; p++) {
        run_phase(w, p);
        if (w->s.phase[p].native == ROTA_NATIVE_ALLTOALL)
            check_end_to_end(w, p);
    }
    free(w->owner);
}

/* ---- what must be there at once ------------------------------------------ */

/* Of all moments: the most bytes of blocks that are used before or at it and at
 * or after it. Moments of a phase: before it has received and after. */
static size_t alive_at_once(const placed *w)
{
    const uint32_t P2 = 2 * (uint32_t)w->s.P, n = w->s.n_blocks - P2;
    const uint32_t n_moments = 2 * w->s.n_phases;
    size_t most = 0;
    char *const used = calloc((size_t)n * n_moments + 1, 1);

    assert_non_null(used);
    for (uint32_t m = 0; m < n_moments; m++) {
        const rota_phase *const p = &w->s.phase[m / 2];
        const bool whole =
            p->window > 0 || p->flow || p->native || w->s.by_datatype;
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            const rota_msgs *const l = &w->s.msgs[dir];
            const bool now = whole || (m % 2 == 0) == (dir == ROTA_SEND);
            for (uint32_t i = l->msg[p->msg[dir]].first;
                 now && i < l->msg[p[1].msg[dir]].first; i++)
                if (l->item[i] >= P2)
                    used[(size_t)m * n + l->item[i] - P2] = 1;
        }
        for (uint32_t c = p->copy; c < p[1].copy; c++) {
            if (w->s.copy[c].from >= P2)
                used[(size_t)m * n + w->s.copy[c].from - P2] = 1;
            if (w->s.copy[c].to >= P2)
                used[(size_t)m * n + w->s.copy[c].to - P2] = 1;
        }
    }
    for (uint32_t b = 0; b < n; b++) { /* fill between first and last use */
        uint32_t first = 0, last = n_moments;
        while (first < n_moments && !used[(size_t)first * n + b])
            first++;
        while (last > first && !used[(size_t)(last - 1) * n + b])
            last--;
        for (uint32_t m = first; m < last; m++)
            used[(size_t)m * n + b] = 1;
    }
    for (uint32_t m = 0; m < n_moments; m++) {
        size_t sum = 0;
        for (uint32_t b = 0; b < n; b++)
            if (used[(size_t)m * n + b] && in_scratch(w, b + P2))
                sum += w->bytes[b + P2];
        most = sum > most ? sum : most;
    }
    free(used);
    return most;
}

/* ---- schedules of algorithms --------------------------------------------- */

typedef enum sizes {
    EQUAL,
    ANY,    /* 0 to LARGEST */
    HOLEY,  /* one in four is not empty */
    SKEWED, /* nearly all small */
    N_SIZES
} sizes;

static size_t size_of(sizes kind, uint64_t draw)
{
    switch (kind) {
    case ANY:
        return draw % (LARGEST + 1);
    case HOLEY:
        return draw % 4 == 0 ? draw / 4 % LARGEST + 1 : 0;
    case SKEWED:
        return draw % 16 == 0 ? LARGEST : draw / 16 % 3;
    default:
        return LARGEST;
    }
}

/* Shared blocks keep their places. */
static size_t all_tmps(const placed *w)
{
    size_t sum = 0;

    for (rota_block b = 2 * (rota_block)w->s.P; b < w->s.n_blocks; b++)
        sum += w->bytes[b];
    return sum;
}

/* Sizes by kind; placed, run, and compared with what must be there. Where sizes
 * differ gaps remain: in all, of less than MOST_WASTE of the largest blocks. */
static void place_and_run(placed *w, sizes kind, uint64_t seed)
{
    const size_t n = w->s.n_blocks;

    w->bytes = malloc(n * sizeof *w->bytes);
    w->offset = calloc(n, sizeof *w->offset);
    assert_true(w->bytes && w->offset);
    for (size_t b = 0; b < n; b++)
        w->bytes[b] = size_of(kind, test_hash(seed + b));
    rota_sched_pad(&w->s, LARGEST, w->bytes);
    rota_sched_fold(&w->s, w->bytes);
    assert_int_equal(rota_sched_place(&w->s, w->bytes, w->offset, &w->scratch),
                     MPI_SUCCESS);
    run(w);
    const size_t least =
        rota_sched_shares(&w->s) ? all_tmps(w) : alive_at_once(w);
    assert_true(w->scratch.bytes >= least);
    if (kind == EQUAL) {
        assert_int_equal(w->scratch.bytes, least);
        assert_int_equal(w->scratch.slots, least / LARGEST);
    }
    assert_true(w->scratch.bytes - least < (size_t)MOST_WASTE * LARGEST);
    free(w->bytes);
    free(w->offset);
}

static void place_algo(const rota_algo *algo, int P, int me, int radix,
                       bool by_datatype, sizes kind)
{
    rota_params params = {.by_datatype = by_datatype};
    rota_topo topo =
        shape_topo(algo->nodes ? (shape)((P + radix) % N_SHAPES) : ONE_NODE, P);
    placed w = {0};

    for (int k = 0; k < ROTA_N_PARAMS; k++)
        *rota_param_of(&params, &rota_param_table[k]) = 2;
    params.batch = 3;
    params.radix = radix;
    assert_int_equal(rota_sched_init(&w.s, P, me), MPI_SUCCESS);
    w.s.by_datatype = by_datatype;
    assert_int_equal(algo->build(&topo, &params, &w.s), MPI_SUCCESS);
    place_and_run(&w, kind, (uint64_t)(P * 4096 + radix * 64 + me) << 20);
    rota_sched_free(&w.s);
    rota_topo_free(&topo);
}

/* Both ways of packing, and the first and the last rank, or one of them. */
static void place_both(const rota_algo *algo, int P, int radix, bool quick)
{
    for (int k = 0; k < 2 * N_SIZES; k++)
        for (int last = 0; last < 2; last++)
            if (!quick || last == (P + radix + k / 2) % 2)
                place_algo(algo, P, last ? P - 1 : 0, radix, k % 2,
                           (sizes)(k / 2));
}

/* For every P up to MAX_P and every radix, or some. */
static void keeps_what_is_alive(void **state)
{
    const bool quick = test_is_quick();

    (void)state;
    for (int i = 0; rota_algo_table[i]; i++) {
        const rota_algo *const algo = rota_algo_table[i];
        const bool radices = algo->params & ROTA_P_RADIX;
        for (int P = 1; P <= MAX_P; P++)
            for (int r = 2; r <= (radices && P > 2 ? P : 2);
                 r += 1 + (quick ? r / 3 : 0))
                place_both(algo, P, r, quick);
    }
}

/* ---- schedules that no algorithm has ------------------------------------- */

/* Phases of every kind; temporary blocks come and go by messages and by copies,
 * and may be read many times. */
static void build_any(rota_sched *s, uint64_t seed)
{
    enum { TMPS = 40, PHASES = 7 };
    rota_block at[TMPS];
    uint32_t written[TMPS];

    assert_int_equal(rota_sched_init(s, 2, 0), MPI_SUCCESS);
    for (uint32_t i = 0; i < TMPS; i++) {
        at[i] = rota_tmp(s, i);
        written[i] = (uint32_t)(test_hash(seed + i) % PHASES);
    }
    for (uint32_t p = 0; p < PHASES; p++) {
        const uint64_t kind = test_hash(seed + 100 + p) % 7;
        if (kind == 0)
            rota_native_begin(s, ROTA_NATIVE_ALLTOALLV);
        else if (kind == 2)
            rota_flow_begin(s);
        else
            rota_phase_begin(s, kind == 1);
        for (uint32_t i = 0; i < TMPS; i++) {
            const uint64_t draw = test_hash(seed + 1000 * (p + 1) + i);
            const bool by_copy = kind > 0 && draw % 3 == 0;
            const bool passed_on = kind == 2 && !by_copy;
            if (p < written[i])
                continue;
            if (p == written[i] && by_copy)
                rota_emit_copy(s, rota_src(s, 0), at[i]);
            else if (p == written[i])
                rota_emit_recv(s, 1, at[i]);
            if (p == written[i] && !passed_on)
                continue;
            if (draw / 3 % 4 == 0 && by_copy)
                rota_emit_copy(s, at[i], rota_dst(s, 0));
            else if (draw / 3 % 4 == 0)
                rota_emit_send(s, 1, at[i]);
        }
    }
    assert_int_equal(rota_sched_end(s), MPI_SUCCESS);
}

static void keeps_it_in_any_schedule(void **state)
{
    (void)state;
    for (int i = 0; i < 4000; i++) {
        placed w = {0};
        build_any(&w.s, (uint64_t)i << 20);
        w.s.by_datatype = i % 2;
        place_and_run(&w, (sizes)(i / 2 % N_SIZES), (uint64_t)i << 40);
        rota_sched_free(&w.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_alive),
        cmocka_unit_test(keeps_it_in_any_schedule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
