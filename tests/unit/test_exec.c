/* test_exec.c - windows, completion order and error paths of the executor, on
 * simulated ranks whose messages the test moves one by one. */
#include "algos/algo.h"
#include "check/check.h"
#include "common/fakempi.h"
#include "exec/exec.h"
#include "exec/payload/sized.h"
#include "exec/run/sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8, BLOCK = 4, TAG = 5 };

/* An all-to-all of blocks of BLOCK bytes on P ranks, of which two are a node
 * where that matters. */
typedef struct world {
    int P;
    rota_sched s[MOST];
    rota_exec x[MOST];
    size_t *bytes[MOST];
    ptrdiff_t *offset[MOST];
    char send[MOST][MOST * BLOCK], recv[MOST][MOST * BLOCK];
    char *scratch[MOST];
} world;

static void build(world *w, const rota_algo *algo, int parameter)
{
    const rota_params params = {
        .batch = parameter, .radix = parameter, .leaders = parameter};
    rota_topo topo;

    assert_int_equal(rota_topo_make(&topo, w->P, 2, 1), MPI_SUCCESS);
    for (int q = 0; q < w->P; q++) {
        assert_int_equal(rota_sched_init(&w->s[q], w->P, q), MPI_SUCCESS);
        assert_int_equal(algo->build(&topo, &params, &w->s[q]), MPI_SUCCESS);
    }
    rota_topo_free(&topo);
}

static void prepare(world *w, int q, bool fixed)
{
    rota_sched *const s = &w->s[q];
    rota_scratch scratch;

    w->bytes[q] = malloc(s->n_blocks * sizeof *w->bytes[q]);
    w->offset[q] = malloc(s->n_blocks * sizeof *w->offset[q]);
    assert_true(w->bytes[q] && w->offset[q]);
    for (rota_block b = 0; b < s->n_blocks; b++)
        w->bytes[q][b] = BLOCK;
    for (rota_block b = 0; b < 2 * (rota_block)w->P; b++)
        w->offset[q][b] = (ptrdiff_t)(b % (rota_block)w->P) * BLOCK;
    assert_int_equal(rota_sched_place(s, w->bytes[q], w->offset[q], &scratch),
                     MPI_SUCCESS);
    w->scratch[q] = malloc(scratch.bytes + 1);
    assert_non_null(w->scratch[q]);
    w->x[q] = (rota_exec){
        .blocks = {.s = s,
                   .types = {rota_types_bytes, rota_types_bytes,
                             rota_types_bytes},
                   .base = {w->send[q], w->recv[q], w->scratch[q]},
                   .bytes = w->bytes[q],
                   .offset = w->offset[q]},
        .comm = fakempi_comm(0, q),
        .tag = TAG,
        .native = fakempi_comm(1, q),
        .fixed = fixed,
    };
}

/* Everything but the binding. */
static world *make(const rota_algo *algo, int P, int parameter, bool fixed)
{
    world *const w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->P = P;
    fakempi_reset(P, 1);
    build(w, algo, parameter);
    for (int q = 0; q < P; q++)
        prepare(w, q, fixed);
    return w;
}

static void bind_all(world *w)
{
    for (int q = 0; q < w->P; q++)
        assert_int_equal(rota_exec_bind(&w->x[q]), MPI_SUCCESS);
}

static void fill(world *w)
{
    for (int q = 0; q < w->P; q++) {
        memset(w->recv[q], 0, sizeof w->recv[q]);
        for (int d = 0; d < w->P; d++)
            memset(w->send[q] + d * BLOCK, 16 * q + d + 1, BLOCK);
    }
}

static void start_all(world *w)
{
    fill(w);
    for (int q = 0; q < w->P; q++)
        assert_int_equal(rota_exec_start(&w->x[q]), MPI_SUCCESS);
}

static void sweep(world *w)
{
    bool done;

    rota_exec_test(&w->x[0], &done);
}

static int n_active(const world *w)
{
    int n = 0;

    for (int q = 0; q < w->P; q++)
        n += rota_exec_is_active(&w->x[q]);
    return n;
}

