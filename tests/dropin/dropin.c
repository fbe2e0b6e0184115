/* dropin.c - a program of MPI alone, to be run with librota_mpi and without.
 *
 *   dropin common     what MPI gets right too, with "plain" behind it but for
 *                     MPI_Testall on persistent collectives, which in MPICH
 *                     4.0 reports errors where there are none
 *   dropin inactive   inactive requests, which MPICH 4.0 gets wrong
 *   dropin errors     mistakes, as librota_mpi reports them
 *   dropin short      communicators that live for one call
 *   dropin reshape    likewise, with as much to send as makes a plan pay
 *   dropin passing    calls that go to MPI at once, and some that it refuses
 *   dropin repeats    calls with the arguments of the last one, and others
 *   dropin sessions   a session, and no MPI_Init
 *   dropin threads    two threads, each on its communicator
 *   dropin fatal      a mistake that ends the program; with "typed" behind it,
 *                     of MPI_Alltoallw_init
 *   dropin past       a request completed past librota_mpi: must not succeed
 *
 * The first ends with the lines that ROTA_STATS=1 has to show on rank 0 with
 * ROTA_MPI_AFTER=0.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int world_P, world_me;
static _Atomic int failures; /* threads count, too, as in the next section */
/* A variable, or GCC takes the constant for an array too small. */
static MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;
static int plain; /* without librota_mpi */
static const char *test_case = "";

static void fail(int line, const char *what)
{
    if (failures++ < 5)
        fprintf(stderr, "dropin.c:%d: rank %d of %d: [%s] %s\n", line, world_me,
                world_P, test_case, what);
}

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            fail(__LINE__, #condition);                                        \
    } while (0)
#define MUST(call) CHECK((call) == MPI_SUCCESS)

/* ---- what librota_mpi should count --------------------------------------- */

enum {
    ONE_BLOCKING,
    ONE_NONBLOCKING,
    ONE_INIT,
    BLOCKING,
    NONBLOCKING,
    INIT,
    TYPES_BLOCKING,
    TYPES_NONBLOCKING,
    TYPES_INIT,
    FUNCTIONS
};
static _Atomic int calls[FUNCTIONS], by_rota[FUNCTIONS];

static void expect(int function, int rota)
{
    calls[function]++;
    by_rota[function] += rota;
}

static void print_expected(void)
{
    static const char *const name[] = {
        "MPI_Alltoall",  "MPI_Ialltoall",  "MPI_Alltoall_init",
        "MPI_Alltoallv", "MPI_Ialltoallv", "MPI_Alltoallv_init",
        "MPI_Alltoallw", "MPI_Ialltoallw", "MPI_Alltoallw_init"};

    for (int i = 0; i < FUNCTIONS && world_me == 0; i++)
        if (calls[i] > 0)
            printf("rank 0: %s calls=%d by_rota=%d passed_on=%d\n", name[i],
                   calls[i], by_rota[i], calls[i] - by_rota[i]);
}

/* ---- exchanges of ints --------------------------------------------------- */

/* Peers are ranks of the communicator or, between two of them, of the other;
 * id is the rank in MPI_COMM_WORLD. */
typedef struct exchange {
    int P, me;
    int inter;
    int *id;
    int *sendcounts, *sdispls, *recvcounts, *rdispls;
    MPI_Count *sendcounts_c, *recvcounts_c;
    MPI_Aint *sdispls_c, *rdispls_c;
    int *send, *recv;
    int sent, received; /* ints, gaps included */
    int scale;
    MPI_Comm comm;
} exchange;

enum { GAP = 2, GUARD = -77 };

static int block_ints(const exchange *x, int src, int dst, int seed)
{
    return x->scale * ((3 * src + 5 * dst + seed) % 4);
}

static int value(int src, int dst, int i, int round)
{
    return (int)(((unsigned)(round * 31 + src) * 31 + (unsigned)dst) *
                     1000003u +
                 (unsigned)i) &
           0x3fffffff;
}

static void find_ids(exchange *x)
{
    MPI_Group group, world;
    int *const ranks = malloc((size_t)x->P * sizeof *ranks);

    for (int q = 0; q < x->P; q++)
        ranks[q] = q;
    if (x->inter)
        MPI_Comm_remote_group(x->comm, &group);
    else
        MPI_Comm_group(x->comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(group, x->P, ranks, world, x->id);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    free(ranks);
}

static void set_counts(exchange *x, int seed)
{
    x->sent = x->received = 0;
    for (int q = 0; q < x->P; q++) {
        x->sendcounts[q] = block_ints(x, world_me, x->id[q], seed);
        x->recvcounts[q] = block_ints(x, x->id[q], world_me, seed);
        x->sdispls[q] = x->sent;
        x->rdispls[q] = x->received;
        x->sent += x->sendcounts[q] + GAP;
        x->received += x->recvcounts[q] + GAP;
        x->sendcounts_c[q] = x->sendcounts[q];
        x->recvcounts_c[q] = x->recvcounts[q];
        x->sdispls_c[q] = x->sdispls[q];
        x->rdispls_c[q] = x->rdispls[q];
    }
}

static exchange make(MPI_Comm comm, int seed, int scale)
{
    exchange x = {.comm = comm, .scale = scale};

    MPI_Comm_test_inter(comm, &x.inter);
    MPI_Comm_rank(comm, &x.me);
    if (x.inter)
        MPI_Comm_remote_size(comm, &x.P);
    else
        MPI_Comm_size(comm, &x.P);
    const size_t P = (size_t)x.P;
    x.id = malloc(P * sizeof(int));
    x.sendcounts = malloc(P * sizeof(int));
    x.sdispls = malloc(P * sizeof(int));
    x.recvcounts = malloc(P * sizeof(int));
    x.rdispls = malloc(P * sizeof(int));
    x.sendcounts_c = malloc(P * sizeof(MPI_Count));
    x.recvcounts_c = malloc(P * sizeof(MPI_Count));
    x.sdispls_c = malloc(P * sizeof(MPI_Aint));
    x.rdispls_c = malloc(P * sizeof(MPI_Aint));
    find_ids(&x);
    set_counts(&x, seed);
    /* Counts may change up to this. */
    const size_t room = P * (size_t)(3 * scale + GAP);
    x.send = malloc(room * sizeof(int));
    x.recv = malloc(room * sizeof(int));
    return x;
}

static void destroy(exchange *x)
{
    free(x->id);
    free(x->sendcounts);
    free(x->sdispls);
    free(x->recvcounts);
    free(x->rdispls);
    free(x->sendcounts_c);
    free(x->recvcounts_c);
    free(x->sdispls_c);
    free(x->rdispls_c);
    free(x->send);
    free(x->recv);
}

static void fill(exchange *x, int round)
{
    for (int i = 0; i < x->received; i++)
        x->recv[i] = GUARD;
    for (int i = 0; i < x->sent; i++)
        x->send[i] = GUARD;
    for (int q = 0; q < x->P; q++)
        for (int i = 0; i < x->sendcounts[q]; i++)
            x->send[x->sdispls[q] + i] = value(world_me, x->id[q], i, round);
}

static void check(const exchange *x, int round, int line)
{
    int wrong = 0;

    for (int q = 0; q < x->P; q++) {
        const int *const block = x->recv + x->rdispls[q];
        for (int i = 0; i < x->recvcounts[q]; i++)
            wrong += block[i] != value(x->id[q], world_me, i, round);
        for (int i = 0; i < GAP; i++)
            wrong += block[x->recvcounts[q] + i] != GUARD;
    }
    if (wrong)
        fail(line, "wrong data");
}
#define CHECK_DATA(x, round) check(x, round, __LINE__)

#define V(x)                                                                   \
    (x)->send, (x)->sendcounts, (x)->sdispls, MPI_INT, (x)->recv,              \
        (x)->recvcounts, (x)->rdispls, MPI_INT, (x)->comm
#define V_C(x)                                                                 \
    (x)->send, (x)->sendcounts_c, (x)->sdispls_c, MPI_INT, (x)->recv,          \
        (x)->recvcounts_c, (x)->rdispls_c, MPI_INT, (x)->comm

static MPI_Request init(exchange *x)
{
    MPI_Request request = MPI_REQUEST_NULL;

    expect(INIT, !x->inter);
    MUST(MPI_Alltoallv_init(V(x), MPI_INFO_NULL, &request));
    return request;
}

static void start(exchange *x, MPI_Request *request, int round)
{
    const MPI_Request before = *request;

    fill(x, round);
    MUST(MPI_Start(request));
    CHECK(*request == before);
}

static void release(MPI_Request *request)
{
    MUST(MPI_Request_free(request));
    CHECK(*request == MPI_REQUEST_NULL);
}

static void check_empty(const MPI_Status *status)
{
    int n = -1, cancelled = -1;

    CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE);
    CHECK(status->MPI_TAG == MPI_ANY_TAG);
    MUST(MPI_Get_count(status, MPI_BYTE, &n));
    MUST(MPI_Test_cancelled(status, &cancelled));
    CHECK(n == 0 && !cancelled);
}

