/* topo.h - which ranks share a node, and where in it they are: the same on all
 * ranks.
 *
 * Nodes may differ in size, and the ranks of a node need not be consecutive.
 */
#ifndef ROTA_TOPO_H
#define ROTA_TOPO_H

#include <stdbool.h>

typedef struct rota_topo {
    int P;
    int n_nodes;
    int n_domains; /* NUMA domains of the node that has the most */
    int *node;     /* [P] node of each rank; nodes are numbered by lowest
                      rank */
    int *local;    /* [P] position of each rank among the ranks of its node */
    int *domain;   /* [P] NUMA domain within the node, 0..n_domains-1; -1 for a
                      rank that is not bound to one */
    int *ranks;    /* [P] all ranks, node by node, ascending within a node */
    int *first;    /* [n_nodes+1] where each node begins in ranks */
} rota_topo;

/* Allocate memory for P ranks, not yet placed. */
int rota_topo_alloc(rota_topo *t, int P);
void rota_topo_free(rota_topo *t); /* t may be zero */

/* Number the nodes and sort the ranks into them. lowest: [P] lowest rank of
 * each rank's node; may be t->ranks. All ranks are put into one domain. */
void rota_topo_arrange(rota_topo *t, const int lowest[]);

/* Pretend that every node has n domains, over which its ranks are spread evenly
 * and in order. */
void rota_topo_spread(rota_topo *t, int n);

/* Make nodes of node_size consecutive ranks (the last takes the rest), each
 * with n_domains domains. The caller frees t. */
int rota_topo_make(rota_topo *t, int P, int node_size, int n_domains);

static inline int rota_topo_node_size(const rota_topo *t, int node)
{
    return t->first[node + 1] - t->first[node];
}

static inline int rota_node_rank(const rota_topo *t, int node, int local)
{
    return t->ranks[t->first[node] + local];
}

/* The rank of a node whose turn it is, where its ranks take turns. */
static inline int rota_node_turn(const rota_topo *t, int node, int turn)
{
    return rota_node_rank(t, node, turn % rota_topo_node_size(t, node));
}

/* Ranks of the largest node. */
int rota_topo_largest_node(const rota_topo *t);

/* Are all nodes of one size? */
bool rota_topo_even(const rota_topo *t);

#endif /* ROTA_TOPO_H */