static void assert_delivered(const world *w)
{
    for (int q = 0; q < w->P; q++)
        for (int s = 0; s < w->P; s++)
            for (int i = 0; i < BLOCK; i++)
                assert_int_equal(w->recv[q][s * BLOCK + i], 16 * s + q + 1);
}

/* Let every message through that can go, in no particular order. */
static void run_out(world *w)
{
    for (int n = 0; n_active(w) > 0; n++) {
        assert_true(n < 10000);
        for (int a = 0; a < w->P; a++)
            for (int b = 0; b < w->P; b++)
                fakempi_transfer(a, b);
        sweep(w);
    }
    assert_null(fakempi_fault());
    assert_int_equal(fakempi_pending(), 0);
}

static void finish(world *w)
{
    run_out(w);
    assert_delivered(w);
}

static void discard(world *w)
{
    for (int q = 0; q < w->P; q++) {
        rota_exec_unbind(&w->x[q]);
        rota_sched_free(&w->s[q]);
        free(w->bytes[q]);
        free(w->offset[q]);
        free(w->scratch[q]);
    }
    free(w);
}

/* ---- windows ------------------------------------------------------------- */

static void no_window_posts_everything(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_spread_out, 5, 0, true);
    bind_all(w);
    fakempi_manual();
    start_all(w);
    for (int q = 0; q < 5; q++) {
        assert_int_equal(fakempi_in_flight(q, true), 4);
        assert_int_equal(fakempi_in_flight(q, false), 4);
    }
    finish(w);
    discard(w);
}

static void window_bounds_messages(void **state)
{
    (void)state;
    for (int window = 1; window <= 9; window++)
        for (int fixed = 0; fixed < 2; fixed++) {
            world *const w = make(&rota_algo_multi_pair, 7, window, fixed != 0);
            const int most = window < 6 ? window : 6;
            bind_all(w);
            fakempi_manual();
            start_all(w);
            for (int q = 0; q < 7; q++)
                assert_int_equal(fakempi_in_flight(q, true), most);
            finish(w);
            for (int q = 0; q < 7; q++) {
                assert_int_equal(fakempi_most_in_flight(q, true), most);
                assert_int_equal(fakempi_most_in_flight(q, false), most);
            }
            discard(w);
        }
}

/* Rank 0 awaits 3, 2, 1 in that order, two at a time: when the message from 2
 * arrives first, the receive from 1 is posted at once. */
static void window_is_refilled_in_any_order(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_multi_pair, 4, 2, true);
    bind_all(w);
    fakempi_manual();
    start_all(w);
    assert_true(fakempi_transfer(2, 0));
    assert_false(fakempi_transfer(1, 0));
    assert_true(fakempi_transfer(1, 2)); /* lets 1 send to 0 */
    sweep(w);
    assert_int_equal(fakempi_in_flight(0, false), 2);
    assert_true(fakempi_transfer(1, 0));
    sweep(w);
    assert_int_equal(fakempi_in_flight(0, false), 1);
    assert_true(rota_exec_is_active(&w->x[0]));
    assert_true(fakempi_transfer(3, 0));
    sweep(w);
    assert_int_equal(fakempi_in_flight(0, false), 0);
    finish(w);
    discard(w);
}

/* A batch is complete before the next begins. */
static void batch_is_not_refilled(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_scattered, 5, 2, true);
    bind_all(w);
    fakempi_manual();
    start_all(w);
    assert_true(fakempi_transfer(3, 0)); /* second step */
    assert_true(fakempi_transfer(4, 0)); /* first step */
    assert_true(fakempi_transfer(0, 2));
    sweep(w);
    assert_int_equal(fakempi_in_flight(0, false), 0);
    assert_int_equal(fakempi_in_flight(0, true), 2); /* one seen in order */
    assert_true(fakempi_transfer(0, 1));
    sweep(w);
    assert_int_equal(fakempi_in_flight(0, false), 2);
    assert_int_equal(fakempi_in_flight(0, true), 2);
    finish(w);
    for (int q = 0; q < 5; q++)
        assert_int_equal(fakempi_most_in_flight(q, true), 2);
    discard(w);
}

