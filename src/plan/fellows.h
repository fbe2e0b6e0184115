/* fellows.h - which processes of this node take part, before they share memory. */
#ifndef ROTA_FELLOWS_H
#define ROTA_FELLOWS_H

#include "base/topo.h"
#include "exec/transport/roster.h"

#include <mpi.h>

/* What each rank tells the others of its process. */
typedef struct rota_process {
    int32_t lowest; /* rank on its node */
    int32_t pid;
    uint64_t space; /* in which the pid counts; 0: not known */
} rota_process;

rota_process rota_process_self(void);

/* The other ranks on this node whose pids count here; NULL without memory. Local. */
rota_roster *rota_fellows_make(const rota_topo *topo, int me,
                               const rota_process all[]);

/* Those ranks of comm that were on a roster before; NULL: none, or no memory.
 * Local. */
rota_roster *rota_fellows_recall(MPI_Comm comm);

/* From now on, they are recalled. Local. */
void rota_fellows_remember(MPI_Comm comm, const rota_roster *roster);

#endif /* ROTA_FELLOWS_H */
