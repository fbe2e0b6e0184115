/* neighbors.c - neighbourhood calls of a program of MPI alone, to be run with
 * librota_mpi and without. Data must be as messages bring them that meet as they
 * do in PMPI_Neighbor_alltoall or, for the others, PMPI_Neighbor_alltoallv.
 *
 *   neighbors common   every form of every call, on many topologies; with "plain"
 *                      behind it but for MPI_Neighbor_alltoallw where a rank has
 *                      more sources than destinations or fewer, which MPICH 4.0
 *                      gets wrong
 *   neighbors again    communicators with topologies that were there before
 *   neighbors loop     one call over and over, as a program has it
 *   neighbors errors   arguments that MPI refuses
 *
 * The first ends with the lines that ROTA_STATS=1 has to show on rank 0 with
 * ROTA_MPI_AFTER=0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int world_P, world_me, failures;
static int plain; /* without librota_mpi */
static const char *test_case = "";
/* A variable, or GCC takes the constant for an array too small. */
static MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;

static void fail(int line, const char *what)
{
    if (failures++ < 5)
        fprintf(stderr, "neighbors.c:%d: rank %d of %d: [%s] %s\n", line,
                world_me, world_P, test_case, what);
}

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            fail(__LINE__, #condition);                                        \
    } while (0)
#define MUST(call) CHECK((call) == MPI_SUCCESS)

/* ---- what librota_mpi should count --------------------------------------- */

enum { ONE, V, W, SHAPES };
enum { BLOCKING, NONBLOCKING, INIT, KINDS };

static int calls[SHAPES][KINDS], by_rota[SHAPES][KINDS];

static void print_expected(void)
{
    static const char *const name[SHAPES][KINDS] = {
        {"MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall",
         "MPI_Neighbor_alltoall_init"},
        {"MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv",
         "MPI_Neighbor_alltoallv_init"},
        {"MPI_Neighbor_alltoallw", "MPI_Ineighbor_alltoallw",
         "MPI_Neighbor_alltoallw_init"}};

    for (int s = 0; s < SHAPES && world_me == 0; s++)
        for (int k = 0; k < KINDS; k++)
            printf("rank 0: %s calls=%d by_rota=%d passed_on=%d\n", name[s][k],
                   calls[s][k], by_rota[s][k], calls[s][k] - by_rota[s][k]);
}

/* ---- topologies ---------------------------------------------------------- */

enum { RING, GRID, MANY, GRAPH, FEW, TOPOLOGIES };
static const char *const topology_name[] = {
    "a periodic grid", "a grid with borders and a dimension of one",
    "a graph with edges many times", "a graph of MPI_Graph_create",
    "a graph in which most have no neighbours"};

enum { MOST = 64 };

/* Two edges to itself, three to the next, one to rank 0. */
static MPI_Comm make_many(void)
{
    const int P = world_P, next = (world_me + 1) % P;
    const int to[] = {next, world_me, 0, next, world_me, next};
    const int before = (world_me + P - 1) % P;
    int from[MOST] = {world_me, before, before, world_me, before}, n = 5;
    MPI_Comm comm;

    for (int q = P - 1; q >= 0 && world_me == 0; q--)
        from[n++] = q;
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, from, MPI_UNWEIGHTED,
                                        6, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &comm));
    return comm;
}

/* A line of ranks. */
static MPI_Comm make_graph(void)
{
    int index[MOST], edges[2 * MOST], n = 0;
    MPI_Comm comm;

    for (int q = 0; q < world_P; q++) {
        if (q > 0)
            edges[n++] = q - 1;
        if (q < world_P - 1)
            edges[n++] = q + 1;
        index[q] = n;
    }
    MUST(MPI_Graph_create(MPI_COMM_WORLD, world_P, index, edges, 0, &comm));
    return comm;
}

/* From the last rank to the first, and times edges of the last to itself. */
static MPI_Comm make_few(int times)
{
    const int last = world_P - 1;
    int to[MOST] = {0}, from[MOST] = {0}, n_to = 0, n_from = 0;
    MPI_Comm comm;

    if (world_me == last)
        to[n_to++] = 0;
    if (world_me == 0)
        from[n_from++] = last;
    for (int i = 0; i < times && world_me == last; i++)
        to[n_to++] = from[n_from++] = last;
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, n_from, from, MPI_UNWEIGHTED, n_to, to, MPI_UNWEIGHTED,
        MPI_INFO_NULL, 0, &comm));
    return comm;
}

