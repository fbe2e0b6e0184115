/* test_tuning.c - tuning as text and as rows. */
#include "choose/hints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROW                                                                    \
    "\"kind\": \"fixed\", \"algorithm\": \"parlogna\", \"radix\": 4, "         \
    "\"metadata\": \"once\""
#define WITH_ROW(more)                                                         \
    "{\"rota_tuning\": 1, \"rows\": [{" ROW "}, {" ROW more "}]}"

static rota_tuning parse(const char *text)
{
    rota_tuning t;

    if (rota_tuning_parse(text, &t) != MPI_SUCCESS)
        fail_msg("%s", rota_fail_text());
    return t;
}

/* ---- good texts ---------------------------------------------------------- */

static const char full[] =
    "{\"rota_tuning\": 1,\n"
    " \"machine\": {\"ns\": {\"net_per_byte\": 0.125, \"start\": 80},\n"
    "  \"copied_once_from\": 2048,\n"
    "  \"network\": {\"shape\": \"torus\", \"dims\": 6, \"hop\": 80},\n"
    "  \"from\": {\"machine\": \"m\\u00e4 \\\"1\\\"\", \"date\": \"d\"}},\n"
    " \"rows\": [\n"
    "  {\"kind\": \"varying\", \"ranks\": [8, 16], \"nodes\": [1, 2],\n"
    "   \"node_size\": [4, 8], \"cores\": [2, 3],\n"
    "   \"largest\": [513, \"unbounded\"], \"mean\": [1.5, 2.25],\n"
    "   \"density\": [0.1, 1], \"imbalance\": [1, 3.7],\n"
    "   \"algorithm\": \"mpml\", \"leaders\": 2,\n"
    "   \"metadata\": \"two_phase\", \"intranode\": \"shm\", \"us\": 12.3,\n"
    "   \"from\": {\"command\": \"rota-tune\"}},\n"
    "  {\"kind\": \"fixed\", \"algorithm\": \"scattered\", \"batch\": 7,\n"
    "   \"metadata\": \"once\"},\n"
    "  {\"kind\": \"fixed\", \"algorithm\": \"parlogna\", \"radix\": 3,\n"
    "   \"metadata\": \"once\", \"packing\": \"datatype\"}]}";

static void reads_all_keys(void **state)
{
    rota_tuning t = parse(full);
    const rota_tuning_row *const row = t.row;

    (void)state;
    assert_true(t.has_machine);
    const int byte = rota_term(ROTA_LINK_NET, ROTA_PER_BYTE);
    assert_true(t.machine.ns[byte] == 0.125);
    assert_true(t.machine.ns[ROTA_TERM_START] == 80);
    assert_true(t.machine.ns[ROTA_TERM_COPIED_BYTE] ==
                rota_machine_usual.ns[ROTA_TERM_COPIED_BYTE]);
    assert_int_equal(t.copied_once_from, 2048);
    assert_int_equal(t.machine.network.shape, ROTA_SHAPE_TORUS);
    assert_false(t.machine.native);
    assert_int_equal(t.machine.network.dims, 6);
    assert_true(t.machine.network.hop == 80);
    assert_true(t.machine.network.taper == 0.5);
    assert_string_equal(t.machine_from.machine, "m\xc3\xa4 \"1\"");
    assert_string_equal(t.machine_from.command, "");
    assert_int_equal(t.n_rows, 3);
    assert_int_equal(row->kind, ROTA_VARYING);
    assert_true(row->ranks.least == 8 && row->ranks.most == 16);
    assert_true(row->largest.least == 513);
    assert_true(row->largest.most == ROTA_TUNING_UNBOUNDED);
    assert_true(row->imbalance.least == 1 && row->imbalance.most == 3.7);
    assert_ptr_equal(row->choice.algo, &rota_algo_mpml);
    assert_int_equal(row->choice.params.leaders, 2);
    assert_int_equal(row->choice.metadata, ROTA_META_TWO_PHASE);
    assert_int_equal(row->choice.intranode, ROTA_INTRANODE_SHM);
    assert_true(row->us == 12.3);
    assert_string_equal(row->from.command, "rota-tune");
    assert_int_equal(row[1].choice.params.batch, 7);
    assert_int_equal(row[1].choice.intranode, ROTA_INTRANODE_AUTO);
    assert_true(row[1].ranks.least == 0);
    assert_true(row[1].ranks.most == ROTA_TUNING_UNBOUNDED);
    rota_tuning_free(&t);
    assert_int_equal(t.n_rows, 0);
}

