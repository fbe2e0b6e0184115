/* node.h - the ranks of a communicator that share this rank's node. */
#ifndef ROTA_NODE_H
#define ROTA_NODE_H

#include "exec/arena.h"

typedef struct rota_near {
    rota_arena_head *head; /* its arena, as mapped here */
    rota_bell *bell;       /* in it */
    int64_t pid;
    uint64_t *board; /* [n] in its arena: what it tells each of the others */
} rota_near;

typedef struct rota_node {
    int n;           /* ranks, this one among them */
    int me;          /* its position */
    int *of;         /* [P] position of each rank; -1: on another node */
    rota_near *near; /* [n] */
    bool joined;     /* by all of them */
    bool cma_ok;     /* the kernel lets processes read each other's memory */
    int cma_error;   /* errno if not */
    size_t cma_from; /* bytes from which that is faster than two copies;
                        SIZE_MAX: never */
} rota_node;

#endif /* ROTA_NODE_H */
