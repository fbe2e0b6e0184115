/* ranks.h - how ranks settle what must be the same on all of them.
 *
 * Whoever asks for a choice brings these functions (plan/agree.c). All are
 * collective, and fail with the same error on all ranks. arg is the caller's.
 */
#ifndef ROTA_RANKS_H
#define ROTA_RANKS_H

#include "choose/cost.h"

enum { ROTA_MAX_PRICES = 48 }; /* candidates that are compared */

typedef struct rota_ranks {
    const void *arg;
    int P, me;

    /* MPI_SUCCESS if all ranks bring it, else the error of one of them. */
    int (*agree)(const void *arg, int status);

    /* Pass bytes, the same number everywhere, on from rank 0 to all. */
    int (*spread)(const void *arg, void *data, size_t bytes);

    /* Of each of n <= ROTA_MAX_PRICES times, in nanoseconds and not negative,
     * the largest over ranks. */
    int (*agree_times)(const void *arg, int n, double ns[]);

    /* Of each of n <= ROTA_MAX_PRICES costs, all ranks' added up. */
    int (*agree_costs)(const void *arg, int n, rota_cost cost[]);

    /* Put what messages between nodes take into prices that nobody has
     * calibrated; they stay as they are if there is but one node. */
    int (*try_network)(const void *arg, rota_machine *machine);
} rota_ranks;

#endif /* ROTA_RANKS_H */