/* Empty blocks take no place in a window. */
static void window_skips_empty_messages(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_multi_pair, 5, 1, false);
    for (int q = 0; q < 5; q++) { /* only the last step has bytes */
        memset(w->bytes[q], 0, 10 * sizeof *w->bytes[q]);
        w->bytes[q][rota_src(&w->s[q], (q + 4) % 5)] = BLOCK;
        w->bytes[q][rota_dst(&w->s[q], (q + 1) % 5)] = BLOCK;
    }
    bind_all(w);
    fakempi_manual();
    start_all(w);
    for (int q = 0; q < 5; q++) {
        assert_int_equal(fakempi_in_flight(q, true), 1);
        assert_true(fakempi_transfer(q, (q + 4) % 5));
    }
    sweep(w);
    assert_int_equal(n_active(w), 0);
    assert_int_equal(fakempi_counts_of(TAG).sent, 5);
    assert_null(fakempi_fault());
    discard(w);
}

/* ---- data that flow through ---------------------------------------------- */

static void transfer(int src, int dst, int n)
{
    for (int i = 0; i < n; i++)
        assert_true(fakempi_transfer(src, dst));
    assert_false(fakempi_transfer(src, dst));
}

/* Nodes of ranks 0 1, 2 3 and 4 5. Rank 0 sends to rank 1 directly, to 2 and 4
 * what 1 has for them in two messages, and to 1 what comes from 4 and 2: in
 * that order, whichever comes first. */
static void sends_as_soon_as_blocks_are_there(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        world *const w = make(&rota_algo_onmpml, 6, 1, fixed != 0);
        bind_all(w);
        for (int run = 0; run < 2; run++) {
            fakempi_manual();
            start_all(w);
            assert_int_equal(fakempi_in_flight(0, false), 5);
            assert_int_equal(fakempi_in_flight(0, true), 1);
            assert_int_equal(fakempi_in_flight(1, true), 3);
            assert_true(fakempi_transfer(1, 0));
            assert_true(fakempi_transfer(1, 0));
            sweep(w);
            assert_int_equal(fakempi_in_flight(0, true), 2);
            transfer(1, 0, 1);
            sweep(w);
            assert_int_equal(fakempi_in_flight(0, true), 3);
            transfer(3, 2, 3);
            sweep(w);
            transfer(2, 0, 1); /* waits for the one from 4 */
            sweep(w);
            assert_int_equal(fakempi_in_flight(0, false), 1);
            assert_int_equal(fakempi_in_flight(0, true), 3);
            transfer(5, 4, 3);
            sweep(w);
            transfer(4, 0, 1);
            sweep(w);
            assert_int_equal(fakempi_in_flight(0, false), 0);
            assert_int_equal(fakempi_in_flight(0, true), 5);
            finish(w);
        }
        discard(w);
    }
    assert_int_equal(fakempi_requests(), 0);
}

/* What comes and goes on lies end to end; only what leaves for another node is
 * transposed, and what comes from there: two messages of either kind, of four
 * blocks. */
static void packs_nothing_twice(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_onmpml, 6, 1, true);
    bind_all(w);
    assert_int_equal(w->x[0].program.area_bytes, 4 * 64);
    assert_int_equal(w->x[1].program.area_bytes, 0);
    start_all(w);
    finish(w);
    discard(w);
}

/* ---- what a steady state costs ------------------------------------------- */

static void fixed_runs_start_persistent_requests(void **state)
{
    (void)state;
    world *const w = make(&rota_algo_parlogna, 8, 2, true);
    bind_all(w);
    fakempi_manual();
    assert_int_equal(fakempi_counts_of(TAG).inits, 8 * 2 * 3);
    for (int run = 1; run <= 3; run++) {
        start_all(w);
        finish(w);
        const fakempi_counts c = fakempi_counts_of(TAG);
        assert_int_equal(c.inits, 8 * 2 * 3);
        assert_int_equal(c.posts, 0);
        assert_int_equal(c.starts, run * 8 * 2 * 3);
        assert_int_equal(c.bytes, run * 8 * 3 * 4 * BLOCK);
    }
    discard(w);
    assert_int_equal(fakempi_requests(), 0);
}

/* Another send buffer, then another receive buffer: messages of the memory that
 * has moved become ordinary ones, the others stay as they were bound. */
