/* waking.h - waking ranks of the node that sleep until something is written for
 * them, those on a shared wake word together. */
#ifndef ROTA_WAKING_H
#define ROTA_WAKING_H

#include "exec/transport/node.h"

/* Bits of a wake word that is to be woken. Starts with the node alone. */
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

/* Wake the rank at position i, at once or with others. One that since it was
 * counted down has begun to wait for other ranks than those of the node sleeps
 * until its limit. */
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

/* After a fence: something has been written for the rank at position i, whose
 * process has this doorbell and, for this process, this interest flag. Whoever
 * sleeps on a word that ranks of the node do not know is left to its limit. */
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
