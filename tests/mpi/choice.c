/* choice.c - what a plan chooses where nobody asks for an algorithm: the same
 * on every rank, with the right data, from where it should. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, TEXT = 16000 };

static int sent[MOST], sdispl[MOST], received[MOST], rdispl[MOST];
static unsigned char *from, *to;

/* Bytes from src to dst: patterns that choices differ for. */
static int bytes_of(int pattern, int src, int dst)
{
    switch (pattern) {
    case 0:
        return 8;
    case 1:
        return 3000 + 17 * src + dst;
    case 2:
        return src == 0 ? 100000 : 0; /* one sends everything */
    case 3:
        return (src + dst) % 3 == 0 ? 40000 : 0;
    default:
        return 0;
    }
}
enum { PATTERNS = 5 };

static unsigned char byte_of(int src, int dst, int i, int round)
{
    return (unsigned char)(src * 31 + dst * 7 + i + round);
}

static void lay_out(int pattern)
{
    int s = 0, r = 0;

    for (int q = 0; q < test_P; q++) {
        sent[q] = bytes_of(pattern, test_me, q);
        received[q] = bytes_of(pattern, q, test_me);
        sdispl[q] = s;
        rdispl[q] = r;
        s += sent[q];
        r += received[q];
    }
    free(from);
    free(to);
    from = malloc((size_t)s + 1);
    to = malloc((size_t)r + 1);
}

static void fill(int round)
{
    for (int q = 0; q < test_P; q++) {
        for (int i = 0; i < sent[q]; i++)
            from[sdispl[q] + i] = byte_of(test_me, q, i, round);
        memset(to + rdispl[q], 0xee, (size_t)received[q]);
    }
}

static void verify(int round)
{
    int wrong = 0;

    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < received[q]; i++)
            wrong += to[rdispl[q] + i] != byte_of(q, test_me, i, round);
    CHECK(wrong == 0);
}

static void describe(const rota_plan *plan, char text[TEXT])
{
    size_t length = TEXT;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    CHECK(length <= TEXT);
}

/* The value of a key, as it is printed. */
static void value_of(const char *text, const char *key, char value[80])
{
    char quoted[40];

    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *const at = strstr(text, quoted);
    snprintf(value, 80, "%.*s",
             at ? (int)strcspn(at + strlen(quoted), ",}") : 0,
             at ? at + strlen(quoted) : "");
}

static void expect_value(const rota_plan *plan, const char *key,
                         const char *wanted)
{
    char text[TEXT], value[80];

    describe(plan, text);
    value_of(text, key, value);
    if (strcmp(value, wanted) != 0)
        test_fail(__FILE__, __LINE__, "%s is %s, not %s", key, value, wanted);
}

/* All ranks say the same of what was chosen, and of all candidates. */
static void same_on_all(const rota_plan *plan)
{
    static char text[TEXT], first[TEXT];
    char mine[400] = "", value[80];
    const char *const keys[] = {"algorithm", "chosen",  "radix",
                                "batch",     "leaders", "metadata"};

    describe(plan, text);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        value_of(text, keys[i], value);
        strncat(mine, value, sizeof mine - strlen(mine) - 1);
    }
    const char *const list = strstr(text, "\"candidates\"");
    const char *const end = list ? strchr(list, ']') : NULL;
    CHECK(end != NULL);
    snprintf(text, sizeof text, "%s %.*s", mine, end ? (int)(end - list) : 0,
             list ? list : "");
    memcpy(first, text, sizeof first);
    MPI_Bcast(first, TEXT, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(strcmp(first, text) == 0);
}

static int init_fixed(MPI_Info info, rota_plan **plan)
{
    return rota_alltoallv_init(from, sent, sdispl, MPI_BYTE, to, received,
                               rdispl, MPI_BYTE, MPI_COMM_WORLD, info, plan);
}

static void run_fixed(rota_plan *plan)
{
    for (int round = 0; round < 3; round++) {
        fill(round);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        verify(round);
    }
}

static void run_varying(rota_plan *plan)
{
    for (int round = 0; round < 3; round++) {
        fill(round);
        MUST(rota_alltoallv_start(plan, from, sent, sdispl, to, received,
                                  rdispl));
        MUST(rota_wait(plan));
        verify(round);
    }
}