static MPI_Comm make_topology(int which)
{
    const int sizes[2] = {world_P, 1}, periods[2] = {which == RING, 1};
    MPI_Comm comm = MPI_COMM_NULL;

    if (which == MANY)
        return make_many();
    if (which == GRAPH)
        return make_graph();
    if (which == FEW)
        return make_few(1);
    MUST(MPI_Cart_create(MPI_COMM_WORLD, which == RING ? 1 : 2, sizes, periods,
                         0, &comm));
    return comm;
}

/* The lists of a rank; n [2]: sent, received. */
static void find_peers(MPI_Comm comm, int n[2], int peer[2][MOST])
{
    int kind, weights[MOST];

    MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, n);
        for (int d = 0; d < n[0]; d++)
            MPI_Cart_shift(comm, d, 1, &peer[0][2 * d], &peer[0][2 * d + 1]);
        n[0] = n[1] = 2 * n[0];
        memcpy(peer[1], peer[0], sizeof peer[0]);
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, world_me, n);
        MPI_Graph_neighbors(comm, world_me, n[0], peer[0]);
        n[1] = n[0];
        memcpy(peer[1], peer[0], sizeof peer[0]);
    } else {
        int weighted;
        MPI_Dist_graph_neighbors_count(comm, &n[1], &n[0], &weighted);
        MPI_Dist_graph_neighbors(comm, n[1], peer[1], weights, n[0], peer[0],
                                 weights);
    }
}

/* ---- elements: four ints ------------------------------------------------- */

enum { PLAIN, SWAPPED, APART, LAYOUTS, WIDEST = 8, GUARD = -77 };

static int extent(int layout)
{
    return layout == APART ? WIDEST : 4;
}

static MPI_Datatype make_type(int layout)
{
    static const int ones[] = {1, 1, 1, 1}, swapped[] = {1, 0, 3, 2};
    MPI_Datatype type, inner;

    if (layout == APART)
        MPI_Type_vector(4, 1, 2, MPI_INT, &inner);
    else if (layout == SWAPPED)
        MPI_Type_indexed(4, ones, swapped, MPI_INT, &inner);
    else
        MPI_Type_contiguous(4, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, extent(layout) * (MPI_Aint)sizeof(int),
                            &type);
    MPI_Type_free(&inner);
    MPI_Type_commit(&type);
    return type;
}

/* ---- exchanges ----------------------------------------------------------- */

/* Sent [0] and received [1]. */
typedef struct exchange {
    MPI_Comm comm;
    int shape, one; /* count of ONE */
    int n[2], peer[2][MOST], tag[2][MOST];
    int counts[2][MOST], displs[2][MOST];
    MPI_Count counts_c[2][MOST];
    MPI_Aint displs_c[2][MOST], bytes[2][MOST];
    MPI_Datatype types[2][MOST + 1]; /* the first for ONE and V */
    int *data[2], *expected;
    size_t ints[2];
} exchange;

/* Number what is sent, and see what comes. */
static void find_tags(exchange *x)
{
    int one[MOST];

    for (int i = 0; i < MOST; i++) {
        x->tag[0][i] = i;
        one[i] = 1;
    }
    if (x->shape == ONE)
        MUST(PMPI_Neighbor_alltoall(x->tag[0], 1, MPI_INT, x->tag[1], 1,
                                    MPI_INT, x->comm));
    else
        MUST(PMPI_Neighbor_alltoallv(x->tag[0], one, x->tag[0], MPI_INT,
                                     x->tag[1], one, x->tag[0], MPI_INT,
                                     x->comm));
}

static exchange make(MPI_Comm comm, int shape, int seed, int scale)
{
    exchange x = {.comm = comm, .shape = shape, .one = scale};

    find_peers(comm, x.n, x.peer);
    find_tags(&x);
    for (int side = 0; side < 2; side++) {
        int at = 1;
        for (int i = 0; i < x.n[side]; i++) {
            const int q = x.peer[side][i];
            const int src = side ? q : world_me, dst = side ? world_me : q;
            const int n = shape == ONE ? scale : (3 * src + 5 * dst + seed) % 4;
            x.counts[side][i] = n < 0 ? 7 : shape == ONE ? n : n * scale;
            x.displs[side][i] = at;
            x.counts_c[side][i] = x.counts[side][i];
            x.displs_c[side][i] = at;
            x.bytes[side][i] = at * WIDEST * (MPI_Aint)sizeof(int);
            at += x.counts[side][i] + 1;
        }
        for (int i = 0; i <= MOST; i++)
            x.types[side][i] =
                i < x.n[side] || i == 0
                    ? make_type((seed + world_me + (1 + side) * i) % LAYOUTS)
                    : MPI_DATATYPE_NULL;
        x.ints[side] = (size_t)(at * WIDEST);
        x.data[side] = malloc(x.ints[side] * sizeof(int));
    }
    x.expected = malloc(x.ints[1] * sizeof(int));
    return x;
}

