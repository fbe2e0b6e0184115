// reshape.cpp - what an FFT library has for its transposes: an object that turns
// the box that each rank has of a three-dimensional array into another box.
//
//   mpiexec -n P reshape [N]
//
// Blocks are subarrays, so nothing is packed. An array of N^3 numbers goes from
// slabs to pencils and back, in two batches that are under way together.
#include <rota.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace
{

// The indices from low to high - 1 of each axis.
struct box {
    std::array<int, 3> low, high;

    int size(std::size_t axis) const
    {
        return high[axis] - low[axis];
    }
    std::size_t points() const
    {
        std::size_t n = 1;
        for (std::size_t axis = 0; axis < 3; axis++)
            n *= static_cast<std::size_t>(size(axis));
        return n;
    }
};

// What two boxes have in common; some axis has no indices where that is nothing.
box meet(const box &a, const box &b)
{
    box both{};
    for (std::size_t axis = 0; axis < 3; axis++) {
        both.low[axis] = std::max(a.low[axis], b.low[axis]);
        both.high[axis] =
            std::max(both.low[axis], std::min(a.high[axis], b.high[axis]));
    }
    return both;
}

// The blocks of one side: a subarray of the rank's own box for each box of others.
struct blocks {
    std::vector<int> counts, displs;
    std::vector<MPI_Datatype> types;

    blocks(const box &mine, const std::vector<box> &others, MPI_Datatype type)
        : counts(others.size()), displs(others.size()),
          types(others.size(), type)
    {
        for (std::size_t q = 0; q < others.size(); q++) {
            const box part = meet(mine, others[q]);
            if (part.points() == 0)
                continue;
            int whole[3], some[3], from[3];
            for (std::size_t axis = 0; axis < 3; axis++) {
                whole[axis] = mine.size(axis);
                some[axis] = part.size(axis);
                from[axis] = part.low[axis] - mine.low[axis];
            }
            MPI_Type_create_subarray(3, whole, some, from, MPI_ORDER_C, type,
                                     &types[q]);
            MPI_Type_commit(&types[q]);
            counts[q] = 1;
        }
    }
    blocks(const blocks &) = delete;
    blocks &operator=(const blocks &) = delete;
    ~blocks()
    {
        for (std::size_t q = 0; q < types.size(); q++)
            if (counts[q])
                MPI_Type_free(&types[q]);
    }
};

// Made before there are any arrays, so the first start, on all ranks, plans it.
template <class T> class reshape
{
  public:
    reshape(MPI_Comm comm, std::vector<box> before, std::vector<box> after)
        : comm_(comm), before_(std::move(before)), after_(std::move(after))
    {
    }

    void start(const T *source, T *destination)
    {
        if (plan_)
            plan_.set_buffers(source, destination);
        else
            make(source, destination);
        plan_.start();
    }
    void wait()
    {
        plan_.wait();
    }

  private:
    void make(const T *source, T *destination)
    {
        int me;
        MPI_Comm_rank(comm_, &me);
        const auto r = static_cast<std::size_t>(me);
        // The plan keeps what it needs of them.
        const blocks out(before_[r], after_, rota::datatype<T>::get());
        const blocks in(after_[r], before_, rota::datatype<T>::get());
        plan_ = rota::alltoallw_init(source, out.counts, out.displs, out.types,
                                     destination, in.counts, in.displs,
                                     in.types, comm_);
    }

    MPI_Comm comm_;
    std::vector<box> before_, after_; // of all ranks
    rota::plan plan_;
};

// The boxes of all ranks if axes are divided into so many parts.
std::vector<box> divide(int n, std::array<int, 3> parts)
{
    std::vector<box> all;
    for (int i = 0; i < parts[0]; i++)
        for (int j = 0; j < parts[1]; j++)
            for (int k = 0; k < parts[2]; k++) {
                const std::array<int, 3> at{i, j, k};
                box one{};
                for (std::size_t axis = 0; axis < 3; axis++) {
                    one.low[axis] = n * at[axis] / parts[axis];
                    one.high[axis] = n * (at[axis] + 1) / parts[axis];
                }
                all.push_back(one);
            }
    return all;
}

// Calls what for each point, in the order of memory.
template <class What> void for_points(const box &b, What what)
{
    std::size_t at = 0;
    for (int i = b.low[0]; i < b.high[0]; i++)
        for (int j = b.low[1]; j < b.high[1]; j++)
            for (int k = b.low[2]; k < b.high[2]; k++)
                what(at++, (i * 1000.0 + j) * 1000.0 + k);
}

long run(MPI_Comm comm, int n)
{
    int P, me, grid[2] = {0, 0};
    MPI_Comm_size(comm, &P);
    MPI_Comm_rank(comm, &me);
    MPI_Dims_create(P, 2, grid);
    const auto slabs = divide(n, {P, 1, 1});
    const auto pencils = divide(n, {grid[0], grid[1], 1});
    const auto r = static_cast<std::size_t>(me);
    std::array<reshape<double>, 2> to{
        {{comm, slabs, pencils}, {comm, slabs, pencils}}};
    reshape<double> back(comm, pencils, slabs);
    // One batch lies where other ranks of the node reach it.
    std::vector<double> a(slabs[r].points()), b(pencils[r].points());
    const rota::memory<double> c(a.size() + 1, comm), d(b.size() + 1, comm);

    for_points(slabs[r], [&](std::size_t i, double x) {
        a[i] = x;
        c[i] = -x;
    });
    to[0].start(a.data(), b.data());
    to[1].start(c.data(), d.data());
    to[0].wait();
    to[1].wait();
    long wrong = 0;
    for_points(pencils[r], [&](std::size_t i, double x) {
        wrong += b[i] != x || d[i] != -x;
    });
    // One after the other, on one plan.
    back.start(d.data(), a.data());
    back.wait();
    back.start(b.data(), c.data());
    back.wait();
    for_points(slabs[r], [&](std::size_t i, double x) {
        wrong += a[i] != -x || c[i] != x;
    });
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, comm);
    if (me == 0)
        std::printf("%d^3 on %d ranks, slabs to %d by %d pencils and back: "
                    "%ld wrong\n",
                    n, P, grid[0], grid[1], wrong);
    return wrong;
}

} // namespace

int main(int argc, char **argv)
{
    long wrong = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    try {
        wrong = run(MPI_COMM_WORLD, argc > 1 ? std::atoi(argv[1]) : 24);
    } catch (const rota::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return wrong != 0;
}
