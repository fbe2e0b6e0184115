/* packing.c - see packing.h.
 *
 * To the executor, such blocks are elements of a type that only the program can pack;
 * messages of MPI take them packed.
 */
#include "plan/kinds/packing.h"

/* What is the same on all ranks: none communicates. */
static int check_plan(const rota_plan *p)
{
    const rota_task *const t = &p->task;

    if (t->kind->collects)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is %s: it says where blocks are",
                         t->kind->is);
    if (t->largest_unit > 0)
        return rota_fail(MPI_ERR_REQUEST,
                         "the unit of the plan's counts may change "
                         "(rota_largest_unit)");
    if (t->accumulate.combine)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan combines blocks with what is there");
    if (t->problem.own_types)
        return rota_fail(MPI_ERR_REQUEST, "the plan has a type for each block");
    return t->problem.in_place
               ? rota_fail(MPI_ERR_REQUEST, "the plan is in place")
               : MPI_SUCCESS;
}

/* Do blocks for others pass through the receive buffer? */
static bool rests_in_buffer(const rota_sched *s)
{
    for (rota_block b = rota_first_tmp(s); b < s->n_blocks; b++)
        if (rota_block_region(s, b) == ROTA_DST)
            return true;
    return false;
}

/* May fail on one rank alone. */
static int check(const rota_plan *p, const rota_packer *wanted)
{
    if (p->active)
        return rota_fail(MPI_ERR_REQUEST, "the plan is active");
    if (p->built.exec.status.broken)
        return rota_status_refuse();
    if (p->task.use.device)
        return rota_fail(MPI_ERR_REQUEST,
                         "buffers of the plan may be on a device");
    if (wanted->unpack && rests_in_buffer(&p->built.sched))
        return rota_fail(MPI_ERR_REQUEST,
                         "algorithm %s keeps blocks for others in the receive "
                         "buffer",
                         p->built.choice.algo->name);
    return MPI_SUCCESS;
}

/* Whole elements are packed, of as many bytes as the caller's. */
static rota_type make_type(const rota_side *side, const rota_packer *packer)
{
    const size_t bytes = side->element > 0 ? side->element : 1;

    return (rota_type){.mpi = MPI_DATATYPE_NULL,
                       .size = bytes,
                       .extent = (ptrdiff_t)bytes,
                       .ub = (ptrdiff_t)bytes,
                       .packer = packer};
}

static void use(rota_task *t, const rota_packer *packer)
{
    const rota_problem *const problem = &t->problem;

    t->packer = *packer;
    t->packed[ROTA_SRC] =
        make_type(t->kind->fixed ? &problem->send : &problem->recv, &t->packer);
    t->packed[ROTA_DST] = make_type(&problem->recv, &t->packer);
}

/* While ranks agree, a plan that is active by mistake goes on. */
int rota_plan_pack(rota_plan *p, const rota_packer *wanted)
{
    const rota_packer before = p->task.packer;
    rota_alike alike = {0};
    rota_vote vote = {.alike = &alike};
    rota_claim claim;

    ROTA_TRY(check_plan(p));
    rota_alike_add(&alike, "call of rota_plan_set_pack", 1);
    ROTA_TRY(rota_agree_claim(p->comm, check(p, wanted), &vote, &claim));
    use(&p->task, wanted);
    const int err = rota_plan_rebuild(p, claim);
    if (err != MPI_SUCCESS)
        use(&p->task, &before);
    return err;
}