/* ---- blocking ------------------------------------------------------------ */

static void blocking(void)
{
    exchange x = make(MPI_COMM_WORLD, 0, 10);
    const int rota = world_P > 1;

    test_case = "blocking";
    for (int round = 0; round < 6; round++) {
        set_counts(&x, round);
        fill(&x, round);
        expect(BLOCKING, rota);
        if (round % 2)
            MUST(MPI_Alltoallv_c(V_C(&x)));
        else
            MUST(MPI_Alltoallv(V(&x)));
        CHECK_DATA(&x, round);
    }
    destroy(&x);
}

/* In place: rank p and q exchange p + q + 1 ints. */
static void in_place(void)
{
    exchange x = make(MPI_COMM_WORLD, 0, 10);

    test_case = "in place";
    x.received = 0;
    for (int q = 0; q < x.P; q++) {
        x.recvcounts[q] = world_me + q + 1;
        x.rdispls[q] = x.received;
        x.received += x.recvcounts[q] + GAP;
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < x.received; i++)
            x.recv[i] = GUARD;
        for (int q = 0; q < x.P; q++)
            for (int i = 0; i < x.recvcounts[q]; i++)
                x.recv[x.rdispls[q] + i] = value(world_me, q, i, round);
        expect(BLOCKING, world_P > 1);
        MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, x.recv,
                           x.recvcounts, x.rdispls, MPI_INT, MPI_COMM_WORLD));
        CHECK_DATA(&x, round);
    }
    destroy(&x);
}

/* Pairs of ints: end to end on one kind of ranks, two apart or swapped on the
 * others. Sent one way, received another. */
enum { ENDS, APART, SWAPPED, LAYOUTS, PAIR = 4 };

static MPI_Datatype make_type(int layout)
{
    static const int ones[2] = {1, 1}, swapped[2] = {1, 0};
    MPI_Datatype type, inner;

    if (layout == ENDS)
        MPI_Type_contiguous(2, MPI_INT, &inner);
    else if (layout == APART)
        MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    else
        MPI_Type_indexed(2, ones, swapped, MPI_INT, &inner);
    if (layout == ENDS) /* nothing but bytes */
        MPI_Type_dup(inner, &type);
    else
        MPI_Type_create_resized(inner, 0, PAIR * sizeof(int), &type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&type);
    return type;
}

/* Where the i-th of a pair lies, and how far apart pairs are. */
static int place(int layout, int i)
{
    return layout == APART ? 2 * i : layout == SWAPPED ? 1 - i : i;
}

static int spacing(int layout)
{
    return layout == ENDS ? 2 : PAIR;
}

typedef struct pairs {
    int layout[2]; /* sent, received */
    int *data[2];
    int counts[2][64], displs[2][64];
    MPI_Datatype type[2];
} pairs;

static void make_pairs(pairs *p, int round)
{
    const exchange like = {.scale = 3};

    p->layout[0] = (world_me + round) % LAYOUTS;
    p->layout[1] = (world_me + 2 * round + 1) % LAYOUTS;
    for (int side = 0; side < 2; side++) {
        int at = 1;
        for (int q = 0; q < world_P; q++) {
            p->counts[side][q] = side ? block_ints(&like, q, world_me, round)
                                      : block_ints(&like, world_me, q, round);
            p->displs[side][q] = at;
            at += p->counts[side][q] + 1;
        }
        p->data[side] = malloc((size_t)(at * PAIR) * sizeof(int));
        memset(p->data[side], 0x55, (size_t)(at * PAIR) * sizeof(int));
        p->type[side] = make_type(p->layout[side]);
    }
}

static int *int_of_pair(const pairs *p, int side, int q, int element, int i)
{
    return p->data[side] +
           (p->displs[side][q] + element) * spacing(p->layout[side]) +
           place(p->layout[side], i);
}

static void fill_pairs(const pairs *p, int round)
{
    for (int q = 0; q < world_P; q++)
        for (int e = 0; e < p->counts[0][q]; e++)
            for (int i = 0; i < 2; i++)
                *int_of_pair(p, 0, q, e, i) =
                    value(world_me, q, 2 * e + i, round);
}

static void check_pairs(pairs *p, int round)
{
    int wrong = 0;

    for (int q = 0; q < world_P; q++)
        for (int e = 0; e < p->counts[1][q]; e++)
            for (int i = 0; i < 2; i++)
                wrong += *int_of_pair(p, 1, q, e, i) !=
                         value(q, world_me, 2 * e + i, round);
    CHECK(wrong == 0);
    for (int side = 0; side < 2; side++)
        free(p->data[side]);
}

static void types(void)
{
    pairs p;

    test_case = "types";
    for (int round = 0; round < 6; round++) {
        make_pairs(&p, round);
        fill_pairs(&p, round);
        expect(BLOCKING, world_P > 1);
        MUST(MPI_Alltoallv(p.data[0], p.counts[0], p.displs[0], p.type[0],
                           p.data[1], p.counts[1], p.displs[1], p.type[1],
                           MPI_COMM_WORLD));
        check_pairs(&p, round);
        MPI_Type_free(&p.type[0]);
        MPI_Type_free(&p.type[1]);
    }
}

/* ---- one size for all blocks --------------------------------------------- */

/* Blocks of n pairs of ints: see make_type. The first int of a buffer is a
 * guard. */
typedef struct equal {
    int n, layout[2];
    int *data[2];
    MPI_Datatype type[2];
} equal;

static int *int_of_equal(const equal *x, int side, int q, int element, int i)
{
    return x->data[side] + 1 + (q * x->n + element) * spacing(x->layout[side]) +
           place(x->layout[side], i);
}

static void fill_equal(const equal *x, int side, int round)
{
    for (int q = 0; q < world_P; q++)
        for (int e = 0; e < x->n; e++)
            for (int i = 0; i < 2; i++)
                *int_of_equal(x, side, q, e, i) =
                    value(world_me, q, 2 * e + i, round);
}

static equal make_equal(int n, int round)
{
    equal x = {.n = n};
    const size_t ints = (size_t)(n * world_P * PAIR + 2);

    for (int side = 0; side < 2; side++) {
        x.layout[side] = (world_me * (1 - side) + round / (1 + side)) % LAYOUTS;
        x.data[side] = malloc(ints * sizeof(int));
        memset(x.data[side], 0x55, ints * sizeof(int));
        x.type[side] = make_type(x.layout[side]);
    }
    fill_equal(&x, 0, round);
    return x;
}

static void free_types(equal *x)
{
    for (int side = 0; side < 2; side++)
        MUST(MPI_Type_free(&x->type[side]));
}

static void check_equal(const equal *x, int round, int line)
{
    const int after = 1 + world_P * x->n * spacing(x->layout[1]);
    int wrong = 0;

    for (int q = 0; q < world_P; q++)
        for (int e = 0; e < x->n; e++)
            for (int i = 0; i < 2; i++)
                wrong += *int_of_equal(x, 1, q, e, i) !=
                         value(q, world_me, 2 * e + i, round);
    wrong += x->data[1][0] != 0x55555555 || x->data[1][after] != 0x55555555;
    if (wrong)
        fail(line, "wrong data");
}

static void free_equal(equal *x)
{
    free(x->data[0]);
    free(x->data[1]);
}

#define E(x)                                                                   \
    (x)->data[0] + 1, (x)->n, (x)->type[0], (x)->data[1] + 1, (x)->n,          \
        (x)->type[1], MPI_COMM_WORLD

static void equal_blocks(void)
{
    test_case = "equal blocks";
    for (int round = 0; round < 12; round++) {
        equal x = make_equal(round % 4 * 50, round);
        expect(ONE_BLOCKING, world_P > 1 && x.n > 0);
        if (round % 2)
            MUST(MPI_Alltoall_c(E(&x)));
        else
            MUST(MPI_Alltoall(E(&x)));
        check_equal(&x, round, __LINE__);
        free_types(&x);
        free_equal(&x);
    }
}

static void equal_in_place(void)
{
    test_case = "equal blocks in place";
    for (int round = 0; round < 6; round++) {
        equal x = make_equal(10, round);
        fill_equal(&x, 1, round);
        expect(ONE_BLOCKING, world_P > 1);
        MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x.data[1] + 1,
                          x.n, x.type[1], MPI_COMM_WORLD));
        check_equal(&x, round, __LINE__);
        free_types(&x);
        free_equal(&x);
    }
}

/* More sizes than are remembered at a time, some of them again. */
static void equal_sizes(void)
{
    enum { SIZES = 80 };

    test_case = "sizes";
    for (int round = 0; round < 2 * SIZES; round++) {
        const int n = round % 3 ? round % SIZES + 1 : 7;
        equal x = make_equal(n, round);
        expect(ONE_BLOCKING, world_P > 1);
        MUST(MPI_Alltoall(E(&x)));
        check_equal(&x, round, __LINE__);
        free_types(&x);
        free_equal(&x);
    }
}

