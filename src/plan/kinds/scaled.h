/* scaled.h - the unit of a plan with fixed counts that were told to change. */
#ifndef ROTA_SCALED_H
#define ROTA_SCALED_H

#include "plan/kinds/built.h"

/* From the next start on, counts and displacements are in units of howmany
 * elements of the type. b is of rota_kind_scaled. Local. */
int rota_scaled_set_unit(rota_built *b, MPI_Datatype type, int howmany);

/* The bytes of the unit. */
size_t rota_scaled_unit(const rota_task *t);

#endif /* ROTA_SCALED_H */
