/* rota_sf.h - PETSc's star forests (PetscSF) by plans of Rota.
 *
 * A broadcast or a reduction begins and ends as PetscSF's own, with the same data:
 * by all ranks of the star forest, in the same order. A plan is made at the first
 * call with a unit, or with a unit and an operator, and kept until the unit is freed
 * or the RotaSF destroyed.
 */
#ifndef ROTA_SF_H
#define ROTA_SF_H

#include <petscsf.h>

typedef struct RotaSF_ *RotaSF;

/* Of a star forest that is set up and whose type knows its ranks, as PETSc's default,
 * PETSCSFBASIC, does. The star forest may be destroyed before. Collective. */
PetscErrorCode RotaSFCreate(PetscSF sf, RotaSF *made);
PetscErrorCode RotaSFDestroy(RotaSF *rsf);

/* With MPI_OP_NULL leaves become copies of their roots: from is the data of roots, to
 * that of leaves. With another op roots are combined with their leaves, in the order
 * of ranks' lists, so with the same bytes in every run: from is the data of leaves.
 * unit: elements that op is for, or contiguous ones of them. */
PetscErrorCode RotaSFBegin(RotaSF rsf, MPI_Datatype unit, const void *from,
                           void *to, MPI_Op op);
PetscErrorCode RotaSFEnd(RotaSF rsf, MPI_Datatype unit, const void *from,
                         void *to, MPI_Op op);

/* Has a call with this data begun that has not ended? */
PetscBool RotaSFIsBegun(RotaSF rsf, MPI_Datatype unit, const void *from,
                        const void *to, MPI_Op op);

#endif /* ROTA_SF_H */
