/* librotasf.c - star forests by plans of Rota as a type of PETSc's, for programs that
 * are not changed: a library that PETSc loads.
 *
 *   PETSC_OPTIONS="-dll_append FOLDER/librotasf.so -sf_type rota"
 *
 * The type is PETSCSFBASIC but for its broadcasts with MPI_REPLACE and its reductions
 * with other operators, on memory of the host. With -rota_sf_basic it has the name of
 * PETSCSFBASIC, too, so that star forests have it that nobody asks.
 */
#include "rota_sf.h"

#include <petsc/private/sfimpl.h>

#define TYPE "rota"

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_rotasf(void);

/* What a star forest has beside what PETSCSFBASIC keeps. */
typedef struct {
    RotaSF rota;       /* from the first use on */
    PetscBool refused; /* its leaves are */
    struct _PetscSFOps basic;
} Own;

static PetscErrorCode (*CreateBasic)(PetscSF);

static PetscErrorCode Find(PetscSF sf, Own **own)
{
    PetscContainer box;

    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)sf, TYPE, (PetscObject *)&box));
    PetscCall(PetscContainerGetPointer(box, (void **)own));
    PetscFunctionReturn(0);
}

/* Collective at the first use. A leaf of several roots is not for a plan. */
static PetscErrorCode Prepare(PetscSF sf, Own *own)
{
    const PetscMPIInt *rank;
    const PetscInt *first, *leaf, *theirs;
    PetscInt n;
    PetscBool twice;

    PetscFunctionBegin;
    if (own->rota || own->refused)
        PetscFunctionReturn(0);
    PetscCall(PetscSFGetRootRanks(sf, &n, &rank, &first, &leaf, &theirs));
    PetscCall(PetscCheckDupsInt(n ? first[n] : 0, leaf, &twice));
    PetscCall(MPIU_Allreduce(&twice, &own->refused, 1, MPIU_BOOL, MPI_LOR,
                             PetscObjectComm((PetscObject)sf)));
    if (!own->refused)
        PetscCall(RotaSFCreate(sf, &own->rota));
    PetscFunctionReturn(0);
}

/* May a plan do it? */
static PetscErrorCode Ask(PetscSF sf, Own *own, PetscMemType at,
                          PetscMemType to, PetscBool is, PetscBool *may)
{
    PetscFunctionBegin;
    *may = PETSC_FALSE;
    if (!is || !PetscMemTypeHost(at) || !PetscMemTypeHost(to))
        PetscFunctionReturn(0);
    PetscCall(Prepare(sf, own));
    *may = own->refused ? PETSC_FALSE : PETSC_TRUE;
    PetscFunctionReturn(0);
}

static PetscErrorCode BcastBegin(PetscSF sf, MPI_Datatype unit, PetscMemType at,
                                 const void *root, PetscMemType to, void *leaf,
                                 MPI_Op op)
{
    Own *own;
    PetscBool may;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    PetscCall(Ask(sf, own, at, to, (PetscBool)(op == MPI_REPLACE), &may));
    if (may)
        PetscCall(RotaSFBegin(own->rota, unit, root, leaf, MPI_OP_NULL));
    else {
        PetscCall(own->basic.BcastBegin(sf, unit, at, root, to, leaf, op));
    }
    PetscFunctionReturn(0);
}

/* Was it begun by a plan? */
static PetscBool Has(const Own *own, MPI_Datatype unit, const void *from,
                     const void *to, MPI_Op op)
{
    return own->rota ? RotaSFIsBegun(own->rota, unit, from, to, op)
                     : PETSC_FALSE;
}

static PetscErrorCode BcastEnd(PetscSF sf, MPI_Datatype unit, const void *root,
                               void *leaf, MPI_Op op)
{
    Own *own;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    if (op == MPI_REPLACE && Has(own, unit, root, leaf, MPI_OP_NULL))
        PetscCall(RotaSFEnd(own->rota, unit, root, leaf, MPI_OP_NULL));
    else
        PetscCall(own->basic.BcastEnd(sf, unit, root, leaf, op));
    PetscFunctionReturn(0);
}

static PetscErrorCode ReduceBegin(PetscSF sf, MPI_Datatype unit,
                                  PetscMemType at, const void *leaf,
                                  PetscMemType to, void *root, MPI_Op op)
{
    Own *own;
    PetscBool may;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    PetscCall(Ask(sf, own, at, to, (PetscBool)(op != MPI_REPLACE), &may));
    if (may)
        PetscCall(RotaSFBegin(own->rota, unit, leaf, root, op));
    else {
        PetscCall(own->basic.ReduceBegin(sf, unit, at, leaf, to, root, op));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode ReduceEnd(PetscSF sf, MPI_Datatype unit, const void *leaf,
                                void *root, MPI_Op op)
{
    Own *own;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    if (Has(own, unit, leaf, root, op))
        PetscCall(RotaSFEnd(own->rota, unit, leaf, root, op));
    else
        PetscCall(own->basic.ReduceEnd(sf, unit, leaf, root, op));
    PetscFunctionReturn(0);
}

static PetscErrorCode Reset(PetscSF sf)
{
    Own *own;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    PetscCall(RotaSFDestroy(&own->rota));
    own->refused = PETSC_FALSE;
    PetscCall(own->basic.Reset(sf));
    PetscFunctionReturn(0);
}

static PetscErrorCode Destroy(PetscSF sf)
{
    Own *own;

    PetscFunctionBegin;
    PetscCall(Find(sf, &own));
    PetscCall(RotaSFDestroy(&own->rota));
    PetscCall(own->basic.Destroy(sf));
    PetscCall(PetscObjectCompose((PetscObject)sf, TYPE, NULL));
    PetscCall(PetscFree(own));
    PetscFunctionReturn(0);
}

static PetscErrorCode Create(PetscSF sf)
{
    PetscContainer box;
    Own *own;

    PetscFunctionBegin;
    PetscCall(CreateBasic(sf));
    PetscCall(PetscNew(&own));
    own->basic = *sf->ops;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &box));
    PetscCall(PetscContainerSetPointer(box, own));
    PetscCall(PetscObjectCompose((PetscObject)sf, TYPE, (PetscObject)box));
    PetscCall(PetscContainerDestroy(&box));
    sf->ops->BcastBegin = BcastBegin;
    sf->ops->BcastEnd = BcastEnd;
    sf->ops->ReduceBegin = ReduceBegin;
    sf->ops->ReduceEnd = ReduceEnd;
    sf->ops->Reset = Reset;
    sf->ops->Destroy = Destroy;
    PetscFunctionReturn(0);
}

PetscErrorCode PetscDLLibraryRegister_rotasf(void)
{
    PetscBool all;

    PetscFunctionBegin;
    PetscCall(PetscSFRegister(TYPE, Create));
    PetscCall(PetscFunctionListFind(PetscSFList, PETSCSFBASIC, &CreateBasic));
    PetscCall(PetscOptionsHasName(NULL, NULL, "-rota_sf_basic", &all));
    if (all)
        PetscCall(PetscSFRegister(PETSCSFBASIC, Create));
    PetscFunctionReturn(0);
}
