/* node.h - the ranks of a communicator that share this rank's node. */
#ifndef ROTA_NODE_H
#define ROTA_NODE_H

#include "exec/memory/arena.h"

/* What a rank tells a peer, in its arena, about one plan. */
typedef struct rota_endpoint {
    rota_place lines;  /* where the peer writes its entries; 0: nowhere */
    rota_place taken;  /* where this rank counts the entries it has taken */
    rota_place told;   /* layout of its block for the peer; 0: not told */
    uint32_t stride;   /* bytes of an entry */
    int32_t slot;      /* the peer's slot in this process's tables */
    rota_place table;  /* a rota_loan_table for the peer; 0: none */
    rota_place values; /* its tables of values; 0: none */
    rota_place freed;  /* a word that grows when it frees the plan */
    bool hands;        /* this rank can be handed messages */
} rota_endpoint;

typedef struct rota_near {
    rota_peer *peer;   /* its process; NULL: the two share no memory */
    rota_peer *mapped; /* the same, even if only earlier plans share memory */
    rota_endpoint *endpoints; /* [n] its endpoints, in its arena */
} rota_near;

typedef struct rota_node {
    int n;           /* number of ranks, with this one */
    int me;          /* this rank's position */
    int *of;         /* [P] position of each rank; -1: it is on another node */
    rota_near *near; /* [n] */
    rota_wake_word *word; /* [ROTA_WAKE_WORDS] in the first rank's arena; NULL:
                             not all ranks share memory */
    uint64_t word_name; /* unique name of word, the same for all these ranks */
    bool apart;         /* on some node, two ranks share no memory */
    bool joined;        /* all ranks have joined */
    _Atomic int dead;   /* 1 + a rank whose process was found dead, or 0 */
    bool attaches; /* all ranks may read the private memory of those that they
                      share memory with: they were asked */
} rota_node;

/* The wake word of the rank at a position, and its bit. */
static inline rota_wake_word *rota_node_word(const rota_node *node, int i)
{
    return &node->word[i / ROTA_WAITER_BITS % ROTA_WAKE_WORDS];
}

static inline int rota_node_bit(int i)
{
    return i % ROTA_WAITER_BITS;
}

/* The core that the rank at a position last waited on, from 1; 0: it is not known. */
static inline int rota_node_core(const rota_node *node, int i)
{
    const rota_peer *const peer = node->near[i].peer;

    return peer && peer->head
               ? atomic_load_explicit(&peer->head->core, memory_order_relaxed)
               : 0;
}

#endif /* ROTA_NODE_H */
