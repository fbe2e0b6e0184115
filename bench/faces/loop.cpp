// loop.cpp - see loop.c.
#include <rota.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
    const int starts = argc > 1 ? std::atoi(argv[1]) : 20000, loops = 21;
    int P, me;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    {
        std::vector<int> a(static_cast<std::size_t>(P)), b(a.size());
        std::vector<double> taken;
        auto plan = rota::alltoall_init(a, 1, b, 1, MPI_COMM_WORLD);
        for (int k = 0; k < loops; k++) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            for (int i = 0; i < starts; i++) {
                plan.start();
                plan.wait();
            }
            taken.push_back((MPI_Wtime() - begin) / starts * 1e9);
        }
        MPI_Allreduce(MPI_IN_PLACE, taken.data(), loops, MPI_DOUBLE, MPI_MAX,
                      MPI_COMM_WORLD);
        std::sort(taken.begin(), taken.end());
        if (me == 0)
            std::printf("C++      %8.1f\n", taken[loops / 2]);
    }
    MPI_Finalize();
    return 0;
}
