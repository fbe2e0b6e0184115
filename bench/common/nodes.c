#include "common/nodes.h"

#include "common/util.h"

#include <unistd.h>

static int reduce_int(MPI_Comm comm, int value, MPI_Op op)
{
    bench_must(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, comm),
               "MPI_Allreduce");
    return value;
}

static int count_cores(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores > 0 ? (int)cores : 1;
}

bench_nodes nodes_find(MPI_Comm comm)
{
    MPI_Comm node;
    const int cores = count_cores();
    int size, rank;

    bench_must(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                   &node),
               "MPI_Comm_split_type");
    bench_must(MPI_Comm_size(node, &size), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(node, &rank), "MPI_Comm_rank");
    bench_must(MPI_Comm_free(&node), "MPI_Comm_free");
    return (bench_nodes){
        .nodes = reduce_int(comm, rank == 0, MPI_SUM),
        .ranks_per_node = reduce_int(comm, size, MPI_MAX),
        .cores = reduce_int(comm, cores, MPI_MIN),
        .oversubscribed = reduce_int(comm, size > cores, MPI_MAX) != 0,
    };
}
