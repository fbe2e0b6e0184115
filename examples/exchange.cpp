// exchange.cpp - examples/exchange.c in C++: particles move to the ranks that
// own the places they are at, and nobody knows beforehand how many come.
//
//   mpiexec -n P exchange
//
// The line from 0 to P is cut into P pieces, one a rank.
#include <rota.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

namespace
{

constexpr int steps = 50, particles = 1000;

// Where a particle goes, and in the order of ranks.
std::vector<double> sorted(const std::vector<double> &from, int P,
                           std::vector<int> &counts)
{
    std::vector<double> to(from.size());
    counts.assign(static_cast<std::size_t>(P), 0);
    for (const double x : from)
        counts[static_cast<std::size_t>(x)]++;
    auto at = rota::packed(counts);
    for (const double x : from)
        to[static_cast<std::size_t>(at[static_cast<std::size_t>(x)]++)] = x;
    return to;
}

int run(MPI_Comm comm)
{
    int P, me;
    MPI_Comm_size(comm, &P);
    MPI_Comm_rank(comm, &me);
    std::vector<double> mine(particles, me + 0.5);
    for (std::size_t i = 0; i < mine.size(); i++)
        mine[i] = me + (static_cast<double>(i) + 0.5) / particles;

    long astray = 0, total = 0;
    rota::exchange<double> move(comm);
    std::vector<int> counts;
    for (int step = 0; step < steps; step++) {
        for (double &x : mine)
            x = std::fmod(x + 0.37 * x, P);
        const auto leaving = sorted(mine, P, counts);
        move.start(leaving, counts, rota::packed(counts));
        const auto here = move.wait();
        for (const double x : here)
            astray += static_cast<int>(x) != me;
        mine.assign(here.begin(), here.end());
    }
    long sums[2] = {astray, static_cast<long>(mine.size())};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_LONG, MPI_SUM, comm);
    total = sums[1];
    if (me == 0)
        std::printf("%d steps on %d ranks, %ld of %ld particles astray\n",
                    steps, P, sums[0], total);
    return sums[0] != 0 || total != static_cast<long>(P) * particles;
}

} // namespace

int main(int argc, char **argv)
{
    int failed = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    try {
        failed = run(MPI_COMM_WORLD);
    } catch (const rota::error &e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return failed;
}
