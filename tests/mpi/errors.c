/* errors.c - every mistake gives an error of its class on every rank, with a
 * text that says what is wrong, and leaves communicator and plans usable.
 *
 * usage: errors        all but
 *        errors late   a plan that is freed after MPI_Finalize, whose
 *                      communicators MPI has lost by then
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include "harness.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 64 };

static int counts[ROOM], displs[ROOM];
static char from[ROOM * 8], to[ROOM * 8];

static int init(const void *sendbuf, const int *sc, const int *sd,
                MPI_Datatype st, void *recvbuf, const int *rc, const int *rd,
                MPI_Datatype rt, MPI_Comm comm, MPI_Info info, rota_plan **plan)
{
    return rota_alltoallv_init(sendbuf, sc, sd, st, recvbuf, rc, rd, rt, comm,
                               info, plan);
}

/* A good plan can still be made and run. */
static void still_usable(void)
{
    rota_plan *plan = NULL;

    memset(to, 0, sizeof to);
    for (int i = 0; i < test_P; i++)
        memset(from + displs[i], test_me + i, (size_t)counts[i]);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    for (int i = 0; i < test_P; i++)
        CHECK(to[displs[i]] == (char)(test_me + i));
    MUST(rota_plan_free(&plan));
}

/* The last rank makes the mistake; all must be told. */
static void wrong_arguments(void)
{
    const bool bad = test_me == test_P - 1;
    char rank[32];
    int negative[ROOM];
    MPI_Datatype uncommitted;
    rota_plan *plan = (rota_plan *)(void *)&plan, *const before = plan;

    snprintf(rank, sizeof rank, "rank %d: ", test_P - 1);
    memcpy(negative, counts, sizeof counts);
    negative[0] = -3;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
#define BAD(errorclass, words, ...)                                            \
    MUST_FAIL(init(__VA_ARGS__), errorclass, words);                           \
    MUST_FAIL(init(__VA_ARGS__), errorclass, rank)
    BAD(MPI_ERR_ARG, "sendcounts is NULL", from, bad ? NULL : counts, displs,
        MPI_BYTE, to, counts, displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
        &plan);
    BAD(MPI_ERR_ARG, "sdispls is NULL", from, counts, bad ? NULL : displs,
        MPI_BYTE, to, counts, displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
        &plan);
    BAD(MPI_ERR_ARG, "recvcounts is NULL", from, counts, displs, MPI_BYTE, to,
        bad ? NULL : counts, displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
        &plan);
    BAD(MPI_ERR_ARG, "rdispls is NULL", from, counts, displs, MPI_BYTE, to,
        counts, bad ? NULL : displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
        &plan);
    BAD(MPI_ERR_ARG, "plan is NULL", from, counts, displs, MPI_BYTE, to, counts,
        displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, bad ? NULL : &plan);
    BAD(MPI_ERR_COUNT, "recvcounts[0] = -3 is negative", from, counts, displs,
        MPI_BYTE, to, bad ? negative : counts, displs, MPI_BYTE, MPI_COMM_WORLD,
        MPI_INFO_NULL, &plan);
    BAD(MPI_ERR_COUNT, "sendcounts[0] = -3 is negative", from,
        bad ? negative : counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
        MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    BAD(MPI_ERR_BUFFER, "sendbuf is NULL", bad ? NULL : from, counts, displs,
        MPI_BYTE, to, counts, displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
        &plan);
    BAD(MPI_ERR_BUFFER, "recvbuf is NULL", from, counts, displs, MPI_BYTE,
        bad ? NULL : to, counts, displs, MPI_BYTE, MPI_COMM_WORLD,
        MPI_INFO_NULL, &plan);
    BAD(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE", from, counts, displs,
        MPI_BYTE, bad ? MPI_IN_PLACE : (void *)to, counts, displs, MPI_BYTE,
        MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    BAD(MPI_ERR_TYPE, "sendtype is null or not committed", from, counts, displs,
        bad ? MPI_DATATYPE_NULL : MPI_BYTE, to, counts, displs, MPI_BYTE,
        MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    BAD(MPI_ERR_TYPE, "recvtype is null or not committed", from, counts, displs,
        MPI_BYTE, to, counts, displs, bad ? uncommitted : MPI_BYTE,
        MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
#undef BAD
    CHECK(plan == before);
    MPI_Type_free(&uncommitted);
}

/* The text begins with the function and the rank, once, and names the argument
 * as the caller knows it. */
static void words_of_arguments(void)
{
    rota_plan *plan = NULL;
    char words[100];

    MUST_FAIL(rota_alltoall_init(from, -1, MPI_BYTE, to, 2, MPI_BYTE,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_COUNT,
              "rota_alltoall_init: rank 0: sendcount = -1 is negative");
    MUST_FAIL(rota_alltoall_init_c(from, 2, MPI_INT, to, (MPI_Count)1 << 62,
                                   MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &plan),
              MPI_ERR_COUNT,
              "rota_alltoall_init_c: rank 0: recvcount = 4611686018427387904 "
              "for each rank");
    /* found behind one agreement, before another */
    MUST_FAIL(rota_alltoall_init(from, 1, MPI_BYTE, to, 2, MPI_BYTE,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_COUNT,
              "rota_alltoall_init: rank 0: rank 0 sends 1 bytes");
    MUST(rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &plan));
    snprintf(words, sizeof words, "rota_alltoallv_start: rank %d: sdispls is",
             test_me);
    MUST_FAIL(
        rota_alltoallv_start(plan, from, counts, NULL, to, counts, displs),
        MPI_ERR_ARG, words);
    snprintf(words, sizeof words, "rota_start: rank %d: the plan is a varying",
             test_me);
    MUST_FAIL(rota_start(plan), MPI_ERR_REQUEST, words);
    MUST(rota_plan_free(&plan));
}

/* Different mistakes on different ranks: one of them, the same everywhere. */
static void several_mistakes(void)
{
    rota_plan *plan = NULL;
    int negative[ROOM], code, mine, worst = 0;

    memcpy(negative, counts, sizeof counts);
    negative[test_P - 1] = -1;
    code = init(test_me ? from : NULL, test_me ? negative : counts, displs,
                MPI_BYTE, to, counts, displs, MPI_BYTE, MPI_COMM_WORLD,
                MPI_INFO_NULL, &plan);
    CHECK(code != MPI_SUCCESS);
    rota_error_class(code, &mine);
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(mine == worst);
}

static void counts_that_do_not_match(void)
{
    char words[100];
    int other[ROOM];
    rota_plan *plan = NULL;

    memcpy(other, counts, sizeof counts);
    if (test_me == 0)
        other[test_P - 1]++;
    snprintf(words, sizeof words,
             "rank 0 sends 3 bytes to rank %d, which expects 2", test_P - 1);
    MUST_FAIL(init(from, other, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_COUNT, words);
    MPI_Info info = test_info("rota_algorithm", "parlogna", NULL, NULL);
    MUST_FAIL(init(from, other, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_WORLD, info, &plan),
              MPI_ERR_COUNT, words);
    MPI_Info_free(&info);
}

static void overlapping_blocks(void)
{
    int close[ROOM];
    rota_plan *plan = NULL;

    memcpy(close, displs, sizeof displs);
    close[1] = close[0] + 1;
    MUST_FAIL(init(from, counts, displs, MPI_BYTE, to, counts, close, MPI_BYTE,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "receive blocks from ranks 0 and 1 overlap");
    /* nothing to find where it was not asked to look */
    MPI_Info info = test_info("rota_check", "off", NULL, NULL);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, close, MPI_BYTE,
              MPI_COMM_WORLD, info, &plan));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* Interleaved columns may lie within each other's bounds, not share bytes. */
static void overlapping_columns(void)
{
    int one[ROOM], at[ROOM], matrix[6 * 64], other[6 * 64];
    MPI_Datatype plain, column;
    rota_plan *plan = NULL;

    MPI_Type_vector(6, 1, 64, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < test_P; i++) {
        one[i] = 1;
        at[i] = i;
    }
    MUST(init(other, one, at, column, matrix, one, at, column, MPI_COMM_WORLD,
              MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    at[2] = 0;
    MUST_FAIL(init(other, one, at, column, matrix, one, at, column,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "receive blocks from ranks 0 and 2 overlap");
    MUST_FAIL(init(NULL, one, at, column, matrix, one, at, column,
                   MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_BUFFER, "sendbuf is NULL");
    MPI_Type_free(&plain);
    MPI_Type_free(&column);
}

enum { PITCH = 1 << 16 };

/* A plan for a column of so many rows of int from each rank. */
static int init_columns(const int sent[], void *matrix, int rows,
                        const int at[], rota_plan **plan)
{
    int counts[ROOM], none[ROOM] = {0}, one[ROOM];
    MPI_Info info = test_info("rota_algorithm", "linear", NULL, NULL);
    MPI_Datatype plain, column;

    MPI_Type_vector(rows, 1, PITCH, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < test_P; i++) {
        counts[i] = rows;
        one[i] = 1;
    }
    const int err = init(sent, counts, none, MPI_INT, matrix, one, at, column,
                         MPI_COMM_WORLD, info, plan);
    MPI_Type_free(&plain);
    MPI_Type_free(&column);
    MPI_Info_free(&info);
    return err;
}

/* To look for overlaps takes no memory of the matrix's size: there is not so
 * much. Nor does it for many rows: they are not compared. */
static void columns_of_a_huge_matrix(void)
{
    enum { ROWS = 1 << 17, FEWER = 1 << 15 }; /* 32 GiB of int */
    int at[ROOM];
    rota_plan *plan = NULL;
    int *const sent = calloc(ROWS, sizeof *sent);
    const size_t bytes = sizeof(int) * PITCH * (ROWS + 4UL);
    void *const matrix =
        mmap(NULL, bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    CHECK(matrix != MAP_FAILED);
    for (int i = 0; i < test_P; i++)
        at[i] = i;
    MUST(init_columns(sent, matrix, FEWER, at, &plan));
    MUST(rota_plan_free(&plan));
    at[test_P - 1] += PITCH * 3; /* three rows down */
    MUST(init_columns(sent, matrix, FEWER, at, &plan));
    MUST(rota_plan_free(&plan));
    if (test_P > 1) {
        at[1] = PITCH * 3; /* the first column */
        MUST_FAIL(init_columns(sent, matrix, FEWER, at, &plan), MPI_ERR_ARG,
                  "receive blocks from ranks 0 and 1 overlap");
        MUST(init_columns(sent, matrix, ROWS, at, &plan));
        MUST(rota_plan_free(&plan));
    }
    munmap(matrix, bytes);
    free(sent);
}

/* What is sent and what is received may be parts of one buffer, not the same. */
static void one_buffer(void)
{
    const bool bad = test_me == test_P - 1;
    char rank[100];
    int other[ROOM], close[ROOM];
    rota_plan *plan = NULL, *varying = NULL;

    snprintf(rank, sizeof rank, "rank %d: the block to rank", test_P - 1);
    for (int i = 0; i < test_P; i++) {
        other[i] = displs[i] + 2;
        close[i] = displs[i] + (bad && i == test_P - 1);
    }
    MUST_FAIL(init(bad ? to : from, counts, displs, MPI_BYTE, to, counts,
                   displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_BUFFER, rank);
    MUST_FAIL(init(bad ? to : from, counts, displs, MPI_BYTE, to, counts, close,
                   MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_BUFFER, rank);
    MUST(init(to, counts, displs, MPI_BYTE, to, counts, other, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST_FAIL(rota_plan_set_buffers(plan, to + 1, to), MPI_ERR_BUFFER,
              "overlap");
    MUST(rota_plan_set_buffers(plan, to, to));
    MUST(rota_plan_free(&plan));
    MUST(rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &varying));
    MUST_FAIL(
        rota_alltoallv_start(varying, to, counts, displs, to, counts, displs),
        MPI_ERR_BUFFER, "overlap");
    MUST(rota_alltoallv_start(varying, to, counts, displs, to, counts, other));
    MUST(rota_wait(varying));
    MUST(rota_plan_free(&varying));
    /* nothing to find where it was not asked to look */
    MPI_Info info = test_info("rota_check", "off", NULL, NULL);
    MUST(init(to, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, info, &plan));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* An empty block is nowhere. */
static void places_of_empty_blocks(void)
{
    MPI_Count none[ROOM] = {0};
    MPI_Aint nowhere[ROOM];
    rota_plan *plan = NULL;

    for (int i = 0; i < test_P; i++)
        nowhere[i] = i % 2 ? PTRDIFF_MAX : PTRDIFF_MIN;
    MUST(rota_alltoallv_init_c(from, none, nowhere, MPI_INT, to, none, nowhere,
                               MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    MUST(rota_plan_free(&plan));
}

/* Types made of many elements are used for counts beyond int. */
static void large_contiguous_type(void)
{
    int none[ROOM] = {0};
    MPI_Datatype type;
    rota_plan *plan = NULL;

    MPI_Type_contiguous(1 << 28, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    MUST(init(NULL, none, none, type, NULL, none, none, type, MPI_COMM_WORLD,
              MPI_INFO_NULL, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    MUST(rota_plan_free(&plan));
    MPI_Type_free(&type);
}

static void ranks_that_disagree(void)
{
    rota_plan *plan = NULL;
    MPI_Info info = test_info("rota_batch", test_me ? "3" : "4", NULL, NULL);

    MUST_FAIL(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG,
              "rank 1: ranks disagree: its rota_batch is not that of rank 0");
    MUST_FAIL(rota_alltoallv_varying_init(test_me ? 8 : 9, MPI_BYTE,
                                          MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "rank 1: ranks disagree: its max_block is not");
    MUST_FAIL(rota_alltoallv_varying_init(8, test_me ? MPI_INT : MPI_DOUBLE,
                                          MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "ranks disagree");
    MUST_FAIL(rota_exchange_init(8, test_me ? MPI_INT : MPI_DOUBLE,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "its size of type is not");
    MUST_FAIL(test_me ? rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD,
                                                    MPI_INFO_NULL, &plan)
                      : init(from, counts, displs, MPI_BYTE, to, counts, displs,
                             MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "ranks disagree");
    MUST_FAIL(init(test_me ? from : MPI_IN_PLACE, counts, displs, MPI_BYTE, to,
                   counts, displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &plan),
              MPI_ERR_ARG, "ranks disagree");
    MPI_Info_free(&info);
}

static void wrong_hint(const char *key, const char *value, const char *words)
{
    rota_plan *plan = NULL;
    MPI_Info info = test_info(key, value, NULL, NULL);

    MUST_FAIL(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, words);
    MPI_Info_free(&info);
}

static void hints(void)
{
    rota_plan *plan = NULL;
    MPI_Info others = test_info("cb_nodes", "rota", "no_any_tag", "true");

    wrong_hint("rota_color", "red",
               "unknown hint rota_color; valid: "
               "rota_algorithm, ");
    wrong_hint("rota_algorithm", "magic",
               "rota_algorithm = magic; valid: "
               "linear, ");
    wrong_hint("rota_batch", "0", "rota_batch = 0; valid: 1 to 1048576");
    wrong_hint("rota_batch", "4x", "rota_batch = 4x");
    wrong_hint("rota_batch", " 3", "rota_batch =  3; valid");
    wrong_hint("rota_batch", "+3", "rota_batch = +3; valid");
    wrong_hint("rota_radix", "1", "rota_radix = 1; valid: 2 to");
    wrong_hint("rota_leaders", "0", "rota_leaders = 0; valid: 1 to 1048576");
    wrong_hint("rota_check", "maybe", "rota_check = maybe; valid: off, on");
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, others, &plan));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&others);
}

/* An exchange has no use for it: as a hint an error, but not as a variable. */
static void unfit(const char *variable, const char *value)
{
    const bool metadata = strcmp(variable, "ROTA_METADATA") == 0;
    MPI_Info info = test_info(metadata ? "rota_metadata" : "rota_algorithm",
                              value, NULL, NULL);
    rota_plan *plan = NULL;

    setenv(variable, value, 1);
    MUST(rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    MUST_FAIL(rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, value);
    unsetenv(variable);
    MPI_Info_free(&info);
}

/* Rank 0 tells of each, and once. */
static void told_once_each(void)
{
    FILE *const said = tmpfile();
    const int kept = dup(STDERR_FILENO);
    char line[1000];
    int algorithm = 0, metadata = 0;

    CHECK(said && dup2(fileno(said), STDERR_FILENO) == STDERR_FILENO);
    unfit("ROTA_ALGORITHM", "bruck_basic");
    unfit("ROTA_ALGORITHM", "mpi");
    unfit("ROTA_METADATA", "once");
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(said);
    while (fgets(line, sizeof line, said)) {
        algorithm += strstr(line, "ROTA_ALGORITHM: ignored for plans") != NULL;
        metadata += strstr(line, "ROTA_METADATA: ignored for plans") != NULL;
    }
    fclose(said);
    CHECK(algorithm == (test_me == 0) && metadata == (test_me == 0));
}

static void environment(void)
{
    rota_plan *plan = NULL;
    char text[4000];
    size_t length = sizeof text;
    MPI_Info info = test_info("rota_algorithm", "pairwise", NULL, NULL);

    setenv("ROTA_ALGORITHM", "xor", 1);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    CHECK(strstr(text, "\"algorithm\":\"xor\""));
    MUST(rota_plan_free(&plan));
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, info, &plan));
    length = sizeof text;
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    CHECK(strstr(text, "\"algorithm\":\"pairwise\""));
    MUST(rota_plan_free(&plan));
    setenv("ROTA_ALGORITHM", "none", 1);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    told_once_each();
    setenv("ROTA_ALGORITHM", "", 1); /* as if it were not there */
    setenv("ROTA_BATCH", "", 1);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    unsetenv("ROTA_ALGORITHM");
    unsetenv("ROTA_BATCH");
    MPI_Info_free(&info);
}

static MPI_Comm seen_comm;
static int seen_code;

static void handler(MPI_Comm *comm, int *code, ...)
{
    seen_comm = *comm;
    seen_code = *code;
}

static void set_handler(MPI_Comm comm)
{
    MPI_Errhandler errhandler;

    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(comm, errhandler);
    MPI_Errhandler_free(&errhandler);
}

/* An error belongs to the communicator that was passed, of which nothing could
 * be kept. */
static void errors_of_a_communicator(MPI_Comm comm, int errorclass)
{
    rota_plan *plan = NULL;
    void *memory = NULL;
    size_t length = 0;

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    set_handler(comm);
#define RAISES(call)                                                           \
    do {                                                                       \
        seen_comm = MPI_COMM_NULL;                                             \
        MUST_FAIL(call, errorclass, "");                                       \
        CHECK(seen_comm == comm);                                              \
    } while (0)
    RAISES(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                comm, MPI_INFO_NULL, &plan));
    RAISES(rota_exchange_init(8, MPI_BYTE, comm, MPI_INFO_NULL, &plan));
    RAISES(rota_mem_alloc(8, comm, MPI_INFO_NULL, &memory));
    RAISES(rota_tuning_forget(comm));
    if (errorclass == MPI_ERR_COMM) /* and not that there is no room */
        RAISES(rota_tuning_export_string(comm, NULL, &length));
#undef RAISES
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

/* MPICH has about 2,000 communicators. Where MPI has more than are asked for
 * here there is nothing to see. */
static void no_more_communicators(void)
{
    enum { MOST = 3000 };
    static MPI_Comm all[MOST];
    int n = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    while (n < MOST && MPI_Comm_dup(MPI_COMM_WORLD, &all[n]) == MPI_SUCCESS)
        n++;
    if (n < MOST)
        errors_of_a_communicator(all[0], MPI_ERR_OTHER);
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&all[i]);
}

static void communicators(void)
{
    rota_plan *plan = NULL;
    MPI_Comm half, between;

    MUST_FAIL(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   MPI_COMM_NULL, MPI_INFO_NULL, &plan),
              MPI_ERR_COMM, "MPI_COMM_NULL");
    if (test_P < 2) {
        no_more_communicators();
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, test_me % 2, test_me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - test_me % 2, 5, &between);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    MUST_FAIL(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                   between, MPI_INFO_NULL, &plan),
              MPI_ERR_COMM, "inter-communicator");
    errors_of_a_communicator(between, MPI_ERR_COMM);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void states(void)
{
    rota_plan *plan = NULL, *varying = NULL, *none = NULL;
    int flag = 0;

    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &varying));
    MUST(rota_wait(plan)); /* inactive: at once */
    MUST(rota_test(plan, &flag));
    CHECK(flag == 1);
    MUST_FAIL(rota_start(varying), MPI_ERR_REQUEST, "varying");
    MUST_FAIL(
        rota_alltoallv_start(plan, from, counts, displs, to, counts, displs),
        MPI_ERR_REQUEST, "fixed");
    MUST_FAIL(rota_plan_set_buffers(varying, from, to), MPI_ERR_REQUEST,
              "varying");
    MUST_FAIL(rota_plan_set_buffers(plan, MPI_IN_PLACE, to), MPI_ERR_BUFFER,
              "sendbuf is MPI_IN_PLACE");
    MUST_FAIL(rota_plan_set_buffers(plan, NULL, to), MPI_ERR_BUFFER,
              "sendbuf is NULL");
    MUST(rota_start(plan));
    MUST_FAIL(rota_start(plan), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_plan_set_buffers(plan, from, to), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_plan_free(&plan), MPI_ERR_REQUEST, "active");
    CHECK(plan != NULL);
    MUST_FAIL(rota_test(plan, NULL), MPI_ERR_ARG, "flag is NULL");
    MUST(rota_wait(plan));
    MUST_FAIL(rota_start(NULL), MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_wait(NULL), MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_plan_free(NULL), MPI_ERR_ARG, "plan is NULL");
    MUST_FAIL(rota_startall(-1, &plan), MPI_ERR_COUNT, "n = -1");
    MUST_FAIL(rota_startall(2, (rota_plan *[]){plan, NULL}), MPI_ERR_REQUEST,
              "plans[1] is NULL");
    MUST_FAIL(rota_startall(2, (rota_plan *[]){plan, varying}), MPI_ERR_REQUEST,
              "plans[1] is a varying one");
    MUST_FAIL(rota_waitall(2, (rota_plan *[]){plan, NULL}), MPI_ERR_REQUEST,
              "plans[1] is NULL");
    MUST(rota_start(plan)); /* none was started */
    MUST_FAIL(rota_startall(1, &plan), MPI_ERR_REQUEST, "plans[0] is active");
    MUST(rota_wait(plan));
    MUST_FAIL(rota_waitall(1, NULL), MPI_ERR_ARG, "plans is NULL");
    MUST(rota_startall(0, NULL));
    MUST(rota_plan_free(&none));
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&varying));
}

/* Nothing is raised for a block above the bound: the handler is fatal here.
 * type: of a byte, or of one and a gap. */
static void above_the_bound(MPI_Datatype type, const char *algorithm,
                            const char *metadata, const char *intranode)
{
    MPI_Info info =
        test_info("rota_algorithm", algorithm, "rota_metadata", metadata);
    rota_plan *plan = NULL;
    int scounts[ROOM], rcounts[ROOM], at[ROOM], flag = 0, err;
    char words[100];
    const bool party = test_me == 0 || test_me == test_P - 1;
    const int step = type == MPI_BYTE ? 1 : 2;

    for (int i = 0; i < test_P; i++) {
        scounts[i] = rcounts[i] = 4;
        at[i] = 8 * i;
    }
    if (test_me == 0)
        scounts[test_P - 1] = 8;
    if (test_me == test_P - 1)
        rcounts[0] = 8;
    MPI_Info_set(info, "rota_intranode", intranode);
    test_case = metadata;
    snprintf(words, sizeof words, "has 8 bytes, more than max_block = 5");
    MUST(rota_alltoallv_varying_init(5, type, MPI_COMM_WORLD, info, &plan));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 2; i++) {
        memset(from, test_me + 1, sizeof from);
        memset(to, 0, sizeof to);
        MUST(rota_alltoallv_start(plan, from, scounts, at, to, rcounts, at));
        for (flag = 0, err = 0; i && !flag && !err;)
            err = rota_test(plan, &flag);
        err = i ? err : rota_wait(plan);
        if (party)
            MUST_FAIL(err, MPI_ERR_TRUNCATE, words);
        else
            CHECK(err == MPI_SUCCESS);
        for (int q = 0; q < test_P; q++)
            CHECK(to[step * at[q]] == (rcounts[q] == 8 ? 0 : q + 1));
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < test_P; i++)
        scounts[i] = rcounts[i] = 5;
    MUST(rota_alltoallv_start(plan, from, scounts, at, to, rcounts, at));
    MUST(rota_wait(plan));
    CHECK(to[step * (at[test_P - 1] + 4)] == test_P);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* By every way that sizes travel, of bytes and of elements that have to be
 * packed, within the node by MPI and through shared memory. */
static void blocks_above_the_bound(void)
{
    static const char *const algorithms[] = {"multi_pair", "parlogna"};
    static const char *const metadata[] = {"fused", "two_phase", "combined"};
    static const char *const intranode[] = {"p2p", "shm"};
    MPI_Datatype element;

    MPI_Type_create_resized(MPI_BYTE, 0, 2, &element);
    MPI_Type_commit(&element);
    for (int i = 0; i < 12; i++) {
        const char *const algorithm = algorithms[i % 2];
        const char *const how = metadata[i / 2 % 3];
        above_the_bound(MPI_BYTE, algorithm, how, intranode[i / 6]);
        above_the_bound(element, algorithm, how, intranode[i / 6]);
    }
    MPI_Type_free(&element);
}

/* As above_the_bound, where the receiver learns of it from the message. */
static void exchange_above_the_bound(const char *algorithm)
{
    MPI_Info info = test_info("rota_algorithm", algorithm, "rota_radix", "2");
    int sends[ROOM], at[ROOM], got[ROOM], found_at[ROOM];
    const bool party = test_me == 0 || test_me == test_P - 1;
    rota_plan *plan = NULL;
    void *found = NULL;

    test_case = algorithm;
    memset(from, test_me + 1, sizeof from);
    for (int i = 0; i < test_P; i++) {
        sends[i] = test_me == 0 && i == test_P - 1 ? 8 : 4;
        at[i] = 8 * i;
    }
    MUST(rota_exchange_init(5, MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    for (int i = 0; i < 2; i++) {
        MUST(rota_exchange_start(plan, from, sends, at));
        const int err = rota_exchange_wait(plan, &found, got, found_at);
        if (party)
            MUST_FAIL(err, MPI_ERR_TRUNCATE,
                      "has 8 bytes, more than max_block = 5");
        else
            CHECK(err == MPI_SUCCESS);
        for (int q = 0; q < test_P; q++)
            CHECK(got[q] == (q == 0 && test_me == test_P - 1 ? 0 : 4));
        for (int q = 0; q < test_P; q++)
            CHECK(got[q] == 0 || ((char *)found)[found_at[q] + 3] == q + 1);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

static void exchanges(void)
{
    rota_plan *plan = NULL, *fixed = NULL;
    void *found = NULL;
    int got[ROOM], at[ROOM], flag = 0;

    exchange_above_the_bound("parlogna");
    exchange_above_the_bound("sloav");
    exchange_above_the_bound("two_phase_bruck");
    exchange_above_the_bound("consensus");
    exchange_above_the_bound("scattered");
    test_case = "exchanges";
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &fixed));
    MUST_FAIL(rota_exchange_wait(plan, &found, got, at), MPI_ERR_REQUEST,
              "not active");
    MUST_FAIL(rota_exchange_start(fixed, from, counts, displs), MPI_ERR_REQUEST,
              "a fixed one");
    MUST_FAIL(rota_exchange_wait(fixed, &found, got, at), MPI_ERR_REQUEST,
              "a fixed one");
    MUST_FAIL(rota_exchange_set_buffer(fixed, to, 1), MPI_ERR_REQUEST,
              "a fixed one");
    MUST_FAIL(rota_start(plan), MPI_ERR_REQUEST, "an exchange");
    MUST_FAIL(rota_exchange_start(plan, MPI_IN_PLACE, counts, displs),
              MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    MUST(rota_exchange_start(plan, from, counts, displs));
    MUST_FAIL(rota_wait(plan), MPI_ERR_REQUEST, "rota_exchange_wait");
    while (!flag && MUST(rota_test(plan, &flag)) == MPI_SUCCESS)
        ;
    MUST_FAIL(rota_exchange_wait(plan, NULL, got, at), MPI_ERR_ARG,
              "recvbuf is NULL");
    MUST_FAIL(rota_plan_free(&plan), MPI_ERR_REQUEST, "active");
    MUST(rota_exchange_wait(plan, &found, NULL, NULL));
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&fixed));
}

static void kind_hint(const char *key, const char *value, const char *key2,
                      const char *value2, const char *words)
{
    MPI_Info info = test_info(key, value, key2, value2);
    rota_plan *plan = NULL;

    MUST_FAIL(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                 &plan),
              MPI_ERR_ARG, words);
    MPI_Info_free(&info);
}

/* Algorithms that cannot do what is asked for. */
static void unfit_algorithms(void)
{
    MPI_Info info = test_info("rota_algorithm", "bruck_basic", NULL, NULL);
    int uneven[ROOM];
    rota_plan *plan = NULL;

    kind_hint("rota_algorithm", "mpi", NULL, NULL,
              "cannot find receive counts");
    kind_hint("rota_algorithm", "padded_bruck", NULL, NULL,
              "cannot find receive counts");
    kind_hint("rota_algorithm", "parlogna", "rota_metadata", "once",
              "must send sizes");
    wrong_hint("rota_metadata", "never",
               "rota_metadata = never; valid: once, fused");
    wrong_hint("rota_packing", "zip", "rota_packing = zip; valid: pack");
    for (int i = 0; i < test_P; i++)
        uneven[i] = 1 + (i + test_me) % 2;
    if (test_P > 1)
        MUST_FAIL(init(from, uneven, displs, MPI_BYTE, to, uneven, displs,
                       MPI_BYTE, MPI_COMM_WORLD, info, &plan),
                  MPI_ERR_ARG, "for blocks of one size; these have 1 to 2");
    MUST_FAIL(
        rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan),
        MPI_ERR_ARG, "not for counts that vary");
    MPI_Info_free(&info);
    info = test_info("rota_algorithm", "padded_bruck", NULL, NULL);
    MUST_FAIL(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE,
                                          MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, "needs max_block");
    MPI_Info_free(&info);
}

/* Blocks padded to the bound would take more bytes than there are, and their
 * sum is a small number again. */
static void bounds_beyond_memory(void)
{
    static const char *const algorithm[] = {"padded_alltoall", "padded_bruck"};
    const size_t bound = SIZE_MAX / (2 * (size_t)test_P) + 1;
    rota_plan *plan = NULL;

    for (size_t i = 0; i < 2 && test_P > 1; i++) {
        MPI_Info info = test_info("rota_algorithm", algorithm[i], NULL, NULL);
        MUST_FAIL(rota_alltoallv_varying_init(bound, MPI_BYTE, MPI_COMM_WORLD,
                                              info, &plan),
                  MPI_ERR_NO_MEM, "scratch");
        MPI_Info_free(&info);
        CHECK(plan == NULL);
    }
}

/* Counts of a varying start that do not match: the receiver is told. */
static void varying_mismatch(void)
{
    MPI_Info info = test_info("rota_algorithm", "parlogna", "rota_radix", "2");
    int sends[ROOM], receives[ROOM], own[ROOM];
    rota_plan *plan = NULL;

    for (int i = 0; i < test_P; i++)
        sends[i] = receives[i] = own[i] = 2;
    own[test_me] = 3;
    MUST(rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    MUST_FAIL(
        rota_alltoallv_start(plan, from, own, displs, to, receives, displs),
        MPI_ERR_COUNT, "sends 3 bytes to rank");
    if (test_P >= 4) { /* 0 to 3 takes two hops: sizes travel */
        if (test_me == 0)
            sends[test_P - 3] = 4;
        MUST(rota_alltoallv_start(plan, from, sends, displs, to, receives,
                                  displs));
        const int err = rota_wait(plan);
        if (test_me == test_P - 3)
            MUST_FAIL(err, MPI_ERR_COUNT, "which expects");
        else
            CHECK(err == MPI_SUCCESS);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

static void descriptions(void)
{
    rota_plan *plan = NULL;
    char text[4000], little[10] = "untouched";
    size_t length = sizeof little, whole;

    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, little, &length));
    CHECK(strlen(little) == sizeof little - 1 && length > sizeof little);
    whole = 0;
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, NULL, &whole));
    CHECK(whole == length);
    whole = sizeof text;
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, text, &whole));
    CHECK(whole == strlen(text) + 1 && strstr(text, "algorithm"));
    MUST_FAIL(rota_plan_describe(plan, 7, text, &whole), MPI_ERR_ARG,
              "format = 7");
    MUST_FAIL(rota_plan_describe(plan, 0, NULL, &whole), MPI_ERR_ARG,
              "buf is NULL");
    MUST_FAIL(rota_plan_describe(plan, 0, text, NULL), MPI_ERR_ARG,
              "len is NULL");
    MUST_FAIL(rota_plan_describe(NULL, 0, text, &whole), MPI_ERR_REQUEST,
              "plan is NULL");
    MUST(rota_plan_free(&plan));
}

/* Errors go through the handler of the user's communicator. */
static void handlers(void)
{
    MPI_Comm comm;
    rota_plan *plan = NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    set_handler(comm);
    MUST(init(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
              comm, MPI_INFO_NULL, &plan));
    MUST(rota_start(plan));
    seen_code = MPI_SUCCESS;
    const int code = rota_start(plan);
    CHECK(code != MPI_SUCCESS && seen_code == code);
    MUST(rota_wait(plan));
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&comm);
}

static int late(void)
{
    static rota_plan *plan, *fixed, *open; /* last as long as the process */
    void *found;
    int flag;

    MUST(rota_alltoall_init(from, 1, MPI_BYTE, to, 1, MPI_BYTE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &fixed));
    MUST(rota_start(fixed));
    MUST(rota_wait(fixed));
    MUST(rota_alltoallv_varying_init(1, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &plan));
    MUST(rota_exchange_init(1, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &open));
    MUST(rota_exchange_start(open, from, counts, displs));
    MUST(rota_start(fixed));
    const int status = test_end();
    if (rota_test(fixed, &flag) != MPI_ERR_OTHER ||
        rota_wait(fixed) != MPI_ERR_OTHER ||
        rota_exchange_wait(open, &found, NULL, NULL) != MPI_ERR_OTHER)
        return 1;
    if (rota_start(fixed) != MPI_ERR_OTHER ||
        rota_alltoallv_start(plan, from, counts, displs, to, counts, displs) !=
            MPI_ERR_OTHER)
        return 1;
    return rota_plan_free(&plan) == MPI_ERR_OTHER && plan ? status : 1;
}

/* A value that no plan takes, on one rank only; then all fail. */
static void wrong_reductions(rota_plan *plan)
{
    static MPI_Datatype gaps;
    double value[9] = {0}, result[9];
    const bool here = test_me == test_P - 1;

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &gaps);
    MPI_Type_commit(&gaps);
    MUST_FAIL(rota_plan_set_reduction(plan, here ? NULL : value, result, 1,
                                      MPI_DOUBLE, MPI_SUM),
              MPI_ERR_BUFFER, "value is NULL");
    MUST_FAIL(rota_plan_set_reduction(plan, value, here ? NULL : result, 1,
                                      MPI_DOUBLE, MPI_SUM),
              MPI_ERR_BUFFER, "result is NULL");
    MUST_FAIL(rota_plan_set_reduction(plan, value, MPI_IN_PLACE, 1, MPI_DOUBLE,
                                      MPI_SUM),
              MPI_ERR_BUFFER, "result is MPI_IN_PLACE");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 0, MPI_DOUBLE, MPI_SUM),
        MPI_ERR_COUNT, "count = 0");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 9, MPI_DOUBLE, MPI_SUM),
        MPI_ERR_COUNT, "more than 64 bytes");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, INT_MAX, MPI_DOUBLE,
                                      MPI_SUM),
              MPI_ERR_COUNT, "more than 64 bytes");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, 1, MPI_DATATYPE_NULL,
                                      MPI_SUM),
              MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, 1, gaps, MPI_SUM),
              MPI_ERR_TYPE, "not contiguous");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 1, MPI_DOUBLE, MPI_BAND),
        MPI_ERR_OP, "not for elements of double");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 1, MPI_INT, MPI_MINLOC),
        MPI_ERR_OP, "not for elements of int");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 1, MPI_2INT, MPI_SUM),
        MPI_ERR_OP, "not for elements of pairs");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 1, MPI_CHAR, MPI_SUM),
        MPI_ERR_OP, "characters");
    MUST_FAIL(
        rota_plan_set_reduction(plan, value, result, 1, MPI_INT, MPI_REPLACE),
        MPI_ERR_OP, "combines no values");
    MPI_Type_free(&gaps);
}