static void rebased_runs_post_ordinary_requests(void **state)
{
    static char send[MOST][MOST * BLOCK], recv[MOST][MOST * BLOCK];

    (void)state;
    world *const w = make(&rota_algo_linear, 4, 0, true);
    bind_all(w);
    fakempi_manual();
    for (int q = 0; q < 4; q++)
        assert_int_equal(rota_exec_rebase(&w->x[q], w->send[q], w->recv[q]),
                         MPI_SUCCESS);
    assert_int_equal(fakempi_requests(), 4 * 2 * 3);
    for (int q = 0; q < 4; q++)
        assert_int_equal(rota_exec_rebase(&w->x[q], send[q], w->recv[q]),
                         MPI_SUCCESS);
    assert_int_equal(fakempi_requests(), 4 * 3);
    fill(w);
    memcpy(send, w->send, sizeof send);
    memset(w->send, 0, sizeof w->send);
    for (int q = 0; q < 4; q++)
        assert_int_equal(rota_exec_start(&w->x[q]), MPI_SUCCESS);
    finish(w);
    assert_int_equal(fakempi_counts_of(TAG).starts, 4 * 3);
    assert_int_equal(fakempi_counts_of(TAG).posts, 4 * 3);
    for (int q = 0; q < 4; q++)
        assert_int_equal(rota_exec_rebase(&w->x[q], send[q], recv[q]),
                         MPI_SUCCESS);
    assert_int_equal(fakempi_requests(), 0);
    memset(w->recv, 0, sizeof w->recv);
    for (int q = 0; q < 4; q++)
        assert_int_equal(rota_exec_start(&w->x[q]), MPI_SUCCESS);
    run_out(w);
    memcpy(w->recv, recv, sizeof recv);
    assert_delivered(w);
    assert_int_equal(fakempi_counts_of(TAG).starts, 4 * 3);
    assert_int_equal(fakempi_counts_of(TAG).posts, 4 * 3 + 4 * 2 * 3);
    discard(w);
}

/* What goes through the plan's own memory stays as it was bound. */
static void rebasing_keeps_packed_messages(void **state)
{
    static char send[MOST][MOST * BLOCK], recv[MOST][MOST * BLOCK];
    size_t packed = 0;

    (void)state;
    world *const w = make(&rota_algo_parlogna, 8, 2, true);
    bind_all(w);
    fakempi_manual();
    for (int q = 0; q < 8; q++) {
        for (int m = 0; m < 3; m++)
            for (int dir = 0; dir < ROTA_N_DIRS; dir++)
                packed += w->x[q].program.op[dir][m].stage != ROTA_NO_STAGE;
        assert_int_equal(rota_exec_rebase(&w->x[q], send[q], recv[q]),
                         MPI_SUCCESS);
    }
    assert_true(packed > 8 * 2 * 2);
    assert_int_equal(fakempi_requests(), packed);
    fill(w);
    memcpy(send, w->send, sizeof send);
    for (int q = 0; q < 8; q++)
        assert_int_equal(rota_exec_start(&w->x[q]), MPI_SUCCESS);
    run_out(w);
    memcpy(w->recv, recv, sizeof recv);
    assert_delivered(w);
    assert_int_equal(fakempi_counts_of(TAG).starts, packed);
    assert_int_equal(fakempi_counts_of(TAG).posts, 8 * 2 * 3 - packed);
    discard(w);
}

/* A test of one executor moves them all. */
static void one_test_advances_all(void **state)
{
    bool done;

    (void)state;
    world *const w = make(&rota_algo_pairwise, 3, 0, true);
    bind_all(w);
    fakempi_manual();
    start_all(w);
    for (int n = 0; n < 20; n++) {
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                fakempi_transfer(a, b);
        assert_int_equal(rota_exec_test(&w->x[2], &done), MPI_SUCCESS);
    }
    assert_true(done);
    assert_int_equal(n_active(w), 0);
    for (int q = 0; q < 3; q++) /* as often as one likes */
        assert_int_equal(rota_exec_wait(&w->x[q]), MPI_SUCCESS);
    assert_delivered(w);
    discard(w);
}

