/* node.h - the ranks of a communicator that share this rank's node. */
#ifndef ROTA_NODE_H
#define ROTA_NODE_H

#include "exec/transport/arena.h"

/* What a rank tells one of the others, in its arena. */
typedef struct rota_endpoint {
    rota_place lines; /* of a plan: where the other one writes; 0: nowhere */
    rota_place taken; /* and the count of what was taken */
    rota_place told;  /* where the layout of its block for the other one is; 0:
                         not told */
    uint32_t stride;  /* bytes of an entry there */
    int32_t slot;     /* of the other process in this one's tables */
    rota_place table; /* a rota_loan_table for the other one; 0: none */
    bool hands;       /* this one can take what is handed over */
} rota_endpoint;

typedef struct rota_near {
    rota_peer *peer;   /* its process; NULL: the two share no memory */
    rota_peer *mapped; /* the same, also when only earlier plans share memory */
    rota_endpoint *endpoints; /* [n] in its arena */
    bool may_attach; /* its process may read this one's private memory */
} rota_near;

typedef struct rota_node {
    int n;           /* ranks, this one among them */
    int me;          /* its position */
    int *of;         /* [P] position of each rank; -1: on another node */
    rota_near *near; /* [n] */
    rota_wake_word
        *word;          /* [ROTA_WAKE_WORDS] in the first one's arena, or NULL:
                             not all share memory */
    uint64_t word_name; /* the same for all of them, and for nobody else */
    bool apart;         /* some pair of ranks of some node shares no memory */
    bool joined;        /* by all of them */
    bool cma_ok;        /* all of them may read each other's memory */
    int cma_error;      /* errno if not */
    size_t cma_threshold; /* bytes from which that is better than two copies;
                            SIZE_MAX: never */
    bool streams; /* this rank writes long pieces past its caches: that was
                     faster for it and its neighbour */
} rota_node;

/* The word that the rank at a position sleeps on, and its bit. */
static inline rota_wake_word *rota_node_word(const rota_node *node, int i)
{
    return &node->word[i / ROTA_WAITER_BITS % ROTA_WAKE_WORDS];
}

static inline int rota_node_bit(int i)
{
    return i % ROTA_WAITER_BITS;
}

#endif /* ROTA_NODE_H */