static void equal_persistent(void)
{
    test_case = "equal blocks, persistent";
    for (int round = 0; round < 6; round++) {
        equal x = make_equal(round * 40, round);
        MPI_Request r;
        expect(ONE_INIT, 1);
        if (round % 2)
            MUST(MPI_Alltoall_init_c(E(&x), MPI_INFO_NULL, &r));
        else
            MUST(MPI_Alltoall_init(E(&x), MPI_INFO_NULL, &r));
        for (int again = 0; again < 3; again++) {
            fill_equal(&x, 0, again);
            MUST(MPI_Start(&r));
            MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
            check_equal(&x, again, __LINE__);
        }
        MUST(MPI_Request_free(&r));
        free_types(&x);
        free_equal(&x);
    }
}

/* ---- a type for each block ----------------------------------------------- */

/* Blocks of n pairs of ints; layouts differ by rank, peer and seed. */
typedef struct typed {
    int n, seed;
    int *data[2];
    int counts[2][64], displs[2][64];
    MPI_Count counts_c[2][64];
    MPI_Aint displs_c[2][64];
    MPI_Datatype type[2][64];
} typed;

static int layout_of(const typed *x, int side, int q)
{
    return (world_me + (side + 1) * q + x->seed + side) % LAYOUTS;
}

static int *int_of_typed(const typed *x, int side, int q, int element, int i)
{
    const int layout = layout_of(x, side, q);

    return x->data[side] + 1 + q * (x->n + 1) * PAIR +
           element * spacing(layout) + place(layout, i);
}

static void make_types(typed *x)
{
    for (int side = 0; side < 2; side++)
        for (int q = 0; q < world_P; q++)
            x->type[side][q] = make_type(layout_of(x, side, q));
}

static void free_typed_types(typed *x)
{
    for (int side = 0; side < 2; side++)
        for (int q = 0; q < world_P; q++)
            MUST(MPI_Type_free(&x->type[side][q]));
}

static typed make_typed(int n, int seed)
{
    typed x = {.n = n, .seed = seed};

    for (int side = 0; side < 2; side++) {
        x.data[side] =
            malloc((size_t)(world_P * (n + 1) * PAIR + 2) * sizeof(int));
        for (int q = 0; q < world_P; q++) {
            x.counts[side][q] = n;
            x.displs[side][q] = (1 + q * (n + 1) * PAIR) * (int)sizeof(int);
            x.counts_c[side][q] = x.counts[side][q];
            x.displs_c[side][q] = x.displs[side][q];
        }
    }
    make_types(&x);
    return x;
}

static void fill_typed(const typed *x, int round)
{
    memset(x->data[1], 0x55,
           (size_t)(world_P * (x->n + 1) * PAIR + 2) * sizeof(int));
    for (int q = 0; q < world_P; q++)
        for (int e = 0; e < x->n; e++)
            for (int i = 0; i < 2; i++)
                *int_of_typed(x, 0, q, e, i) =
                    value(world_me, q, 2 * e + i, round);
}

static void check_typed(const typed *x, int round, int line)
{
    int wrong = 0;

    for (int q = 0; q < world_P; q++) {
        for (int e = 0; e < x->n; e++)
            for (int i = 0; i < 2; i++)
                wrong += *int_of_typed(x, 1, q, e, i) !=
                         value(q, world_me, 2 * e + i, round);
        /* behind the block */
        wrong += x->data[1][1 + (q * (x->n + 1) + x->n) * PAIR] != 0x55555555;
    }
    if (wrong)
        fail(line, "wrong data");
}

static void destroy_typed(typed *x)
{
    free_typed_types(x);
    free(x->data[0]);
    free(x->data[1]);
}

#define W(x)                                                                   \
    (x)->data[0], (x)->counts[0], (x)->displs[0], (x)->type[0], (x)->data[1],  \
        (x)->counts[1], (x)->displs[1], (x)->type[1], MPI_COMM_WORLD
#define W_C(x)                                                                 \
    (x)->data[0], (x)->counts_c[0], (x)->displs_c[0], (x)->type[0],            \
        (x)->data[1], (x)->counts_c[1], (x)->displs_c[1], (x)->type[1],        \
        MPI_COMM_WORLD

/* Other layouts from now on. Every second time they have the handles of those
 * before, since MPICH gives out first what was freed last. */
static void change_types(typed x[2])
{
    for (int i = 0; i < 2; i++)
        free_typed_types(&x[i]);
    for (int i = 0; i < 2; i++) {
        x[i].seed = (x[i].seed + 1) % LAYOUTS;
        make_types(&x[i]);
    }
}

/* Two sets of arguments in turn; then types are freed, and their handles are
 * those of other types. On one rank alone, some of the time. */
static void typed_blocks(void)
{
    test_case = "a type a block";
    typed x[2] = {make_typed(600, 0), make_typed(600, 1)};
    for (int round = 0; round < 16; round++) {
        typed *const now = &x[round % 2];
        if (round >= 8 && (round < 12 || world_me == 0))
            change_types(x);
        fill_typed(now, round);
        expect(TYPES_BLOCKING, world_P > 1);
        if (round % 3)
            MUST(MPI_Alltoallw(W(now)));
        else
            MUST(MPI_Alltoallw_c(W_C(now)));
        check_typed(now, round, __LINE__);
    }
    destroy_typed(&x[0]);
    destroy_typed(&x[1]);
}

static void typed_requests(void)
{
    typed x = make_typed(20, 2);
    MPI_Request r;

    test_case = "a type a block, requests";
    for (int round = 0; round < 4; round++) {
        expect(TYPES_INIT, 1);
        if (round % 2)
            MUST(MPI_Alltoallw_init_c(W_C(&x), MPI_INFO_NULL, &r));
        else
            MUST(MPI_Alltoallw_init(W(&x), MPI_INFO_NULL, &r));
        for (int again = 0; again < 3; again++) {
            fill_typed(&x, again);
            MUST(MPI_Start(&r));
            MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
            check_typed(&x, again, __LINE__);
        }
        MUST(MPI_Request_free(&r));
        fill_typed(&x, 9);
        expect(TYPES_NONBLOCKING, 0);
        MUST(MPI_Ialltoallw(W(&x), &r));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check_typed(&x, 9, __LINE__);
    }
    destroy_typed(&x);
}

/* ---- persistent ---------------------------------------------------------- */

static void persistent(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10), y = make(MPI_COMM_WORLD, 2, 7);
    MPI_Request r[2] = {init(&x), MPI_REQUEST_NULL}, copy;

    test_case = "persistent";
    expect(INIT, 1);
    MUST(MPI_Alltoallv_init_c(V_C(&y), MPI_INFO_NULL, &r[1]));
    CHECK(r[0] != r[1]);
    for (int round = 0; round < 4; round++) {
        const int first = (world_me + round) % 2; /* any order of starts */
        start(first ? &y : &x, &r[first], round);
        start(first ? &x : &y, &r[!first], round);
        copy = r[!first]; /* a copy is as good */
        MUST(MPI_Wait(&copy, MPI_STATUS_IGNORE));
        CHECK(copy == r[!first]);
        MUST(MPI_Wait(&r[first], MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round);
        CHECK_DATA(&y, round);
    }
    fill(&x, 9);
    fill(&y, 9);
    MUST(MPI_Startall(2, r));
    MUST(MPI_Waitall(2, r, ignored));
    CHECK_DATA(&x, 9);
    CHECK_DATA(&y, 9);
    release(&r[0]);
    release(&r[1]);
    destroy(&x);
    destroy(&y);
}

/* MPI gives handles that were ours to requests of its own, and back. */
static void handles_again(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request stays;
    int from = 7, to = 0;

    test_case = "handles again";
    stays = init(&x);
    for (int round = 0; round < 50; round++) {
        MPI_Request passing = init(&x), r[2];
        start(&x, &passing, round);
        MUST(MPI_Wait(&passing, MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round);
        release(&passing);
        MUST(MPI_Irecv(&to, 1, MPI_INT, 0, round, MPI_COMM_SELF, &r[0]));
        MUST(MPI_Isend(&from, 1, MPI_INT, 0, round, MPI_COMM_SELF, &r[1]));
        for (int i = 0; i < 2; i++) {
            MUST(MPI_Wait(&r[i], MPI_STATUS_IGNORE));
            CHECK(r[i] == MPI_REQUEST_NULL);
        }
    }
    release(&stays);
    destroy(&x);
}

static void get_status(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request r = init(&x);

    test_case = "get status";
    for (int round = 0; round < 2; round++) {
        int flag = 0;
        start(&x, &r, round);
        while (!flag)
            MUST(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round);
        MUST(MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE));
        CHECK(flag);
        MUST(MPI_Test(&r, &flag, MPI_STATUS_IGNORE));
        CHECK(flag && r != MPI_REQUEST_NULL);
    }
    release(&r);
    destroy(&x);
}

/* ---- arrays: ours among others ------------------------------------------- */

enum {
    MIXED = 6,
    RECV = 0,
    OURS = 1,
    NONE = 2,
    SEND = 3,
    OURS2 = 4,
    AGAIN = 5
};

typedef struct mixed {
    exchange x, y;
    MPI_Request r[MIXED];
    MPI_Request persistent[MIXED]; /* to put back what was taken out */
    int out, in, again_in;
} mixed;

