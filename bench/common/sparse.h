/* sparse.h - exchanges in which a rank knows to whom it sends and not who sends
 * to it. */
#ifndef BENCH_SPARSE_H
#define BENCH_SPARSE_H

#include "common/runners.h"

/* Rota's. Blocks go where those of other runners go. */
int sparse_init(runner *r, const exchange *x);
int sparse_run(runner *r, const exchange *x);
int sparse_free(runner *r);

/* Non-blocking consensus, as programs write it. */
int nbx_init(runner *r, const exchange *x);
int nbx_run(runner *r, const exchange *x);
int nbx_free(runner *r);

#endif