/* Printed and read again, it is printed the same. */
static void round_trip(const char *text)
{
    rota_tuning t = parse(text);
    char *const printed = rota_tuning_print(&t);

    assert_non_null(printed);
    rota_tuning_free(&t);
    t = parse(printed);
    char *const again = rota_tuning_print(&t);
    assert_string_equal(printed, again);
    rota_tuning_free(&t);
    free(printed);
    free(again);
}

/* Of MPI's own all-to-all, prices are those given or, if it has any, the usual. */
static void prices_of_mpi(void **state)
{
    rota_tuning t = parse("{\"rota_tuning\": 1, \"machine\": {\"ns\": "
                          "{\"native_net_per_byte\": 0.5}}}");
    const int phase = rota_term(ROTA_LINK_NATIVE_NET, ROTA_PER_PHASE);

    (void)state;
    assert_true(t.machine.native);
    assert_true(t.machine.ns[phase] == rota_machine_usual.ns[phase]);
    rota_tuning_free(&t);
    t = parse("{\"rota_tuning\": 1, \"machine\": {\"ns\": "
              "{\"switch_native\": 0.5}}}");
    assert_false(t.machine.native);
    char *const text = rota_tuning_print(&t);
    assert_non_null(text);
    assert_null(strstr(text, "\"native_"));
    free(text);
    rota_tuning_free(&t);
}

static void prints_what_it_reads(void **state)
{
    rota_tuning t = parse(full);
    char *const text = rota_tuning_print(&t);

    (void)state;
    rota_tuning_free(&t);
    t = parse(text);
    assert_int_equal(t.n_rows, 3);
    assert_true(t.row[2].choice.params.by_datatype);
    assert_true(t.row[0].mean.least == 1.5 && t.row[0].mean.most == 2.25);
    assert_true(t.row[0].largest.most == ROTA_TUNING_UNBOUNDED);
    assert_int_equal(t.row[0].choice.params.leaders, 2);
    assert_string_equal(t.row[0].from.command, "rota-tune");
    assert_string_equal(t.machine_from.date, "d");
    assert_true(t.machine.ns[ROTA_TERM_START] == 80);
    assert_int_equal(t.copied_once_from, 2048);
    assert_int_equal(t.machine.network.shape, ROTA_SHAPE_TORUS);
    assert_true(t.machine.network.hop == 80);
    assert_true(t.machine.network.posted_receive < 0);
    rota_tuning_free(&t);
    free(text);
    round_trip(full);
    round_trip("{\"rota_tuning\": 1}");
    /* As in docs/guide.md. */
    round_trip("{\"rota_tuning\": 1,\n"
               " \"machine\": {\"ns\": {\"net_per_message\": 300, "
               "\"net_per_byte\": 0.1},\n"
               "             \"copied_once_from\": 2048},\n"
               " \"rows\": [{\"kind\": \"fixed\", \"ranks\": [8, 8], "
               "\"largest\": [512, 4096],\n"
               "           \"algorithm\": \"parlogna\", \"radix\": 4, "
               "\"metadata\": \"once\"}]}");
    round_trip(WITH_ROW(", \"us\": 0.1, \"largest\": [0, 9007199254740993]"));
}

static void prints_every_algorithm(void **state)
{
    rota_tuning t = {0};

    (void)state;
    for (int i = 0; rota_algo_table[i]; i++) {
        rota_tuning_row row = {.ranks = {i, i},
                               .largest = ROTA_TUNING_ANY,
                               .choice = {.algo = rota_algo_table[i]}};
        for (int k = 0; k < ROTA_N_PARAMS; k++)
            *rota_param_of(&row.choice.params, &rota_param_table[k]) =
                rota_param_table[k].least + k;
        assert_int_equal(rota_tuning_put(&t, &row), MPI_SUCCESS);
    }
    char *const text = rota_tuning_print(&t);
    round_trip(text);
    free(text);
    rota_tuning_free(&t);
}

/* ---- bad texts ----------------------------------------------------------- */

#define MACHINE_FROM(bytes)                                                    \
    "{\"rota_tuning\": 1, \"machine\": {\"ns\": {}, "                          \
    "\"copied_once_from\": " bytes "}}"

