// consumer.cpp - the same in C++, by rota.hpp.
// MPI's header first, so that only the flags can leave its C++ interface out.
#include <mpi.h>

#include <rota.hpp>

#include <cstdio>
#include <vector>

static int run()
{
    int P, me, wrong = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    std::vector<int> send(static_cast<std::size_t>(P)), recv(send.size());
    for (int q = 0; q < P; q++)
        send[static_cast<std::size_t>(q)] = 100 * me + q;
    auto plan = rota::alltoall_init(send, 1, recv, 1, MPI_COMM_WORLD);
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        wrong += recv[static_cast<std::size_t>(q)] != 100 * q + me;
    return wrong != 0 || rota::version() != ROTA_VERSION_NUMBER;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int wrong = run();
    MPI_Finalize();
    return wrong;
}
