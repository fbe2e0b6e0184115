/* deal.h - a graph from a file or generator to all ranks, by way of rank 0. */
#ifndef DEAL_H
#define DEAL_H

#include "graph.h"

#include <mpi.h>

/* Where a graph comes from: one of these, the other is NULL. */
typedef struct {
    const char *file, *generate;
} deal_source;

/* For help texts: the two. */
#define DEAL_HELP                                                              \
    "FILE is an edge list (\"u v\" a line, # comments; vertices are numbers\n" \
    "below 2^64, 2^32 - 1 of them at most) or a Matrix Market file\n"          \
    "(coordinate; pattern, real or integer; general or symmetric), plain or\n" \
    "compressed by gzip. WHAT is one of\n"                                     \
    "  grid:ROWSxCOLS[:seed]         streets, one way east, long paths\n"      \
    "  rmat:SCALE:EDGEFACTOR[:seed]  2^SCALE vertices, few long paths\n"

/* 0, or EXIT_USAGE after saying what is wrong. */
int deal_check(const deal_source *from);

/* As it was named. */
const char *deal_name(const deal_source *from);

/* Read or generate the graph on rank 0. Where that goes wrong rank 0 says why,
 * and all return EXIT_WRONG, else 0. Collective. */
int deal_load(const deal_source *from, MPI_Comm comm, graph *g);

/* The number of vertices of g, then of edges, on all ranks. g is only looked at
 * on rank 0, here and below. Collective. */
void deal_sizes(const graph *g, MPI_Comm comm, uint64_t size[2]);

/* Call take(to, edges, n) on every rank for all edges, in their order, some at
 * a time. Collective; blocks. */
void deal_edges(const graph *g, MPI_Comm comm,
                void (*take)(void *to, const uint64_t *edges, size_t n),
                void *to);

#endif
