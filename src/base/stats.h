/* stats.h - what an all-to-all is like, over all ranks: the only sizes that a
 * choice may look at, since all ranks have them alike. */
#ifndef ROTA_STATS_H
#define ROTA_STATS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rota_kind {
    ROTA_FIXED,
    ROTA_VARYING,
    ROTA_EXCHANGE,
    ROTA_N_KINDS,              /* for which an algorithm is chosen */
    ROTA_SPARSE = ROTA_N_KINDS /* always by consensus */
} rota_kind;

const char *rota_kind_name(rota_kind kind); /* "fixed", ... */

typedef struct rota_stats {
    rota_kind kind;
    bool neighbors; /* not an all-to-all */
    int P;
    int n_nodes;
    int node_size;    /* ranks of the largest node */
    int cores;        /* of the node that has fewest */
    uint64_t largest; /* bytes of the largest block or, where counts vary, of
                         the bound; UINT64_MAX if there is none */
    double degree;    /* blocks that a rank sends, on average: P in an
                         all-to-all */
    double mean;      /* bytes of a block, over all of them; where counts vary,
                         what is to be expected */
    double density;   /* part of the blocks that have any bytes: 0 to 1 */
    double imbalance; /* most bytes that a rank sends or receives, by the mean
                         of that over ranks: 1 if all have the same */
} rota_stats;

#endif /* ROTA_STATS_H */
