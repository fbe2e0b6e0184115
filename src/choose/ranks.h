/* ranks.h - how ranks agree on what must be the same everywhere.
 *
 * plan/ranks/agree.c provides these functions. All are collective, and fail with the
 * same error on all ranks. arg: its own data.
 */
#ifndef ROTA_RANKS_H
#define ROTA_RANKS_H

#include "choose/cost.h"

enum { ROTA_MAX_PRICES = 48 }; /* most candidates that are compared */

typedef struct rota_ranks {
    const void *arg;
    int P, me;

    /* MPI_SUCCESS if all ranks pass it, else the error of one of them. */
    int (*agree)(const void *arg, int status);

    /* Broadcast bytes from rank 0; the same number on all ranks. */
    int (*spread)(const void *arg, void *data, size_t bytes);

    /* Replace each of n <= ROTA_MAX_PRICES times (nanoseconds, not negative) by
     * its maximum over ranks. */
    int (*agree_times)(const void *arg, int n, double ns[]);

    /* Replace each of n <= ROTA_MAX_PRICES costs by its sum over ranks. */
    int (*agree_costs)(const void *arg, int n, rota_cost cost[]);

    /* Measure the network, and set its prices in a machine that nobody has
     * calibrated. With only one node they stay as they are. */
    int (*try_network)(const void *arg, rota_machine *machine);
} rota_ranks;

#endif /* ROTA_RANKS_H */