static void make_mixed(mixed *m)
{
    m->x = make(MPI_COMM_WORLD, 1, 10);
    m->y = make(MPI_COMM_WORLD, 3, 5);
    for (int i = 0; i < MIXED; i++)
        m->persistent[i] = MPI_REQUEST_NULL;
    m->persistent[OURS] = init(&m->x);
    m->persistent[OURS2] = init(&m->y);
    MUST(MPI_Recv_init(&m->again_in, 1, MPI_INT, MPI_ANY_SOURCE, 6,
                       MPI_COMM_WORLD, &m->persistent[AGAIN]));
}

static void start_mixed(mixed *m, int round)
{
    const int to = (world_me + 1) % world_P;
    const int from = (world_me + world_P - 1) % world_P;
    MPI_Request starts[3] = {m->persistent[OURS2], m->persistent[AGAIN],
                             m->persistent[OURS]};

    m->in = m->again_in = -1;
    m->out = 100 * world_me + round;
    fill(&m->x, round);
    fill(&m->y, round + 50);
    for (int i = 0; i < MIXED; i++)
        m->r[i] = m->persistent[i];
    MUST(MPI_Irecv(&m->in, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &m->r[RECV]));
    MUST(MPI_Startall(3, starts));
    CHECK(starts[0] == m->persistent[OURS2] && starts[2] == m->r[OURS]);
    MUST(MPI_Isend(&m->out, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &m->r[SEND]));
    MUST(MPI_Send(&m->out, 1, MPI_INT, to, 6, MPI_COMM_WORLD));
}

static void check_mixed(const mixed *m, int round)
{
    const int from = (world_me + world_P - 1) % world_P;

    CHECK_DATA(&m->x, round);
    CHECK_DATA(&m->y, round + 50);
    CHECK(m->in == 100 * from + round);
    CHECK(m->again_in == 100 * from + round);
}

static void check_status(int i, const MPI_Status *status)
{
    const int from = (world_me + world_P - 1) % world_P;
    int n;

    if (i != RECV && i != AGAIN)
        return;
    MPI_Get_count(status, MPI_INT, &n);
    CHECK(status->MPI_SOURCE == from && n == 1);
    CHECK(status->MPI_TAG == (i == RECV ? 5 : 6));
}

static void free_mixed(mixed *m)
{
    release(&m->persistent[OURS]);
    release(&m->persistent[OURS2]);
    release(&m->persistent[AGAIN]);
    destroy(&m->x);
    destroy(&m->y);
}

/* An index that a call gave: once each. A persistent one keeps its handle; it
 * is taken out, since MPICH takes an inactive one for complete. */
static void got(mixed *m, int i, unsigned *seen, const MPI_Status *status)
{
    CHECK(i >= 0 && i < MIXED && i != NONE && !(*seen >> i & 1));
    if (i < 0 || i >= MIXED)
        return;
    *seen |= 1u << i;
    check_status(i, status);
    CHECK(m->r[i] == m->persistent[i]);
    m->r[i] = MPI_REQUEST_NULL;
}

static const unsigned all_seen =
    1u << RECV | 1u << OURS | 1u << SEND | 1u << OURS2 | 1u << AGAIN;

static void any(mixed *m, int wait)
{
    unsigned seen = 0;

    for (int k = 0; k < MIXED - 1; k++) {
        MPI_Status status;
        int i = -1, flag = wait;
        if (wait)
            MUST(MPI_Waitany(MIXED, m->r, &i, &status));
        while (!flag)
            MUST(MPI_Testany(MIXED, m->r, &i, &flag, &status));
        got(m, i, &seen, &status);
    }
    CHECK(seen == all_seen);
    int i = 0;
    MUST(MPI_Waitany(MIXED, m->r, &i, MPI_STATUS_IGNORE));
    CHECK(i == MPI_UNDEFINED);
}

static void some(mixed *m, int wait)
{
    unsigned seen = 0;

    while (seen != all_seen) {
        MPI_Status status[MIXED];
        int indices[MIXED], n = -1;
        if (wait)
            MUST(MPI_Waitsome(MIXED, m->r, &n, indices, status));
        else
            MUST(MPI_Testsome(MIXED, m->r, &n, indices, status));
        CHECK(n >= wait && n < MIXED);
        if (n < 0 || n > MIXED)
            return;
        for (int k = 0; k < n; k++)
            got(m, indices[k], &seen, &status[k]);
    }
    int n = 0;
    MUST(MPI_Testsome(MIXED, m->r, &n, (int[MIXED]){0}, ignored));
    CHECK(n == MPI_UNDEFINED);
}

static void at_once(mixed *m, int wait)
{
    MPI_Status status[MIXED];
    int flag = wait;

    if (wait)
        MUST(MPI_Waitall(MIXED, m->r, status));
    while (!flag) {
        const MPI_Request before = m->r[OURS];
        MUST(MPI_Testall(MIXED, m->r, &flag, status));
        CHECK(m->r[OURS] == before);
    }
    for (int i = 0; i < MIXED; i++) {
        check_status(i, &status[i]);
        CHECK(m->r[i] == m->persistent[i]);
    }
    check_empty(&status[NONE]);
}

/* None but ours. */
static void ours_alone(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request r[2] = {MPI_REQUEST_NULL, init(&x)};
    MPI_Status status[2];
    int indices[2];

    test_case = "ours alone";
    for (int round = 0; round < 8; round++) {
        int n = 0, i = 1, flag = 0;
        start(&x, &r[1], round);
        if (round % 4 == 0) {
            MUST(MPI_Waitsome(2, r, &n, indices, status));
            CHECK(n == 1);
            i = indices[0];
        } else if (round % 4 == 1) {
            while (n == 0)
                MUST(MPI_Testsome(2, r, &n, indices, status));
            CHECK(n == 1);
        } else if (round % 4 == 2) {
            MUST(MPI_Waitany(2, r, &i, status));
        } else {
            while (!flag)
                MUST(MPI_Testany(2, r, &i, &flag, status));
        }
        CHECK(i == 1);
        CHECK_DATA(&x, round);
    }
    release(&r[1]);
    destroy(&x);
}

static void arrays(void)
{
    mixed m;

    test_case = "arrays";
    make_mixed(&m);
    for (int round = 0; round < 12; round++) {
        start_mixed(&m, round);
        if (round % 3 == 0)
            any(&m, round % 2);
        else if (round % 3 == 1)
            some(&m, round % 2);
        else
            at_once(&m, plain || round % 2);
        check_mixed(&m, round);
    }
    free_mixed(&m);
}

/* ---- nonblocking --------------------------------------------------------- */

/* These are MPI's. */
static MPI_Request ialltoallv(exchange *x, int round)
{
    MPI_Request r = MPI_REQUEST_NULL;

    fill(x, round);
    expect(NONBLOCKING, 0);
    if (round % 2)
        MUST(MPI_Ialltoallv_c(V_C(x), &r));
    else
        MUST(MPI_Ialltoallv(V(x), &r));
    return r;
}

/* Beside a request of ours. */
static void nonblocking(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10), y = make(MPI_COMM_WORLD, 2, 7);
    MPI_Request r[2] = {init(&x), MPI_REQUEST_NULL}, one;

    test_case = "nonblocking";
    for (int round = 0; round < 4; round++) {
        start(&x, &r[0], round);
        r[1] = ialltoallv(&y, round);
        MUST(MPI_Waitall(2, r, ignored));
        CHECK(r[1] == MPI_REQUEST_NULL);
        CHECK_DATA(&x, round);
        CHECK_DATA(&y, round);
        equal z = make_equal(round * 50, round);
        expect(ONE_NONBLOCKING, 0);
        MUST(MPI_Ialltoall(E(&z), &one));
        MUST(MPI_Wait(&one, MPI_STATUS_IGNORE));
        check_equal(&z, round, __LINE__);
        free_types(&z);
        free_equal(&z);
    }
    release(&r[0]);
    destroy(&x);
    destroy(&y);
}

/* ---- communicators ------------------------------------------------------- */

