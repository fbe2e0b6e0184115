/* reference.c - breadth-first search from every vertex; see reference.h. */
#include "reference.h"

#include "must.h"

#include <stdlib.h>

typedef struct {
    const graph *g;
    size_t *first;   /* [n_vertices+1] edges of v: first[v] .. first[v+1]-1 */
    uint32_t *queue; /* [n_vertices] vertices reached, in this order */
    uint32_t *mark;  /* [n_vertices] 1 + the last start to reach it, or 0 */
    size_t n_queue;
} search;

static void visit_targets(search *s, uint32_t from, uint32_t start)
{
    for (size_t e = s->first[from]; e < s->first[from + 1]; e++) {
        const uint32_t to = pair_second(s->g->edges.at[e]);

        if (s->mark[to] != start + 1) {
            s->mark[to] = start + 1;
            s->queue[s->n_queue++] = to;
        }
    }
}

/* The start itself is reached only along a cycle. */
static void search_from(search *s, uint32_t start)
{
    s->n_queue = 0;
    visit_targets(s, start, start);
    for (size_t i = 0; i < s->n_queue; i++)
        visit_targets(s, s->queue[i], start);
}

static void index_edges(search *s)
{
    size_t e = 0;

    for (size_t v = 0; v <= s->g->n_vertices; v++) {
        while (e < s->g->edges.n && pair_first(s->g->edges.at[e]) < v)
            e++;
        s->first[v] = e;
    }
}

void reference_closure(const graph *g, uint64_t *pairs, uint64_t *fingerprint)
{
    const size_t n = g->n_vertices;
    search s = {.g = g};

    s.first = must_realloc(NULL, n + 1, sizeof s.first[0]);
    s.queue = must_realloc(NULL, n, sizeof s.queue[0]);
    s.mark = must_realloc(NULL, n, sizeof s.mark[0]);
    for (size_t v = 0; v < n; v++)
        s.mark[v] = 0;
    index_edges(&s);
    *pairs = *fingerprint = 0;
    for (uint32_t start = 0; start < g->n_vertices; start++) {
        search_from(&s, start);
        *pairs += s.n_queue;
        for (size_t i = 0; i < s.n_queue; i++)
            *fingerprint += mix64(pair_pack(start, s.queue[i]));
    }
    free(s.first);
    free(s.queue);
    free(s.mark);
}
