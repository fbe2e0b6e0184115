/* alltoallw.c - blocks with datatypes of their own, of every shape, against one
 * MPI message per pair.
 *
 * usage: alltoallw [--seed S] [--cases N]
 *
 * Case S + i draws shapes, sizes, kinds of memory and hints, the same on all
 * ranks. Both ends of a pair have types of one signature and different maps. All
 * of the receive buffer is compared, holes included.
 */
#include "algos/algo.h"
#include "common/quick.h"
#include "harness.h"
#include "pattern.h"

#include <getopt.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 400, QUICK_CASES = 50, ROOM = 64, SHAPES = 16, LEAST = 96 };

static uint64_t seed; /* of the case */

static int draw(uint64_t i, int bound)
{
    return (int)(test_hash(seed * 1000003 + i) % (uint64_t)bound);
}

/* ---- types --------------------------------------------------------------- */

/* All make n ints, a multiple of LEAST, of a type; old ones are freed. */

static MPI_Datatype freed(MPI_Datatype old, MPI_Datatype type)
{
    MPI_Type_free(&old);
    return type;
}

static MPI_Datatype subarray(int n, int order)
{
    const int sizes[3] = {n / 24 + 1, 6, 9}, parts[3] = {n / 24, 4, 6};
    const int starts[3] = {1, 1, 2};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, sizes, parts, starts, order, MPI_INT, &type);
    return type;
}

/* Columns of a matrix of unit ints an element, one after the other. */
static MPI_Datatype columns(int n, int unit)
{
    const int rows = 6, width = n / unit / rows;
    MPI_Datatype element, column, narrow, type;

    MPI_Type_contiguous(unit, MPI_INT, &element);
    MPI_Type_vector(rows, 1, width, element, &column);
    MPI_Type_create_resized(column, 0, 4 * unit, &narrow);
    MPI_Type_contiguous(width, narrow, &type);
    MPI_Type_free(&element);
    MPI_Type_free(&column);
    return freed(narrow, type);
}