#define NETWORK(text)                                                          \
    "{\"rota_tuning\": 1, \"machine\": {\"ns\": {}, \"network\": {" text "}}}"

static const struct {
    const char *text, *words;
} bad[] = {
    {NETWORK("\"group\": 4"), "machine, network: shape is missing"},
    {NETWORK("\"shape\": \"ring\""),
     "shape = \"ring\"; valid: flat, dragonfly, fattree, torus"},
    {NETWORK("\"shape\": \"flat\", \"dims\": 7"), "dims = 7; valid: 1 to 6"},
    {NETWORK("\"shape\": \"flat\", \"group\": 0"), "group = 0; valid: 1 to"},
    {NETWORK("\"shape\": \"flat\", \"taper\": 0"),
     "taper = 0; valid: a number above 0"},
    {NETWORK("\"shape\": \"flat\", \"width\": 1"),
     "machine, network: unknown key width; valid: shape, group, dims"},
    {"", "line 1: not JSON, it ends too early"},
    {"{\"rota_tuning\": 1,\n\n \"rows\": [", "line 3: not JSON, it ends"},
    {"{\"rota_tuning\": 1,\n x\n}", "line 2: not JSON"},
    {"{\"rota_tuning\": 1} x", "line 1: not JSON"},
    {"{\"rota_tuning\": NaN}", "line 1: not JSON"},
    {"[1]", "key rota_tuning is missing"},
    {"3", "key rota_tuning is missing"},
    {"{}", "key rota_tuning is missing"},
    {"{\"rota_tuning\": 2, \"news\": 3}", "made by a newer version"},
    {"{\"rota_tuning\": 0}", "rota_tuning = 0; valid: 1"},
    {"{\"rota_tuning\": \"1\"}", "rota_tuning = \"1\"; valid: 1"},
    {"{\"rota_tuning\": 1e999}", "valid: 1"},
    {"{\"rota_tuning\": 1, \"rota_tuning\": 1}", "rota_tuning comes twice"},
    {"{\"rota_tuning\": 1, \"row\": []}",
     "unknown key row; valid: rota_tuning, machine, rows"},
    {"{\"rota_tuning\": 1, \"rows\": {}}", "rows = {}; valid: an array"},
    {"{\"rota_tuning\": 1, \"rows\": [3]}", "row 1 is not an object"},
    {"{\"rota_tuning\": 1, \"rows\": [{}]}", "row 1: kind is missing"},
    {"{\"rota_tuning\": 1, \"machine\": {}}", "machine: ns is missing"},
    {"{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"x\": 1}}}",
     "machine, ns: unknown key x; valid: domain_per_phase, "},
    {"{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"start\": -1}}}",
     "machine, ns: start = -1; valid: a number from 0"},
    {"{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"start\": 1e999}}}",
     "machine, ns: start = null; valid: a number from 0"},
    {"{\"rota_tuning\": 1, \"machine\": {\"ns\": {}, \"from\": {\"by\": 1}}}",
     "machine, from: unknown key by; valid: machine, date, command"},
    {MACHINE_FROM("0"), "machine: copied_once_from = 0; valid: 1 to 1048576"},
    {MACHINE_FROM("1048577"), "copied_once_from = 1048577; valid: 1 to"},
    {MACHINE_FROM("1.5"), "copied_once_from = 1.5; valid: 1 to"},
    {MACHINE_FROM("\"2\""), "copied_once_from = \"2\"; valid: 1 to"},
    {MACHINE_FROM("2, \"copied_once_from\": 2"),
     "machine: copied_once_from comes twice"},
    {"{\"rota_tuning\": 1, \"machine\": {\"copied_once_from\": 2}}",
     "machine: ns is missing"},
    {WITH_ROW(", \"us\": -0.5"), "row 2: us = -0.5; valid: a number from 0"},
    {WITH_ROW(", \"us\": \"1\""), "row 2: us = \"1\""},
    {WITH_ROW(", \"ranks\": 3"), "row 2: ranks = 3; valid: [LEAST, MOST]"},
    {WITH_ROW(", \"ranks\": [3]"), "row 2: ranks = [3]; valid"},
    {WITH_ROW(", \"ranks\": [3, 4, 5]"), "row 2: ranks = [3,4,5]; valid"},
    {WITH_ROW(", \"ranks\": [4, 3]"), "row 2: ranks = [4,3]; valid"},
    {WITH_ROW(", \"mean\": [-1, 3]"), "row 2: mean = [-1,3]; valid"},
    {WITH_ROW(", \"mean\": [0, 1e999]"), "row 2: mean = [0,null]; valid"},
    {WITH_ROW(", \"largest\": [0, \"much\"]"), "row 2: largest = [0,\"much\"]"},
    {WITH_ROW(", \"nodes\": [\"unbounded\", 3]"), "row 2: nodes = "},
    {WITH_ROW(", \"batch\": 3"), "row 2: algorithm parlogna takes no batch"},
    {WITH_ROW(", \"radix\": 5"), "row 2: radix comes twice"},
    {WITH_ROW(", \"intranode\": \"tcp\""),
     "row 2: intranode = \"tcp\"; valid: auto, shm, cma, p2p"},
    {WITH_ROW(", \"packing\": 1"), "row 2: packing = 1; valid: pack, datatype"},
    {WITH_ROW(", \"from\": 1"), "row 2, from is not an object"},
    {WITH_ROW(", \"from\": {\"date\": 1}"), "row 2, from: date = 1; valid: a"},
    {WITH_ROW(", \"colour\": 1"), "row 2: unknown key colour; valid: kind, "},
    {"{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixd\"}]}",
     "row 1: kind = \"fixd\"; valid: fixed, varying, exchange"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"algorithm\": \"best\"}]}",
     "row 1: algorithm = \"best\"; valid: linear, spread_out, "},
    {"{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\"}]}",
     "row 1: algorithm is missing"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\", "
     "\"algorithm\": \"parlogna\", \"metadata\": \"once\"}]}",
     "row 1: radix is missing, for algorithm parlogna"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\", "
     "\"algorithm\": \"linear\"}]}",
     "row 1: metadata is missing"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"metadata\": \"late\"}]}",
     "row 1: metadata = \"late\"; valid: once, fused, two_phase, combined"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"radix\": 1}]}",
     "row 1: radix = 1; valid: 2 to 1048576"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"batch\": 1.5}]}",
     "row 1: batch = 1.5; valid: 1 to 1048576"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"leaders\": 1048577}]}",
     "row 1: leaders = 1048577; valid"},
    {"{\"rota_tuning\": 1, \"rows\": [{\"radix\": null}]}",
     "row 1: radix = null; valid"},
};

