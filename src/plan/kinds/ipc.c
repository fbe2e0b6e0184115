/* ipc.c - plans whose blocks go from device to device within the node. */
#include "plan/kinds/ipc.h"
#include "device/ipc.h"
#include "device/staging.h"
#include "plan/kinds/device.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"
#include "plan/ranks/node.h"

#include <stdio.h>
#include <stdlib.h>

static bool has_bytes(const size_t bytes[], int P)
{
    for (int q = 0; q < P; q++)
        if (bytes[q] > 0)
            return true;
    return false;
}

/* ---- whether they can ---------------------------------------------------- */

/* Why this rank's memory does not allow it. Only fixed plans know their
 * memory. */
static const char *why_not_memory(const rota_plan *p)
{
    const rota_side *const send = &p->problem.send, *recv = &p->problem.recv;
    const int P = p->comm->P;
    rota_allocation sent;

    for (int q = 0; q < P; q++)
        if (recv->bytes[q] > 0 &&
            !p->device->holds(recv->base + recv->offset[q]))
            return "recvbuf is memory of the host";
    return has_bytes(send->bytes, P)
               ? rota_ipc_share(p->device, P, send->base, send->bytes,
                                send->offset, &sent)
               : NULL;
}

const char *rota_plan_why_no_ipc(const rota_plan *p, const rota_hints *hints)
{
    const rota_problem *const problem = &p->problem;

    if (!p->device)
        return rota_device_why_none();
    if (hints->device != ROTA_DEVICE_AUTO && hints->device != ROTA_DEVICE_IPC)
        return "another way is asked for";
    if (p->kind != ROTA_FIXED)
        return "the plan's counts vary";
    if (problem->neighbors)
        return "the plan is of neighbours";
    if (problem->in_place)
        return "the plan is in place";
    if (!rota_types_are_bytes(&problem->recv.types) ||
        !rota_types_are_bytes(&problem->send.types))
        return "elements of a type are not contiguous";
    if (hints->intranode == ROTA_INTRANODE_P2P)
        return "rota_intranode leaves messages within the node to MPI";
    return why_not_memory(p);
}

static void set_why(rota_plan *p, const char *why)
{
    p->ipc = false;
    snprintf(p->ipc_why, sizeof p->ipc_why, "%s", why);
}

void rota_plan_settle_ipc(rota_plan *p, const char *why, bool not_all)
{
    const rota_node *const node = p->comm->node;

    p->ipc = !not_all;
    if (why)
        set_why(p, why);
    else if (p->ipc && !node && p->comm->P > 1)
        set_why(p, p->comm->node_why);
    else if (p->ipc && node && node->n < p->comm->P)
        set_why(p, "ranks are on several nodes");
    else if (p->ipc && node && node->apart)
        set_why(p, "not all ranks share memory");
}

/* ---- how they do --------------------------------------------------------- */

static int make_own(rota_plan *p, rota_ipc_address *address)
{
    const rota_problem *const problem = &p->problem;
    const int P = p->comm->P;
    const char *near = NULL;
    rota_queue *queue;

    if (has_bytes(problem->send.bytes, P))
        near = problem->send.base;
    else if (has_bytes(problem->recv.bytes, P))
        near = problem->recv.base;
    ROTA_TRY(rota_plan_make_staging(p, near, true, &queue));
    return rota_ipc_make(&p->exec, p->device, queue, address);
}

/* The ranks agree on every failure. */
static int open_each_other(rota_plan *p, rota_ipc_address addresses[])
{
    const rota_comm *const c = p->comm;
    rota_ipc_address mine = {0};
    int err = addresses ? make_own(p, &mine) : rota_fail_mem("addresses");

    ROTA_TRY(rota_swap_addresses(c, c->topo.ranks, c->P, err, &mine, addresses,
                                 sizeof mine));
    err = rota_ipc_open(&p->exec, addresses);
    return rota_agree(c, err, NULL);
}

int rota_plan_give_up_ipc(rota_plan *p, const char *why)
{
    if (p->device_asked)
        return rota_fail(MPI_ERR_OTHER, "rota_device = cuda_ipc, but %s", why);
    set_why(p, why);
    rota_ipc_free(&p->exec);
    rota_staging_free(&p->exec);
    p->choice.device = ROTA_DEVICE_COPY;
    return MPI_SUCCESS;
}

int rota_plan_use_ipc(rota_plan *p)
{
    rota_ipc_address *const addresses =
        calloc((size_t)p->comm->P, sizeof *addresses);
    int err = open_each_other(p, addresses);
    free(addresses);
    if (err != MPI_SUCCESS && !p->device_asked) {
        char why[ROTA_ERR_TEXT];
        snprintf(why, sizeof why, "%s",
                 rota_fail_text() ? rota_fail_text() : "MPI failed");
        rota_fail_clear();
        err = rota_plan_give_up_ipc(p, why);
    }
    return err;
}
