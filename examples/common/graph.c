/* graph.c - from named edges to a graph with vertices 0 .. n-1. */
#include "graph.h"

#include <stdio.h>
#include <string.h>

/* Position of a name that is in the sorted array. */
static uint32_t find_name(const u64_vec *sorted, uint64_t name)
{
    size_t low = 0, high = sorted->n - 1;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (sorted->at[mid] < name)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)low;
}

int graph_from_names(const u64_vec *names, const char *source, graph *g,
                     char error[GRAPH_ERROR_BYTES])
{
    u64_vec distinct = {0};

    *g = (graph){0};
    if (names->n == 0) {
        snprintf(error, GRAPH_ERROR_BYTES, "%.300s: no edges", source);
        return -1;
    }
    u64_vec_reserve(&distinct, names->n);
    memcpy(distinct.at, names->at, names->n * sizeof names->at[0]);
    distinct.n = names->n;
    u64_vec_sort(&distinct);
    u64_vec_unique(&distinct);
    if (distinct.n > PAIR_MAX_VERTICES) {
        snprintf(error, GRAPH_ERROR_BYTES,
                 "%.300s: %zu different vertices, %llu is the most", source,
                 distinct.n, (unsigned long long)PAIR_MAX_VERTICES);
        u64_vec_free(&distinct);
        return -1;
    }
    g->n_vertices = (uint32_t)distinct.n;
    u64_vec_reserve(&g->edges, names->n / 2);
    for (size_t i = 0; i < names->n; i += 2)
        u64_vec_push(&g->edges,
                     pair_pack(find_name(&distinct, names->at[i]),
                               find_name(&distinct, names->at[i + 1])));
    u64_vec_free(&distinct);
    u64_vec_sort(&g->edges);
    u64_vec_unique(&g->edges);
    return 0;
}

void graph_free(graph *g)
{
    u64_vec_free(&g->edges);
    *g = (graph){0};
}