/* What ranks must have in common. */
static void different_reductions(rota_plan *plan)
{
    double value[4] = {0}, result[4];
    const bool here = test_me == test_P - 1;

    if (test_P == 1)
        return;
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, here ? 2 : 1,
                                      MPI_DOUBLE, MPI_SUM),
              MPI_ERR_ARG, "count of the reduction");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, 1,
                                      here ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM),
              MPI_ERR_ARG, "size of a value");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, 1, MPI_DOUBLE,
                                      here ? MPI_MAX : MPI_SUM),
              MPI_ERR_ARG, "operator");
    MUST_FAIL(rota_plan_set_reduction(plan, value, result, 1, MPI_DOUBLE,
                                      here ? MPI_OP_NULL : MPI_SUM),
              MPI_ERR_ARG, "count of the reduction");
}

/* Start an exchange of nothing, and wait. */
static void exchange_nothing(rota_plan *plan)
{
    int none[ROOM] = {0};
    void *found;

    MUST(rota_exchange_start(plan, none, none, none));
    MUST(rota_exchange_wait(plan, &found, NULL, NULL));
}

static bool has_reduction(rota_plan *plan)
{
    char text[8192];
    size_t length = sizeof text;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, text, &length));
    return strstr(text, "reduced_bytes") != NULL;
}

