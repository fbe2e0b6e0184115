/* stats.h - statistics of an all-to-all over all ranks. A choice may look at no
 * other sizes, since these are the same on all ranks. */
#ifndef ROTA_STATS_H
#define ROTA_STATS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum rota_kind {
    ROTA_FIXED,
    ROTA_VARYING,
    ROTA_EXCHANGE,
    ROTA_N_KINDS,              /* the kinds for which an algorithm is chosen */
    ROTA_SPARSE = ROTA_N_KINDS /* always by consensus, never chosen */
} rota_kind;

const char *rota_kind_name(rota_kind kind); /* "fixed", ... */

typedef struct rota_stats {
    rota_kind kind;
    bool neighbors; /* an exchange among neighbours, not an all-to-all */
    int P;
    int n_nodes;
    int node_size;    /* ranks of the largest node */
    int cores;        /* cores of the node that has the fewest */
    uint64_t largest; /* bytes of the largest block; where counts vary, its
                         bound, or UINT64_MAX if there is none */
    double degree;    /* mean number of send blocks of a rank: P in an
                         all-to-all */
    double mean;      /* mean bytes of a block; where counts vary, what to
                         expect */
    double density;   /* share of blocks that have any bytes: 0 to 1 */
    double imbalance; /* the most bytes that a rank sends or receives, divided
                         by the mean over ranks: 1 if all ranks have the same */
} rota_stats;

#endif /* ROTA_STATS_H */
