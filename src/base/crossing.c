/* crossing.c - see crossing.h. */
#include "base/crossing.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const rota_cross *const x = a, *const y = b;

    if (x->there != y->there)
        return x->there < y->there ? -1 : 1;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

int rota_cross_list(const rota_neighbors *n, const rota_topo *t, int me,
                    bool sent, const size_t bytes[], rota_cross edge[])
{
    const rota_edge *const all = sent ? n->sent : n->received;
    const int n_all = sent ? n->n_sent : n->n_received;
    int found = 0;

    for (int i = 0; i < n_all; i++) {
        const rota_edge *const e = &all[i];
        if (t->node[e->peer] == t->node[me])
            continue;
        edge[found++] = (rota_cross){.there = t->node[e->peer],
                                     .src = sent ? me : e->peer,
                                     .dst = sent ? e->peer : me,
                                     .nth = e->nth,
                                     .block = e->block,
                                     .bytes = bytes ? bytes[e->block] : 0};
    }
    qsort(edge, (size_t)found, sizeof *edge, compare);
    return found;
}

/* An edge, with where its block lies in memory. */
typedef struct where {
    int there, place;
    uint32_t type;
    ptrdiff_t offset;
    size_t bytes;
} where;

static int compare_memory(const where *x, const where *y)
{
    if (x->there != y->there)
        return x->there < y->there ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_where(const void *a, const void *b)
{
    const where *const x = a, *const y = b;
    const int memory = compare_memory(x, y);

    return memory ? memory : (x->place > y->place) - (x->place < y->place);
}

int rota_cross_find_same(const rota_side *send, rota_cross edge[], int n,
                         int same_as[])
{
    where *const all = malloc(((size_t)n + 1) * sizeof *all);
    int found = 0, first = 0;

    if (!all)
        return -1;
    for (int i = 0; i < send->n; i++)
        same_as[i] = i;
    for (int i = 0; i < n; i++) {
        const int b = edge[i].block;
        all[i] = (where){.there = edge[i].there,
                         .place = i,
                         .type = send->types.of ? send->types.of[b] : 0,
                         .offset = send->offset[b],
                         .bytes = edge[i].bytes};
    }
    qsort(all, (size_t)n, sizeof *all, compare_where);
    for (int i = 1; i < n; i++) {
        if (all[i].bytes == 0 || compare_memory(&all[first], &all[i]) != 0) {
            first = i;
            continue;
        }
        rota_cross *const e = &edge[all[i].place];
        e->repeats = all[i].place - all[first].place;
        same_as[e->block] = edge[all[first].place].block;
        found++;
    }
    free(all);
    return found;
}

void rota_cross_sort(rota_cross edge[], int n)
{
    qsort(edge, (size_t)n, sizeof *edge, compare);
}

/* Counting sort of by_own by the rank of this node. */
int rota_crosses_close(rota_crosses *c, const rota_topo *t, int node, bool sent)
{
    const int Q = rota_topo_node_size(t, node);

    rota_cross_sort(c->edge, c->n);
    c->by_own = malloc(((size_t)c->n + 1) * sizeof *c->by_own);
    c->own = calloc((size_t)Q + 2, sizeof *c->own);
    if (!c->by_own || !c->own)
        return rota_fail_mem("the edges of a node");
    for (int i = 0; i < c->n; i++)
        c->own[t->local[sent ? c->edge[i].src : c->edge[i].dst] + 2]++;
    for (int g = 0; g < Q; g++)
        c->own[g + 2] += c->own[g + 1];
    for (int i = 0; i < c->n; i++)
        c->by_own[c->own[t->local[sent ? c->edge[i].src : c->edge[i].dst] +
                         1]++] = i;
    return MPI_SUCCESS;
}

static void free_crosses(rota_crosses *c)
{
    free(c->edge);
    free(c->by_own);
    free(c->own);
}

void rota_crossing_free(rota_crossing *c)
{
    free_crosses(&c->out);
    free_crosses(&c->in);
    free(c->same_as);
    *c = (rota_crossing){0};
}