static void free_types(exchange *x)
{
    for (int side = 0; side < 2; side++)
        for (int i = 0; i <= MOST; i++)
            if (x->types[side][i] != MPI_DATATYPE_NULL)
                MPI_Type_free(&x->types[side][i]);
}

static void destroy(exchange *x)
{
    free_types(x);
    free(x->data[0]);
    free(x->data[1]);
    free(x->expected);
}

#define ARGS_ONE(x, to)                                                        \
    (x)->data[0], (x)->one, (x)->types[0][0], to, (x)->one, (x)->types[1][0],  \
        (x)->comm
#define ARGS_V(x, to)                                                          \
    (x)->data[0], (x)->counts[0], (x)->displs[0], (x)->types[0][0], to,        \
        (x)->counts[1], (x)->displs[1], (x)->types[1][0], (x)->comm
#define ARGS_V_C(x, to)                                                        \
    (x)->data[0], (x)->counts_c[0], (x)->displs_c[0], (x)->types[0][0], to,    \
        (x)->counts_c[1], (x)->displs_c[1], (x)->types[1][0], (x)->comm
#define ARGS_W(x, to)                                                          \
    (x)->data[0], (x)->counts[0], (x)->bytes[0], (x)->types[0], to,            \
        (x)->counts[1], (x)->bytes[1], (x)->types[1], (x)->comm
#define ARGS_W_C(x, to)                                                        \
    (x)->data[0], (x)->counts_c[0], (x)->bytes[0], (x)->types[0], to,          \
        (x)->counts_c[1], (x)->bytes[1], (x)->types[1], (x)->comm

/* Post message i. */
static void post(exchange *x, int side, int i, MPI_Request *r)
{
    int *const at = side ? x->expected : x->data[0];
    const MPI_Datatype type = x->types[side][x->shape == W ? i : 0];
    const int n = x->shape == ONE ? x->one : x->counts[side][i];
    MPI_Aint lb, apart;

    MPI_Type_get_extent(type, &lb, &apart);
    const MPI_Aint bytes = x->shape == ONE ? i * n * apart
                           : x->shape == V ? x->displs[side][i] * apart
                                           : x->bytes[side][i];
    if (side)
        MUST(PMPI_Irecv((char *)at + bytes, n, type, x->peer[1][i],
                        x->tag[1][i], x->comm, r));
    else
        MUST(PMPI_Isend((char *)at + bytes, n, type, x->peer[0][i], i, x->comm,
                        r));
}

static void fill(exchange *x, int round)
{
    MPI_Request r[2 * MOST];
    int n = 0;

    for (size_t i = 0; i < x->ints[0]; i++)
        x->data[0][i] = (int)((size_t)(round * 64 + world_me) * 100000 + i);
    for (size_t i = 0; i < x->ints[1]; i++)
        x->data[1][i] = x->expected[i] = GUARD;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < x->n[side]; i++)
            post(x, side, i, &r[n++]);
    MUST(PMPI_Waitall(n, r, ignored));
}

static void check(const exchange *x, int line)
{
    if (memcmp(x->data[1], x->expected, x->ints[1] * sizeof(int)) != 0)
        fail(line, "wrong data");
}

static void expect(const exchange *x, int kind, int rota)
{
    calls[x->shape][kind]++;
    by_rota[x->shape][kind] += rota;
}

