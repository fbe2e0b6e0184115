/* replay.h - a recording, on all ranks. */
#ifndef BENCH_REPLAY_H
#define BENCH_REPLAY_H

#include "common/dist.h"

#include <mpi.h>
#include <stdbool.h>

/* Read the folder that d names on rank 0 and give it to all: d->recorded, of as
 * many ranks as comm has, and d->matrix_max, its largest block. one: it is to be
 * the exchange that moved most in every step. *data is the caller's to free after
 * d->recorded is closed. Returns 0, or -1 on all ranks with the reason in error
 * [errlen]. Collective. */
int replay_load(dist *d, MPI_Comm comm, bool one, void **data, char *error,
                size_t errlen);

#endif
