/* sizes.h - learn the sizes of all blocks by running a schedule on them.
 *
 * The schedule is run once with an 8-byte cell for every block number in place
 * of the block. The cells of the send blocks hold their sizes at the start;
 * at the end every cell holds the size of its block.
 */
#ifndef ROTA_SIZES_H
#define ROTA_SIZES_H

#include "exec/exec.h"

typedef struct rota_sizes {
    rota_exec x;
    size_t *cell;      /* [n_blocks] the sizes */
    size_t *width;     /* [n_blocks] sizeof *cell, of which a block consists */
    ptrdiff_t *offset; /* [n_blocks] */
} rota_sizes;

/* Ready to run with rota_exec_start(&z->x) and then test or wait. send_bytes:
 * [n_send]. On failure nothing is left to free. */
int rota_sizes_init(rota_sizes *z, const rota_sched *s, MPI_Comm comm, int tag,
                    const size_t send_bytes[]);
void rota_sizes_free(rota_sizes *z);

/* Of a run on labels instead of sizes, which rota_sizes_label writes to
 * send_bytes: which blocks land where they are received, for rota_exec.landing.
 * Only those of messages that have several; what is written is the caller's to
 * free, also after a failure. */
void rota_sizes_label(int P, int me, size_t send_bytes[]);
int rota_sizes_landing(const rota_sizes *z, rota_block *landing[ROTA_N_DIRS]);

#endif /* ROTA_SIZES_H */
