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
    int n;              /* ranks, this one among them */
    int me;             /* its position */
    int *of;            /* [P] position of each rank; -1: on another node */
    rota_near *near;    /* [n] */
    rota_gong *gong;    /* [ROTA_GONGS] in the first one's arena */
    uint64_t gong_name; /* the same for all of them, and for nobody else */
    bool joined;        /* by all of them */
    bool cma_ok;        /* the kernel lets processes read each other's memory */
    int cma_error;      /* errno if not */
    size_t cma_from;    /* bytes from which that is faster than two copies;
                        SIZE_MAX: never */
} rota_node;

/* That of the rank at a position, and its seat. */
static inline rota_gong *rota_node_gong(const rota_node *node, int i)
{
    return &node->gong[i / ROTA_SEATS % ROTA_GONGS];
}

static inline int rota_node_seat(int i)
{
    return i % ROTA_SEATS;
}

#endif /* ROTA_NODE_H */