static void reductions(void)
{
    rota_plan *plan = NULL, *fixed = NULL;
    int from[ROOM], to[ROOM], none[ROOM] = {0};
    double value = 1, result = 0;
    void *found;

    MUST_FAIL(
        rota_plan_set_reduction(NULL, &value, &result, 1, MPI_DOUBLE, MPI_SUM),
        MPI_ERR_REQUEST, "plan is NULL");
    MUST(rota_alltoall_init(from, 1, MPI_INT, to, 1, MPI_INT, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &fixed));
    MUST_FAIL(
        rota_plan_set_reduction(fixed, &value, &result, 1, MPI_DOUBLE, MPI_SUM),
        MPI_ERR_REQUEST, "fixed counts");
    MUST(rota_plan_free(&fixed));
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_INT, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    wrong_reductions(plan);
    different_reductions(plan);
    CHECK(!has_reduction(plan));
    MUST(
        rota_plan_set_reduction(plan, &value, &result, 1, MPI_DOUBLE, MPI_SUM));
    exchange_nothing(plan);
    CHECK(result == test_P && has_reduction(plan));
    /* after an error all is as it was */
    wrong_reductions(plan);
    different_reductions(plan);
    value = 2;
    exchange_nothing(plan);
    CHECK(result == 2 * test_P);
    MUST(rota_exchange_start(plan, none, none, none));
    MUST_FAIL(
        rota_plan_set_reduction(plan, &value, &result, 1, MPI_DOUBLE, MPI_SUM),
        MPI_ERR_REQUEST, "the plan is active");
    MUST(rota_exchange_wait(plan, &found, NULL, NULL));
    MUST(rota_plan_set_reduction(plan, NULL, NULL, 0, MPI_DATATYPE_NULL,
                                 MPI_OP_NULL));
    result = 0;
    exchange_nothing(plan);
    CHECK(result == 0 && !has_reduction(plan));
    MUST(rota_plan_free(&plan));
}