static void exchange_now(exchange *x, int round, int large)
{
    int *const to = x->data[1];

    fill(x, round);
    expect(x, BLOCKING, world_P > 1);
    if (x->shape == ONE)
        MUST(large ? MPI_Neighbor_alltoall_c(ARGS_ONE(x, to))
                   : MPI_Neighbor_alltoall(ARGS_ONE(x, to)));
    else if (x->shape == V)
        MUST(large ? MPI_Neighbor_alltoallv_c(ARGS_V_C(x, to))
                   : MPI_Neighbor_alltoallv(ARGS_V(x, to)));
    else
        MUST(large ? MPI_Neighbor_alltoallw_c(ARGS_W_C(x, to))
                   : MPI_Neighbor_alltoallw(ARGS_W(x, to)));
    check(x, __LINE__);
}

/* This is MPI's. */
static void exchange_later(exchange *x, int round, int large)
{
    int *const to = x->data[1];
    MPI_Request r = MPI_REQUEST_NULL;

    fill(x, round);
    expect(x, NONBLOCKING, 0);
    if (x->shape == ONE)
        MUST(large ? MPI_Ineighbor_alltoall_c(ARGS_ONE(x, to), &r)
                   : MPI_Ineighbor_alltoall(ARGS_ONE(x, to), &r));
    else if (x->shape == V)
        MUST(large ? MPI_Ineighbor_alltoallv_c(ARGS_V_C(x, to), &r)
                   : MPI_Ineighbor_alltoallv(ARGS_V(x, to), &r));
    else
        MUST(large ? MPI_Ineighbor_alltoallw_c(ARGS_W_C(x, to), &r)
                   : MPI_Ineighbor_alltoallw(ARGS_W(x, to), &r));
    MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
    CHECK(r == MPI_REQUEST_NULL);
    check(x, __LINE__);
}

static void exchange_again(exchange *x, int large)
{
    int *const to = x->data[1];
    const MPI_Info info = MPI_INFO_NULL;
    MPI_Request r = MPI_REQUEST_NULL;

    expect(x, INIT, 1);
    if (x->shape == ONE)
        MUST(large ? MPI_Neighbor_alltoall_init_c(ARGS_ONE(x, to), info, &r)
                   : MPI_Neighbor_alltoall_init(ARGS_ONE(x, to), info, &r));
    else if (x->shape == V)
        MUST(large ? MPI_Neighbor_alltoallv_init_c(ARGS_V_C(x, to), info, &r)
                   : MPI_Neighbor_alltoallv_init(ARGS_V(x, to), info, &r));
    else
        MUST(large ? MPI_Neighbor_alltoallw_init_c(ARGS_W_C(x, to), info, &r)
                   : MPI_Neighbor_alltoallw_init(ARGS_W(x, to), info, &r));
    for (int round = 0; round < 3; round++) {
        fill(x, round);
        MUST(MPI_Start(&r));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check(x, __LINE__);
    }
    MUST(MPI_Request_free(&r));
}

/* ---- tests --------------------------------------------------------------- */

/* mpi_is_right: for MPI_Neighbor_alltoallw it may not be. */
static void every_form(int shape, int seed, MPI_Comm comm, int mpi_is_right)
{
    for (int large = 0; large < 2; large++) {
        exchange x = make(comm, shape, seed + large, large ? 3 : 700);
        exchange_now(&x, 0, large);
        exchange_now(&x, 1, large);
        exchange_again(&x, large);
        if (mpi_is_right)
            exchange_later(&x, 2, large);
        destroy(&x);
    }
}

static void common(void)
{
    for (int which = 0; which < TOPOLOGIES; which++) {
        MPI_Comm comm = make_topology(which);
        test_case = topology_name[which];
        for (int shape = 0; shape < SHAPES; shape++) {
            const int right = shape != W || (which != MANY && which != FEW);
            if (!plain || right)
                every_form(shape, which, comm, right);
        }
        MUST(MPI_Comm_free(&comm));
    }
    print_expected();
}

static void exchange_on(MPI_Comm comm, int round)
{
    exchange x = make(comm, V, round, 10);

    exchange_now(&x, round, 0);
    destroy(&x);
}

/* Ranks but the last see the same neighbours in all of these. The plans of
 * those that were there before are used, but for the one that is forgotten. */
static void again(void)
{
    enum { TIMES = 18 };
    MPI_Comm comm[TIMES], copy;

    test_case = "again";
    for (int i = 0; i < TIMES; i++)
        exchange_on(comm[i] = make_few(i), i);
    for (int i = 0; i < TIMES; i++)
        exchange_on(comm[i], i);
    for (int i = TIMES - 1; i > 2; i--) {
        MUST(MPI_Comm_free(&comm[i]));
        exchange_on(copy = make_few(i), i);
        MUST(MPI_Comm_free(&copy));
    }
    for (int i = 0; i < 3; i++)
        MUST(MPI_Comm_free(&comm[i]));
}

