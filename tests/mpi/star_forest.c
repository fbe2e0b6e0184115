/* star_forest.c - the interface as a library of sparse solvers uses it, after
 * PETSc's star forests: leaves are copies of roots of other ranks.
 *
 * A rank says of each of its leaves which root of which rank it is. Nobody knows
 * beforehand who has copies of his roots: a sparse exchange tells. Values then go
 * from roots to leaves by a plan among neighbours, whose blocks are gathered and
 * scattered by datatypes, and back, to be added, by one of the other direction.
 * Several are under way at once, on plans that are used again.
 */
#include "harness.h"

#include <stdlib.h>

enum { LEAVES = 6, TRANSFERS = 3 };

/* Neighbours of one side: whose, how many, and which elements of this rank. */
typedef struct {
    int n;
    int *rank, *count, *first; /* [n], [n], [n] */
    int *index;                /* of all, by neighbour */
} side;

/* A plan, for as long as it is in use by somebody. */
typedef struct {
    rota_plan *plan;
    int busy;
} transfer;

typedef struct {
    side roots, leaves; /* who has copies of ours, and whose ours are of */
    MPI_Comm down, up;
    transfer going_down[TRANSFERS], going_up[TRANSFERS];
    int n_received; /* values that roots get */
} forest;

static int roots_of(int rank)
{
    return 3 + rank % 2;
}

/* What leaf i of a rank is a copy of. */
static void root_of(int rank, int i, int *root_rank, int *root)
{
    *root_rank = (rank * 7 + i * 3 / 2) % test_P;
    *root = (i + rank) % roots_of(*root_rank);
}

static void *room(int n)
{
    return calloc((size_t)n + 1, sizeof(int));
}

static void make_leaves(side *s)
{
    *s = (side){0, room(test_P), room(test_P), room(test_P), room(LEAVES)};
    int at = 0;
    for (int q = 0; q < test_P; q++) {
        const int first = at;
        for (int i = 0; i < LEAVES; i++) {
            int rank, root;
            root_of(test_me, i, &rank, &root);
            if (rank == q)
                s->index[at++] = i;
        }
        if (at == first)
            continue;
        s->rank[s->n] = q;
        s->first[s->n] = first;
        s->count[s->n++] = at - first;
    }
}

/* The roots learn of their leaves. */
static void make_roots(side *s, const side *leaves)
{
    int *const wanted = room(LEAVES), rank;
    for (int i = 0; i < LEAVES; i++)
        root_of(test_me, leaves->index[i], &rank, &wanted[i]);
    rota_plan *plan;
    MUST(rota_exchange_init_sparse(MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &plan));
    MUST(rota_exchange_start_sparse(plan, wanted, leaves->n, leaves->rank,
                                    leaves->count, leaves->first));
    void *got;
    const int *sources, *counts, *displs;
    *s = (side){0};
    MUST(rota_exchange_wait_sparse(plan, &got, &s->n, &sources, &counts,
                                   &displs));
    s->rank = room(s->n);
    s->count = room(s->n);
    s->first = room(s->n);
    int total = 0;
    for (int q = 0; q < s->n; q++) {
        s->rank[q] = sources[q];
        s->count[q] = counts[q];
        s->first[q] = displs[q];
        total += counts[q];
    }
    s->index = room(total);
    for (int i = 0; i < total; i++)
        s->index[i] = ((const int *)got)[i];
    MUST(rota_plan_free(&plan));
    free(wanted);
}

static void side_free(side *s)
{
    free(s->rank);
    free(s->count);
    free(s->first);
    free(s->index);
}

/* The arguments of a plan for one side. */
typedef struct {
    int *count;
    MPI_Aint *displ;
    MPI_Datatype *type;
} blocks;

/* Elements where they are, or those of all neighbours end to end. */
static blocks make_blocks(const side *s, int packed)
{
    const size_t n = (size_t)s->n + 1;
    const blocks b = {calloc(n, sizeof *b.count), calloc(n, sizeof *b.displ),
                      calloc(n, sizeof *b.type)};
    for (int q = 0; q < s->n; q++) {
        b.count[q] = 1;
        if (packed) {
            MPI_Type_contiguous(s->count[q], MPI_DOUBLE, &b.type[q]);
            b.displ[q] = s->first[q] * (MPI_Aint)sizeof(double);
        } else {
            MPI_Type_create_indexed_block(
                s->count[q], 1, s->index + s->first[q], MPI_DOUBLE, &b.type[q]);
        }
        MPI_Type_commit(&b.type[q]);
    }
    return b;
}

