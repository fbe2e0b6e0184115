/* tuning.h - what measurements have taught: the prices of a machine, and rows
 * that say which algorithm was best for which kind of all-to-all.
 *
 * A communicator keeps its tuning, the same on all ranks. As text it is JSON.
 */
#ifndef ROTA_TUNING_H
#define ROTA_TUNING_H

#include "algos/algo.h"
#include "algos/node.h"
#include "base/stats.h"
#include "choose/cost.h"

/* How messages between ranks of a node travel. */
typedef enum rota_intranode {
    ROTA_INTRANODE_AUTO, /* the fastest way */
    ROTA_INTRANODE_SHM,  /* shared memory */
    ROTA_INTRANODE_CMA,  /* the same, by an older name */
    ROTA_INTRANODE_P2P,  /* by MPI */
    ROTA_N_INTRANODE
} rota_intranode;

/* How blocks on a device travel. */
typedef enum rota_device_path {
    ROTA_DEVICE_AUTO,  /* undecided; in a choice: by way of the host */
    ROTA_DEVICE_COPY,  /* by way of the host */
    ROTA_DEVICE_AWARE, /* MPI takes them from device memory */
    ROTA_DEVICE_IPC,   /* receivers copy them from the sender's device */
    ROTA_N_DEVICE_PATHS
} rota_device_path;

/* What a plan's builder and executor need to know. */
typedef struct rota_choice {
    const rota_algo *algo;
    rota_params params;
    rota_metadata metadata;
    rota_intranode intranode;
    rota_device_path device;
} rota_choice;

/* The number of ranks of a full node that send what it has for others, one node or
 * more each; 0: not such an algorithm. */
static inline int rota_choice_leaders(const rota_choice *c,
                                      const rota_topo *topo)
{
    const int Q = rota_topo_largest_node(topo);
    const int needed = rota_leaders_needed(topo, &c->params);

    if (!c->algo->nodes || !(c->algo->params & ROTA_P_LEADERS))
        return 0;
    return needed < Q ? needed : Q;
}

/* Where something was measured. The texts are owned, and never NULL once read.
 * For measurements by this rank, machine is its host. */
typedef struct rota_provenance {
    char *machine, *date, *command;
} rota_provenance;

typedef struct rota_range {
    double least, most; /* both inclusive */
} rota_range;

/* No bound: more than anything can be. UINT64_MAX bytes count as this. */
#define ROTA_TUNING_UNBOUNDED 0x1p64
#define ROTA_TUNING_ANY ((rota_range){0, ROTA_TUNING_UNBOUNDED})

typedef struct rota_tuning_row {
    /* The case it is for, by the fields of rota_stats; for neighbours if its
     * algorithm is. */
    rota_kind kind;
    rota_range ranks, nodes, node_size, cores, largest, mean, density,
        imbalance;
    /* The best choice there, and its time in microseconds. Only parameters that
     * the algorithm takes count. */
    rota_choice choice;
    double us;
    rota_provenance from;
} rota_tuning_row;

typedef struct rota_tuning {
    bool has_machine;
    rota_machine machine;
    int copied_once_from; /* bytes from which a message in the sender's arena is
                             copied once; 0: unknown */
    rota_provenance machine_from;
    rota_tuning_row *row; /* [n_rows]; the first that matches counts */
    int n_rows;
} rota_tuning;

/* ---- tuning.c: all local ------------------------------------------------- */

void rota_tuning_free(rota_tuning *t); /* t may be zero, and is afterwards */

/* The first row that matches, or NULL. */
const rota_tuning_row *rota_tuning_find(const rota_tuning *t,
                                        const rota_stats *stats);

/* Put a copy of row, whose texts may be NULL, first, in place of rows for the
 * same case. Fails only for want of memory. */
int rota_tuning_put(rota_tuning *t, const rota_tuning_row *row);

/* ---- tuning_json.c: local ------------------------------------------------ */

/* Parse a text. Fails with MPI_ERR_ARG and a text that says what is wrong, and
 * where. Free t in either case. Missing prices get the usual values. */
int rota_tuning_parse(const char *text, rota_tuning *t);

/* The tuning as text, which the caller frees; NULL: no memory. */
char *rota_tuning_print(const rota_tuning *t);

#endif /* ROTA_TUNING_H */
