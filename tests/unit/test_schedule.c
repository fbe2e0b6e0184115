/* test_schedule.c - writing, folding, placing, counting and printing. */
#include "algos/algo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void build(rota_sched *s, const rota_algo *algo, int P, int me,
                  int parameter)
{
    const rota_params params = {.batch = parameter, .radix = parameter};
    const rota_topo topo = {.P = P, .n_nodes = 1};

    assert_int_equal(rota_sched_init(s, P, me), MPI_SUCCESS);
    assert_int_equal(algo->build(&topo, &params, s), MPI_SUCCESS);
}

static uint32_t first_of(const rota_sched *s, rota_dir dir, uint32_t m)
{
    return s->msgs[dir].msg[m].first;
}

/* ---- writing ------------------------------------------------------------- */

static void begins_empty(void **state)
{
    rota_sched s;
    rota_counts counts;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 5, 3), MPI_SUCCESS);
    assert_int_equal(s.P, 5);
    assert_int_equal(s.me, 3);
    assert_int_equal(s.n_blocks, 10);
    assert_int_equal(s.n_phases, 0);
    rota_sched_count(&s, NULL, &counts);
    assert_int_equal(counts.rounds + counts.messages, 0);
    rota_sched_free(&s);
    assert_null(s.phase);
}

static void numbers_blocks(void **state)
{
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 4, 0), MPI_SUCCESS);
    const rota_block a = rota_tmp(&s, 7), b = rota_tmp(&s, 2),
                     c = rota_tmp(&s, 7);
    assert_int_equal(rota_src(&s, 3), 3);
    assert_int_equal(rota_dst(&s, 3), 7);
    assert_int_equal(a, 8);
    assert_int_equal(b, 9);
    assert_int_equal(c, 10);
    assert_int_equal(s.n_blocks, 11);
    assert_int_equal(s.n_slots, 8);
    assert_int_equal(rota_block_region(&s, 3), ROTA_SRC);
    assert_int_equal(rota_block_region(&s, 4), ROTA_DST);
    assert_int_equal(rota_block_region(&s, 7), ROTA_DST);
    assert_int_equal(rota_block_region(&s, 8), ROTA_TMP);
    assert_int_equal(rota_block_slot(&s, 3), 3);
    assert_int_equal(rota_block_slot(&s, 7), 3);
    assert_int_equal(rota_block_slot(&s, b), 2);
    assert_int_equal(rota_block_slot(&s, c), 7);
    rota_sched_free(&s);
}

/* The lists stay closed after every emitter, the two directions apart. */
static void writes_lists(void **state)
{
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 4, 1), MPI_SUCCESS);
    rota_phase_begin(&s, 3);
    rota_emit_msg(&s, ROTA_RECV, 2);
    rota_emit_msg(&s, ROTA_SEND, 0);
    for (int i = 0; i < 3; i++) { /* written in turn */
        rota_emit_block(&s, ROTA_SEND, rota_src(&s, i));
        rota_emit_block(&s, ROTA_RECV, rota_tmp(&s, (uint32_t)i));
    }
    rota_emit_copy(&s, rota_src(&s, 1), rota_dst(&s, 1));
    rota_phase_begin(&s, 0);
    rota_emit_recv(&s, 3, rota_dst(&s, 3));
    rota_native_begin(&s, ROTA_NATIVE_ALLTOALLV);
    assert_int_equal(rota_sched_end(&s), MPI_SUCCESS);

    assert_int_equal(s.n_phases, 3);
    assert_int_equal(s.phase[0].window, 3);
    assert_int_equal(s.phase[1].window, 0);
    assert_false(s.phase[1].native);
    assert_true(s.phase[2].native);
    assert_int_equal(s.phase[1].msg[ROTA_RECV], 1);
    assert_int_equal(s.phase[1].msg[ROTA_SEND], 1);
    assert_int_equal(s.phase[2].msg[ROTA_RECV], 2);
    assert_int_equal(s.phase[1].copy, 1);
    assert_int_equal(s.phase[3].copy, 1);
    assert_int_equal(s.msgs[ROTA_RECV].n, 2);
    assert_int_equal(s.msgs[ROTA_RECV].msg[0].peer, 2);
    assert_int_equal(s.msgs[ROTA_SEND].msg[0].peer, 0);
    assert_int_equal(first_of(&s, ROTA_RECV, 1), 3);
    assert_int_equal(first_of(&s, ROTA_RECV, 2), 4);
    assert_int_equal(first_of(&s, ROTA_SEND, 1), 3);
    assert_int_equal(s.msgs[ROTA_RECV].item[1], 9);
    assert_int_equal(s.msgs[ROTA_SEND].item[2], 2);
    rota_sched_free(&s);
}

