/* reduction.c - see reduction.h. */
#include "plan/kinds/reduction.h"

/* ---- arguments ----------------------------------------------------------- */

/* What is the same on all ranks: none communicates. */
static int check_plan(const rota_plan *p)
{
    if (p->task.kind->fixed)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is %s: no reduction travels with fixed "
                         "counts",
                         p->task.kind->is);
    if (p->task.problem.neighbors)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is for neighbours: a reduction needs "
                         "messages between all ranks");
    if (p->built.choice.device == ROTA_DEVICE_AWARE)
        return rota_fail(MPI_ERR_REQUEST,
                         "MPI takes the plan's messages from a device "
                         "(rota_device = cuda_aware): they carry no values");
    return MPI_SUCCESS;
}

static int check_arguments(const rota_reduction *r)
{
    if (!r->value || !r->result)
        return rota_fail(MPI_ERR_BUFFER, "%s is NULL",
                         r->value ? "result" : "value");
    if (r->result == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "result is MPI_IN_PLACE");
    if (r->count < 1)
        return rota_fail(MPI_ERR_COUNT, "count = %d is not positive", r->count);
    return r->type == MPI_DATATYPE_NULL
               ? rota_fail(MPI_ERR_TYPE, "type is MPI_DATATYPE_NULL")
               : MPI_SUCCESS;
}

/* Check and complete the arguments. May fail on one rank alone. */
static int prepare(const rota_plan *p, rota_reduction *r)
{
    if (p->active)
        return rota_fail(MPI_ERR_REQUEST, "the plan is active");
    if (p->built.exec.status.broken)
        return rota_status_refuse();
    if (r->op == MPI_OP_NULL)
        return MPI_SUCCESS;
    ROTA_TRY(check_arguments(r));
    return rota_reduction_resolve(r);
}

/* ---- building ------------------------------------------------------------ */

/* While ranks agree, a plan that is active by mistake goes on. */
int rota_plan_reduce(rota_plan *p, const rota_reduction *wanted)
{
    const rota_reduction before = p->task.reduction;
    rota_reduction r = *wanted;
    rota_alike alike = {0};
    rota_vote vote = {.alike = &alike};
    rota_claim claim;

    ROTA_TRY(check_plan(p));
    const int status = prepare(p, &r);
    if (r.op == MPI_OP_NULL)
        r = (rota_reduction){0};
    rota_alike_add(&alike, "count of the reduction", (uint64_t)r.count);
    rota_alike_add(&alike, "size of a value of the reduction", r.bytes);
    rota_alike_add(&alike, "operator of the reduction",
                   r.count > 0 ? (uint64_t)rota_reduction_op(&r) : 0);
    ROTA_TRY(rota_agree_claim(p->comm, status, &vote, &claim));
    p->task.reduction = r;
    const int err = rota_plan_rebuild(p, claim);
    if (err != MPI_SUCCESS)
        p->task.reduction = before;
    return err;
}
