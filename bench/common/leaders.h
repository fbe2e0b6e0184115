/* leaders.h - the forms of [Peng21] as their authors run them: no schedule of Rota's,
 * but calls of MPI, with buffers in memory that a node shares (--mem window). */
#ifndef BENCH_LEADERS_H
#define BENCH_LEADERS_H

#include "common/runners.h"

int leaders_init(runner *r, const exchange *x);
int leaders_run(runner *r, const exchange *x);
int leaders_free(runner *r);

#endif