static void says_what_is_wrong_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rota_tuning t;
        rota_fail_clear();
        const int err = rota_tuning_parse(bad[i].text, &t);
        rota_tuning_free(&t);
        if (err != MPI_ERR_ARG || !strstr(rota_fail_text(), bad[i].words))
            fail_msg("%s\n gives %d: %s\n instead of: %s", bad[i].text, err,
                     rota_fail_text() ? rota_fail_text() : "", bad[i].words);
    }
}

/* Every beginning of a text is an error, but for the whole. */
static void refuses_what_is_cut_short(void **state)
{
    const size_t n = strlen(full);
    char text[sizeof full];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        rota_tuning t;
        memcpy(text, full, i);
        text[i] = '\0';
        assert_int_equal(rota_tuning_parse(text, &t), MPI_ERR_ARG);
        rota_tuning_free(&t);
    }
}

/* ---- rows ---------------------------------------------------------------- */

static const rota_stats eight = {
    .kind = ROTA_FIXED,
    .P = 8,
    .n_nodes = 2,
    .node_size = 4,
    .cores = 4,
    .largest = 1024,
    .mean = 512,
    .density = 0.5,
    .imbalance = 1.5,
};

static rota_tuning_row any_row(int batch)
{
    return (rota_tuning_row){
        .kind = ROTA_FIXED,
        .ranks = ROTA_TUNING_ANY,
        .nodes = ROTA_TUNING_ANY,
        .node_size = ROTA_TUNING_ANY,
        .cores = ROTA_TUNING_ANY,
        .largest = ROTA_TUNING_ANY,
        .mean = ROTA_TUNING_ANY,
        .density = ROTA_TUNING_ANY,
        .imbalance = ROTA_TUNING_ANY,
        .choice = {.algo = &rota_algo_scattered, .params = {.batch = batch}},
    };
}

static void put(rota_tuning *t, const rota_tuning_row *row)
{
    assert_int_equal(rota_tuning_put(t, row), MPI_SUCCESS);
}

