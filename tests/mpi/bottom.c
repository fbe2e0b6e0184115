/* bottom.c - buffers at MPI_BOTTOM, with addresses in the types or, where
 * displacements are in bytes, in these: every plan that takes buffers moves the
 * data of MPI_Alltoallv, or refuses them as it says.
 */
#include "harness.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Elements of one int, or of two with a hole between. */
enum { MOST = 4, ROOM = 3, UNTOUCHED = -1 };

typedef struct side {
    MPI_Datatype element, absolute; /* the latter with the address of memory */
    int *memory;                    /* [P][MOST][ROOM] */
    int *counts, *displs;           /* [P]; displs in elements */
    MPI_Aint *at;                   /* [P] addresses of blocks */
    MPI_Datatype *elements, *types; /* [P] */
    int n_ints, extent;             /* of an element, in ints */
} side;

static int count_of(int src, int dst)
{
    return 1 + (3 * src + dst) % MOST;
}

static int value_of(int src, int dst, int i)
{
    return (src * test_P + dst) * 100 + i;
}

static void make_types(side *s, bool holes)
{
    MPI_Aint address;

    s->n_ints = holes ? 2 : 1;
    s->extent = holes ? 3 : 1;
    MUST(MPI_Type_vector(s->n_ints, 1, 2, MPI_INT, &s->element));
    MUST(MPI_Type_commit(&s->element));
    MUST(MPI_Get_address(s->memory, &address));
    MUST(MPI_Type_create_hindexed_block(1, 1, &address, s->element,
                                        &s->absolute));
    MUST(MPI_Type_commit(&s->absolute));
    for (int q = 0; q < test_P; q++) {
        s->at[q] = address + (MPI_Aint)sizeof(int) * s->displs[q] * s->extent;
        s->elements[q] = s->element;
        s->types[q] = s->absolute;
    }
}

static void make_side(side *s, bool holes, bool sends)
{
    const size_t n = (size_t)test_P;

    s->memory = malloc(n * MOST * ROOM * sizeof *s->memory);
    s->counts = malloc(n * sizeof *s->counts);
    s->displs = malloc(n * sizeof *s->displs);
    s->at = malloc(n * sizeof *s->at);
    s->elements = malloc(n * sizeof(MPI_Datatype));
    s->types = malloc(n * sizeof(MPI_Datatype));
    for (int q = 0; q < test_P; q++) {
        s->counts[q] = sends ? count_of(test_me, q) : count_of(q, test_me);
        s->displs[q] = (test_P - 1 - q) * MOST;
    }
    make_types(s, holes);
}

static void free_side(side *s)
{
    MPI_Type_free(&s->element);
    MPI_Type_free(&s->absolute);
    free(s->memory);
    free(s->counts);
    free(s->displs);
    free(s->at);
    free(s->elements);
    free(s->types);
}

/* The i-th int of the data of a block. */
static int *int_at(const side *s, int q, int i)
{
    return s->memory + (s->displs[q] + i / s->n_ints) * s->extent +
           i % s->n_ints * 2;
}

static void fill(side *from, side *to)
{
    for (int i = 0; i < test_P * MOST * ROOM; i++)
        from->memory[i] = to->memory[i] = UNTOUCHED;
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < from->counts[q] * from->n_ints; i++)
            *int_at(from, q, i) = value_of(test_me, q, i);
}

static void check(const side *to)
{
    int touched = 0, expected = 0;

    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < to->counts[q] * to->n_ints; i++, expected++)
            CHECK(*int_at(to, q, i) == value_of(q, test_me, i));
    for (int i = 0; i < test_P * MOST * ROOM; i++)
        touched += to->memory[i] != UNTOUCHED;
    CHECK(touched == expected);
}

static void run(rota_plan *plan, side *from, side *to)
{
    for (int i = 0; i < 2 && plan; i++) {
        fill(from, to);
        test_barrier();
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        check(to);
        MUST(rota_plan_set_buffers(plan, MPI_BOTTOM, MPI_BOTTOM));
    }
}

static void run_and_free(rota_plan *plan, side *from, side *to)
{
    run(plan, from, to);
    if (plan)
        MUST(rota_plan_free(&plan));
}

/* ---- plans --------------------------------------------------------------- */

static void among_all(side *from, side *to, const char *algorithm)
{
    MPI_Info info = algorithm
                        ? test_info("rota_algorithm", algorithm, NULL, NULL)
                        : MPI_INFO_NULL;
    rota_plan *plan = NULL;

    test_case = algorithm ? algorithm : "chosen";
    MUST(rota_alltoallv_init(MPI_BOTTOM, from->counts, from->displs,
                             from->absolute, MPI_BOTTOM, to->counts, to->displs,
                             to->absolute, MPI_COMM_WORLD, info, &plan));
    run_and_free(plan, from, to);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
}