static void run_exchange(rota_plan *plan)
{
    int n[MOST], displ[MOST];
    void *got = NULL;

    for (int round = 0; round < 3; round++) {
        fill(round);
        MUST(rota_exchange_start(plan, from, sent, sdispl));
        MUST(rota_exchange_wait(plan, &got, n, displ));
        for (int q = 0; q < test_P; q++) {
            CHECK(n[q] == received[q]);
            if (n[q] == received[q] && n[q] > 0)
                memcpy(to + rdispl[q], (char *)got + displ[q], (size_t)n[q]);
        }
        verify(round);
    }
}

/* ---- all kinds, by price and by measurement ------------------------------ */

static void all_kinds(const char *choose, const char *node_size)
{
    enum { BOUND = 100000 };
    MPI_Info hints =
        test_info("rota_choose", choose, "rota_node_size", node_size);
    rota_plan *plan = NULL;

    MPI_Info_set(hints, "rota_measure_ms", "5");
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        lay_out(pattern);
        MUST(init_fixed(hints, &plan));
        same_on_all(plan);
        run_fixed(plan);
        MUST(rota_plan_free(&plan));
    }
    MUST(rota_alltoallv_varying_init(BOUND, MPI_BYTE, MPI_COMM_WORLD, hints,
                                     &plan));
    same_on_all(plan);
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        lay_out(pattern);
        run_varying(plan);
    }
    MUST(rota_plan_free(&plan));
    for (int bound = 0; bound < 2; bound++) {
        MUST(rota_exchange_init(bound ? BOUND : ROTA_UNBOUNDED, MPI_BYTE,
                                MPI_COMM_WORLD, hints, &plan));
        same_on_all(plan);
        for (int pattern = 0; pattern < PATTERNS; pattern++) {
            lay_out(pattern);
            run_exchange(plan);
        }
        MUST(rota_plan_free(&plan));
    }
    MPI_Info_free(&hints);
}

/* ---- where it comes from ------------------------------------------------- */

static void origins(void)
{
    static const char rows[] =
        "{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\", "
        "\"largest\": [0, 100], \"algorithm\": \"parlogna\", \"radix\": 2, "
        "\"metadata\": \"once\", "
        "\"us\": 1}]}";
    MPI_Info info = test_info("rota_algorithm", "linear", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "origins";
    MUST(rota_tuning_import_string(rows, MPI_COMM_WORLD));
    lay_out(0);
    MUST(init_fixed(MPI_INFO_NULL, &plan));
    expect_value(plan, "chosen", "\"a row of the tuning\"");
    expect_value(plan, "algorithm", "\"parlogna\"");
    run_fixed(plan);
    MUST(rota_plan_free(&plan));
    MUST(init_fixed(info, &plan)); /* a hint goes before */
    expect_value(plan, "chosen", "\"asked for by a hint\"");
    MUST(rota_plan_free(&plan));
    lay_out(1); /* no row */
    MUST(init_fixed(MPI_INFO_NULL, &plan));
    expect_value(plan, "chosen", "\"the cheapest by the usual prices\"");
    MUST(rota_plan_free(&plan));
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    lay_out(0);
    MUST(init_fixed(MPI_INFO_NULL, &plan)); /* nothing is left of the row */
    expect_value(plan, "chosen", "\"the cheapest by the usual prices\"");
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* Prices under which MPI's own all-to-all is the cheapest: chosen as long as it
 * can be had, and then the next. */
static void native_runs_out(void)
{
    enum { PLANS = 66 };
    static const char prices[] =
        "{\"rota_tuning\": 1, \"machine\": {\"ns\": {"
        "\"native_node_per_message\": 0, \"native_node_per_phase\": 0, "
        "\"native_node_per_byte\": 0, \"switch_native\": 0}}}";
    static rota_plan *plan[PLANS];
    rota_plan *none = NULL;

    test_case = "native runs out";
    if (test_P == 1)
        return;
    MPI_Info no_file =
        test_info("rota_tuning_file", "/nowhere/tuning.json", NULL, NULL);
    MPI_Info native = test_info("rota_algorithm", "mpi", NULL, NULL);
    MUST(rota_tuning_import_string(prices, MPI_COMM_WORLD));
    lay_out(0);
    for (int i = 0; i < PLANS; i++)
        MUST(init_fixed(MPI_INFO_NULL, &plan[i]));
    expect_value(plan[0], "algorithm", "\"mpi\"");
    expect_value(plan[0], "chosen",
                 "\"the cheapest by this machine's prices\"");
    expect_value(plan[PLANS - 1], "algorithm", "\"multi_pair\"");
    /* A plan that comes to nothing leaves the pool as it is. */
    MUST_FAIL(init_fixed(no_file, &none), MPI_ERR_ARG, "cannot read");
    MUST_FAIL(init_fixed(native, &none), MPI_ERR_OTHER, "no more can");
    run_fixed(plan[0]);
    run_fixed(plan[PLANS - 1]);
    for (int i = 0; i < PLANS; i++)
        MUST(rota_plan_free(&plan[i]));
    MPI_Info_free(&no_file);
    MPI_Info_free(&native);
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
}

/* Rows for plans that their algorithms are not for do not count: MPI's own
 * all-to-all finds no receive counts, and some take blocks of one size only. */
static void rows_that_do_not_fit(void)
{
    static const char rows[] =
        "{\"rota_tuning\": 1, \"rows\": ["
        "{\"kind\": \"exchange\", \"algorithm\": \"mpi\", "
        "\"metadata\": \"once\", \"us\": 1},"
        "{\"kind\": \"varying\", \"algorithm\": \"bruck_zero_copy\", "
        "\"metadata\": \"once\", \"us\": 1},"
        "{\"kind\": \"fixed\", \"algorithm\": \"bruck_modified\", "
        "\"metadata\": \"once\", \"us\": 1}]}";
    rota_plan *plan = NULL;

    test_case = "rows that do not fit";
    MUST(rota_tuning_import_string(rows, MPI_COMM_WORLD));
    lay_out(1);
    MUST(init_fixed(MPI_INFO_NULL, &plan));
    if (test_P > 1) /* alone, all blocks have one size */
        expect_value(plan, "chosen", "\"the cheapest by the usual prices\"");
    run_fixed(plan);
    MUST(rota_plan_free(&plan));
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &plan));
    run_varying(plan);
    MUST(rota_plan_free(&plan));
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    run_exchange(plan);
    MUST(rota_plan_free(&plan));
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
}

