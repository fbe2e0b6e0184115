/* log.h - the logarithmic exchange, of which several algorithms are forms. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

#include "algos/algo.h"

typedef struct rota_log_form {
    int radix;
    bool copy_in;  /* first, all blocks are copied to scratch */
    bool copy_out; /* last, all blocks are copied to the receive buffer */
    bool padded;   /* temporary blocks are padded */
    bool in_turn;  /* every round is a phase of its own */
} rota_log_form;

/* The ranks that exchange blocks with each other: members 0 to n-1. */
typedef struct rota_log_group {
    int n, me;       /* number of members; which of them this rank is */
    const int *rank; /* member m's rank is rank[m*stride]; NULL: it is m */
    int stride;
    uint32_t first_slot;
    uint32_t width;          /* most blocks from one member to another */
    const rota_block *depth; /* [n] blocks from any member to each; NULL:
                                width */
    rota_block *at;   /* [n*width] at[i*width+k]: where block k of index i is
                         now; at first the blocks for member me - i */
    rota_block *land; /* [n*width] likewise: where the blocks from member me + i
                         end up */
} rota_log_group;

/* Write the schedule of parlogna.c in one of its forms. */
int rota_build_log(rota_sched *s, const rota_log_form *form);

/* The same among the ranks of a group, without copies. The messages of the
 * first digit join the current phase. */
void rota_emit_log(rota_sched *s, const rota_log_form *form,
                   const rota_log_group *group);

/* A builder: the form of parlogna.c without copies and padding, in radix 2. */
int rota_build_log2(const rota_topo *topo, const rota_params *params,
                    rota_sched *s);

#endif /* ROTA_LOG_H */
