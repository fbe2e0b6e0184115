/* finalize.c - an MPI_Finalize that ends, to be preloaded into programs that
 * MPICH 4.0 runs over TCP (tools/cluster.sh).
 *
 * There MPI_Finalize disconnects from all ranks, which may take answers of
 * theirs, and then waits for all ranks without answering any: who is late waits
 * for ever. So nobody disconnects: ranks wait for each other, have some time
 * for what may still be queued, and close their connections when MPI cleans up.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

/* Hosts share the cores, which a launcher does not know. */
__attribute__((constructor)) static void give_way(void)
{
    setenv("ROTA_YIELD", "on", 0);
}

/* UCX's; NULL says that it is done. */
void *ucp_disconnect_nb(void *endpoint);

void *ucp_disconnect_nb(void *endpoint)
{
    (void)endpoint;
    return NULL;
}

int MPI_Finalize(void)
{
    const double seconds = 0.1;
    MPI_Request barrier;
    int done = 0;

    PMPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    while (!done) {
        PMPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
    const double begin = PMPI_Wtime();
    while (PMPI_Wtime() - begin < seconds) {
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &done,
                    MPI_STATUS_IGNORE);
        sched_yield();
    }
    return PMPI_Finalize();
}
