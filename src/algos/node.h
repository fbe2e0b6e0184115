/* node.h - arithmetic of ranks, nodes and places in them, and what algorithms
 * that follow nodes have in common.
 *
 * Nodes are counted modulo their number: the node at offset i is i further on.
 */
#ifndef ROTA_NODE_H
#define ROTA_NODE_H

#include "algos/algo.h"

/* This rank's place. */
typedef struct rota_home {
    const rota_topo *t;
    int n, g;         /* its node, its number there */
    int Q;            /* ranks of the node */
    const int *ranks; /* [Q] them */
} rota_home;

static inline rota_home rota_home_of(const rota_topo *t, int rank)
{
    const int n = t->node[rank];

    return (rota_home){.t = t,
                       .n = n,
                       .g = t->local[rank],
                       .Q = rota_topo_node_size(t, n),
                       .ranks = t->ranks + t->first[n]};
}

static inline int rota_node_rank(const rota_topo *t, int node, int local)
{
    return t->ranks[t->first[node] + local];
}

/* The node at offset i, -N < i < N. */
static inline int rota_node_at(const rota_home *h, int i)
{
    const int N = h->t->n_nodes;

    return (h->n + N + i) % N;
}

/* Ranks of that node. */
static inline uint32_t rota_size_at(const rota_home *h, int i)
{
    return (uint32_t)rota_topo_node_size(h->t, rota_node_at(h, i));
}

/* Members of the own node get their blocks directly, in the phase at hand. */
void rota_emit_members(rota_sched *s, const rota_home *h);

/* ---- columns: parlinna.c ------------------------------------------------- */

/* How the blocks that a rank has gathered for one of another node travel. */
typedef enum rota_columns {
    ROTA_COALESCED,
    ROTA_STAGGERED,
    ROTA_LOGARITHMIC
} rota_columns;

typedef struct rota_parlinna {
    rota_columns columns;
    bool published; /* rounds in turn, blocks in the order of the source */
} rota_parlinna;

int rota_build_parlinna(const rota_topo *topo, const rota_params *params,
                        const rota_parlinna *form, rota_sched *s);

/* ---- leaders: mpml.c ----------------------------------------------------- */

typedef struct rota_leaders {
    int n;       /* of each node, fewer where it has fewer ranks */
    bool spread; /* over its domains; else its first ranks */
    bool flow;   /* node by node in one phase; else step by step */
    int pieces;  /* with shared memory: messages to each node, at most */
} rota_leaders;

/* How many a node has; the number in its node of leader l; the rank that serves
 * offset i on a node. */
int rota_leaders_of(const rota_topo *t, const rota_leaders *leaders, int node);
int rota_leader_at(const rota_topo *t, const rota_leaders *leaders, int node,
                   int l);
int rota_leader_of(const rota_topo *t, const rota_leaders *leaders, int node,
                   int i);

int rota_build_leaders(const rota_topo *topo, const rota_leaders *leaders,
                       rota_sched *s);

/* ---- leaders with shared memory: shared_leaders.c ------------------------ */

int rota_build_shared_leaders(const rota_topo *topo, const rota_params *params,
                              bool flow, rota_sched *s);

#endif /* ROTA_NODE_H */
