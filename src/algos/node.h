/* node.h - arithmetic on ranks and nodes, and what algorithms that follow nodes
 * share.
 *
 * Nodes are counted modulo their number N: from node n, the node at offset i is
 * (n + i) mod N.
 */
#ifndef ROTA_ALGOS_NODE_H
#define ROTA_ALGOS_NODE_H

#include "algos/algo.h"

/* Where a rank is. */
typedef struct rota_home {
    const rota_topo *t;
    int n, g;         /* its node; its number in the node */
    int Q;            /* number of ranks of the node */
    const int *ranks; /* [Q] the ranks of the node */
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

/* The node at offset i, -N < i < N. */
static inline int rota_node_at(const rota_home *h, int i)
{
    const int N = h->t->n_nodes;

    return (h->n + N + i) % N;
}

/* The number of ranks of the node at offset i. */
static inline uint32_t rota_size_at(const rota_home *h, int i)
{
    return (uint32_t)rota_topo_node_size(h->t, rota_node_at(h, i));
}

/* Emit direct messages between the members of this node, in the current
 * phase. */
void rota_emit_members(rota_sched *s, const rota_home *h);

/* ---- columns: parlinna.c ------------------------------------------------- */

/* How the blocks travel that a rank has gathered for a rank of another node. */
typedef enum rota_columns {
    ROTA_COALESCED,
    ROTA_STAGGERED,
    ROTA_LOGARITHMIC
} rota_columns;

typedef struct rota_parlinna {
    rota_columns columns;
    bool published; /* a phase per round; blocks in the order of the paper */
} rota_parlinna;

int rota_build_parlinna(const rota_topo *topo, const rota_params *params,
                        const rota_parlinna *form, rota_sched *s);

/* ---- leaders: mpml.c ----------------------------------------------------- */

typedef struct rota_leaders {
    int n;       /* leaders of a node; a smaller node has all its ranks */
    bool spread; /* spread over the NUMA domains; else a node's first ranks */
    bool flow;   /* one flow phase, node by node; else a phase per step */
    int pieces;  /* with shared memory: most messages to a node */
} rota_leaders;

/* The number of leaders of a node; the number in its node of leader l; the rank
 * of a node that serves offset i. */
int rota_leaders_of(const rota_topo *t, const rota_leaders *leaders, int node);
int rota_leader_at(const rota_topo *t, const rota_leaders *leaders, int node,
                   int l);
int rota_leader_of(const rota_topo *t, const rota_leaders *leaders, int node,
                   int i);

int rota_build_leaders(const rota_topo *topo, const rota_leaders *leaders,
                       rota_sched *s);

/* ---- leaders with shared memory: shared_leaders.c ------------------------ */

/* Not more leaders than there are other nodes: those that lead for none would keep
 * the others from being spread over the whole node. */
static inline int rota_leaders_needed(const rota_topo *t,
                                      const rota_params *params)
{
    const int others = t->n_nodes > 2 ? t->n_nodes - 1 : 1;

    return params->leaders < others ? params->leaders : others;
}

int rota_build_shared_leaders(const rota_topo *topo, const rota_params *params,
                              bool flow, rota_sched *s);

#endif /* ROTA_ALGOS_NODE_H */
