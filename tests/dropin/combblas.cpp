/* combblas.cpp - breadth-first searches by CombBLAS, whose matrices times sparse
 * vectors are its own calls of MPI.
 *
 * usage: combblas [searches [scale]], on 1, 4, 9 ... ranks
 *
 * The graph has 2^scale vertices and 8 edges from each, to vertices that a hash
 * decides. Rank 0 prints how many searches there were, how many vertices they
 * found in all, and how long one took.
 */
#include <CombBLAS/CombBLAS.h>

#include <cstdio>
#include <cstdlib>
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

/* How many vertices it finds. */
static int64_t search(const Matrix &edges, int64_t root)
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
    return parents.Count([](int64_t parent) { return parent >= 0; });
}

int main(int argc, char **argv)
{
    const int searches = argc > 1 ? atoi(argv[1]) : 100;
    const int scale = argc > 2 ? atoi(argv[2]) : 12;
    const int64_t vertices = (int64_t)1 << scale;
    int64_t found = 0;
    int me;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    {
        const Matrix edges =
            graph(std::make_shared<CommGrid>(MPI_COMM_WORLD, 0, 0), vertices);
        const double begin = MPI_Wtime();

        for (int i = 0; i < searches; i++)
            found += search(edges, hashed(i) & (vertices - 1));
        if (me == 0)
            printf("%d searches, %lld vertices, %.1f us each\n", searches,
                   (long long)found, (MPI_Wtime() - begin) * 1e6 / searches);
    }
    MPI_Finalize();
    return 0;
}