static int found(const rota_tuning *t, const rota_stats *stats)
{
    const rota_tuning_row *const row = rota_tuning_find(t, stats);

    return row ? row->choice.params.batch : 0;
}

static void finds_the_first_that_matches(void **state)
{
    rota_tuning t = {0};
    rota_tuning_row row = any_row(1);
    rota_stats other = eight;

    (void)state;
    assert_null(rota_tuning_find(&t, &eight));
    put(&t, &row);
    row = any_row(2);
    row.ranks = (rota_range){8, 9};
    put(&t, &row);
    assert_int_equal(found(&t, &eight), 2);
    other.P = 9;
    assert_int_equal(found(&t, &other), 2);
    other.P = 10;
    assert_int_equal(found(&t, &other), 1);
    other.P = 7;
    assert_int_equal(found(&t, &other), 1);
    other.kind = ROTA_VARYING;
    assert_int_equal(found(&t, &other), 0);
    rota_tuning_free(&t);
}

/* Each range by itself keeps a row from being found. */
static void looks_at_every_range(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        rota_tuning t = {0};
        rota_tuning_row row = any_row(1);
        rota_range *const range[] = {
            &row.ranks,   &row.nodes, &row.node_size, &row.cores,
            &row.largest, &row.mean,  &row.density,   &row.imbalance,
        };
        const double value[] = {8, 2, 4, 4, 1024, 512, 0.5, 1.5};
        *range[i] = (rota_range){value[i], value[i]};
        put(&t, &row);
        assert_int_equal(found(&t, &eight), 1);
        rota_tuning_free(&t);
        *range[i] = (rota_range){value[i] + 0.1, value[i] + 9};
        put(&t, &row);
        assert_int_equal(found(&t, &eight), 0);
        rota_tuning_free(&t);
    }
}

static void unbounded_blocks(void **state)
{
    rota_tuning t = parse(
        WITH_ROW(", \"largest\": [\"unbounded\", \"unbounded\"], \"us\": 2"));
    rota_stats unbounded = eight;

    (void)state;
    unbounded.largest = UINT64_MAX;
    t.row[0].largest.most = 1e18;
    assert_true(rota_tuning_find(&t, &unbounded) == &t.row[1]);
    assert_true(rota_tuning_find(&t, &eight) == &t.row[0]);
    rota_tuning_free(&t);
}

static void puts_in_the_place_of_the_same(void **state)
{
    rota_tuning t = {0};
    rota_tuning_row row = any_row(1), narrow = any_row(2);
    char machine[] = "here";

    (void)state;
    narrow.mean = (rota_range){100, 1000};
    row.from.machine = machine;
    put(&t, &row);
    machine[0] = '\0'; /* it was copied */
    put(&t, &narrow);
    assert_int_equal(t.n_rows, 2);
    assert_string_equal(t.row[1].from.machine, "here");
    assert_string_equal(t.row[1].from.date, "");
    row.choice.params.batch = 3;
    put(&t, &row);
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(found(&t, &eight), 3); /* and before all others */
    put(&t, &t.row[1]);
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(found(&t, &eight), 2);
    row.kind = ROTA_VARYING;
    put(&t, &row);
    assert_int_equal(t.n_rows, 3);
    rota_tuning_free(&t);
}

/* What is above all that can be counted is the same after it was text. */
static void unbounded_rows_stay_the_same(void **state)
{
    rota_tuning t = {0};
    rota_tuning_row row = any_row(1);

    (void)state;
    row.largest = (rota_range){0x1p63, 0x1p65};
    put(&t, &row);
    char *const text = rota_tuning_print(&t);
    rota_tuning_free(&t);
    t = parse(text);
    free(text);
    put(&t, &row);
    assert_int_equal(t.n_rows, 1);
    rota_tuning_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_keys),
        cmocka_unit_test(prices_of_mpi),
        cmocka_unit_test(prints_what_it_reads),
        cmocka_unit_test(prints_every_algorithm),
        cmocka_unit_test(says_what_is_wrong_where),
        cmocka_unit_test(refuses_what_is_cut_short),
        cmocka_unit_test(finds_the_first_that_matches),
        cmocka_unit_test(looks_at_every_range),
        cmocka_unit_test(unbounded_blocks),
        cmocka_unit_test(puts_in_the_place_of_the_same),
        cmocka_unit_test(unbounded_rows_stay_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
