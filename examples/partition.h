/* partition.h - what one rank holds of a graph. */
#ifndef PARTITION_H
#define PARTITION_H

#include "graph.h"

#include <mpi.h>

/* Edges by vertex_owner of their source, for the join with pairs (x, y) that
 * lie with the owner of y; and the relation that the closure starts from, the
 * same edges by the owner of their target. */
typedef struct {
    uint64_t n_vertices, n_edges; /* of the whole graph */
    size_t *first; /* [n_vertices+1] targets of y: first[y] .. first[y+1]-1 */
    uint32_t *target;
    int *owner; /* [as target] vertex_owner of it */
    u64_vec start;
} partition;

/* Deal out g, which is only looked at on rank 0. Collective; blocks. */
void partition_make(partition *p, const graph *g, MPI_Comm comm);
void partition_free(partition *p);

#endif