static void grows(void **state)
{
    enum { MANY = 5000 };
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 2, 0), MPI_SUCCESS);
    const size_t before = rota_sched_memory(&s);
    assert_true(before > 0);
    for (uint32_t i = 0; i < MANY; i++) {
        rota_phase_begin(&s, 0);
        rota_emit_recv(&s, 1, rota_tmp(&s, i));
        rota_emit_copy(&s, rota_src(&s, 0), rota_dst(&s, 0));
    }
    assert_int_equal(rota_sched_end(&s), MPI_SUCCESS);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(s.phase[i].msg[ROTA_RECV], i);
        assert_int_equal(s.msgs[ROTA_RECV].item[i], 4 + i);
        assert_int_equal(rota_block_slot(&s, 4 + i), i);
    }
    assert_int_equal(s.phase[MANY].msg[ROTA_RECV], MANY);
    assert_true(rota_sched_memory(&s) >=
                before + MANY * (sizeof(rota_phase) + sizeof(rota_msg) +
                                 sizeof(rota_copy) + sizeof(rota_block)));
    rota_sched_free(&s);
}

static void latches_first_error(void **state)
{
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 2, 0), MPI_SUCCESS);
    rota_phase_begin(&s, 0);
    s.status = MPI_ERR_NO_MEM;
    rota_emit_recv(&s, 1, rota_dst(&s, 1));
    rota_emit_copy(&s, rota_src(&s, 0), rota_dst(&s, 0));
    rota_native_begin(&s, ROTA_NATIVE_ALLTOALLV);
    assert_int_equal(rota_tmp(&s, 3), 0);
    assert_null(rota_sched_scratchpad(&s, 100));
    assert_int_equal(rota_sched_end(&s), MPI_ERR_NO_MEM);
    assert_int_equal(s.n_phases, 1);
    assert_int_equal(s.n_blocks, 4);
    assert_int_equal(s.n_copies, 0);
    rota_sched_free(&s);
}

static void tells_direct_messages(void **state)
{
    rota_sched s;

    (void)state;
    build(&s, &rota_algo_linear, 4, 2, 0);
    for (uint32_t m = 0; m < 3; m++) {
        assert_true(rota_msg_is_direct(&s, ROTA_SEND, m));
        assert_true(rota_msg_is_direct(&s, ROTA_RECV, m));
    }
    rota_sched_free(&s);
    build(&s, &rota_algo_parlogna, 4, 2, 2); /* two blocks in each message */
    assert_false(rota_msg_is_direct(&s, ROTA_SEND, 0));
    assert_false(rota_msg_is_direct(&s, ROTA_RECV, 1));
    rota_sched_free(&s);
    assert_int_equal(rota_sched_init(&s, 3, 0), MPI_SUCCESS);
    rota_phase_begin(&s, 0);
    rota_emit_send(&s, 1, rota_src(&s, 2)); /* another rank's block */
    rota_emit_recv(&s, 1, rota_tmp(&s, 0));
    assert_false(rota_msg_is_direct(&s, ROTA_SEND, 0));
    assert_false(rota_msg_is_direct(&s, ROTA_RECV, 0));
    rota_sched_free(&s);
}

/* A builder's own memory lasts until it ends. */
static void lends_a_scratchpad(void **state)
{
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 2, 0), MPI_SUCCESS);
    rota_block *const pad = rota_sched_scratchpad(&s, 10);
    assert_non_null(pad);
    pad[9] = 7;
    assert_ptr_equal(rota_sched_scratchpad(&s, 4), pad);
    rota_block *const larger = rota_sched_scratchpad(&s, 5000);
    assert_non_null(larger);
    assert_int_equal(larger[9], 7);
    assert_int_equal(rota_sched_end(&s), MPI_SUCCESS);
    assert_null(s.pad);
    assert_int_equal(s.pad_room, 0);
    rota_sched_free(&s);
}

/* ---- folding ------------------------------------------------------------- */