/* Hints that together leave no algorithm are an error, as with one. */
static void nothing_left(void)
{
    MPI_Info info = test_info("rota_metadata", "once", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "nothing left";
    MUST_FAIL(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                 &plan),
              MPI_ERR_ARG, "must send sizes");
    MPI_Info_free(&info);
}

/* What was measured is a row from then on, and goes before what was decided
 * for the like by price. */
static void measuring_teaches(void)
{
    MPI_Info info = test_info("rota_choose", "measure", "rota_measure_ms", "5");
    rota_plan *plan = NULL;
    char text[TEXT];
    size_t length = sizeof text;

    test_case = "measuring teaches";
    if (test_P == 1)
        return;
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    lay_out(1);
    MUST(init_fixed(MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    MUST(init_fixed(info, &plan));
    expect_value(plan, "chosen", "\"the fastest of those measured\"");
    MUST(rota_plan_free(&plan));
    MUST(init_fixed(MPI_INFO_NULL, &plan));
    expect_value(plan, "chosen", "\"a row of the tuning\"");
    MUST(rota_plan_free(&plan));
    MUST(rota_tuning_export_string(MPI_COMM_WORLD, text, &length));
    CHECK(strstr(text, "rota_choose=measure") != NULL);
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    MPI_Info_free(&info);
}

/* A hint leaves the other parameters open. */
static void half_a_hint(void)
{
    MPI_Info info = test_info("rota_algorithm", "parlogna", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "half a hint";
    lay_out(1);
    MUST(init_fixed(info, &plan));
    same_on_all(plan);
    expect_value(plan, "algorithm", "\"parlogna\"");
    run_fixed(plan);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

int main(int argc, char *argv[])
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    /* No file of the user's. */
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    test_case = "by price";
    all_kinds("model", "64");
    test_case = "by price, nodes of two ranks";
    all_kinds("model", "2");
    test_case = "by measurement";
    all_kinds("measure", "2");
    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    origins();
    rows_that_do_not_fit();
    nothing_left();
    native_runs_out();
    measuring_teaches();
    half_a_hint();
    free(from);
    free(to);
    return test_end();
}
