/* topo.h - who shares a node with whom: the same on all ranks. */
#ifndef ROTA_TOPO_H
#define ROTA_TOPO_H

typedef struct rota_topo {
    int P;
    int n_nodes;
    int *node;  /* [P] node of each rank, 0..n_nodes-1 by lowest rank */
    int *local; /* [P] position of each rank among the ranks of its node */
    int *ranks; /* [P] all ranks, node by node, ascending within a node */
    int *first; /* [n_nodes+1] where each node begins in ranks */
} rota_topo;

#endif /* ROTA_TOPO_H */
