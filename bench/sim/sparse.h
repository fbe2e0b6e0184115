/* sparse.h - what a sparse exchange takes on a machine, by simulating its messages:
 * rota_exchange_start_sparse, and what a program does without it.
 *
 * Such an exchange has no schedule: who receives from whom turns out in its course.
 * So what ranks do is written down here, message by message, as
 * exec/transport/mailbox/mailbox.c does it: messages between nodes that complete when
 * they are matched, each with an acknowledgement of no bytes; the count within each
 * node; and the rounds of the barrier among nodes. A message longer than ROTA_LONG is
 * asked for first. A rank takes what has arrived one after the other, at the price of
 * posting each. All ranks begin at the same time, and the slowest one counts.
 */
#ifndef BENCH_SIM_SPARSE_H
#define BENCH_SIM_SPARSE_H

#include "common/neighborhood.h"
#include "sim/machine.h"

typedef enum sim_sparse_way {
    SIM_SPARSE_ROTA, /* consensus or, with bundles, consensus_node */
    SIM_SPARSE_ALONE, /* consensus of ranks that share no memory, in place: what a
                         program does that has it written by hand */
    SIM_SPARSE_MPI, /* MPI_Alltoall of the counts, then MPI_Alltoallv as MPICH 4.0
                         has them: Bruck's, and batches of 32 */
} sim_sparse_way;

typedef struct sim_sparse {
    sim_sparse_way way;
    size_t bundle; /* ROTA: most bytes of a block that is bundled; 0: none */
    int node;      /* ranks of one; 0: all */
    /* Who sends how much to whom; of side 0. Several blocks to one rank are one. */
    const neighborhood *among;
} sim_sparse;

/* Messages of all ranks. */
typedef struct sim_sparse_result {
    double us;
    double within;  /* through memory */
    double between; /* with blocks, by MPI; without MPI_Alltoall's */
    double empty;   /* acknowledgements, and messages of the barrier */
    double bytes;   /* of blocks, in messages of all kinds */
    double copied;  /* within ranks */
} sim_sparse_result;

/* Dies where memory is short. */
sim_sparse_result sim_sparse_run(const sim_sparse *c, const sim_machine *m);

#endif
