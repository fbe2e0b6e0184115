/* settings.h - what the drop-in is told by environment variables. */
#ifndef ROTA_MPI_SETTINGS_H
#define ROTA_MPI_SETTINGS_H

#include "mpi/calls.h"

#include <stdatomic.h>

typedef struct rota_mpi_settings {
    bool on[ROTA_MPI_CALLS][ROTA_MPI_KINDS]; /* never of NONBLOCKING */
    long after; /* calls that go to MPI before the first that goes to Rota;
                   ROTA_MPI_BY_COST: as many as it takes to pay */
    bool stats, stats_of_all;
    bool share;   /* memory, among the ranks of a node */
    bool counted; /* for statistics or ROTA_RECORD */
} rota_mpi_settings;

enum { ROTA_MPI_BY_COST = -1 };

/* From the environment. An invalid value is told once, and ignored. */
const rota_mpi_settings *rota_mpi_settings_read(void)
    __attribute__((cold, noinline));

extern _Atomic(const rota_mpi_settings *) rota_mpi_settings_known;

static inline const rota_mpi_settings *rota_mpi_settings_get(void)
{
    const rota_mpi_settings *const known =
        atomic_load_explicit(&rota_mpi_settings_known, memory_order_acquire);

    return known ? known : rota_mpi_settings_read();
}

#endif /* ROTA_MPI_SETTINGS_H */