static void loop(void)
{
    MPI_Comm comm = make_topology(RING);
    exchange x = make(comm, V, 0, 4000);

    test_case = "loop";
    for (int i = 0; i < 300; i++)
        exchange_now(&x, i % 8, 0);
    destroy(&x);
    MUST(MPI_Comm_free(&comm));
}

/* ---- mistakes ------------------------------------------------------------ */

static void must_be_alike(int ours, int mpis, const char *name, int line)
{
    int class_of_ours = -1, class_of_mpis = -1;

    MPI_Error_class(ours, &class_of_ours);
    MPI_Error_class(mpis, &class_of_mpis);
    if (class_of_ours == class_of_mpis)
        return;
    fprintf(stderr, "%s: class %d instead of %d\n", name, class_of_ours,
            class_of_mpis);
    fail(line, name);
}

#define ALIKE_BY(name, lower, comm, ...)                                       \
    do {                                                                       \
        MPI_Request a_ = MPI_REQUEST_NULL, b_ = MPI_REQUEST_NULL;              \
        MPI_Request c_ = MPI_REQUEST_NULL, d_ = MPI_REQUEST_NULL;              \
        const int mpis_ = PMPI_##name(__VA_ARGS__, comm);                      \
        must_be_alike(MPI_##name(__VA_ARGS__, comm), mpis_, "MPI_" #name,      \
                      __LINE__);                                               \
        const int started_ = PMPI_I##lower(__VA_ARGS__, comm, &a_);            \
        PMPI_Wait(&a_, MPI_STATUS_IGNORE);                                     \
        must_be_alike(MPI_I##lower(__VA_ARGS__, comm, &b_), started_,          \
                      "MPI_I" #lower, __LINE__);                               \
        MUST(MPI_Wait(&b_, MPI_STATUS_IGNORE));                                \
        const int made_ =                                                      \
            PMPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &c_);         \
        must_be_alike(                                                         \
            MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &d_), made_,   \
            "MPI_" #name "_init", __LINE__);                                   \
        if (c_ != MPI_REQUEST_NULL)                                            \
            MUST(PMPI_Request_free(&c_));                                      \
        if (d_ != MPI_REQUEST_NULL)                                            \
            MUST(MPI_Request_free(&d_));                                       \
    } while (0)
#define ALIKE_ONE(...)                                                         \
    ALIKE_BY(Neighbor_alltoall, neighbor_alltoall, __VA_ARGS__)
#define ALIKE_V(...)                                                           \
    ALIKE_BY(Neighbor_alltoallv, neighbor_alltoallv, __VA_ARGS__)
#define ALIKE_W(...)                                                           \
    ALIKE_BY(Neighbor_alltoallw, neighbor_alltoallw, __VA_ARGS__)

static void errors_of_one(MPI_Comm c, MPI_Datatype raw)
{
    const MPI_Datatype byte = MPI_BYTE, null = MPI_DATATYPE_NULL;
    char from[16] = "", to[16];

    ALIKE_ONE(c, from, 1, byte, to, 1, byte);
    ALIKE_ONE(c, from, -1, byte, to, 1, byte);
    ALIKE_ONE(c, from, 1, byte, to, -1, byte);
    ALIKE_ONE(c, from, 1, null, to, 1, byte);
    ALIKE_ONE(c, from, 1, byte, to, 1, null);
    ALIKE_ONE(c, from, 1, raw, to, 2, byte);
    ALIKE_ONE(c, from, 2, byte, to, 1, raw);
    ALIKE_ONE(c, from, 0, null, to, 0, raw);
    ALIKE_ONE(c, NULL, 1, byte, to, 1, byte);
    ALIKE_ONE(c, from, 1, byte, NULL, 1, byte);
    ALIKE_ONE(c, NULL, 0, byte, NULL, 0, byte);
    ALIKE_ONE(c, MPI_IN_PLACE, 0, byte, MPI_IN_PLACE, 0, byte);
    ALIKE_ONE(c, to, 0, byte, to, 0, byte);
}

