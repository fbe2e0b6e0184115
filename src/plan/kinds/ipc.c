/* ipc.c - see ipc.h. */
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
static const char *why_not_memory(const rota_task *t)
{
    const rota_side *const send = &t->problem.send, *recv = &t->problem.recv;
    const int P = t->comm->P;
    rota_allocation sent;

    for (int q = 0; q < P; q++)
        if (recv->bytes[q] > 0 &&
            !t->use.device->holds(recv->base + recv->offset[q]))
            return "recvbuf is memory of the host";
    return has_bytes(send->bytes, P)
               ? rota_ipc_share(t->use.device, P, send->base, send->bytes,
                                send->offset, &sent)
               : NULL;
}

const char *rota_task_why_no_ipc(const rota_task *t, const rota_hints *hints)
{
    const rota_problem *const problem = &t->problem;

    if (!t->use.device)
        return rota_device_why_none();
    if (hints->device != ROTA_DEVICE_AUTO && hints->device != ROTA_DEVICE_IPC)
        return "another way is asked for";
    if (!t->kind->fixed)
        return "the plan's counts vary";
    if (t->largest_unit > 0)
        return "the plan's unit changes";
    if (problem->neighbors)
        return "the plan is of neighbours";
    if (problem->in_place)
        return "the plan is in place";
    if (!rota_types_are_bytes(&problem->recv.types) ||
        !rota_types_are_bytes(&problem->send.types))
        return "elements of a type are not contiguous";
    if (hints->intranode == ROTA_INTRANODE_P2P)
        return "rota_intranode leaves messages within the node to MPI";
    return why_not_memory(t);
}

static void set_why(rota_task *t, const char *why)
{
    t->use.ipc = false;
    snprintf(t->use.ipc_why, sizeof t->use.ipc_why, "%s", why);
}

void rota_task_set_ipc(rota_task *t, const char *why, bool not_all)
{
    const rota_node *const node = t->comm->node;

    t->use.ipc = !not_all;
    if (why)
        set_why(t, why);
    else if (t->use.ipc && !node && t->comm->P > 1)
        set_why(t, t->comm->node_why);
    else if (t->use.ipc && node && node->n < t->comm->P)
        set_why(t, "ranks are on several nodes");
    else if (t->use.ipc && node && node->apart)
        set_why(t, "not all ranks share memory");
}

/* ---- how they do --------------------------------------------------------- */

/* May fail on one rank alone. */
static int make_own(rota_built *b, rota_ipc_address *address)
{
    const rota_problem *const problem = &b->task->problem;
    const int P = b->task->comm->P;
    const char *memory = NULL;
    rota_queue *queue;

    if (has_bytes(problem->send.bytes, P))
        memory = problem->send.base;
    else if (has_bytes(problem->recv.bytes, P))
        memory = problem->recv.base;
    ROTA_TRY(rota_built_make_staging(b, memory, true, &queue));
    return rota_ipc_make(&b->exec, b->task->use.device, queue, address);
}

/* The ranks agree that all have made their addresses; then, that all could be
 * opened. Collective; the ranks agree on every failure. */
static int open_each_other(rota_built *b, rota_ipc_address addresses[])
{
    const rota_comm *const c = b->task->comm;
    rota_ipc_address mine = {0};
    int err = addresses ? make_own(b, &mine) : rota_fail_mem("addresses");

    err = rota_gather_addresses(c, NULL, c->P, err, &mine, addresses,
                                sizeof mine);
    ROTA_TRY(rota_agree(c, err, NULL));
    err = rota_ipc_open(&b->exec, addresses);
    return rota_agree(c, err, NULL);
}

int rota_built_give_up_ipc(rota_built *b, const char *why)
{
    if (b->task->use.asked)
        return rota_fail(MPI_ERR_OTHER, "rota_device = cuda_ipc, but %s", why);
    set_why(b->task, why);
    rota_staging_free(&b->exec);
    b->choice.device = ROTA_DEVICE_COPY;
    return MPI_SUCCESS;
}

int rota_built_use_ipc(rota_built *b)
{
    rota_ipc_address *const addresses =
        calloc((size_t)b->task->comm->P, sizeof *addresses);
    int err = open_each_other(b, addresses);
    free(addresses);
    if (err != MPI_SUCCESS && !b->task->use.asked) {
        char why[ROTA_ERR_TEXT];
        snprintf(why, sizeof why, "%s",
                 rota_fail_text() ? rota_fail_text() : "MPI failed");
        rota_fail_clear();
        err = rota_built_give_up_ipc(b, why);
    }
    return err;
}
