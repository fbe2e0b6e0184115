/* waking.h - wakes ranks of the node that sleep until something is written for
 * them; those on one shared wake word together. */
#ifndef ROTA_WAKING_H
#define ROTA_WAKING_H

#include "exec/memory/node.h"

/* A wake word to be woken, and the bits. Only node is set at first. */
typedef struct rota_waking {
    const rota_node *node;
    rota_wake_word *word;
    uint32_t bits;
} rota_waking;

static inline void rota_waking_carry_out(rota_waking *w)
{
    if (w->bits)
        rota_wake_word_wake(w->word, w->bits);
    w->bits = 0;
}

/* Wake the rank at position i, now or together with others. If it has meanwhile
 * begun another sleep, for ranks of other nodes, it sleeps until its limit. */
static inline void rota_waking_add(rota_waking *w, int i, rota_doorbell *bell)
{
    if (rota_doorbell_shared(bell) == 0) {
        rota_doorbell_wake(bell);
        return;
    }
    if (w->word != rota_node_word(w->node, i))
        rota_waking_carry_out(w);
    w->word = rota_node_word(w->node, i);
    w->bits |= (uint32_t)1 << rota_node_bit(i);
}

/* Call after writing something for the rank at position i, and a fence. bell is
 * its process's doorbell, interest its flag for this process. A rank that
 * sleeps on another node's word is left to its limit. */
static inline void rota_waking_ring(rota_waking *w, int i, rota_doorbell *bell,
                                    rota_interest *interest)
{
    if (!rota_doorbell_is_armed(bell))
        return;
    const uint64_t name = rota_doorbell_shared(bell);
    if ((name == 0 || name == w->node->word_name) &&
        rota_doorbell_ring(bell, interest))
        rota_waking_add(w, i, bell);
}

#endif /* ROTA_WAKING_H */