/* ---- a slot left and taken in one phase ---------------------------------- */

/* Each of two ranks has a block in the slot into which the other's comes. */
static void trade_places(bool by_datatype, bool in_dst)
{
    world *const w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->P = 2;
    fakempi_reset(2, 3);
    for (int q = 0; q < 2; q++) {
        rota_sched *const s = &w->s[q];
        assert_int_equal(rota_sched_init(s, 2, q), MPI_SUCCESS);
        rota_phase_begin(s, 0);
        const rota_block out =
            in_dst ? rota_tmp_marked(s, (uint32_t)!q, ROTA_TMP_IN_DST)
                   : rota_tmp(s, 0);
        rota_emit_copy(s, rota_src(s, q), rota_dst(s, q));
        rota_emit_copy(s, rota_src(s, !q), out);
        rota_phase_begin(s, 0);
        const rota_block in = in_dst ? rota_dst(s, !q) : rota_tmp(s, 0);
        rota_emit_recv(s, !q, in);
        rota_emit_send(s, !q, out);
        rota_phase_begin(s, 0);
        if (!in_dst)
            rota_emit_copy(s, in, rota_dst(s, !q));
        prepare(w, q, true);
        s->by_datatype = by_datatype;
    }
    const rota_sched *const set[] = {&w->s[0], &w->s[1]};
    assert_int_equal(rota_sched_check(set, 2, NULL), MPI_SUCCESS);
    bind_all(w);
    fakempi_manual();
    start_all(w);
    finish(w);
    discard(w);
}

static void packs_before_it_unpacks(void **state)
{
    (void)state;
    trade_places(false, false);
    trade_places(true, false); /* no datatype would do */
    trade_places(false, true);
}

/* ---- errors -------------------------------------------------------------- */

/* Make every executor that is still active fail, so that it ends. */
static void fail_the_rest(world *w)
{
    for (int n = 0; n_active(w) > 0; n++) {
        assert_true(n < 100);
        fakempi_fail_after(0, MPI_ERR_OTHER);
        sweep(w);
    }
}

/* Run while the n-th MPI call fails; false if there were fewer calls. */
static bool run_with_failure(world *w, int n)
{
    bool bound[MOST] = {false}, failed = false;

    fakempi_fail_after(n, MPI_ERR_INTERN);
    for (int q = 0; q < w->P; q++) {
        bound[q] = rota_exec_bind(&w->x[q]) == MPI_SUCCESS;
        failed = failed || !bound[q];
        assert_true(bound[q] || !w->x[q].program.op[0]);
    }
    for (int q = 0; q < w->P; q++)
        failed =
            (bound[q] && rota_exec_start(&w->x[q]) != MPI_SUCCESS) || failed;
    for (int i = 0; i < 1000 && n_active(w) > 0 && !failed; i++) {
        sweep(w);
        for (int q = 0; q < w->P; q++)
            failed = failed || w->x[q].status.err != MPI_SUCCESS;
    }
    fail_the_rest(w);
    for (int q = 0; q < w->P; q++)
        if (bound[q] && w->x[q].status.broken)
            assert_int_equal(rota_exec_start(&w->x[q]), MPI_ERR_OTHER);
    fakempi_fail_after(-1, MPI_SUCCESS);
    return failed;
}

static void survives_failure(const rota_algo *algo, int parameter, bool fixed,
                             rota_metadata metadata)
{
    rota_sizing sizing[4];
    bool failed = true;
    int n = 0;

    for (; failed; n++) {
        world *const w = make(algo, 4, parameter, fixed);
        fill(w);
        for (int q = 0; q < 4; q++) {
            sizing[q] = (rota_sizing){.metadata = metadata};
            w->x[q].sizing = metadata == ROTA_META_ONCE ? NULL : &sizing[q];
            w->x[q].max_block = SIZE_MAX;
        }
        failed = run_with_failure(w, n);
        if (!failed)
            assert_delivered(w);
        discard(w);
        assert_int_equal(fakempi_waiting(), 0); /* for memory that is gone */
        if (fakempi_fault())
            fail_msg("%s, call %d fails: %s", algo->name, n, fakempi_fault());
    }
    assert_true(n > 10);
}

