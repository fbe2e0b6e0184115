/* algo.h - what an algorithm is: a name, the parameters it takes, what it
 * applies to, and a builder that writes one rank's schedule.
 *
 * A builder is pure. It sees P, its rank, the topology and the parameters,
 * which are the same on all ranks; it never sees sizes, which are cells of the
 * schedule. It posts no message and owns no memory. docs/extending.md adds one,
 * line by line.
 */
#ifndef ROTA_ALGO_H
#define ROTA_ALGO_H

#include "base/topo.h"
#include "schedule/schedule.h"

/* The parameters that an algorithm may take, as bits of rota_algo.params: those
 * of params.h (ROTA_P_RADIX and so on), and how the blocks of a message are
 * packed. */
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
    bool sized;       /* sizes travel with blocks: a temporary block must arrive
                         in a message, never by a copy */
    bool parcels;     /* if sized: shared temporary blocks may come by a copy */
    bool by_datatype; /* MPI gathers the blocks of a message; builders ignore
                         this */
} rota_params;

/* One parameter of params.h; bit: in rota_algo.params. */
typedef struct rota_param {
    const char *name;
    unsigned bit;
    int least;
    int usual; /* default value; 0: it depends on the ranks */
    size_t at; /* offset in rota_params */
} rota_param;

extern const rota_param rota_param_table[ROTA_N_PARAMS];

/* Find a parameter by its name, in any case; NULL: there is none. */
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

/* How the two ends of a message learn the sizes of its blocks, beyond those
 * that the caller states. */
typedef enum rota_sizes_kind {
    ROTA_SIZES_LEARNT, /* from each other */
    ROTA_SIZES_STATED, /* known: every block goes straight to its destination */
    ROTA_SIZES_PADDED, /* known: every message is of padded blocks */
} rota_sizes_kind;

typedef struct rota_algo {
    const char *name;
    const char *summary; /* one line */
    const char *source;  /* where it was published */
    unsigned params;     /* the ROTA_P_... that it takes */
    rota_sizes_kind sizes;
    bool neighbors;   /* for exchanges among neighbours only */
    bool nodes;       /* follows nodes; its radix is for exchanges within a
                        node */
    bool between;     /* its radix is for exchanges between nodes, too */
    bool uniform;     /* only for blocks of one size */
    bool by_datatype; /* always packs by datatype, whatever rota_packing asks
                         for */
    bool native;      /* hands the whole exchange to the MPI library */
    bool every_start; /* by default, sizes travel at every start, even in plans
                         for fixed counts */
    rota_metadata metadata; /* how sizes travel by default where counts vary;
                               ROTA_META_ONCE: no preference */
    /* Writes one rank's schedule into s, which is initialised for the rank. */
    int (*build)(const rota_topo *topo, const rota_params *params,
                 rota_sched *s);
} rota_algo;

/* Does each block go to its destination in a message of its own? */
static inline bool rota_algo_is_direct(const rota_algo *algo)
{
    return algo->sizes == ROTA_SIZES_STATED && !algo->native;
}

#define ROTA_ALGO(name) extern const rota_algo rota_algo_##name;
#define ROTA_NEIGHBOR_ALGO(name) ROTA_ALGO(name)
#include "algos/list.h"
#undef ROTA_NEIGHBOR_ALGO
#undef ROTA_ALGO

/* All algorithms, for all-to-alls and for neighbours; NULL ends each table. */
extern const rota_algo *const rota_algo_table[];
extern const rota_algo *const rota_neighbor_table[];

/* Find an algorithm by its name or alias; NULL: there is none. */
const rota_algo *rota_algo_find(const char *name);

#endif /* ROTA_ALGO_H */