/* Freed while requests on it are active. */
static void freed_comm(void)
{
    MPI_Comm comm;

    test_case = "freed communicator";
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    exchange x = make(comm, 1, 10), y = make(comm, 2, 10), z = make(comm, 3, 9);
    MPI_Request r = init(&x);
    expect(BLOCKING, world_P > 1);
    fill(&z, 3);
    MUST(MPI_Alltoallv(V(&z)));
    CHECK_DATA(&z, 3);
    start(&x, &r, 1);
    MPI_Request s = ialltoallv(&y, 2);
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Wait(&s, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_DATA(&x, 1);
    CHECK_DATA(&y, 2);
    start(&x, &r, 4);
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_DATA(&x, 4);
    release(&r);
    destroy(&x);
    destroy(&y);
    destroy(&z);
}

/* Handles of communicators are used again: what is known of one must go with
 * it. */
static void comm_again(void)
{
    test_case = "communicator again";
    for (int round = 0; round < 4; round++) {
        MPI_Comm comm;
        MUST(MPI_Comm_split(MPI_COMM_WORLD, round % 2 ? world_me % 2 : 0,
                            -world_me, &comm));
        exchange x = make(comm, round, 10);
        for (int k = 0; k < 2; k++) {
            fill(&x, round);
            expect(BLOCKING, x.P > 1);
            MUST(MPI_Alltoallv(V(&x)));
            CHECK_DATA(&x, round);
        }
        if (round < 2)
            MUST(MPI_Comm_free(&comm));
        else
            MUST(MPI_Comm_disconnect(&comm));
        destroy(&x);
    }
}

static void intercomm(void)
{
    MPI_Comm half, comm;

    test_case = "intercommunicator";
    if (world_P < 2)
        return;
    MUST(MPI_Comm_split(MPI_COMM_WORLD, world_me % 2, world_me, &half));
    MUST(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world_me % 2, 0,
                              &comm));
    exchange x = make(comm, 1, 10);
    MPI_Request r = init(&x);
    for (int round = 0; round < 3; round++) {
        start(&x, &r, round);
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round);
        fill(&x, round + 10);
        expect(BLOCKING, 0);
        MUST(MPI_Alltoallv(V(&x)));
        CHECK_DATA(&x, round + 10);
        MPI_Request s = ialltoallv(&x, round + 20);
        MUST(MPI_Wait(&s, MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round + 20);
    }
    MUST(MPI_Request_free(&r));
    MUST(MPI_Comm_free(&comm));
    MUST(MPI_Comm_free(&half));
    destroy(&x);
}

/* ---- progress ------------------------------------------------------------ */

/* Rank 0 blocks elsewhere while its request is active, and what it waits for
 * comes only once the others' are complete. */
static void progress(void)
{
    MPI_Comm comm;
    int token = 0;

    test_case = "progress";
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int scale = 10; scale <= 100000; scale *= 100) {
        exchange x = make(MPI_COMM_WORLD, 1, scale);
        MPI_Request r = init(&x);
        for (int round = 0; round < 4; round++) {
            start(&x, &r, round);
            if (world_me != 0)
                MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
            if (round % 2)
                MUST(MPI_Barrier(comm));
            else if (world_me == 1)
                MUST(MPI_Send(&token, 1, MPI_INT, 0, 8, comm));
            else if (world_me == 0 && world_P > 1)
                MUST(MPI_Recv(&token, 1, MPI_INT, 1, 8, comm,
                              MPI_STATUS_IGNORE));
            if (world_me == 0)
                MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
            CHECK_DATA(&x, round);
        }
        release(&r);
        destroy(&x);
    }
    MUST(MPI_Comm_free(&comm));
}

/* Rank 0 sends, rank 1 receives and is slow. What rank 0 waits for in the end
 * comes once rank 1 has all of it: the last message must be on its way when
 * rank 0 blocks, however far ahead it has got. */
