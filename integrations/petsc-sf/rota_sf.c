/* rota_sf.c - see rota_sf.h.
 *
 * A block between two ranks is an indexed type over the caller's own arrays, so
 * nothing is packed here. Roots go to leaves by a plan among the partners that the
 * star forest knows; leaves go to roots by the same plan backwards.
 */
#include "rota_sf.h"

#include <rota.h>

/* One side of all blocks: those of rank i are items first[i] to first[i + 1] - 1. */
typedef struct {
    PetscInt n;
    PetscInt *first; /* [n + 1] */
    PetscInt *item;  /* [first[n]] */
} Side;

/* A plan, which is in use from a begin to its end. */
typedef struct Link_ {
    MPI_Datatype unit;  /* MPI_DATATYPE_NULL: it was freed */
    PetscMPIInt keyval; /* of the unit's attribute that tells so */
    MPI_Op op;          /* MPI_OP_NULL: roots go to leaves */
    const void *send, *recv;
    PetscBool busy;
    rota_plan *plan;
    struct Link_ *next;
} Link;

struct RotaSF_ {
    Side root, leaf;
    rota_graph *graph;
    Link *links;
};

/* ---- partners ------------------------------------------------------------ */

static PetscErrorCode SideCopy(PetscInt n, const PetscInt *first,
                               const PetscInt *item, Side *side)
{
    PetscFunctionBegin;
    side->n = n;
    PetscCall(PetscMalloc2(n + 1, &side->first, n ? first[n] : 0, &side->item));
    side->first[0] = 0;
    for (PetscInt i = 0; i < n; i++)
        side->first[i + 1] = first[i + 1];
    PetscCall(PetscArraycpy(side->item, item, side->first[n]));
    PetscFunctionReturn(0);
}

PetscErrorCode RotaSFCreate(PetscSF sf, RotaSF *made)
{
    const PetscMPIInt *roots_of, *leaves_of; /* ranks */
    const PetscInt *first, *item, *theirs;
    PetscInt n;
    RotaSF r;

    PetscFunctionBegin;
    PetscCall(PetscSFSetUp(sf));
    PetscCall(PetscNew(&r));
    PetscCall(PetscSFGetRootRanks(sf, &n, &roots_of, &first, &item, &theirs));
    PetscCall(SideCopy(n, first, item, &r->leaf));
    PetscCall(PetscSFGetLeafRanks(sf, &n, &leaves_of, &first, &item));
    PetscCall(SideCopy(n, first, item, &r->root));
    PetscCallMPI(rota_graph_create_adjacent(
        PetscObjectComm((PetscObject)sf), (int)r->leaf.n, roots_of,
        (int)r->root.n, leaves_of, MPI_INFO_NULL, &r->graph));
    *made = r;
    PetscFunctionReturn(0);
}

PetscErrorCode RotaSFDestroy(RotaSF *rsf)
{
    PetscFunctionBegin;
    if (!*rsf)
        PetscFunctionReturn(0);
    for (Link *l = (*rsf)->links, *next; l; l = next) {
        next = l->next;
        PetscCallMPI(rota_plan_free(&l->plan));
        if (l->unit != MPI_DATATYPE_NULL)
            PetscCallMPI(MPI_Type_delete_attr(l->unit, l->keyval));
        PetscCallMPI(MPI_Type_free_keyval(&l->keyval));
        PetscCall(PetscFree(l));
    }
    PetscCallMPI(rota_graph_free(&(*rsf)->graph));
    PetscCall(PetscFree2((*rsf)->root.first, (*rsf)->root.item));
    PetscCall(PetscFree2((*rsf)->leaf.first, (*rsf)->leaf.item));
    PetscCall(PetscFree(*rsf));
    PetscFunctionReturn(0);
}

/* ---- plans --------------------------------------------------------------- */

/* A block for each partner; the caller frees the types. */
static PetscErrorCode MakeTypes(const Side *side, MPI_Datatype unit,
                                PetscMPIInt *count, MPI_Aint *displ,
                                MPI_Datatype *type)
{
    PetscMPIInt *at;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(side->first[side->n] + 1, &at));
    for (PetscInt i = 0; i < side->first[side->n]; i++)
        PetscCall(PetscMPIIntCast(side->item[i], &at[i]));
    for (PetscInt i = 0; i < side->n; i++) {
        count[i] = 1;
        displ[i] = 0;
        PetscCallMPI(MPI_Type_create_indexed_block(
            (PetscMPIInt)(side->first[i + 1] - side->first[i]), 1,
            at + side->first[i], unit, &type[i]));
        PetscCallMPI(MPI_Type_commit(&type[i]));
    }
    PetscCall(PetscFree(at));
    PetscFunctionReturn(0);
}

