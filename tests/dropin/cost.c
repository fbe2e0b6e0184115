/* cost.c - calls that librota_mpi passes on, for cost.sh to count instructions of.
 *
 * usage: cost pass | life
 *
 *   pass  calls of all six kinds on a communicator that lives
 *   life  MPI_Alltoallv, the first call on a duplicate, which is freed again
 */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 10, CALLS = 100, MOST_RANKS = 16 };

static char send[MOST_RANKS], recv[MOST_RANKS];
static int count[MOST_RANKS], displ[MOST_RANKS];
static MPI_Aint place[MOST_RANKS];
static MPI_Datatype type[MOST_RANKS];

#define OF_ONE send, 1, MPI_BYTE, recv, 1, MPI_BYTE
#define OF_V send, count, displ, MPI_BYTE, recv, count, displ, MPI_BYTE
#define OF_W(displ) send, count, displ, type, recv, count, displ, type

static void all_kinds(MPI_Comm comm)
{
    MPI_Alltoall(OF_ONE, comm);
    MPI_Alltoallv(OF_V, comm);
    MPI_Alltoallw(OF_W(displ), comm);
    MPI_Neighbor_alltoall(OF_ONE, comm);
    MPI_Neighbor_alltoallv(OF_V, comm);
    MPI_Neighbor_alltoallw(OF_W(place), comm);
}

static void life_of(MPI_Comm comm)
{
    MPI_Comm other;

    MPI_Comm_dup(comm, &other);
    MPI_Alltoallv(OF_V, other);
    MPI_Comm_free(&other);
}

void counted(void (*call)(MPI_Comm), MPI_Comm comm);

__attribute__((noinline)) void counted(void (*call)(MPI_Comm), MPI_Comm comm)
{
    call(comm);
}

/* All ranks are each other's neighbours, and their own. */
static MPI_Comm open_graph(int P)
{
    int rank[MOST_RANKS];
    MPI_Comm graph;

    for (int q = 0; q < P; q++) {
        rank[q] = displ[q] = q;
        place[q] = q;
        count[q] = 1;
        type[q] = MPI_BYTE;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, P, rank, MPI_UNWEIGHTED, P,
                                   rank, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    return graph;
}

int main(int argc, char **argv)
{
    const int life = argc > 1 && strcmp(argv[1], "life") == 0;
    void (*const call)(MPI_Comm) = life ? life_of : all_kinds;
    int P;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    if (P > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    MPI_Comm graph = open_graph(P);
    for (int i = 0; i < WARM_UP; i++)
        call(life ? MPI_COMM_WORLD : graph);
    for (int i = 0; i < CALLS; i++)
        counted(call, life ? MPI_COMM_WORLD : graph);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