static void folds_blocks_messages_phases(void **state)
{
    rota_sched s;
    size_t bytes[11] = {0};

    (void)state;
    assert_int_equal(rota_sched_init(&s, 4, 1), MPI_SUCCESS);
    rota_phase_begin(&s, 1); /* keeps a block of two, and no copy */
    rota_emit_msg(&s, ROTA_SEND, 2);
    rota_emit_block(&s, ROTA_SEND, rota_src(&s, 0));
    rota_emit_block(&s, ROTA_SEND, rota_src(&s, 2));
    rota_emit_copy(&s, rota_src(&s, 1), rota_dst(&s, 1));
    rota_phase_begin(&s, 2); /* goes */
    rota_emit_recv(&s, 3, rota_dst(&s, 3));
    rota_emit_send(&s, 3, rota_src(&s, 3));
    rota_phase_begin(&s, 3); /* its first message goes */
    rota_emit_recv(&s, 0, rota_dst(&s, 0));
    rota_emit_recv(&s, 2, rota_tmp(&s, 0));
    rota_flow_begin(&s); /* goes */
    rota_emit_recv(&s, 0, rota_tmp(&s, 1));
    rota_flow_begin(&s);
    rota_emit_recv(&s, 0, rota_tmp(&s, 2));
    rota_emit_send(&s, 0, 10);
    rota_native_begin(&s, ROTA_NATIVE_ALLTOALLV); /* temporary blocks */
    bytes[rota_src(&s, 2)] = 6;
    bytes[8] = bytes[10] = 1; /* temporary blocks */
    rota_sched_fold(&s, bytes);

    assert_int_equal(s.n_phases, 4);
    assert_int_equal(s.phase[0].window, 1);
    assert_int_equal(s.phase[1].window, 3);
    assert_false(s.phase[1].flow);
    assert_true(s.phase[2].flow);
    assert_true(s.phase[3].native);
    assert_int_equal(s.n_copies, 0);
    assert_int_equal(s.msgs[ROTA_SEND].n, 2);
    assert_int_equal(s.msgs[ROTA_SEND].msg[0].peer, 2);
    assert_int_equal(first_of(&s, ROTA_SEND, 1), 1);
    assert_int_equal(s.msgs[ROTA_SEND].item[0], 2);
    assert_int_equal(s.msgs[ROTA_SEND].item[1], 10);
    assert_int_equal(s.msgs[ROTA_RECV].n, 2);
    assert_int_equal(s.msgs[ROTA_RECV].msg[0].peer, 2);
    assert_int_equal(s.msgs[ROTA_RECV].item[0], 8);
    assert_int_equal(s.phase[1].msg[ROTA_RECV], 0);
    assert_int_equal(s.phase[2].msg[ROTA_RECV], 1);
    rota_sched_free(&s);
}

/* Messages and copies that stay move up over those that go. */
static void folds_lists_together(void **state)
{
    rota_sched s;
    size_t bytes[8] = {0};

    (void)state;
    assert_int_equal(rota_sched_init(&s, 4, 1), MPI_SUCCESS);
    rota_phase_begin(&s, 0);
    for (int d = 0; d < 4; d++)
        rota_emit_send(&s, d, rota_src(&s, d));
    rota_phase_begin(&s, 0); /* nothing but a copy */
    rota_emit_copy(&s, rota_src(&s, 0), rota_dst(&s, 0));
    rota_emit_copy(&s, rota_src(&s, 1), rota_dst(&s, 1));
    bytes[rota_src(&s, 1)] = bytes[rota_src(&s, 3)] = 2;
    bytes[rota_dst(&s, 1)] = 2;
    rota_sched_fold(&s, bytes);
    assert_int_equal(s.n_phases, 2);
    assert_int_equal(s.msgs[ROTA_SEND].n, 2);
    for (uint32_t m = 0; m < 2; m++) {
        const rota_block d = m == 0 ? 1 : 3;
        assert_int_equal(s.msgs[ROTA_SEND].msg[m].peer, d);
        assert_int_equal(first_of(&s, ROTA_SEND, m), m);
        assert_int_equal(s.msgs[ROTA_SEND].item[m], d);
    }
    assert_int_equal(first_of(&s, ROTA_SEND, 2), 2);
    assert_int_equal(s.n_copies, 1);
    assert_int_equal(s.copy[0].from, 1);
    assert_int_equal(s.phase[1].copy, 0);
    assert_int_equal(s.phase[2].copy, 1);
    rota_sched_free(&s);
}