/* Pieces of 1, 2 and 3 ints, or of 2; forwards or backwards. */
static MPI_Datatype listed(int n, int which)
{
    const int blocks = n / 2;
    int *const lengths = malloc((size_t)blocks * sizeof *lengths);
    int *const places = malloc((size_t)blocks * sizeof *places);
    MPI_Aint *const bytes = malloc((size_t)blocks * sizeof *bytes);
    MPI_Datatype type;

    for (int i = 0; i < blocks; i++) {
        lengths[i] = i % 3 + 1;
        places[i] = 5 * (which == 1 ? blocks - i : i) + i % 2;
        bytes[i] = 20 * (MPI_Aint)i + 4 * (i % 2);
    }
    switch (which) {
    case 0:
        MPI_Type_indexed(blocks, lengths, places, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_create_indexed_block(blocks, 2, places, MPI_INT, &type);
        break;
    case 2:
        MPI_Type_create_hindexed_block(blocks, 2, bytes, MPI_INT, &type);
        break;
    default:
        MPI_Type_create_hindexed(blocks, lengths, bytes, MPI_INT, &type);
        break;
    }
    free(lengths);
    free(places);
    free(bytes);
    return type;
}

/* What one of four processes has of a matrix that is dealt out: rows in turn, four
 * at a time, and every other two columns. */
static MPI_Datatype dealt(int n)
{
    const int sizes[2] = {n / 6, 24}, grid[2] = {2, 2}, by[2] = {4, 2};
    const int how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
    MPI_Datatype type;

    MPI_Type_create_darray(4, n / LEAST % 4, 2, sizes, how, by, grid,
                           MPI_ORDER_C, MPI_INT, &type);
    return type;
}

/* Half of them one way, half another. */
static MPI_Datatype structure(int n)
{
    const int ones[2] = {1, 1};
    MPI_Datatype parts[2] = {subarray(n / 2, MPI_ORDER_C), columns(n / 2, 1)};
    MPI_Aint lb, extent, places[2] = {8, 0};
    MPI_Datatype type;

    MPI_Type_get_extent(parts[0], &lb, &extent);
    places[1] = 8 + extent + 4;
    MPI_Type_create_struct(2, ones, places, parts, &type);
    MPI_Type_free(&parts[0]);
    return freed(parts[1], type);
}

static MPI_Datatype make(int shape, int n)
{
    MPI_Datatype type, inner;

    switch (shape) {
    case 0:
        MPI_Type_contiguous(n, MPI_INT, &type);
        return type;
    case 1:
        MPI_Type_vector(n / 4, 4, 7, MPI_INT, &type);
        return type;
    case 2:
        return subarray(n, MPI_ORDER_C);
    case 3:
        return subarray(n, MPI_ORDER_FORTRAN);
    case 4:
        return columns(n, 1);
    case 5:
        return columns(n, 2);
    case 6:
        return columns(n, 4);
    case 7:
        return listed(n, 0);
    case 8:
        return listed(n, 1);
    case 9:
        return listed(n, 2);
    case 10:
        return structure(n);
    case 11:
        inner = subarray(n, MPI_ORDER_C);
        MPI_Type_dup(inner, &type);
        return freed(inner, type);
    case 12:
        MPI_Type_contiguous(n, MPI_INT, &inner);
        MPI_Type_create_resized(inner, -12, 4 * n + 40, &type);
        return freed(inner, type);
    case 13:
        MPI_Type_create_hvector(n / 3, 3, -20, MPI_INT, &type);
        return type;
    case 14:
        return listed(n, 3);
    default:
        return dealt(n);
    }
}

/* Spaced so that elements do not interleave. */
static MPI_Datatype make_apart(int shape, int n)
{
    MPI_Datatype type = make(shape, n), apart;
    MPI_Aint lb, extent;

    MPI_Type_get_true_extent(type, &lb, &extent);
    MPI_Type_create_resized(type, lb, extent + 4 * (n % 3), &apart);
    MPI_Type_commit(&apart);
    return freed(type, apart);
}

/* ---- blocks -------------------------------------------------------------- */

typedef struct side {
    int count[ROOM];
    MPI_Aint displ[ROOM]; /* of the elements' origins, in bytes */
    MPI_Datatype type[ROOM];
    size_t bytes; /* from the buffer's start */
} side;

/* Ints that one rank sends another; in place as many as come back. */
static int amount(int src, int dst, bool in_place)
{
    static const int most[] = {1, 3, 40, 700};
    const int low = in_place && dst < src ? dst : src;
    const int high = in_place && dst < src ? src : dst;
    const uint64_t i = 100 + (uint64_t)(low * ROOM + high);

    if (draw(1, 3) == 0 && draw(i, 3) == 0)
        return 0;
    return 2 * LEAST * (1 + draw(2 * i, most[draw(2, 4)]));
}

static void make_block(side *s, int q, int n, int salt, size_t *at)
{
    const uint64_t i = (uint64_t)(salt * 10000 + test_me * ROOM + q) + 500000;
    MPI_Aint lb, extent, apart;

    s->count[q] = 0;
    s->displ[q] = 0;
    s->type[q] = MPI_DATATYPE_NULL;
    if (n == 0)
        return;
    s->count[q] = 1 + draw(i, 2);
    s->type[q] = make_apart(draw(3 * i, SHAPES), n / s->count[q]);
    MPI_Type_get_true_extent(s->type[q], &lb, &extent);
    MPI_Type_get_extent(s->type[q], &apart, &apart);
    s->displ[q] = (MPI_Aint)*at - lb;
    *at += (size_t)(extent + (s->count[q] - 1) * apart) + 4 * (size_t)(q % 3);
}

static void make_side(side *s, bool receives, bool in_place)
{
    size_t at = 64;

    for (int k = 0; k < test_P; k++) {
        const int q = (k + 2) % test_P;
        make_block(s, q,
                   receives ? amount(q, test_me, in_place)
                            : amount(test_me, q, in_place),
                   receives, &at);
    }
    s->bytes = at + 64;
}

static void free_side(side *s)
{
    for (int q = 0; q < test_P; q++)
        if (s->type[q] != MPI_DATATYPE_NULL)
            MPI_Type_free(&s->type[q]);
}

/* ---- memory -------------------------------------------------------------- */

static bool is_shared(uint64_t which)
{
    return draw(10 + which, 2);
}

static char *make_memory(uint64_t which, size_t bytes)
{
    char *memory = NULL;

    if (is_shared(which))
        MUST(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &memory));
    else
        memory = malloc(bytes);
    return memory;
}

static void free_memory(uint64_t which, char *memory)
{
    if (is_shared(which))
        MUST(rota_mem_free(&memory));
    else
        free(memory);
}

