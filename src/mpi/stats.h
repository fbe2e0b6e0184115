/* stats.h - counts what the drop-in does, for ROTA_STATS. */
#ifndef ROTA_MPI_STATS_H
#define ROTA_MPI_STATS_H

#include "mpi/calls.h"
#include "mpi/settings.h"

#include <rota.h>

#include <stddef.h>

void rota_mpi_stats_begin(void); /* in MPI_Init */

void rota_mpi_count_call(rota_mpi_call call, rota_mpi_kind kind, bool by_rota);
void rota_mpi_count_overlap(bool overlap); /* that is therefore passed on */
void rota_mpi_count_plan(const rota_plan *plan);
void rota_mpi_count_start(size_t bytes);

/* Time in exchanges by Rota, or by MPI in calls that are passed on: begin gives what
 * end is to be told. */
static inline double rota_mpi_time_begin(void)
{
    return rota_mpi_settings_get()->stats ? PMPI_Wtime() : 0;
}
void rota_mpi_time_add(double begin, bool by_rota); /* up to now */
static inline void rota_mpi_time_end(double begin, bool by_rota)
{
    if (rota_mpi_settings_get()->stats)
        rota_mpi_time_add(begin, by_rota);
}

/* Once, at the end: of MPI_Init, or of a session where that was not called. */
void rota_mpi_stats_print(bool session);

#endif /* ROTA_MPI_STATS_H */