static void errors_of_v(MPI_Comm c, MPI_Datatype raw)
{
    const MPI_Datatype byte = MPI_BYTE, null = MPI_DATATYPE_NULL;
    char from[16] = "", to[16];
    const int n[2] = {2, 2}, negative[2] = {2, -2}, none[2] = {0, 0};
    const int at[2] = {0, 8};

    ALIKE_V(c, from, n, at, byte, to, n, at, byte);
    ALIKE_V(c, from, negative, at, byte, to, n, at, byte);
    ALIKE_V(c, from, n, at, byte, to, negative, at, byte);
    ALIKE_V(c, from, n, at, null, to, n, at, byte);
    ALIKE_V(c, from, n, at, byte, to, n, at, null);
    ALIKE_V(c, from, n, at, raw, to, n, at, byte);
    ALIKE_V(c, from, none, at, byte, to, none, at, raw);
    ALIKE_V(c, from, none, at, null, to, none, at, byte);
    ALIKE_V(c, NULL, n, at, byte, to, n, at, byte);
    ALIKE_V(c, from, n, at, byte, NULL, n, at, byte);
    ALIKE_V(c, NULL, none, at, byte, NULL, none, at, byte);
    ALIKE_V(c, MPI_IN_PLACE, none, at, byte, MPI_IN_PLACE, none, at, byte);
}

static void errors_of_w(MPI_Comm c, MPI_Datatype raw)
{
    const MPI_Datatype bytes[2] = {MPI_BYTE, MPI_BYTE};
    const MPI_Datatype bad[2] = {MPI_BYTE, MPI_DATATYPE_NULL};
    const MPI_Datatype raws[2] = {MPI_BYTE, raw};
    char from[16] = "", to[16];
    const int n[2] = {2, 2}, negative[2] = {2, -2}, none[2] = {0, 0};
    const MPI_Aint at[2] = {0, 8};

    ALIKE_W(c, from, n, at, bytes, to, n, at, bytes);
    ALIKE_W(c, from, negative, at, bytes, to, n, at, bytes);
    ALIKE_W(c, from, n, at, bytes, to, negative, at, bytes);
    ALIKE_W(c, from, n, at, bad, to, n, at, bytes);
    ALIKE_W(c, from, n, at, bytes, to, n, at, bad);
    ALIKE_W(c, from, n, at, raws, to, n, at, bytes);
    ALIKE_W(c, from, n, at, bytes, to, n, at, raws);
    ALIKE_W(c, from, none, at, bad, to, none, at, raws);
    ALIKE_W(c, NULL, n, at, bytes, to, n, at, bytes);
    ALIKE_W(c, from, n, at, bytes, NULL, n, at, bytes);
    ALIKE_W(c, NULL, none, at, bytes, NULL, none, at, bytes);
}

static void errors(void)
{
    MPI_Comm comm = make_topology(RING);
    MPI_Datatype raw;
    char from[16] = "", to[16];

    test_case = "errors";
    MUST(MPI_Type_contiguous(2, MPI_BYTE, &raw));
    errors_of_one(comm, raw);
    errors_of_v(comm, raw);
    errors_of_w(comm, raw);
    must_be_alike(
        MPI_Ineighbor_alltoall(from, 1, MPI_BYTE, to, 1, MPI_BYTE, comm, NULL),
        MPI_ERR_ARG, "MPI_Ineighbor_alltoall", __LINE__);
    must_be_alike(MPI_Neighbor_alltoall_init(from, 1, MPI_BYTE, to, 1, MPI_BYTE,
                                             comm, MPI_INFO_NULL, NULL),
                  MPI_ERR_ARG, "MPI_Neighbor_alltoall_init", __LINE__);
    /* Without a topology, and without a communicator. */
    ALIKE_ONE(MPI_COMM_WORLD, from, 1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(MPI_COMM_WORLD, from, -1, MPI_BYTE, to, 1, MPI_BYTE);
    ALIKE_ONE(MPI_COMM_NULL, from, 1, MPI_BYTE, to, 1, MPI_BYTE);
    MUST(MPI_Type_free(&raw));
    MUST(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    int all_failures = 0;

    plain = argc > 2 && strcmp(argv[2], "plain") == 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &world_P);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_me);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (strcmp(what, "common") == 0)
        common();
    else if (strcmp(what, "again") == 0)
        again();
    else if (strcmp(what, "loop") == 0)
        loop();
    else if (strcmp(what, "errors") == 0)
        errors();
    else
        fail(__LINE__, "common, again, loop or errors");
    MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return all_failures > 0;
}