static void scramble(char *memory, size_t bytes, int salt)
{
    uint64_t drawn = 0;

    for (size_t i = 0; i < bytes; i++, drawn >>= 8) {
        if (i % 8 == 0)
            drawn = test_hash(seed + i / 8 * 31 + (uint64_t)salt);
        memory[i] = (char)drawn;
    }
}

/* ---- a case -------------------------------------------------------------- */

static void naive(char *from, const side *s, char *to, const side *r)
{
    MPI_Request request[2 * ROOM];
    MPI_Status status[2 * ROOM];
    int n = 0;

    for (int q = 0; q < test_P; q++) {
        if (r->count[q] > 0)
            MPI_Irecv(to + r->displ[q], r->count[q], r->type[q], q, 7,
                      MPI_COMM_WORLD, &request[n++]);
        if (s->count[q] > 0)
            MPI_Isend(from + s->displ[q], s->count[q], s->type[q], q, 7,
                      MPI_COMM_WORLD, &request[n++]);
    }
    for (int done = 0; !done; sched_yield())
        MPI_Testall(n, request, &done, status);
}

static MPI_Info draw_hints(void)
{
    static const char *const intranode[] = {"auto", "shm", "cma", "p2p"};
    int n_algos = 0;
    MPI_Info info =
        test_info("rota_intranode", intranode[draw(20, 4)], NULL, NULL);

    while (rota_algo_table[n_algos])
        n_algos++;
    const rota_algo *const algo = rota_algo_table[draw(21, n_algos)];
    if (draw(22, 3) == 0 && !algo->uniform)
        MPI_Info_set(info, "rota_algorithm", algo->name);
    if (draw(26, 3) == 0) /* leaders, of blocks with types of their own */
        MPI_Info_set(info, "rota_node_size", "2");
    if (draw(23, 3) == 0)
        MPI_Info_set(info, "rota_copied_once_from", draw(24, 2) ? "1" : "4096");
    if (draw(25, 4) == 0)
        MPI_Info_set(info, "rota_progress", "thread");
    return info;
}

typedef struct run {
    side send, recv;
    char *from, *to, *want; /* the send and receive buffer, what is to come */
    rota_plan *plan;
    bool in_place;
    bool absolute; /* addresses are in the types, buffers MPI_BOTTOM */
} run;

/* What is handed over for a buffer. */
static void *buffer_of(const run *r, char *memory)
{
    return r->absolute ? MPI_BOTTOM : memory;
}

static const void *send_of(const run *r)
{
    return r->in_place ? MPI_IN_PLACE : buffer_of(r, r->from);
}

/* Each block as one element that has its address. */
static side make_absolute(const side *s, char *memory)
{
    side a = {.bytes = s->bytes};

    for (int q = 0; q < test_P; q++) {
        MPI_Aint at;
        a.count[q] = s->count[q] > 0;
        a.type[q] = MPI_DATATYPE_NULL;
        if (s->count[q] == 0)
            continue;
        MPI_Get_address(memory + s->displ[q], &at);
        MPI_Type_create_hindexed(1, &s->count[q], &at, s->type[q], &a.type[q]);
        MPI_Type_commit(&a.type[q]);
    }
    return a;
}

/* Both forms of the call, by turns. */
static void make_plan_of(run *r, const side *s, const side *t, MPI_Info info)
{
    void *const to = buffer_of(r, r->to);
    MPI_Count sc[ROOM], rc[ROOM];
    int sd[ROOM], rd[ROOM];

    for (int q = 0; q < test_P; q++) {
        sc[q] = s->count[q];
        rc[q] = t->count[q];
        sd[q] = (int)s->displ[q];
        rd[q] = (int)t->displ[q];
    }
    if (seed % 2)
        MUST(rota_alltoallw_init(send_of(r), s->count, sd, s->type, to,
                                 t->count, rd, t->type, MPI_COMM_WORLD, info,
                                 &r->plan));
    else
        MUST(rota_alltoallw_init_c(send_of(r), sc, s->displ, s->type, to, rc,
                                   t->displ, t->type, MPI_COMM_WORLD, info,
                                   &r->plan));
}

static void make_plan(run *r, MPI_Info info)
{
    if (!r->absolute) {
        make_plan_of(r, &r->send, &r->recv, info);
        return;
    }
    side s = make_absolute(&r->send, r->from);
    side t = make_absolute(&r->recv, r->to);
    make_plan_of(r, &s, &t, info);
    free_side(&s);
    free_side(&t);
}

