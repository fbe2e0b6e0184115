/* decide.h - whether a blocking call goes by Rota: ranks agree on what
 * worth.h needs, and make the plan. */
#ifndef ROTA_MPI_DECIDE_H
#define ROTA_MPI_DECIDE_H

#include "mpi/group.h"

/* Count a call. Does it go by Rota? Collective at times. */
bool rota_mpi_decide(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args);

#endif /* ROTA_MPI_DECIDE_H */
