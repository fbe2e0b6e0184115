// test_gaps.cpp - RotaGaps in a ring of cells, without NEURON.
//
// Cells are dealt out to the ranks one by one, but the last rank has none where there
// are three or more. Each cell follows the ones before it.
#include "RotaGaps.h"

#include <cstdio>
#include <cstdlib>

namespace
{

constexpr int cells = 24, reach = 2;

int P, me, wrong;

int owner(int cell)
{
    return cell % (P > 2 ? P - 1 : P);
}

double voltage(int cell, int step)
{
    return 100.0 * step + cell;
}

// Cells of rank src that rank dst needs, in order.
std::vector<int> needed(int src, int dst)
{
    std::vector<int> found;

    for (int cell = 0; cell < cells; cell++) {
        bool wanted = false;
        for (int by = 1; by <= reach; by++)
            wanted |= owner((cell + by) % cells) == dst;
        if (wanted && src != dst && owner(cell) == src)
            found.push_back(cell);
    }
    return found;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_size(comm, &P);
    MPI_Comm_rank(comm, &me);
    {
        std::vector<int> outcounts, incounts, out, in;

        for (int q = 0; q < P; q++) {
            const std::vector<int> to = needed(me, q), from = needed(q, me);
            outcounts.push_back(static_cast<int>(to.size()));
            incounts.push_back(static_cast<int>(from.size()));
            out.insert(out.end(), to.begin(), to.end());
            in.insert(in.end(), from.begin(), from.end());
        }
        RotaGaps gaps(comm, outcounts, incounts);
        MPI_Comm_free(&comm);

        for (int step = 0; step < 200; step++) {
            for (std::size_t i = 0; i < out.size(); i++)
                gaps.out()[i] = voltage(out[i], step);
            gaps.transfer();
            for (std::size_t i = 0; i < in.size(); i++)
                if (gaps.in()[i] != voltage(in[i], step) && wrong++ == 0)
                    std::printf("rank %d: step %d: cell %d has %g\n", me, step,
                                in[i], gaps.in()[i]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
