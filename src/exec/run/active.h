/* active.h - the executors of this process that are running.
 *
 * Whoever waits for or tests one executor advances them all. So does the
 * progress thread, for those that allow it. One lock (lock.h) guards the list
 * and all executors in it. The functions that start, test and wait are in
 * exec.h.
 */
#ifndef ROTA_ACTIVE_H
#define ROTA_ACTIVE_H

#include "exec/exec.h"

/* What the progress thread may still be needed for: nothing, executors for
 * which others call it, or executors that MPI carries, for which nobody calls
 * it. */
typedef enum rota_help {
    ROTA_HELP_NONE,
    ROTA_HELP_CALLED,
    ROTA_HELP_SILENT
} rota_help;

/* Advance what the progress thread may advance, until nothing has moved for a
 * while or another thread advances it. No MPI is called, unless any thread may.
 * Sets *moved if anything has moved. */
rota_help rota_active_help(bool *moved);

#endif /* ROTA_ACTIVE_H */