static void survives_failing_calls(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        survives_failure(&rota_algo_linear, 0, fixed != 0, ROTA_META_ONCE);
        survives_failure(&rota_algo_scattered, 2, fixed != 0, ROTA_META_ONCE);
        survives_failure(&rota_algo_multi_pair, 2, fixed != 0, ROTA_META_ONCE);
        survives_failure(&rota_algo_onmpml, 1, fixed != 0, ROTA_META_ONCE);
    }
    survives_failure(&rota_algo_parlogna, 2, true, ROTA_META_ONCE);
    for (int m = ROTA_META_FUSED; m < ROTA_N_METADATA; m++) {
        survives_failure(&rota_algo_parlogna, 2, false, (rota_metadata)m);
        survives_failure(&rota_algo_onmpml, 1, false, (rota_metadata)m);
    }
}

/* Receives that nobody will answer do not outlive the memory. */
static void cancels_receives_of_a_broken_run(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        world *const w = make(&rota_algo_linear, 3, 0, fixed != 0);
        bind_all(w);
        fakempi_manual();
        fakempi_fail_after(2, MPI_ERR_INTERN); /* of the sends */
        assert_int_equal(rota_exec_start(&w->x[0]), MPI_ERR_INTERN);
        assert_int_equal(fakempi_in_flight(0, false), 2);
        rota_exec_unbind(&w->x[0]);
        assert_int_equal(fakempi_in_flight(0, false), 0);
        assert_null(fakempi_fault());
        discard(w);
    }
}

/* ---- sizes --------------------------------------------------------------- */

static void learns_sizes(void **state)
{
    const rota_params params = {.radix = 2};
    const rota_topo topo = {.P = 5, .n_nodes = 1};
    rota_sched s[5];
    rota_sizes z[5];
    bool done = false;

    (void)state;
    fakempi_reset(5, 7);
    for (int q = 0; q < 5; q++) {
        size_t bytes[5];
        for (int d = 0; d < 5; d++)
            bytes[d] = (size_t)(100 * q + d);
        assert_int_equal(rota_sched_init(&s[q], 5, q), MPI_SUCCESS);
        assert_int_equal(rota_algo_parlogna.build(&topo, &params, &s[q]),
                         MPI_SUCCESS);
        assert_int_equal(
            rota_sizes_init(&z[q], &s[q], fakempi_comm(0, q), TAG, bytes),
            MPI_SUCCESS);
        assert_int_equal(rota_exec_start(&z[q].x), MPI_SUCCESS);
    }
    for (int q = 0; q < 5; q++, done = false)
        for (int n = 0; n < 10000 && !done; n++)
            assert_int_equal(rota_exec_test(&z[q].x, &done), MPI_SUCCESS);
    for (int q = 0; q < 5; q++)
        for (int i = 0; i < 5; i++) {
            assert_int_equal(z[q].cell[rota_src(&s[q], i)], 100 * q + i);
            assert_int_equal(z[q].cell[rota_dst(&s[q], i)], 100 * i + q);
        }
    for (int q = 0; q < 5; q++) {
        rota_sizes_free(&z[q]);
        rota_sched_free(&s[q]);
    }
    assert_null(fakempi_fault());
    assert_int_equal(fakempi_requests(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_window_posts_everything),
        cmocka_unit_test(window_bounds_messages),
        cmocka_unit_test(window_is_refilled_in_any_order),
        cmocka_unit_test(batch_is_not_refilled),
        cmocka_unit_test(window_skips_empty_messages),
        cmocka_unit_test(sends_as_soon_as_blocks_are_there),
        cmocka_unit_test(packs_nothing_twice),
        cmocka_unit_test(fixed_runs_start_persistent_requests),
        cmocka_unit_test(rebased_runs_post_ordinary_requests),
        cmocka_unit_test(rebasing_keeps_packed_messages),
        cmocka_unit_test(one_test_advances_all),
        cmocka_unit_test(packs_before_it_unpacks),
        cmocka_unit_test(survives_failing_calls),
        cmocka_unit_test(cancels_receives_of_a_broken_run),
        cmocka_unit_test(learns_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