static void folds_to_nothing(void **state)
{
    rota_sched s;

    (void)state;
    build(&s, &rota_algo_parlogna, 9, 4, 3);
    size_t *const bytes = calloc(s.n_blocks, sizeof *bytes);
    assert_non_null(bytes);
    rota_sched_fold(&s, bytes);
    assert_int_equal(s.n_phases, 0);
    assert_int_equal(s.msgs[ROTA_SEND].n + s.msgs[ROTA_RECV].n, 0);
    assert_int_equal(s.phase[0].msg[ROTA_SEND], 0);
    free(bytes);
    rota_sched_free(&s);
}

static void folds_nothing_away(void **state)
{
    rota_sched s;
    rota_counts before, after;

    (void)state;
    build(&s, &rota_algo_parlogna, 9, 4, 3);
    size_t *const bytes = malloc(s.n_blocks * sizeof *bytes);
    assert_non_null(bytes);
    for (rota_block b = 0; b < s.n_blocks; b++)
        bytes[b] = 1;
    rota_sched_count(&s, bytes, &before);
    rota_sched_fold(&s, bytes);
    rota_sched_count(&s, bytes, &after);
    assert_memory_equal(&before, &after, sizeof before);
    free(bytes);
    rota_sched_free(&s);
}

/* ---- counting, printing -------------------------------------------------- */

static void counts_costs(void **state)
{
    rota_sched s;
    rota_counts counts;
    size_t bytes[2 * 5];

    (void)state;
    build(&s, &rota_algo_scattered, 5, 0, 3);
    for (int b = 0; b < 10; b++)
        bytes[b] = (size_t)b + 1;
    rota_sched_count(&s, bytes, &counts);
    assert_int_equal(counts.rounds, 2);
    assert_int_equal(counts.messages, 4);
    assert_int_equal(counts.bytes, 2 + 3 + 4 + 5);
    assert_int_equal(counts.copied, 1);
    rota_sched_free(&s);
}

static void counts_rounds_that_wait(void **state)
{
    rota_sched s;
    rota_counts counts;

    (void)state;
    build(&s, &rota_algo_xor, 1, 0, 0); /* a copy only: waits for nobody */
    rota_sched_count(&s, NULL, &counts);
    assert_int_equal(counts.rounds, 0);
    rota_sched_free(&s);
    build(&s, &rota_algo_mpi, 3, 0, 0);
    rota_sched_count(&s, NULL, &counts);
    assert_int_equal(counts.rounds, 1);
    assert_int_equal(counts.messages, 0);
    rota_sched_free(&s);
}

static void prints(void **state)
{
    static const char want[] = "rank 1 of 3: 3 phases, 1 slots\n"
                               " phase 0, window 2\n"
                               "  recv from 0: tmp[0]:8 dst[0]:3\n"
                               "  send to 2: src[2]:5\n"
                               "  copy src[1]:4 -> dst[1]:4\n"
                               " phase 1, MPI's own all-to-all\n"
                               " phase 2, flow\n";
    const size_t bytes[7] = {0, 4, 5, 3, 4, 0, 8};
    char got[400] = "";
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 3, 1), MPI_SUCCESS);
    rota_phase_begin(&s, 2);
    rota_emit_msg(&s, ROTA_RECV, 0);
    rota_emit_block(&s, ROTA_RECV, rota_tmp(&s, 0));
    rota_emit_block(&s, ROTA_RECV, rota_dst(&s, 0));
    rota_emit_send(&s, 2, rota_src(&s, 2));
    rota_emit_copy(&s, rota_src(&s, 1), rota_dst(&s, 1));
    rota_native_begin(&s, ROTA_NATIVE_ALLTOALLV);
    rota_flow_begin(&s);
    FILE *const out = fmemopen(got, sizeof got, "w");
    assert_non_null(out);
    rota_sched_print(&s, bytes, out);
    fclose(out);
    assert_string_equal(got, want);
    rota_sched_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_empty),
        cmocka_unit_test(numbers_blocks),
        cmocka_unit_test(writes_lists),
        cmocka_unit_test(grows),
        cmocka_unit_test(latches_first_error),
        cmocka_unit_test(tells_direct_messages),
        cmocka_unit_test(lends_a_scratchpad),
        cmocka_unit_test(folds_blocks_messages_phases),
        cmocka_unit_test(folds_lists_together),
        cmocka_unit_test(folds_to_nothing),
        cmocka_unit_test(folds_nothing_away),
        cmocka_unit_test(counts_costs),
        cmocka_unit_test(counts_rounds_that_wait),
        cmocka_unit_test(prints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
