/* algo.h - what an algorithm is: a name, the parameters it takes, whether it
 * applies, and a builder that writes one rank's schedule.
 *
 * A builder is pure: it sees only P, its rank, the topology and parameters,
 * the same on all ranks, and never sizes: those are cells of the schedule. It
 * posts no message and owns no memory. docs/extending.md adds one, line by line.
 */
#ifndef ROTA_ALGO_H
#define ROTA_ALGO_H

#include "base/topo.h"
#include "schedule/schedule.h"

/* Parameters that algorithms take, as bits of rota_algo.params: ROTA_P_RADIX and so
 * on, of params.h, and how blocks of a message are packed. */
enum {
#define ROTA_PARAM(name, NAME, least, usual) ROTA_NUMBER_##NAME,
#include "algos/params.h"
#undef ROTA_PARAM
    ROTA_N_PARAMS
};

enum {
#define ROTA_PARAM(name, NAME, least, usual)                                   \
    ROTA_P_##NAME = 1 << ROTA_NUMBER_##NAME,
#include "algos/params.h"
#undef ROTA_PARAM
    ROTA_P_PACKING = 1 << ROTA_N_PARAMS
};

typedef struct rota_params {
#define ROTA_PARAM(name, NAME, least, usual) int name;
#include "algos/params.h"
#undef ROTA_PARAM
    bool told;        /* sizes travel with blocks: only what comes in a message
                         may stay on the way, no copy */
    bool by_datatype; /* MPI gathers the blocks of a message; no builder's
                         concern */
} rota_params;

/* Each of params.h, in its order; bit: of rota_algo.params. */
typedef struct rota_param {
    const char *name;
    unsigned bit;
    int least;
    int usual; /* where nobody says; 0: depends on the ranks */
    size_t at; /* in rota_params */
} rota_param;

extern const rota_param rota_param_table[ROTA_N_PARAMS];

/* NULL: there is none of that name, in small letters or large ones. */
const rota_param *rota_param_find(const char *name);

static inline int *rota_param_of(rota_params *params, const rota_param *p)
{
    return (int *)(void *)((char *)params + p->at);
}

static inline int rota_param_value(const rota_params *params,
                                   const rota_param *p)
{
    return *(const int *)(const void *)((const char *)params + p->at);
}

/* How the two ends of a message come to know the sizes of its blocks, beyond
 * those that the caller states. */
typedef enum rota_sizes_kind {
    ROTA_SIZES_LEARNT, /* from each other */
    ROTA_SIZES_STATED, /* every block goes straight to its destination */
    ROTA_SIZES_PADDED, /* every message is of padded blocks */
} rota_sizes_kind;

typedef struct rota_algo {
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* where it was published */
    unsigned params;     /* ROTA_P_... it takes */
    rota_sizes_kind sizes;
    bool neighbors;  /* for neighbours, and not for all-to-alls */
    bool nodes;      /* follows nodes; its radix is that of exchanges in them */
    bool between;    /* and of those between them */
    bool uniform;    /* only for blocks of one size */
    bool only_fused; /* sizes travel in no other way, whatever is asked */
    bool by_datatype; /* always as if asked for by rota_packing */
    bool native;      /* hands everything to the MPI library */
    bool every_start; /* sizes travel in plans for fixed counts as well, unless
                         asked otherwise */
    rota_metadata metadata; /* how sizes travel where counts vary, unless asked
                               otherwise; ROTA_META_ONCE: any way */
    /* Writes the schedule of the rank that s was initialised for. */
    int (*build)(const rota_topo *topo, const rota_params *params,
                 rota_sched *s);
} rota_algo;

/* Does every block go to its destination in a message of its own? */
static inline bool rota_algo_is_direct(const rota_algo *algo)
{
    return algo->sizes == ROTA_SIZES_STATED && !algo->native;
}

#define ROTA_ALGO(name) extern const rota_algo rota_algo_##name;
#define ROTA_NEIGHBOR_ALGO(name) ROTA_ALGO(name)
#include "algos/list.h"
#undef ROTA_NEIGHBOR_ALGO
#undef ROTA_ALGO

/* All algorithms for all-to-alls and for neighbours, each once; the last entry is
 * NULL. */
extern const rota_algo *const rota_algo_table[];
extern const rota_algo *const rota_neighbor_table[];

/* By name or alias, or NULL. */
const rota_algo *rota_algo_find(const char *name);

#endif /* ROTA_ALGO_H */
