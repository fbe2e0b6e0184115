// fills.cpp - times FillBoundary of AMReX, and steps of a stencil with it, and checks
// what comes. Built with and without the adapter.
//
//   mpiexec -n P fills [n=32] [box=16] [comps=1] [rounds=1000]
//
// Prints P, n, box, comps, microseconds of a FillBoundary, of a step and of the first
// FillBoundary (of the slowest rank), and how many values are wrong.
#include <AMReX.H>
#include <AMReX_MultiFab.H>
#include <AMReX_ParmParse.H>

#include <cstdio>
#include <utility>

namespace
{

double value(int n, int i, int j, int k, int m)
{
    const auto in = [n](int at) { return (at + n) % n; };

    return ((m * n + in(k)) * n + in(j)) * n + in(i);
}

long wrong_values(const amrex::MultiFab &array, int n)
{
    long wrong = 0;

    for (amrex::MFIter it(array); it.isValid(); ++it) {
        const auto a = array.const_array(it);
        amrex::LoopOnCpu(it.fabbox(), array.nComp(),
                         [&](int i, int j, int k, int m) {
                             wrong += a(i, j, k, m) != value(n, i, j, k, m);
                         });
    }
    return wrong;
}

// To each value the mean of its six neighbours.
void step(const amrex::MultiFab &from, amrex::MultiFab &to)
{
    for (amrex::MFIter it(from); it.isValid(); ++it) {
        const auto a = from.const_array(it);
        const auto b = to.array(it);
        amrex::LoopConcurrentOnCpu(
            it.validbox(), from.nComp(), [&](int i, int j, int k, int m) {
                b(i, j, k, m) = (a(i - 1, j, k, m) + a(i + 1, j, k, m) +
                                 a(i, j - 1, k, m) + a(i, j + 1, k, m) +
                                 a(i, j, k - 1, m) + a(i, j, k + 1, m)) /
                                6;
            });
    }
}

template <class Do> double seconds(int rounds, Do once)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        once();
    return (MPI_Wtime() - begun) / rounds;
}

void run()
{
    int n = 32, box = 16, comps = 1, rounds = 1000, P, me;
    amrex::ParmParse given;

    given.query("n", n);
    given.query("box", box);
    given.query("comps", comps);
    given.query("rounds", rounds);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);

    amrex::BoxArray boxes(amrex::Box(amrex::IntVect(0), amrex::IntVect(n - 1)));
    boxes.maxSize(box);
    const amrex::DistributionMapping owners(boxes);
    const amrex::Periodicity period{amrex::IntVect(n)};
    amrex::MultiFab array(boxes, owners, comps, 1);
    amrex::MultiFab next(boxes, owners, comps, 1);

    array.setVal(-1);
    next.setVal(0);
    for (amrex::MFIter it(array); it.isValid(); ++it) {
        const auto a = array.array(it);
        amrex::LoopOnCpu(it.validbox(), comps, [&](int i, int j, int k, int m) {
            a(i, j, k, m) = value(n, i, j, k, m);
        });
    }
    const auto fill = [&] { array.FillBoundary(period); };
    double times[3];
    times[2] = seconds(1, fill);
    long wrong = wrong_values(array, n);
    seconds(50, fill);
    times[0] = seconds(rounds, fill);
    times[1] = seconds(rounds, [&] {
        fill();
        step(array, next);
        std::swap(array, next);
    });
    MPI_Allreduce(MPI_IN_PLACE, times, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        std::printf("%d %d %d %d %.2f %.2f %.0f %ld\n", P, n, box, comps,
                    1e6 * times[0], 1e6 * times[1], 1e6 * times[2], wrong);
}

} // namespace

int main(int argc, char **argv)
{
    amrex::Initialize(argc, argv);
    run();
    amrex::Finalize();
}
