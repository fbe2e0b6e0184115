/* topo.h - who shares a node with whom, and where in it: the same on all
 * ranks.
 *
 * Nodes may have any number of ranks each, and the ranks of a node need not
 * follow each other.
 */
#ifndef ROTA_TOPO_H
#define ROTA_TOPO_H

#include <stdbool.h>

typedef struct rota_topo {
    int P;
    int n_nodes;
    int n_domains; /* NUMA domains of the node that has most of them */
    int *node;     /* [P] node of each rank, 0..n_nodes-1 by lowest rank */
    int *local;    /* [P] position of each rank among the ranks of its node */
    int *domain;   /* [P] NUMA domain within the node, 0..n_domains-1; -1 for a
                      rank that is not bound to one */
    int *ranks;    /* [P] all ranks, node by node, ascending within a node */
    int *first;    /* [n_nodes+1] where each node begins in ranks */
} rota_topo;

/* Memory for P ranks, none of them placed yet. */
int rota_topo_alloc(rota_topo *t, int P);
void rota_topo_free(rota_topo *t); /* t may be zero */

/* Number the nodes and sort the ranks into them. lowest: [P] lowest rank of
 * each rank's node; may be t->ranks. Domains: one, with all ranks in it. */
void rota_topo_arrange(rota_topo *t, const int lowest[]);

/* As if each node had n domains and its ranks were spread over them evenly, in
 * order. */
void rota_topo_spread(rota_topo *t, int n);

/* Nodes of node_size ranks in order, the last one of what is left, each with
 * n_domains domains. To be freed. */
int rota_topo_make(rota_topo *t, int P, int node_size, int n_domains);

static inline int rota_topo_node_size(const rota_topo *t, int node)
{
    return t->first[node + 1] - t->first[node];
}

/* Ranks of the largest node. */
int rota_topo_largest_node(const rota_topo *t);

/* Are all nodes of one size? */
bool rota_topo_even(const rota_topo *t);

#endif /* ROTA_TOPO_H */