static void start(run *r, int salt)
{
    scramble(r->from, r->send.bytes, salt);
    if (r->in_place)
        memcpy(r->to, r->from, r->recv.bytes);
    else
        memset(r->to, 0x5A, r->recv.bytes);
    memcpy(r->want, r->to, r->recv.bytes);
    naive(r->from, &r->send, r->want, &r->recv);
    MUST(rota_start(r->plan));
    MUST(rota_wait(r->plan));
    if (memcmp(r->to, r->want, r->recv.bytes) != 0)
        test_fail(__FILE__, __LINE__, "receive buffer differs");
}

/* The last start is on other buffers, which may be of another kind of memory. */
static void run_starts(run *r)
{
    char *const from = r->from, *const to = r->to;

    for (int i = 0; r->plan && i < 2; i++)
        start(r, i);
    if (r->plan && r->absolute) {
        MUST(rota_plan_set_buffers(r->plan, send_of(r), MPI_BOTTOM));
        start(r, 2);
        MUST(rota_plan_free(&r->plan));
        return;
    }
    r->from = make_memory(2, r->send.bytes);
    r->to = make_memory(3, r->recv.bytes);
    if (r->plan) {
        MUST(rota_plan_set_buffers(r->plan, send_of(r), r->to));
        start(r, 2);
    }
    MUST(rota_plan_free(&r->plan));
    free_memory(2, r->from);
    free_memory(3, r->to);
    r->from = from;
    r->to = to;
}

static void run_case(void)
{
    run r = {.in_place = draw(3, 6) == 0, .absolute = draw(6, 4) == 0};
    MPI_Info info = draw_hints();

    make_side(&r.recv, true, r.in_place);
    if (r.in_place)
        r.send = r.recv;
    else
        make_side(&r.send, false, false);
    r.from = make_memory(0, r.send.bytes);
    r.to = make_memory(1, r.recv.bytes);
    r.want = malloc(r.recv.bytes);
    make_plan(&r, info);
    run_starts(&r);
    free_memory(0, r.from);
    free_memory(1, r.to);
    free(r.want);
    free_side(&r.recv);
    if (!r.in_place)
        free_side(&r.send);
    MPI_Info_free(&info);
}

/* ---- what plans say of it ------------------------------------------------ */

/* A number of a plan's description; -1: there is none. */
static long described(const rota_plan *plan, const char *key)
{
    static char text[1 << 16];
    size_t length = sizeof text;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    CHECK(length <= sizeof text);
    const char *const at = strstr(text, key);
    return at ? strtol(at + strlen(key) + 1, NULL, 10) : -1;
}

/* Blocks are squares: columns of a matrix, or end to end. */
enum { SQUARE = 64, CELLS = SQUARE * SQUARE };

typedef struct squares {
    int displ[ROOM];
    MPI_Datatype type[ROOM];
    char *memory;
} squares;

static void make_squares(squares *s, bool columns, bool shared)
{
    const int whole[2] = {SQUARE, SQUARE * test_P};
    const int part[2] = {SQUARE, SQUARE};
    const size_t bytes = 4 * CELLS * (size_t)test_P;

    for (int q = 0; q < test_P; q++) {
        const int start[2] = {0, SQUARE * q};
        s->displ[q] = columns ? 0 : 4 * CELLS * q;
        if (columns)
            MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C,
                                     MPI_INT, &s->type[q]);
        else
            MPI_Type_contiguous(CELLS, MPI_INT, &s->type[q]);
        MPI_Type_commit(&s->type[q]);
    }
    if (shared)
        MUST(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &s->memory));
    else
        s->memory = malloc(bytes);
}

static void free_squares(squares *s, bool shared)
{
    for (int q = 0; q < test_P; q++)
        MPI_Type_free(&s->type[q]);
    if (shared)
        MUST(rota_mem_free(&s->memory));
    else
        free(s->memory);
}