static PetscErrorCode MakeDown(RotaSF r, MPI_Datatype unit, const void *root,
                               void *leaf, rota_plan **plan)
{
    const PetscInt n = PetscMax(r->root.n, r->leaf.n);
    PetscMPIInt *count[2];
    MPI_Aint *displ[2];
    MPI_Datatype *type[2];

    PetscFunctionBegin;
    PetscCall(PetscMalloc6(n, &count[0], n, &count[1], n, &displ[0], n,
                           &displ[1], n, &type[0], n, &type[1]));
    PetscCall(MakeTypes(&r->root, unit, count[0], displ[0], type[0]));
    PetscCall(MakeTypes(&r->leaf, unit, count[1], displ[1], type[1]));
    PetscCallMPI(rota_neighbor_alltoallw_init_graph(
        root, count[0], displ[0], type[0], leaf, count[1], displ[1], type[1],
        r->graph, MPI_INFO_NULL, plan));
    for (PetscInt i = 0; i < r->root.n; i++)
        PetscCallMPI(MPI_Type_free(&type[0][i]));
    for (PetscInt i = 0; i < r->leaf.n; i++)
        PetscCallMPI(MPI_Type_free(&type[1][i]));
    PetscCall(
        PetscFree6(count[0], count[1], displ[0], displ[1], type[0], type[1]));
    PetscFunctionReturn(0);
}

/* What op is for, if a unit has several elements. */
static PetscErrorCode FindElement(MPI_Datatype unit, MPI_Datatype *element)
{
    PetscMPIInt ints, addresses, types, combiner, n;
    MPI_Aint none;

    PetscFunctionBegin;
    *element = unit;
    PetscCallMPI(
        MPI_Type_get_envelope(unit, &ints, &addresses, &types, &combiner));
    if (combiner == MPI_COMBINER_CONTIGUOUS)
        PetscCallMPI(MPI_Type_get_contents(unit, 1, 0, 1, &n, &none, element));
    PetscFunctionReturn(0);
}

/* The same way back. The plan that goes down is made only for that. */
static PetscErrorCode MakeUp(RotaSF r, MPI_Datatype unit, const void *leaf,
                             void *root, MPI_Op op, rota_plan **plan)
{
    MPI_Datatype element;
    rota_plan *down;

    PetscFunctionBegin;
    PetscCall(FindElement(unit, &element));
    PetscCall(MakeDown(r, unit, root, (void *)leaf, &down));
    PetscCallMPI(rota_plan_init_reverse(down, leaf, root, element, op,
                                        MPI_INFO_NULL, plan));
    PetscCallMPI(rota_plan_free(&down));
    PetscFunctionReturn(0);
}

/* Another unit may get the same handle. */
static int Forget(MPI_Datatype unit, int keyval, void *link, void *extra)
{
    ((Link *)link)->unit = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

static PetscErrorCode MakeLink(RotaSF r, MPI_Datatype unit, const void *send,
                               void *recv, MPI_Op op, Link **made)
{
    Link *l;

    PetscFunctionBegin;
    PetscCall(PetscNew(&l));
    l->unit = unit;
    l->op = op;
    if (op == MPI_OP_NULL)
        PetscCall(MakeDown(r, unit, send, recv, &l->plan));
    else
        PetscCall(MakeUp(r, unit, send, recv, op, &l->plan));
    PetscCallMPI(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, Forget,
                                        &l->keyval, NULL));
    PetscCallMPI(MPI_Type_set_attr(unit, l->keyval, l));
    l->next = r->links;
    r->links = *made = l;
    PetscFunctionReturn(0);
}

/* ---- running ------------------------------------------------------------- */

/* All ranks have the same links in use, and find the same one, or none. */
PetscErrorCode RotaSFBegin(RotaSF r, MPI_Datatype unit, const void *send,
                           void *recv, MPI_Op op)
{
    Link *l = r->links;

    PetscFunctionBegin;
    while (l && (l->unit != unit || l->op != op || l->busy))
        l = l->next;
    if (!l) {
        PetscCall(MakeLink(r, unit, send, recv, op, &l));
    } else if (l->send != send || l->recv != recv) {
        PetscCallMPI(rota_plan_set_buffers(l->plan, send, recv));
    }
    l->send = send;
    l->recv = recv;
    l->busy = PETSC_TRUE;
    PetscCallMPI(rota_start(l->plan));
    PetscFunctionReturn(0);
}

static Link *FindBegun(RotaSF r, MPI_Datatype unit, const void *send,
                       const void *recv, MPI_Op op)
{
    Link *l = r->links;

    while (l && (l->unit != unit || l->op != op || !l->busy ||
                 l->send != send || l->recv != recv))
        l = l->next;
    return l;
}

PetscBool RotaSFIsBegun(RotaSF rsf, MPI_Datatype unit, const void *from,
                        const void *to, MPI_Op op)
{
    return FindBegun(rsf, unit, from, to, op) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode RotaSFEnd(RotaSF r, MPI_Datatype unit, const void *send,
                         void *recv, MPI_Op op)
{
    Link *const l = FindBegun(r, unit, send, recv, op);

    PetscFunctionBegin;
    PetscCheck(l, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "nothing was begun with this data");
    PetscCallMPI(rota_wait(l->plan));
    l->busy = PETSC_FALSE;
    PetscFunctionReturn(0);
}
