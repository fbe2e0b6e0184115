// arrays.cpp - long arrays of new, for rota-run.
#include <mpi.h>

#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
    int P;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    const int block = 1 << 17;
    std::vector<double> sent(std::size_t(P) * block, 1.5),
        received(sent.size());
    MPI_Alltoall(sent.data(), block, MPI_DOUBLE, received.data(), block,
                 MPI_DOUBLE, MPI_COMM_WORLD);
    const bool right = received == sent;
    MPI_Finalize();
    std::puts(right ? "ok" : "wrong");
    return right ? 0 : 1;
}
