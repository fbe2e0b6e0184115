/* reverse.h - a problem whose blocks go the other way. */
#ifndef ROTA_PLAN_REVERSE_H
#define ROTA_PLAN_REVERSE_H

#include "plan/args/validate.h"

/* Make the problem of args->back: what forward receives is sent, and the other way
 * round. neighbors: forward's, the other way; NULL: an all-to-all. Free the
 * problem even after a failure. Local. */
int rota_problem_reverse(const rota_args *args, const rota_neighbors *neighbors,
                         rota_problem *problem);

#endif /* ROTA_PLAN_REVERSE_H */
