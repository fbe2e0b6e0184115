/* sizes.h - learns the sizes of all blocks by running a schedule on them.
 *
 * The schedule runs once with an 8-byte cell in place of every block. At the
 * start the cells of the send blocks hold their sizes; at the end every cell
 * holds the size of its block.
 */
#ifndef ROTA_SIZES_H
#define ROTA_SIZES_H

#include "exec/exec.h"

typedef struct rota_sizes {
    rota_exec x;
    size_t *cell; /* [n_blocks] the sizes; then sizeof *cell for every block */
    ptrdiff_t *offset; /* [n_blocks] */
} rota_sizes;

/* Make z ready to run with rota_exec_start(&z->x), then test or wait.
 * send_bytes: [n_send]. After a failure there is nothing to free. */
int rota_sizes_init(rota_sizes *z, const rota_sched *s, MPI_Comm comm, int tag,
                    const size_t send_bytes[]);
void rota_sizes_free(rota_sizes *z);

/* The same run on labels, which rota_sizes_label writes to send_bytes, tells
 * which blocks are received at their destination: see rota_sizing.landing. Only
 * messages of several blocks count. The caller frees what is written, even
 * after a failure. */
void rota_sizes_label(int P, int me, size_t send_bytes[]);
int rota_sizes_landing(const rota_sizes *z, rota_block *landing[ROTA_N_DIRS]);

#endif /* ROTA_SIZES_H */
