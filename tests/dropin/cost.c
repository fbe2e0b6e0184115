/* cost.c - calls that librota_mpi passes on, for cost.sh to count instructions of.
 *
 * usage: cost pass | life
 *
 *   pass  calls on MPI_COMM_WORLD
 *   life  the first call on a duplicate, which is freed again
 */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 10, CALLS = 100, MOST_RANKS = 16 };

static char send[MOST_RANKS], recv[MOST_RANKS];
static int count[MOST_RANKS], displ[MOST_RANKS];

void counted(MPI_Comm comm);

__attribute__((noinline)) void counted(MPI_Comm comm)
{
    MPI_Alltoallv(send, count, displ, MPI_BYTE, recv, count, displ, MPI_BYTE,
                  comm);
}

static void run(int n, int life, void (*call)(MPI_Comm))
{
    for (int i = 0; i < n; i++) {
        MPI_Comm comm = MPI_COMM_WORLD;
        if (life)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        call(comm);
        if (life)
            MPI_Comm_free(&comm);
    }
}

static void not_counted(MPI_Comm comm)
{
    MPI_Alltoallv(send, count, displ, MPI_BYTE, recv, count, displ, MPI_BYTE,
                  comm);
}

int main(int argc, char **argv)
{
    const int life = argc > 1 && strcmp(argv[1], "life") == 0;
    int P;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    for (int q = 0; q < P && P <= MOST_RANKS; q++) {
        count[q] = 1;
        displ[q] = q;
    }
    run(WARM_UP, life, not_counted);
    run(CALLS, life, counted);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
