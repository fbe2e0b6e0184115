/* log.h - the logarithmic exchange that several algorithms are forms of. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

#include "algos/algo.h"

typedef struct rota_log_form {
    int radix;
    bool copy_in;  /* all blocks are first copied to scratch */
    bool copy_out; /* and at last from scratch to the receive buffer */
    bool padded;   /* temporary blocks are padded */
    bool in_turn;  /* every round is a phase of its own */
} rota_log_form;

/* Ranks that exchange blocks among themselves: members 0 to n-1. */
typedef struct rota_log_group {
    int n, me;       /* which member this rank is */
    const int *rank; /* of member m at [m*stride]; NULL: its number */
    int stride;
    uint32_t first_slot;
    uint32_t width;          /* the most blocks from one member to another */
    const rota_block *depth; /* [n] blocks from any member to each; NULL: all */
    rota_block *at;   /* [n*width] block k of index i is at[i*width+k]: where it
                         is; first the blocks for member me - i */
    rota_block *land; /* [n*width] likewise: where those from member me + i come
                         to in the end */
} rota_log_group;

/* Write the schedule of parlogna.c in one of its forms. */
int rota_build_log(rota_sched *s, const rota_log_form *form);

/* The same among the ranks of a group, but for copies: from the current phase
 * on, in which the messages of the first digit travel. */
void rota_emit_log(rota_sched *s, const rota_log_form *form,
                   const rota_log_group *group);

/* A builder: the plain form in radix 2. */
int rota_build_log2(const rota_topo *topo, const rota_params *params,
                    rota_sched *s);

#endif /* ROTA_LOG_H */