/* Every rank is a neighbour of every rank, itself too. */
static MPI_Comm make_graph(void)
{
    int *const ranks = malloc((size_t)test_P * sizeof *ranks);
    MPI_Comm comm = MPI_COMM_NULL;

    for (int q = 0; q < test_P; q++)
        ranks[q] = q;
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, test_P, ranks, MPI_UNWEIGHTED, test_P, ranks,
        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    free(ranks);
    return comm;
}

static void among_neighbors(side *from, side *to, MPI_Comm graph)
{
    MPI_Aint *const zero = calloc((size_t)test_P, sizeof *zero);
    rota_plan *plan = NULL;

    test_case = "neighbours, one type";
    MUST(rota_neighbor_alltoallv_init(
        MPI_BOTTOM, from->counts, from->displs, from->absolute, MPI_BOTTOM,
        to->counts, to->displs, to->absolute, graph, MPI_INFO_NULL, &plan));
    run_and_free(plan, from, to);
    plan = NULL;
    test_case = "neighbours, addresses in displacements";
    MUST(rota_neighbor_alltoallw_init(
        MPI_BOTTOM, from->counts, from->at, from->elements, MPI_BOTTOM,
        to->counts, to->at, to->elements, graph, MPI_INFO_NULL, &plan));
    run_and_free(plan, from, to);
    plan = NULL;
    test_case = "neighbours, no addresses";
    MUST_FAIL(rota_neighbor_alltoallw_init(
                  MPI_BOTTOM, from->counts, zero, from->elements, MPI_BOTTOM,
                  to->counts, zero, to->elements, graph, MPI_INFO_NULL, &plan),
              MPI_ERR_BUFFER, "buf is NULL");
    test_case = "neighbours, one type, no address";
    MUST_FAIL(rota_neighbor_alltoallv_init(
                  MPI_BOTTOM, from->counts, from->displs, from->element,
                  MPI_BOTTOM, to->counts, to->displs, to->element, graph,
                  MPI_INFO_NULL, &plan),
              MPI_ERR_BUFFER, "buf is NULL");
    free(zero);
}

/* A varying plan has one type, so the address in it serves both sides. */
static void varying(side *from, side *to, MPI_Comm graph)
{
    const bool neighbors = graph != MPI_COMM_NULL;
    const size_t most = MOST * sizeof(int) * (size_t)from->n_ints;
    /* Where the address in the type is that of the other memory. */
    void *const offset =
        (void *)((uintptr_t)to->memory - (uintptr_t)from->memory);
    rota_plan *plan = NULL;

    test_case = neighbors ? "varying, neighbours" : "varying";
    MUST(neighbors
             ? rota_neighbor_alltoallv_varying_init(most, from->absolute, graph,
                                                    MPI_INFO_NULL, &plan)
             : rota_alltoallv_varying_init(most, from->absolute, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, &plan));
    for (int i = 0; i < 2 && plan; i++) {
        fill(from, to);
        test_barrier();
        MUST(rota_alltoallv_start(plan, MPI_BOTTOM, from->counts, from->displs,
                                  offset, to->counts, to->displs));
        MUST(rota_wait(plan));
        check(to);
    }
    if (plan)
        MUST(rota_plan_free(&plan));
}

static void one_count(side *from, side *to)
{
    rota_plan *plan = NULL;

    test_case = "one count";
    for (int q = 0; q < test_P; q++) {
        from->counts[q] = to->counts[q] = MOST;
        from->displs[q] = to->displs[q] = q * MOST;
    }
    MUST(rota_alltoall_init(MPI_BOTTOM, MOST, from->absolute, MPI_BOTTOM, MOST,
                            to->absolute, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &plan));
    run_and_free(plan, from, to);
}

int main(int argc, char **argv)
{
    static const char *const algorithms[] = {"spread_out",         "parlogna",
                                             "parlinna_coalesced", "mpi",
                                             "shared_leaders",     NULL};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm graph = make_graph();
    for (int holes = 0; holes < 2; holes++) {
        side from, to;
        make_side(&from, holes, true);
        make_side(&to, holes, false);
        for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
            among_all(&from, &to, algorithms[i]);
        among_neighbors(&from, &to, graph);
        varying(&from, &to, MPI_COMM_NULL);
        varying(&from, &to, graph);
        one_count(&from, &to);
        free_side(&from);
        free_side(&to);
    }
    MPI_Comm_free(&graph);
    return test_end();
}