/* What a plan says that goes from columns, or to columns, if there are types. */
static void check_description(const char *intranode, bool shared, bool from,
                              bool to, const long want[3])
{
    static const char *const key[3] = {
        "\"bytes_straight\"", "\"bytes_by_layout\"", "\"bytes_by_mpi\""};
    MPI_Info info =
        test_info("rota_intranode", intranode, "rota_algorithm", "spread_out");
    int counts[ROOM];
    squares send, recv;
    rota_plan *plan = NULL;

    for (int q = 0; q < test_P; q++)
        counts[q] = 1;
    make_squares(&send, from, shared);
    make_squares(&recv, to, shared);
    MUST(rota_alltoallw_init(send.memory, counts, send.displ, send.type,
                             recv.memory, counts, recv.displ, recv.type,
                             MPI_COMM_WORLD, info, &plan));
    if (from || to) {
        CHECK(described(plan, "\"types_sent\"") == (from ? test_P : 0));
        CHECK(described(plan, "\"types_received\"") == (to ? test_P : 0));
        CHECK(described(plan, "\"types_unknown\"") == 0);
    } else {
        CHECK(described(plan, "\"types_sent\"") == -1);
    }
    for (int i = 0; i < 3; i++)
        CHECK(described(plan, key[i]) == want[i]);
    MUST(rota_plan_free(&plan));
    free_squares(&send, shared);
    free_squares(&recv, shared);
    MPI_Info_free(&info);
}

/* A rank's own block is copied straight whatever the others' are. */
static void check_descriptions(void)
{
    const long own = 4 * CELLS, others = own * (test_P - 1);

    test_case = "descriptions";
    check_description("shm", true, false, false, (long[]){-1, -1, -1});
    if (test_P == 1) /* then columns are all of the matrix */
        return;
    check_description("shm", true, true, true, (long[]){own + others, 0, 0});
    check_description("shm", true, true, false, (long[]){own + others, 0, 0});
    check_description("shm", false, false, true, (long[]){own, others, 0});
    check_description("p2p", true, true, true, (long[]){own, 0, others});
}

/* ---- arrays for MPI ------------------------------------------------------- */

static int least_types; /* that MPI may look at; 0: not looked at here */

static void check_types(const MPI_Datatype types[])
{
    const size_t n = malloc_usable_size((void *)types) / sizeof *types;

    CHECK(n >= (size_t)least_types);
    for (int i = test_P; i < least_types && n >= (size_t)least_types; i++)
        CHECK(types[i] == MPI_BYTE);
}

int MPI_Ialltoallw(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], const MPI_Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[],
                   const MPI_Datatype recvtypes[], MPI_Comm comm,
                   MPI_Request *request)
{
    if (least_types > 0) {
        check_types(sendtypes);
        check_types(recvtypes);
    }
    return PMPI_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                           recvcounts, rdispls, recvtypes, comm, request);
}

/* On a grid with more neighbours than ranks, Open MPI 4.1 looks at a type for each
 * neighbour. */
static void check_on_grid(void)
{
    enum { DIMS = 4, N = 6 };
    int dims[DIMS] = {0}, periods[DIMS] = {1, 1, 1, 1};
    int counts[ROOM], displs[ROOM], from[ROOM * N], to[ROOM * N];
    MPI_Datatype types[ROOM];
    MPI_Info info = test_info("rota_algorithm", "mpi", NULL, NULL);
    MPI_Comm grid;
    rota_plan *plan;

    test_case = "on a grid";
    MPI_Dims_create(test_P, DIMS, dims);
    MUST(MPI_Cart_create(MPI_COMM_WORLD, DIMS, dims, periods, 0, &grid));
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &types[0]);
    MPI_Type_commit(&types[0]);
    for (int i = 0; i < test_P; i++) {
        counts[i] = 1;
        displs[i] = i * N * (int)sizeof(int);
        types[i] = types[0];
    }
    for (int i = 0; i < test_P * N; i++) {
        from[i] = test_me * 1000 + i;
        to[i] = -1;
    }
    MUST(rota_alltoallw_init(from, counts, displs, types, to, counts, displs,
                             types, grid, info, &plan));
    least_types = 2 * DIMS;
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    least_types = 0;
    for (int i = 0; i < test_P * N; i++)
        CHECK(to[i] == (i % 2 ? -1 : i / N * 1000 + test_me * N + i % N));
    MUST(rota_plan_free(&plan));
    MPI_Type_free(&types[0]);
    MPI_Comm_free(&grid);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"cases", required_argument, NULL, 'c'},
        {NULL, 0, NULL, 0}};
    static char name[40];
    uint64_t first = 1;
    int cases, option;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    cases = test_is_quick() ? QUICK_CASES : CASES;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 's')
            first = strtoull(optarg, NULL, 10);
        else if (option == 'c')
            cases = atoi(optarg);
    }
    for (int i = 0; i < cases; i++) {
        seed = first + (uint64_t)i;
        snprintf(name, sizeof name, "--seed %llu --cases 1",
                 (unsigned long long)seed);
        test_case = name;
        run_case();
    }
    check_descriptions();
    check_on_grid();
    return test_end();
}