int main(int argc, char **argv)
{
    static void (*const parts[])(void) = {
        wrong_arguments,
        words_of_arguments,
        several_mistakes,
        counts_that_do_not_match,
        overlapping_blocks,
        overlapping_columns,
        columns_of_a_huge_matrix,
        one_buffer,
        places_of_empty_blocks,
        large_contiguous_type,
        ranks_that_disagree,
        hints,
        environment,
        communicators,
        states,
        blocks_above_the_bound,
        descriptions,
        handlers,
        exchanges,
        unfit_algorithms,
        bounds_beyond_memory,
        varying_mismatch,
        reductions,
    };
    static const char *const names[] = {
        "wrong arguments",
        "words of arguments",
        "several mistakes",
        "counts that do not match",
        "overlapping blocks",
        "overlapping columns",
        "columns of a huge matrix",
        "one buffer",
        "places of empty blocks",
        "large contiguous type",
        "ranks that disagree",
        "hints",
        "environment",
        "communicators",
        "states",
        "above the bound",
        "descriptions",
        "handlers",
        "exchanges",
        "unfit algorithms",
        "bounds beyond memory",
        "varying mismatch",
        "reductions",
    };
    rota_plan *early = NULL;

    /* before MPI is there */
    if (rota_alltoallv_varying_init(1, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &early) != MPI_ERR_OTHER)
        return 1;
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (argc > 1)
        return late();
    for (int i = 0; i < test_P; i++) {
        counts[i] = 2;
        displs[i] = 4 * i;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const bool needs_peers =
            parts[i] == ranks_that_disagree || parts[i] == overlapping_blocks;
        test_case = names[i];
        const bool needs_three = parts[i] == overlapping_columns;
        if (test_P > 2 || (test_P > 1 && !needs_three) ||
            (!needs_peers && !needs_three))
            parts[i]();
        still_usable();
    }
    return test_end();
}