static void ahead_by(int n)
{
    enum { ROUNDS = 40 };
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 1000000};
    int *const send = calloc((size_t)n, sizeof *send);
    int *const recv = calloc((size_t)n, sizeof *recv);
    int *const counts = calloc((size_t)world_P, sizeof *counts);
    int *const none = calloc((size_t)world_P, sizeof *none);
    int token = 0;
    MPI_Request r;

    counts[world_me == 0 ? 1 : 0] = n;
    MUST(MPI_Alltoallv_init(send, world_me == 0 ? counts : none, none, MPI_INT,
                            recv, world_me == 1 ? counts : none, none, MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    expect(INIT, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n && world_me == 0; i++)
            send[i] = value(0, 1, i, round);
        MUST(MPI_Start(&r));
        if (world_me == 1)
            nanosleep(&nap, NULL);
        if (world_me == 0 && round == ROUNDS - 1)
            MUST(MPI_Recv(&token, 1, MPI_INT, 1, 9, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        for (int i = 0; i < n && world_me == 1; i++)
            CHECK(recv[i] == value(0, 1, i, round));
    }
    if (world_me == 1)
        MUST(MPI_Send(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD));
    MUST(MPI_Request_free(&r));
    free(send);
    free(recv);
    free(counts);
    free(none);
}

static void ahead(void)
{
    test_case = "ahead";
    for (int n = 1; n <= 1000000 && world_P > 1; n *= 10)
        ahead_by(n);
}

/* ---- inactive requests --------------------------------------------------- */

static void inactive_arrays(MPI_Request r[2])
{
    MPI_Status status[2];
    int i = 0, n = 0, flag = 0, indices[2];

    MUST(MPI_Waitall(2, r, status));
    check_empty(&status[0]);
    MUST(MPI_Testall(2, r, &flag, status));
    CHECK(flag);
    check_empty(&status[0]);
    MUST(MPI_Waitany(2, r, &i, status));
    CHECK(i == MPI_UNDEFINED);
    check_empty(&status[0]);
    i = flag = 0;
    MUST(MPI_Testany(2, r, &i, &flag, status));
    CHECK(flag && i == MPI_UNDEFINED);
    MUST(MPI_Waitsome(2, r, &n, indices, status));
    CHECK(n == MPI_UNDEFINED);
    n = 0;
    MUST(MPI_Testsome(2, r, &n, indices, status));
    CHECK(n == MPI_UNDEFINED);
}

static void inactive_one(MPI_Request *r)
{
    MPI_Status status;
    int flag = 0;

    memset(&status, 0x55, sizeof status);
    MUST(MPI_Test(r, &flag, &status));
    CHECK(flag && *r != MPI_REQUEST_NULL);
    check_empty(&status);
    memset(&status, 0x55, sizeof status);
    MUST(MPI_Wait(r, &status));
    check_empty(&status);
    flag = 0;
    MUST(MPI_Request_get_status(*r, &flag, &status));
    CHECK(flag);
    check_empty(&status);
}

/* An inactive one never completes beside an active one. */
static void inactive_beside(MPI_Request r[2])
{
    const MPI_Request ours = r[0];
    int token = 5, in = 0, i = -1, n = -1, indices[2];

    for (int some_of_them = 0; some_of_them < 2; some_of_them++) {
        MUST(MPI_Irecv(&in, 1, MPI_INT, world_me, 3, MPI_COMM_WORLD, &r[1]));
        int flag = 1;
        MUST(MPI_Testany(2, r, &i, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag && i == MPI_UNDEFINED);
        MUST(MPI_Testsome(2, r, &n, indices, ignored));
        CHECK(n == 0);
        MUST(MPI_Testall(2, r, &flag, ignored));
        CHECK(!flag && r[0] == ours);
        MUST(MPI_Send(&token, 1, MPI_INT, world_me, 3, MPI_COMM_WORLD));
        if (some_of_them) {
            MUST(MPI_Waitsome(2, r, &n, indices, ignored));
            CHECK(n == 1 && indices[0] == 1);
        } else {
            MUST(MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE));
            CHECK(i == 1);
        }
        CHECK(r[0] == ours && r[1] == MPI_REQUEST_NULL && in == 5);
    }
}

static void inactive(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request r[2] = {init(&x), MPI_REQUEST_NULL};

    test_case = "inactive";
    for (int round = 0; round < 3; round++) { /* never started, and after */
        inactive_one(&r[0]);
        inactive_arrays(r);
        inactive_beside(r);
        start(&x, &r[0], round);
        MUST(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
        CHECK_DATA(&x, round);
    }
    release(&r[0]);
    r[0] = init(&x);
    release(&r[0]); /* never started */
    destroy(&x);
}

/* ---- mistakes ------------------------------------------------------------ */

static void must_be(int code, int errorclass, int line)
{
    int found = MPI_SUCCESS, length = 0;
    char text[MPI_MAX_ERROR_STRING];

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &found);
    if (found != errorclass) {
        MPI_Error_string(code, text, &length);
        fail(line, text);
    }
}
#define MUST_BE(call, errorclass) must_be(call, errorclass, __LINE__)

static void errors(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 100000);
    MPI_Request r = init(&x), bad = MPI_REQUEST_NULL;

    test_case = "errors";
    start(&x, &r, 1);
    MUST_BE(MPI_Start(&r), MPI_ERR_REQUEST);
    MUST_BE(MPI_Request_free(&r), MPI_ERR_REQUEST);
    MUST_BE(MPI_Cancel(&r), MPI_ERR_REQUEST);
    CHECK(PMPI_Start(&r) != MPI_SUCCESS); /* past librota_mpi */
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK_DATA(&x, 1);
    release(&r);
    if (world_me == 0) /* the others hear of it */
        x.sendcounts[0] = -1;
    MUST_BE(MPI_Alltoallv_init(V(&x), MPI_INFO_NULL, &bad), MPI_ERR_COUNT);
    CHECK(bad == MPI_REQUEST_NULL);
    set_counts(&x, 1);
    MUST_BE(MPI_Alltoallv_init(V(&x), MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    destroy(&x);
}

/* Receive blocks of one rank overlap, which MPI lets pass: blocks of one element of a
 * type whose first integer is at its beginning. */
static void overlapping_of(MPI_Datatype type, int typed)
{
    enum { INTS = 4 }; /* more than any type has here */
    int from[64 * INTS], to[64 * INTS], n[64], at[64], bytes_at[64];
    MPI_Datatype types[64];
    MPI_Aint lb, extent;
    MPI_Request r = MPI_REQUEST_NULL;

    MUST(MPI_Type_get_extent(type, &lb, &extent));
    for (int i = 0; i < world_P; i++) {
        n[i] = 1;
        at[i] = world_me == 0 ? 0 : i;
        bytes_at[i] = at[i] * (int)extent;
        types[i] = type;
    }
    for (int i = 0; i < 64 * INTS; i++) {
        from[i] = 7;
        to[i] = 0;
    }
    if (typed)
        MUST(MPI_Alltoallw_init(from, n, bytes_at, types, to, n, bytes_at,
                                types, MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    else
        MUST(MPI_Alltoallv_init(from, n, at, type, to, n, at, type,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &r));
    MUST(MPI_Start(&r));
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    for (int i = 0; i < world_P; i++)
        CHECK(to[bytes_at[i] / (int)sizeof(int)] == 7);
    MUST(MPI_Request_free(&r));
}

static void overlapping(void)
{
    MPI_Datatype ints, vector;

    test_case = "overlapping";
    MUST(MPI_Type_create_resized(MPI_INT, 0, sizeof(int), &ints));
    MUST(MPI_Type_vector(2, 1, 2, MPI_INT, &vector));
    MUST(MPI_Type_commit(&ints));
    MUST(MPI_Type_commit(&vector));
    for (int typed = 0; typed < 2; typed++) {
        overlapping_of(ints, typed);
        overlapping_of(vector, typed);
    }
    MUST(MPI_Type_free(&ints));
    MUST(MPI_Type_free(&vector));
}

/* An error that ends the program, in the v form or the w form. */
static void fatal(int typed)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    const MPI_Datatype bytes[1] = {MPI_BYTE};
    const int at[1] = {0};
    MPI_Request r;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    x.sendcounts[0]++;
    if (typed)
        MPI_Alltoallw_init(x.send, x.sendcounts, at, bytes, x.recv,
                           x.recvcounts, at, bytes, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &r);
    else
        MPI_Alltoallv_init(V(&x), MPI_INFO_NULL, &r);
}

/* The error of a call is that of MPI, which is the same function by its other
 * name; class and the function that the text names. */
static void must_be_alike(int ours, int mpis, const char *name, int line)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int found = MPI_SUCCESS, wanted = MPI_SUCCESS, length;

    if (ours != MPI_SUCCESS) {
        MPI_Error_class(ours, &found);
        MPI_Error_string(ours, text, &length);
    }
    if (mpis != MPI_SUCCESS)
        PMPI_Error_class(mpis, &wanted);
    if (found != wanted || (ours && !strstr(text, name)) ||
        strstr(text, "rota_"))
        fail(line, *text ? text : name);
}

#define ALIKE_BUT_INIT(name, lower, ...)                                       \
    do {                                                                       \
        MPI_Request a_ = MPI_REQUEST_NULL, b_ = MPI_REQUEST_NULL;              \
        const int blocking_ = PMPI_##name(__VA_ARGS__, MPI_COMM_WORLD);        \
        must_be_alike(MPI_##name(__VA_ARGS__, MPI_COMM_WORLD), blocking_,      \
                      "MPI_" #name, __LINE__);                                 \
        const int started_ = PMPI_I##lower(__VA_ARGS__, MPI_COMM_WORLD, &a_);  \
        PMPI_Wait(&a_, MPI_STATUS_IGNORE);                                     \
        must_be_alike(MPI_I##lower(__VA_ARGS__, MPI_COMM_WORLD, &b_),          \
                      started_, "MPI_I" #lower, __LINE__);                     \
        MUST(MPI_Wait(&b_, MPI_STATUS_IGNORE));                                \
    } while (0)
#define ALIKE_BY(name, lower, ...)                                             \
    do {                                                                       \
        MPI_Request c_ = MPI_REQUEST_NULL, d_ = MPI_REQUEST_NULL;              \
        ALIKE_BUT_INIT(name, lower, __VA_ARGS__);                              \
        const int made_ = PMPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD,      \
                                             MPI_INFO_NULL, &c_);              \
        must_be_alike(MPI_##name##_init(__VA_ARGS__, MPI_COMM_WORLD,           \
                                        MPI_INFO_NULL, &d_),                   \
                      made_, "MPI_" #name "_init", __LINE__);                  \
        if (c_ != MPI_REQUEST_NULL)                                            \
            MUST(PMPI_Request_free(&c_));                                      \
        if (d_ != MPI_REQUEST_NULL)                                            \
            MUST(MPI_Request_free(&d_));                                       \
    } while (0)
#define ALIKE(...) ALIKE_BY(Alltoallv, alltoallv, __VA_ARGS__)
#define ALIKE_W(...) ALIKE_BY(Alltoallw, alltoallw, __VA_ARGS__)
#define ALIKE_ONE(...) ALIKE_BY(Alltoall, alltoall, __VA_ARGS__)

/* Whatever MPI says of arguments, librota_mpi says. */
static void checks_alike(void)
{
    enum { MOST = 16 };
    char from[8 * MOST] = "", to[8 * MOST];
    int n[MOST], again[MOST], negative[MOST], none[MOST] = {0};
    int at[MOST], beside[MOST];
    MPI_Datatype raw;

    test_case = "checks alike";
    for (int i = 0; i < world_P; i++) {
        n[i] = again[i] = negative[i] = 2;
        at[i] = 8 * i;
        beside[i] = 8 * i + 4;
    }
    negative[world_P - 1] = -2;
    MUST(MPI_Type_contiguous(2, MPI_BYTE, &raw));
    ALIKE(from, n, at, MPI_BYTE, to, n, at, MPI_BYTE);
    ALIKE(from, negative, at, MPI_BYTE, to, n, at, MPI_BYTE);
    ALIKE(from, n, at, MPI_BYTE, to, negative, at, MPI_BYTE);
    ALIKE(from, n, at, MPI_DATATYPE_NULL, to, n, at, MPI_BYTE);
    ALIKE(from, n, at, MPI_BYTE, to, n, at, MPI_DATATYPE_NULL);
    ALIKE(from, n, at, raw, to, n, at, MPI_BYTE);
    ALIKE(from, none, at, MPI_BYTE, to, none, at, raw);
    ALIKE(from, n, at, MPI_BYTE, MPI_IN_PLACE, n, at, MPI_BYTE);
    ALIKE(from, none, at, MPI_BYTE, MPI_IN_PLACE, none, at, MPI_BYTE);
    ALIKE(to, n, at, MPI_BYTE, to, n, at, MPI_BYTE);
    ALIKE(to, n, at, MPI_BYTE, to, again, beside, MPI_BYTE);
    /* Where there is nothing, Rota sees nothing wrong. */
    ALIKE_BUT_INIT(Alltoallv, alltoallv, to, none, at, MPI_BYTE, to, none, at,
                   MPI_BYTE);
    ALIKE(NULL, n, at, MPI_BYTE, to, n, at, MPI_BYTE);
    ALIKE(from, n, at, MPI_BYTE, NULL, n, at, MPI_BYTE);
    ALIKE(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, to, n, at, MPI_BYTE);
    ALIKE_ONE(from, 1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(from, -1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(from, 1, MPI_BYTE, to, -1, MPI_BYTE);
    ALIKE_ONE(from, 1, MPI_DATATYPE_NULL, to, 1, MPI_BYTE);
    ALIKE_ONE(from, 1, MPI_BYTE, to, 1, MPI_DATATYPE_NULL);
    ALIKE_ONE(from, 1, raw, to, 2, MPI_BYTE);
    ALIKE_ONE(from, 0, MPI_BYTE, to, 0, raw);
    ALIKE_ONE(from, 1, MPI_BYTE, MPI_IN_PLACE, 1, MPI_BYTE);
    ALIKE_ONE(from, 0, MPI_BYTE, MPI_IN_PLACE, 0, MPI_BYTE);
    ALIKE_ONE(to, 1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(to, 0, MPI_BYTE, to, 0, MPI_BYTE);
    ALIKE_ONE(NULL, 1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(from, 1, MPI_BYTE, NULL, 1, MPI_BYTE);
    ALIKE_ONE(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE);
    ALIKE_ONE(MPI_IN_PLACE, 1, MPI_DATATYPE_NULL, to, 1, MPI_BYTE);
    MPI_Datatype bytes[MOST], mixed[MOST], bad[MOST];
    for (int i = 0; i < world_P; i++)
        bytes[i] = mixed[i] = bad[i] = MPI_BYTE;
    mixed[0] = MPI_CHAR;
    bad[world_P - 1] = MPI_DATATYPE_NULL;
    ALIKE_W(from, n, at, bytes, to, n, at, bytes);
    ALIKE_W(from, n, at, bytes, to, n, at, mixed);
    ALIKE_W(from, negative, at, bytes, to, n, at, bytes);
    ALIKE_W(from, n, at, bytes, to, negative, at, bytes);
    ALIKE_W(from, n, at, bad, to, n, at, bytes);
    ALIKE_W(from, n, at, bytes, to, n, at, bad);
    ALIKE_W(from, n, at, bytes, MPI_IN_PLACE, n, at, bytes);
    ALIKE_W(to, n, at, bytes, to, n, at, bytes);
    ALIKE_W(NULL, n, at, bytes, to, n, at, bytes);
    ALIKE_W(MPI_IN_PLACE, NULL, NULL, NULL, to, n, at, bytes);
    must_be_alike(MPI_Ialltoallv(from, n, at, MPI_BYTE, to, n, at, MPI_BYTE,
                                 MPI_COMM_WORLD, NULL),
                  MPI_ERR_ARG, "MPI_Ialltoallv", __LINE__);
    MUST(MPI_Type_free(&raw));
}

/* One request twice in an array, which MPI would wait for for ever; and what
 * MPI says of the other arguments. */
static void twice(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request r = init(&x), two[2];
    MPI_Status status[2];
    int flag = 0, index, count, indices[2];

    test_case = "twice";
    two[0] = two[1] = r;
#define REFUSED(name, call) must_be_alike(call, MPI_ERR_REQUEST, name, __LINE__)
    REFUSED("MPI_Startall: a request", MPI_Startall(2, two));
    start(&x, &r, 1);
    REFUSED("MPI_Waitall: a request", MPI_Waitall(2, two, status));
    REFUSED("MPI_Waitany: a request", MPI_Waitany(2, two, &index, status));
    REFUSED("MPI_Waitsome: a request",
            MPI_Waitsome(2, two, &count, indices, status));
    REFUSED("MPI_Testall: a request", MPI_Testall(2, two, &flag, status));
    REFUSED("MPI_Testany: a request",
            MPI_Testany(2, two, &index, &flag, status));
    REFUSED("MPI_Testsome: a request",
            MPI_Testsome(2, two, &count, indices, status));
    REFUSED("MPI_Start: the request is active", MPI_Start(&r));
    REFUSED("MPI_Request_free: the request is active", MPI_Request_free(&r));
    REFUSED("MPI_Cancel: collectives", MPI_Cancel(&r));
    CHECK(two[0] == r && two[1] == r);
    must_be_alike(MPI_Wait(&r, NULL), MPI_ERR_ARG, "MPI_Wait", __LINE__);
    must_be_alike(MPI_Waitall(1, &r, NULL), MPI_ERR_ARG, "MPI_Waitall",
                  __LINE__);
    must_be_alike(MPI_Waitall(-1, &r, status), MPI_ERR_COUNT, "MPI_Waitall",
                  __LINE__);
    must_be_alike(MPI_Test(&r, NULL, status), MPI_ERR_ARG, "MPI_Test",
                  __LINE__);
    MUST(MPI_Waitall(1, &r, status));
    CHECK_DATA(&x, 1);
    release(&r);
    destroy(&x);
}

/* Rank 0 sends rank 1 more than the n ints that it has room for. */
static void too_long(int n)
{
    exchange x = make(MPI_COMM_WORLD, 1, n);
    MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2];
    MPI_Info info;
    int in, token = world_me;

    test_case = "too long";
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "rota_check", "off"));
    if (world_me == 0)
        x.sendcounts[1] = n + 1;
    if (world_me == 1)
        x.recvcounts[0] = n;
    MUST(MPI_Alltoallv_init(V(&x), info, &r[0]));
    MUST(MPI_Info_free(&info));
    MUST(MPI_Irecv(&in, 1, MPI_INT, world_me, 3, MPI_COMM_WORLD, &r[1]));
    MUST(MPI_Send(&token, 1, MPI_INT, world_me, 3, MPI_COMM_WORLD));
    /* Rank 0 last, or its message might fail the start of rank 1. */
    if (world_me == 0)
        MUST(MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    MUST(MPI_Start(&r[0]));
    if (world_me == 1) {
        MUST(MPI_Send(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD));
        CHECK(MPI_Waitall(2, r, status) == MPI_ERR_IN_STATUS);
        MUST_BE(status[0].MPI_ERROR, MPI_ERR_COUNT);
        CHECK(status[1].MPI_ERROR == MPI_SUCCESS && in == token);
    } else {
        MUST(MPI_Waitall(2, r, status));
    }
    release(&r[0]);
    destroy(&x);
}

/* Communicators that live for one call, of two groups, with errors of their own
 * and one that lives longer: the plans of those before are used. */
static void short_lived(void)
{
    enum { ROUNDS = 100 };
    MPI_Comm pair, comm, stays;
    exchange x;

    test_case = "short lived";
    MUST(MPI_Comm_split(MPI_COMM_WORLD, world_me / 2, -world_me, &pair));
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &stays));
    for (int i = 0; i < ROUNDS; i++) {
        MUST(MPI_Comm_dup(i % 3 ? MPI_COMM_WORLD : pair, &comm));
        x = make(comm, i, 10);
        fill(&x, i);
        MUST(MPI_Alltoallv(V(&x)));
        CHECK_DATA(&x, i);
        destroy(&x);
        if (i % 10 == 0) {
            x = make(stays, i, 5);
            fill(&x, i);
            MUST(MPI_Alltoallv(V(&x)));
            CHECK_DATA(&x, i);
            destroy(&x);
        }
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_free(&stays));
    MUST(MPI_Comm_free(&pair));
}

static void reshape(void)
{
    enum { ROUNDS = 400, SCALE = 100000 };
    MPI_Comm comm;

    test_case = "reshape";
    for (int i = 0; i < ROUNDS; i++) {
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        exchange x = make(comm, i, SCALE);
        fill(&x, i);
        MUST(MPI_Alltoallv(V(&x)));
        CHECK_DATA(&x, i);
        destroy(&x);
        MUST(MPI_Comm_free(&comm));
    }
}

/* MPI refuses this on rank 0, which is not to count the call. */
static void refused(exchange *x, int round)
{
    int none[4] = {0};

    if (x->me != 0)
        return;
    x->sendcounts[x->P - 1] = -1;
    CHECK(MPI_Alltoallv(V(x)) != MPI_SUCCESS);
    set_counts(x, round);
    CHECK(MPI_Alltoall(none, -1, MPI_INT, none, -1, MPI_INT, x->comm) !=
          MPI_SUCCESS);
}

static void pass_equal(MPI_Comm comm, int P, int n)
{
    int *const from = malloc((size_t)(n * P) * sizeof *from);
    int *const to = malloc((size_t)(n * P) * sizeof *to);

    for (int i = 0; i < n * P; i++)
        from[i] = i / n;
    MUST(MPI_Alltoall(from, n, MPI_INT, to, n, MPI_INT, comm));
    for (int i = 1; i < n * P; i++)
        CHECK(to[i] == to[0]);
    free(from);
    free(to);
}

/* ---- calls that repeat the last one -------------------------------------- */

/* What differs from call to call. */
typedef struct change {
    int pair;       /* ints more between ranks 0 and 1 alone */
    int shifted[2]; /* by so much, sent or received, on each rank in its turn */
    int form;       /* 1: large counts; 2: a type for each block; 3: in place */
    int ints; /* of an element; of a type that is freed, if there are several:
                 then another often has its handle */
} change;

enum { PITCH = 16 };

/* Each block has its own place. */
static void set_apart(exchange *x, const change *c)
{
    const int pitch = c->ints > 1 ? PITCH / 4 : PITCH;

    for (int q = 0; q < x->P; q++) {
        const int more = x->me + q == 1 ? c->pair : 0;
        x->sendcounts[q] = x->recvcounts[q] = x->me == q ? 0 : 2 + more;
        x->sdispls[q] = q * pitch + c->shifted[c->form == 3];
        x->rdispls[q] = q * pitch + c->shifted[1];
        x->sendcounts_c[q] = x->recvcounts_c[q] = x->sendcounts[q];
        x->sdispls_c[q] = x->sdispls[q];
        x->rdispls_c[q] = x->rdispls[q];
    }
}

static void fill_apart(exchange *x, int ints, int in_place, int round)
{
    for (int i = 0; i < (x->P + 2) * PITCH; i++)
        x->recv[i] = GUARD;
    for (int q = 0; q < x->P; q++)
        for (int i = 0; i < ints * x->sendcounts[q]; i++)
            (in_place ? x->recv : x->send)[x->sdispls[q] * ints + i] =
                value(x->me, q, i, round);
}

static void check_apart(const exchange *x, int ints, int round)
{
    int wrong = 0;

    for (int q = 0; q < x->P; q++) {
        const int *const block = x->recv + x->rdispls[q] * ints;
        const int n = ints * x->recvcounts[q];
        for (int i = 0; i < n; i++)
            wrong += block[i] != value(q, x->me, i, round);
        wrong += block[n] != GUARD;
    }
    CHECK(wrong == 0);
}

static void call_typed(exchange *x, MPI_Datatype type, int size)
{
    MPI_Datatype types[64];
    int from[64], to[64];

    for (int q = 0; q < x->P; q++) {
        types[q] = type;
        from[q] = x->sdispls[q] * size;
        to[q] = x->rdispls[q] * size;
    }
    MUST(MPI_Alltoallw(x->send, x->sendcounts, from, types, x->recv,
                       x->recvcounts, to, types, x->comm));
}

static void repeat(exchange *x, const change *c, int round)
{
    const int ints = c->ints;
    MPI_Datatype type;

    set_apart(x, c);
    fill_apart(x, ints, c->form == 3, round);
    MPI_Type_contiguous(ints, MPI_INT, &type);
    MPI_Type_commit(&type);
    const MPI_Datatype used = ints > 1 ? type : MPI_INT;
    if (c->form == 1)
        MUST(MPI_Alltoallv_c(x->send, x->sendcounts_c, x->sdispls_c, used,
                             x->recv, x->recvcounts_c, x->rdispls_c, used,
                             x->comm));
    else if (c->form == 2)
        call_typed(x, used, ints * (int)sizeof(int));
    else
        MUST(MPI_Alltoallv(c->form == 3 ? MPI_IN_PLACE : x->send, x->sendcounts,
                           x->sdispls, used, x->recv, x->recvcounts, x->rdispls,
                           used, x->comm));
    MPI_Type_free(&type);
    check_apart(x, ints, round);
}

static void swap_buffers(exchange *x)
{
    int *const send = x->send;

    x->send = x->recv;
    x->recv = send;
}

/* Blocks of one size: in place or not, on the same buffers or others. */
static void repeat_equal(exchange *x, int in_place, int n, int round)
{
    for (int q = 0; q < x->P; q++)
        for (int i = 0; i < n; i++) {
            x->send[q * n + i] = value(x->me, q, i, round);
            x->recv[q * n + i] = in_place ? x->send[q * n + i] : GUARD;
        }
    MUST(MPI_Alltoall(in_place ? MPI_IN_PLACE : x->send, n, MPI_INT, x->recv, n,
                      MPI_INT, x->comm));
    int wrong = 0;
    for (int q = 0; q < x->P; q++)
        for (int i = 0; i < n; i++)
            wrong += x->recv[q * n + i] != value(q, x->me, i, round);
    CHECK(wrong == 0);
}

/* Each change lasts for some calls. */
static void repeats(void)
{
    enum { CALLS = 4, ROUNDS = 32 };
    exchange x = make(MPI_COMM_WORLD, 0, 100);

    test_case = "repeats";
    for (int round = 0; round < ROUNDS; round++) {
        const int phase = round + world_me, one = phase ^ phase >> 1;
        for (int k = 0; k < CALLS; k++) {
            const change c = {.pair = round % 9 == 1,
                              .shifted = {one & 1, one >> 1 & 1},
                              .form = round / 4 % 4,
                              .ints = round % 5 == 2 ? 2 + k / 2 : 1};
            if (k == 2)
                swap_buffers(&x);
            repeat(&x, &c, round * CALLS + k);
            repeat_equal(&x, round % 3 == 2, 1 + round % 4, round * CALLS + k);
            if (k == 1 && world_P > 1 && round % 2)
                refused(&x, round);
        }
    }
    destroy(&x);
}

/* On communicators whose handles come back for other processes. Ranks that do not
 * count alike wait for each other for ever. */
static int call_last(MPI_Comm comm, int key, void *value, void *extra)
{
    exchange *const x = value;

    (void)comm;
    (void)key;
    (void)extra;
    fill(x, 2);
    MUST(MPI_Alltoallv(V(x)));
    CHECK_DATA(x, 2);
    destroy(x);
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes what MPI_COMM_SELF holds first, while MPI still works. */
static void call_at_end(void)
{
    static exchange x;
    int key;

    x = make(MPI_COMM_WORLD, 1, 10);
    fill(&x, 1);
    MUST(MPI_Alltoallv(V(&x)));
    CHECK_DATA(&x, 1);
    MUST(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_last, &key, NULL));
    MUST(MPI_Comm_set_attr(MPI_COMM_SELF, key, &x));
}

static void passing(void)
{
    enum { ROUNDS = 60, CALLS = 6 };
    MPI_Comm half, comm;

    test_case = "passing";
    MUST(MPI_Comm_split(MPI_COMM_WORLD, world_me % 2, world_me, &half));
    for (int i = 0; i < ROUNDS; i++) {
        MUST(MPI_Comm_dup(i % 3 ? MPI_COMM_WORLD : half, &comm));
        for (int k = 0; k < CALLS; k++) {
            exchange x = make(comm, i, 10);
            if ((i + k) % 4 == 0)
                refused(&x, i);
            fill(&x, i + k);
            MUST(MPI_Alltoallv(V(&x)));
            CHECK_DATA(&x, i + k);
            pass_equal(comm, x.P, 1 + k / 2);
            destroy(&x);
        }
        MUST(MPI_Comm_free(&comm));
    }
    MUST(MPI_Comm_free(&half));
    call_at_end();
}

/* ---- threads ------------------------------------------------------------- */

static void *run_thread(void *arg)
{
    enum { ROUNDS = 20 };
    const MPI_Comm comm = *(MPI_Comm *)arg;
    exchange x = make(comm, 1, 10), y = make(comm, 2, 20), z = make(comm, 3, 5);
    MPI_Request r[2] = {init(&x), MPI_REQUEST_NULL};

    for (int round = 0; round < ROUNDS; round++) {
        start(&x, &r[0], round);
        r[1] = ialltoallv(&y, round);
        fill(&z, round);
        MUST(MPI_Alltoallv(V(&z)));
        MUST(MPI_Waitall(2, r, ignored));
        CHECK_DATA(&x, round);
        CHECK_DATA(&y, round);
        CHECK_DATA(&z, round);
    }
    release(&r[0]);
    destroy(&x);
    destroy(&y);
    destroy(&z);
    return NULL;
}

static void threads(void)
{
    MPI_Comm comm[2];
    pthread_t thread;

    test_case = "threads";
    for (int i = 0; i < 2; i++)
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
    CHECK(pthread_create(&thread, NULL, run_thread, &comm[1]) == 0);
    run_thread(&comm[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++)
        MUST(MPI_Comm_free(&comm[i]));
}

/* ---- past librota_mpi ---------------------------------------------------- */

static void past(void)
{
    exchange x = make(MPI_COMM_WORLD, 1, 10);
    MPI_Request r = init(&x);

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    PMPI_Wait(&r, MPI_STATUS_IGNORE);
    printf("dropin: a request was completed past librota_mpi\n");
}

/* ----------------------------------------------------------------------------- */

static void common(void)
{
    blocking();
    in_place();
    types();
    equal_blocks();
    equal_in_place();
    equal_sizes();
    equal_persistent();
    typed_blocks();
    typed_requests();
    persistent();
    handles_again();
    get_status();
    arrays();
    ours_alone();
    nonblocking();
    freed_comm();
    comm_again();
    intercomm();
    progress();
    ahead();
    print_expected();
}

/* A program that has a session and no MPI_Init. */
static int sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int P, in[16], out[16], n[16], at[16], good = 1;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "dropin", MPI_INFO_NULL,
                               MPI_ERRORS_RETURN, &comm);
    MPI_Comm_size(comm, &P);
    for (int i = 0; i < P && i < 16; i++) {
        n[i] = 1;
        at[i] = in[i] = i;
    }
    MPI_Alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, comm);
    for (int i = 1; i < P; i++)
        good = good && out[i] == out[0];
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return !good;
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    int all_failures = 0, mine, level;

    if (strcmp(what, "sessions") == 0)
        return sessions();
    plain = argc > 2 && strcmp(argv[2], "plain") == 0;
    MPI_Init_thread(&argc, &argv,
                    strcmp(what, "threads") ? MPI_THREAD_SINGLE
                                            : MPI_THREAD_MULTIPLE,
                    &level);
    MPI_Comm_size(MPI_COMM_WORLD, &world_P);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_me);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (strcmp(what, "common") == 0)
        common();
    else if (strcmp(what, "inactive") == 0)
        inactive();
    else if (strcmp(what, "errors") == 0) {
        errors();
        overlapping();
        twice();
        checks_alike();
        if (world_P > 1) {
            too_long(11);
            too_long(1000000);
        }
    } else if (strcmp(what, "threads") == 0 && level == MPI_THREAD_MULTIPLE)
        threads();
    else if (strcmp(what, "past") == 0)
        past();
    else if (strcmp(what, "fatal") == 0)
        fatal(argc > 2 && strcmp(argv[2], "typed") == 0);
    else if (strcmp(what, "short") == 0)
        short_lived();
    else if (strcmp(what, "reshape") == 0)
        reshape();
    else if (strcmp(what, "passing") == 0)
        passing();
    else if (strcmp(what, "repeats") == 0)
        repeats();
    else
        fail(__LINE__,
             "common, inactive, errors, fatal, past; threads, if MPI can");
    mine = failures;
    MPI_Allreduce(&mine, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all_failures > 0 || failures > mine;
}
