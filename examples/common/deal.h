/* deal.h - a graph from a file or generator to all ranks, by way of rank 0. */
#ifndef DEAL_H
#define DEAL_H

#include "graph.h"

#include <mpi.h>

/* Read the file, or generate the graph if file is NULL, into g on rank 0. Where
 * that goes wrong rank 0 says why, and all return EXIT_WRONG, else 0.
 * Collective. */
int deal_load(const char *file, const char *generate, MPI_Comm comm, graph *g);

/* The number of vertices of g, then of edges, on all ranks. g is only looked at
 * on rank 0, here and below. Collective. */
void deal_sizes(const graph *g, MPI_Comm comm, uint64_t size[2]);

/* Call take(to, edges, n) on every rank for all edges, in their order, some at
 * a time. Collective; blocks. */
void deal_edges(const graph *g, MPI_Comm comm,
                void (*take)(void *to, const uint64_t *edges, size_t n),
                void *to);

#endif
