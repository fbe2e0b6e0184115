/* request.h - requests of MPI that stand for runs of plans.
 *
 * Such a request is a generalized one, so MPI's own functions wait for it. Plans
 * advance while they do so: MPICH and its relatives call a function for each such
 * request that they are given, and Open MPI one of ours whenever it makes progress.
 */
#ifndef ROTA_REQUEST_H
#define ROTA_REQUEST_H

#include "plan/kinds/plan.h"

/* Does this MPI advance plans while it waits? */
int rota_request_check(void);

/* Make a request for the run of a plan that is started. If that fails, the plan
 * stays as it is. function: the API's, which errors of the run name. */
int rota_request_make(rota_plan *plan, const char *function,
                      MPI_Request *request);

#endif /* ROTA_REQUEST_H */
