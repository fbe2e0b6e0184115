/* accumulate.h - plans with fixed counts whose blocks are combined with what is there
 * (exec/move/accumulate.h). What a rank combines, and how, concerns no other. */
#ifndef ROTA_PLAN_ACCUMULATE_H
#define ROTA_PLAN_ACCUMULATE_H

#include "plan/kinds/built.h"

/* Set the task's operator, unless it overwrites. Its problem is known. May fail on
 * one rank alone. */
int rota_accumulate_prepare(rota_task *t, MPI_Datatype type, MPI_Op op);

/* Before b is built. */
int rota_accumulate_make(rota_built *b);

/* Set the places of the blocks that arrive, and those of the blocks that they are
 * combined with. */
int rota_accumulate_fill(rota_built *b);

/* Can blocks be combined there? */
int rota_accumulate_check_buffer(const rota_task *t, const char *recvbuf);

#endif /* ROTA_PLAN_ACCUMULATE_H */
