/* combblas.cpp - breadth-first searches by CombBLAS, whose matrices times sparse
 * vectors are its own calls of MPI.
 *
 * usage: combblas [searches [scale [inversions]]]
 *
 * The graph has 2^scale vertices and 8 edges from each, to vertices that a hash
 * decides. Rank 0 prints how many searches there were, how many vertices they
 * found in all, how long one took, and the sum of parents. That is on 1, 4, 9 ...
 * ranks; with no searches, on any number. Then a permutation of 2^scale numbers is
 * inverted so often, which must give it again or its inverse.
 */
#include <CombBLAS/CombBLAS.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

using namespace combblas;

typedef FullyDistVec<int64_t, int64_t> Vector;
typedef FullyDistSpVec<int64_t, int64_t> Fringe;
typedef SpParMat<int64_t, int64_t, SpDCCols<int64_t, int64_t>> Matrix;
typedef SelectMaxSRing<int64_t, int64_t> Ring;

static int64_t hashed(int64_t x)
{
    uint64_t z = (uint64_t)x * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 32) * 0xd6e8feb86659fd93u;
    return (int64_t)(z >> 20);
}

static Matrix graph(const std::shared_ptr<CommGrid> &grid, int64_t vertices)
{
    Vector from(grid), to(grid);

    from.iota(8 * vertices, 0);
    to.iota(8 * vertices, 0);
    from.Apply([=](int64_t edge) { return edge & (vertices - 1); });
    to.Apply([=](int64_t edge) { return hashed(edge) & (vertices - 1); });
    return Matrix(vertices, vertices, to, from, Vector(grid, 8 * vertices, 1),
                  false);
}

/* Counts the vertices that it finds, and adds up their parents. */
static void search(const Matrix &edges, int64_t root, int64_t *found,
                   int64_t *sum)
{
    Vector parents(edges.getcommgrid(), edges.getncol(), (int64_t)-1);
    Fringe fringe(edges.getcommgrid(), edges.getncol());

    fringe.SetElement(root, root);
    parents.SetElement(root, root);
    while (fringe.getnnz() > 0) {
        Fringe next(edges.getcommgrid(), edges.getncol());

        fringe.setNumToInd();
        SpMV<Ring>(edges, fringe, next, true);
        fringe = EWiseMult(next, parents, true, (int64_t)-1);
        parents.Set(fringe);
    }
    *found += parents.Count([](int64_t parent) { return parent >= 0; });
    *sum += parents.Reduce(std::plus<int64_t>(), (int64_t)0);
}

static void search_all(int me, int searches, int64_t vertices)
{
    const Matrix edges =
        graph(std::make_shared<CommGrid>(MPI_COMM_WORLD, 0, 0), vertices);
    const double begin = MPI_Wtime();
    int64_t found = 0, sum = 0;

    for (int i = 0; i < searches; i++)
        search(edges, hashed(i) & (vertices - 1), &found, &sum);
    if (me == 0)
        printf("%d searches, %lld vertices, %.1f us each, parents %lld\n",
               searches, (long long)found,
               (MPI_Wtime() - begin) * 1e6 / searches, (long long)sum);
}

static bool invert_all(int me, int ranks, int inversions, int64_t numbers)
{
    const auto grid = std::make_shared<CommGrid>(MPI_COMM_WORLD, 1, ranks);
    Vector numbered(grid);

    numbered.iota(numbers, 0);
    numbered.Apply([=](int64_t i) { return (5 * i + 3) & (numbers - 1); });
    const Fringe permutation(numbered);
    const Fringe inverse = Fringe(permutation).Invert(numbers);
    const double begin = MPI_Wtime();
    Fringe last(permutation);

    for (int i = 0; i < inversions; i++)
        last = last.Invert(numbers);
    const double seconds = MPI_Wtime() - begin;
    const bool right = last == (inversions % 2 ? inverse : permutation) &&
                       inverse.getnnz() == numbers;
    if (me == 0)
        printf("%d inversions, all %s, %.1f us each\n", inversions,
               right ? "right" : "wrong", seconds * 1e6 / inversions);
    return right;
}

int main(int argc, char **argv)
{
    const int searches = argc > 1 ? atoi(argv[1]) : 100;
    const int scale = argc > 2 ? atoi(argv[2]) : 12;
    const int inversions = argc > 3 ? atoi(argv[3]) : 0;
    bool right = true;
    int me, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (searches)
        search_all(me, searches, (int64_t)1 << scale);
    if (inversions)
        right = invert_all(me, ranks, inversions, (int64_t)1 << scale);
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