static void blocks_free(int n, blocks b)
{
    for (int q = 0; q < n; q++)
        MPI_Type_free(&b.type[q]);
    free(b.count);
    free(b.displ);
    free(b.type);
}

static rota_plan *make_plan(MPI_Comm comm, const side *from, const side *to,
                            const double *send, double *recv, int packed)
{
    const blocks out = make_blocks(from, 0), in = make_blocks(to, packed);
    rota_plan *plan = NULL;

    MUST(rota_neighbor_alltoallw_init(send, out.count, out.displ, out.type,
                                      recv, in.count, in.displ, in.type, comm,
                                      MPI_INFO_NULL, &plan));
    blocks_free(from->n, out);
    blocks_free(to->n, in);
    return plan;
}

/* A plan that nobody uses, with these buffers. */
static transfer *begin(transfer all[], MPI_Comm comm, const side *from,
                       const side *to, const double *send, double *recv,
                       int packed)
{
    transfer *l = all;
    while (l->busy)
        l++;
    if (l->plan)
        MUST(rota_plan_set_buffers(l->plan, send, recv));
    else
        l->plan = make_plan(comm, from, to, send, recv, packed);
    MUST(rota_start(l->plan));
    l->busy = 1;
    return l;
}

static void end(transfer *l)
{
    MUST(rota_wait(l->plan));
    l->busy = 0;
}

static void forest_make(forest *f)
{
    *f = (forest){0};
    make_leaves(&f->leaves);
    make_roots(&f->roots, &f->leaves);
    const int n_up = f->leaves.n, n_down = f->roots.n;
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, n_up, f->leaves.rank, MPI_UNWEIGHTED, n_down,
        f->roots.rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &f->down));
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, n_down, f->roots.rank, MPI_UNWEIGHTED, n_up,
        f->leaves.rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &f->up));
    for (int q = 0; q < n_down; q++)
        f->n_received += f->roots.count[q];
}

static void forest_free(forest *f)
{
    for (int i = 0; i < TRANSFERS; i++) {
        MUST(rota_plan_free(&f->going_down[i].plan));
        MUST(rota_plan_free(&f->going_up[i].plan));
    }
    MPI_Comm_free(&f->down);
    MPI_Comm_free(&f->up);
    side_free(&f->roots);
    side_free(&f->leaves);
}

static double value(int rank, int root, int turn)
{
    return rank * 100 + root * 10 + turn;
}

/* Two arrays go down at a time. */
static void test_down(forest *f, int turn)
{
    double root[2][4], leaf[2][LEAVES];
    transfer *l[2];

    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < roots_of(test_me); i++)
            root[k][i] = value(test_me, i, turn + k);
        l[k] = begin(f->going_down, f->down, &f->roots, &f->leaves, root[k],
                     leaf[k], 0);
    }
    for (int k = 1; k >= 0; k--)
        end(l[k]);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < LEAVES; i++) {
            int rank, r;
            root_of(test_me, i, &rank, &r);
            CHECK(leaf[k][i] == value(rank, r, turn + k));
        }
}

/* The number of its leaves is added up in each root. */
static void test_up(forest *f)
{
    double leaf[LEAVES], root[4] = {0};
    double *const got = malloc(((size_t)f->n_received + 1) * sizeof *got);

    for (int i = 0; i < LEAVES; i++)
        leaf[i] = 1;
    end(begin(f->going_up, f->up, &f->leaves, &f->roots, leaf, got, 1));
    for (int i = 0; i < f->n_received; i++)
        root[f->roots.index[i]] += got[i];
    for (int k = 0; k < roots_of(test_me); k++) {
        double expected = 0;
        for (int i = 0; i < LEAVES * test_P; i++) {
            int rank, r;
            root_of(i / LEAVES, i % LEAVES, &rank, &r);
            expected += rank == test_me && r == k;
        }
        CHECK(root[k] == expected);
    }
    free(got);
}

int main(int argc, char **argv)
{
    forest f;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    forest_make(&f);
    for (int turn = 0; turn < 3; turn++) {
        test_down(&f, turn);
        test_up(&f);
    }
    forest_free(&f);
    return test_end();
}
