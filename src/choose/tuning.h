/* tuning.h - what measurements have taught: the prices of a machine, and rows
 * that say which algorithm was best for which kind of all-to-all.
 *
 * Kept with a communicator, the same on all its ranks; text is JSON.
 */
#ifndef ROTA_TUNING_H
#define ROTA_TUNING_H

#include "algos/algo.h"
#include "base/stats.h"
#include "choose/cost.h"

/* How messages between ranks of a node travel. */
typedef enum rota_intranode {
    ROTA_INTRANODE_AUTO, /* as is fastest */
    ROTA_INTRANODE_SHM,  /* shared memory */
    ROTA_INTRANODE_CMA,  /* private memory is read by the receiver */
    ROTA_INTRANODE_P2P,  /* by MPI */
    ROTA_N_INTRANODE
} rota_intranode;

/* How blocks on a device travel. */
typedef enum rota_device_path {
    ROTA_DEVICE_AUTO,  /* as is fastest; once chosen: by way of the host */
    ROTA_DEVICE_COPY,  /* by way of the host */
    ROTA_DEVICE_AWARE, /* MPI takes them from the device */
    ROTA_DEVICE_IPC,   /* receivers copy them from the sender's device */
    ROTA_N_DEVICE_PATHS
} rota_device_path;

/* All that a plan's builder and executor are told. */
typedef struct rota_choice {
    const rota_algo *algo;
    rota_params params;
    rota_metadata metadata;
    rota_intranode intranode;
    rota_device_path device;
} rota_choice;

/* Ranks of a full node that send all that it has for others; 0: no such form. */
static inline int rota_leaders_of(const rota_choice *c, const rota_topo *topo)
{
    const int Q = rota_topo_largest_node(topo);

    if (!c->algo->nodes || !(c->algo->params & ROTA_P_LEADERS))
        return 0;
    return c->params.leaders < Q ? c->params.leaders : Q;
}

/* Where something was measured; texts are owned and never NULL once read. Of
 * what a rank measures itself the machine is the rank's own. */
typedef struct rota_provenance {
    char *machine, *date, *command;
} rota_provenance;

typedef struct rota_range {
    double least, most; /* both belong to it */
} rota_range;

/* "unbounded": more than anything that can be counted, and what UINT64_MAX
 * bytes count as. */
#define ROTA_TUNING_UNBOUNDED 0x1p64
#define ROTA_TUNING_ANY ((rota_range){0, ROTA_TUNING_UNBOUNDED})

typedef struct rota_tuning_row {
    /* What it is for, by the fields of rota_stats; neighbours, if its algorithm
     * is for them. */
    rota_kind kind;
    rota_range ranks, nodes, node_size, cores, largest, mean, density,
        imbalance;
    /* What is best there, and what it took, in microseconds. Of the parameters
     * only those that the algorithm takes count. */
    rota_choice choice;
    double us;
    rota_provenance from;
} rota_tuning_row;

typedef struct rota_tuning {
    bool has_machine;
    rota_machine machine;
    int copied_once_from; /* bytes from which a message in the sender's arena
                             is copied once; 0: not known */
    rota_provenance machine_from;
    rota_tuning_row *row; /* [n_rows], the first that matches counts */
    int n_rows;
} rota_tuning;

/* ---- tuning.c: all local ------------------------------------------------- */

void rota_tuning_free(rota_tuning *t); /* t may be zero; is after it */

/* The first row for such an all-to-all, or NULL. */
const rota_tuning_row *rota_tuning_find(const rota_tuning *t,
                                        const rota_stats *stats);

/* Put a copy of row, whose texts may be NULL, before all others, in place of
 * those that are for the very same. Fails for want of memory only. */
int rota_tuning_put(rota_tuning *t, const rota_tuning_row *row);

/* ---- tuning_json.c: local ------------------------------------------------ */

/* Fails with MPI_ERR_ARG and a text that says what is wrong where. t is to be
 * freed in either case. Prices that the text leaves out are the usual ones. */
int rota_tuning_parse(const char *text, rota_tuning *t);

/* To be freed by the caller; NULL if there is no memory. */
char *rota_tuning_print(const rota_tuning *t);

#endif /* ROTA_TUNING_H */
