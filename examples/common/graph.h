/* graph.h - directed graphs from files and generators; on one rank. */
#ifndef GRAPH_H
#define GRAPH_H

#include "pairs.h"

/* Longest text that the functions below put into error. */
#define GRAPH_ERROR_BYTES 512

/* Vertices are renumbered to 0 .. n_vertices-1 in the order of their names, so
 * names may be any 64-bit number; only those that have an edge count, and more
 * than PAIR_MAX_VERTICES are an error. */
typedef struct {
    uint32_t n_vertices;
    u64_vec edges; /* packed pairs, sorted, distinct; self-loops stay */
} graph;

/* Both return 0, or -1 and a text in error. */

/* Read an edge list or a Matrix Market file, plain or compressed by gzip.
 *
 * Edge list: "u v" a line, separated by blanks or tabs; further columns, such
 * as weights, are ignored, and so are lines that begin with # or %.
 * Matrix Market: "matrix coordinate", pattern, real or integer, general or
 * symmetric; entry (i, j) is the edge i -> j, in a symmetric one also j -> i,
 * whatever its value. Known by the banner in line 1, which a file whose name
 * ends in .mtx or .mtx.gz must have. */
int graph_read(const char *path, graph *g, char error[GRAPH_ERROR_BYTES]);

/* Generate a graph; the same for the same text on every machine.
 *
 * grid:ROWSxCOLS[:seed]        streets: eastward one way along the rows, both
 *                              ways along the columns, one block in eight
 *                              closed. Paths as long as the rows, so a closure
 *                              takes about COLS iterations.
 * rmat:SCALE:EDGEFACTOR[:seed] 2^SCALE vertices, EDGEFACTOR times as many
 *                              edges drawn by the recursive matrix method with
 *                              the quadrant probabilities of Graph500. */
int graph_generate(const char *spec, graph *g, char error[GRAPH_ERROR_BYTES]);

void graph_free(graph *g);

/* For the two above: make a graph of names, source and target in turn; errors
 * begin with the text in source. */
int graph_from_names(const u64_vec *names, const char *source, graph *g,
                     char error[GRAPH_ERROR_BYTES]);

#endif
