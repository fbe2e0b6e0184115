/* overlap.h - checks whether blocks overlap. */
#ifndef ROTA_OVERLAP_H
#define ROTA_OVERLAP_H

#include "base/problem.h"

/* Fail if a byte of a receive block is also of a send block (MPI_ERR_BUFFER;
 * not in place) or, if received, of another receive block (MPI_ERR_ARG).
 * Local. */
int rota_overlap_check(const rota_problem *problem, bool received);

#endif /* ROTA_OVERLAP_H */
