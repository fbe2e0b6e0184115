/* overlap.h - do blocks overlap? */
#ifndef ROTA_OVERLAP_H
#define ROTA_OVERLAP_H

#include "base/problem.h"

/* No byte of a receive block may be of a send block (MPI_ERR_BUFFER), unless it
 * is in place, nor if received of another receive block (MPI_ERR_ARG). Local. */
int rota_check_overlap(const rota_problem *problem, bool received);

#endif /* ROTA_OVERLAP_H */
