/* nodes.h - where the ranks are. */
#ifndef BENCH_NODES_H
#define BENCH_NODES_H

#include <mpi.h>
#include <stdbool.h>

typedef struct bench_nodes {
    int nodes;
    int ranks_per_node;  /* of the fullest */
    int cores;           /* of the node that has fewest */
    bool oversubscribed; /* more ranks than cores on some node */
} bench_nodes;

/* Collective over comm. */
bench_nodes nodes_find(MPI_Comm comm);

#endif
