/* built.c - see built.h.
 *
 * After every step that can fail on one rank alone, the ranks agree before
 * anyone waits for a peer.
 */
#include "plan/kinds/built.h"
#include "exec/memory/lending.h"
#include "exec/move/accumulate.h"
#include "exec/move/lock.h"
#include "exec/move/trace.h"
#include "exec/payload/carried.h"
#include "plan/kinds/accumulate.h"
#include "plan/kinds/device.h"
#include "plan/kinds/ipc.h"
#include "plan/kinds/memory.h"
#include "plan/ranks/node.h"

#include <stdlib.h>

/* ---- claims -------------------------------------------------------------- */

static int find_free_native(const rota_vote *vote)
{
    int i = 0;

    while (i < ROTA_MAX_NATIVE && vote->used >> i & 1)
        i++;
    return i;
}

/* All ranks propose the same id, since each has seen all ids agreed on so far.
 * A rank refuses an id that a plan of it still holds. The ranks agree on
 * `clash`, so all go on to the next id, or none does. */
int rota_agree_claim(rota_comm *c, int status, rota_vote *vote,
                     rota_claim *claim)
{
    rota_vote found;

    vote->used = c->native_used;
    claim->id = c->next_id;
    for (;; claim->id = rota_comm_id_after(c, claim->id)) {
        found = *vote;
        found.clash = rota_comm_id_taken(c, claim->id);
        ROTA_TRY(rota_agree(c, status, &found));
        if (!found.clash)
            break;
    }
    claim->native = find_free_native(&found);
    *vote = found;
    return MPI_SUCCESS;
}

/* May fail on one rank alone. To make a native communicator is collective. All ranks
 * make it, or none: rota_comm keeps those made, so that of index claim.native, on
 * which the ranks have agreed, exists on all or on none. */
static int take_claim(rota_built *b, rota_claim claim)
{
    rota_comm *const c = b->task->comm;

    if (b->choice.algo->native) {
        if (claim.native == ROTA_MAX_NATIVE)
            return rota_fail(MPI_ERR_OTHER,
                             "%d plans on this communicator use MPI's own "
                             "all-to-all; no more can",
                             ROTA_MAX_NATIVE);
        ROTA_TRY(rota_comm_native(c, claim.native, &b->exec.native));
        b->native = claim.native;
    }
    ROTA_TRY(rota_comm_id_take(c, claim.id));
    b->id = claim.id;
    return MPI_SUCCESS;
}

/* ---- for kinds ----------------------------------------------------------- */

int rota_built_schedule(rota_built *b)
{
    const rota_task *const t = b->task;
    rota_blocks *const blocks = &b->exec.blocks;

    ROTA_TRY(rota_built_check_device(b));
    ROTA_TRY(rota_sched_init_among(&b->sched, t->comm->P, t->comm->me,
                                   t->problem.neighbors));
    rota_sched_set_crossing(&b->sched, t->problem.crossing, b->choice.metadata);
    b->sched.by_datatype = b->choice.params.by_datatype;
    ROTA_TRY(b->choice.algo->build(t->topo, &b->choice.params, &b->sched));
    const size_t n = (size_t)b->sched.n_blocks + 1;
    blocks->bytes = calloc(n, sizeof *blocks->bytes);
    blocks->offset = calloc(n, sizeof *blocks->offset);
    return blocks->bytes && blocks->offset
               ? MPI_SUCCESS
               : rota_fail_mem("sizes and places of blocks");
}

int rota_built_run_sizes(const rota_built *b, int status,
                         const size_t send_bytes[], rota_sizes *z)
{
    const rota_comm *const c = b->task->comm;

    *z = (rota_sizes){0};
    if (status == MPI_SUCCESS)
        status = rota_sizes_init(z, &b->sched, c->dup, b->exec.tag, send_bytes);
    status = rota_agree(c, status, NULL);
    z->x.mates = c->node;
    if (status == MPI_SUCCESS)
        status = rota_exec_start(&z->x);
    if (status == MPI_SUCCESS)
        status = rota_exec_wait(&z->x);
    return status;
}

size_t rota_built_lay_out_stage(rota_built *b, const size_t recv[])
{
    const rota_blocks *const blocks = &b->exec.blocks;
    size_t at = 0;

    for (int d = 0; d < b->sched.P; d++) {
        const bool stays = d == b->sched.me && !b->choice.algo->native;
        blocks->bytes[d] = stays ? 0 : recv[d];
        blocks->offset[d] = (ptrdiff_t)at;
        at += blocks->bytes[d];
    }
    return at;
}

void rota_built_record(const rota_built *b, const size_t bytes[])
{
    rota_record *const r = b->task->record;
    const rota_sched *const s = &b->sched;

    if (s->neighbors)
        rota_record_blocks(r, s->n_send, s->neighbors->to, bytes);
    else
        rota_record_start(r, bytes);
}

/* ---- making -------------------------------------------------------------- */

/* Blocks that the program's functions pack or unpack are of a type of their own. */
static void use_packer(rota_built *b, rota_task *t)
{
    rota_types *const types = b->exec.blocks.types;

    t->packer.status = &b->exec.status;
    if (t->packer.pack)
        types[ROTA_SRC] = (rota_types){&t->packed[ROTA_SRC], NULL, 1};
    if (t->packer.unpack)
        types[ROTA_DST] = (rota_types){&t->packed[ROTA_DST], NULL, 1};
}

/* What is known before there is a schedule. */
static void begin(rota_built *b, rota_task *t, const rota_choice *choice,
                  rota_claim claim)
{
    const rota_problem *const problem = &t->problem;

    *b = (rota_built){.task = t, .choice = *choice, .native = -1};
    b->exec = (rota_exec){
        .blocks = {.s = &b->sched,
                   .base = {[ROTA_SRC] = problem->send.base,
                            [ROTA_DST] = problem->recv.base},
                   .types = {[ROTA_SRC] =
                                 problem->in_place
                                     ? rota_types_bytes
                                     : *rota_problem_sent_types(problem),
                             [ROTA_DST] = problem->recv.types,
                             [ROTA_TMP] = rota_types_bytes},
                   .own_types = problem->own_types},
        .title = t->kind->title ? t->kind->title : t->kind->is,
        .algorithm = choice->algo->name,
        .comm = t->comm->dup,
        .mates = t->comm->node,
        .tag = ROTA_TAGS * claim.id,
        .native = MPI_COMM_NULL,
        .fixed = t->kind->fixed && t->largest_unit == 0 &&
                 choice->metadata == ROTA_META_ONCE,
        .max_block = t->max_block,
        .counts_unknown = t->kind->collects,
        .stage_in = problem->in_place,
    };
    b->sizing = (rota_sizing){.metadata = choice->metadata,
                              .parcels = choice->params.parcels};
    if (choice->metadata != ROTA_META_ONCE)
        b->exec.sizing = &b->sizing;
    use_packer(b, t);
}

/* Which values do messages carry? Where blocks are forwarded, the schedule is run on
 * labels that name their sources. Collective; the ranks agree on every failure of
 * the run. */
static int list_carried(rota_built *b, int *status)
{
    const rota_comm *const c = b->task->comm;
    const rota_algo *const algo = b->choice.algo;
    const bool run = algo->sizes != ROTA_SIZES_STATED && !algo->native;
    rota_sizes z = {0};

    if (run) {
        size_t *const label = malloc((size_t)c->P * sizeof *label);
        if (*status == MPI_SUCCESS && !label)
            *status = rota_fail_mem("which values messages carry");
        if (label)
            rota_sizes_label(c->P, c->me, label);
        *status = rota_built_run_sizes(b, *status, label, &z);
        free(label);
    }
    if (*status == MPI_SUCCESS)
        *status = rota_carried_list(b->exec.carried, &b->sched, z.cell,
                                    !algo->native);
    if (z.cell)
        rota_sizes_free(&z);
    return run ? rota_agree(c, *status, NULL) : MPI_SUCCESS;
}

/* Leave out what has no bytes. Both ends know the same sizes, so both leave out
 * the same. A message that carries values has some. */
static void fold(rota_built *b)
{
    const size_t least = b->exec.carried ? 1 : 0;
    size_t *const bytes = b->exec.blocks.bytes;

    if (b->choice.metadata == ROTA_META_ONCE)
        rota_sched_pad(&b->sched,
                       b->task->largest > least ? b->task->largest : least,
                       bytes);
    if (b->exec.fixed)
        rota_sched_fold(&b->sched, bytes);
}

/* Decide how messages within the node travel, on which the ranks agree, and what
 * needs it. *status: this rank's own. Collective; the ranks agree on every
 * failure.
 *
 * Before rota_built_share, node_why is the same on all ranks, since hints, choice
 * and what the node could map are; after it, since they voted. So all ranks share,
 * or none does, and all give IPC up alike. What group finds stays in *status
 * until the next agreement. */
static int open_node(rota_built *b, int *status)
{
    const rota_task *const t = b->task;
    int (*const group)(rota_built * b) = t->kind->group;

    if (b->choice.device == ROTA_DEVICE_IPC) {
        ROTA_TRY(rota_agree(t->comm, *status, NULL));
        ROTA_TRY(rota_built_use_ipc(b));
    }
    b->node_why = rota_built_refuses_node(b);
    if (group && *status == MPI_SUCCESS && !b->node_why)
        *status = group(b);
    if (!b->node_why)
        ROTA_TRY(rota_built_share(b, *status));
    if (rota_fetching_of(&b->exec) && b->node_why && t->comm->P > 1)
        ROTA_TRY(rota_built_give_up_ipc(b, b->node_why));
    if (group && *status == MPI_SUCCESS && b->node_why)
        *status = group(b); /* every rank by itself */
    return MPI_SUCCESS;
}

/* Fold the schedule and bind it to memory, the node's and this rank's; agree
 * that all have. Collective; the ranks agree on every failure. After the last
 * agreement a peer may start at once: whatever its messages need is bound by then,
 * and nothing here waits for it. */
static int bind(rota_built *b, int status)
{
    const rota_task *const t = b->task;

    if (status == MPI_SUCCESS)
        fold(b);
    ROTA_TRY(open_node(b, &status));
    if (t->progress == ROTA_PROGRESS_THREAD && rota_lock_is_multiple())
        b->exec.by_thread = !t->use.device && rota_comm_hold_thread(t->comm);
    if (status == MPI_SUCCESS && !b->apart)
        status = rota_built_bind(b);
    rota_vote vote = {.clash = b->apart};
    ROTA_TRY(rota_agree(t->comm, status, &vote));
    b->apart = vote.clash; /* on any rank */
    /* All have bounce buffers now: those that are mapped are read where they lie. */
    if ((t->use.device || t->comm->device_sharers > 0) && t->comm->node)
        rota_comm_update_node(t->comm);
    return MPI_SUCCESS;
}

/* All ranks have the same choice and kind, so all learn or none does. A rank that
 * has failed so far learns with them: learning agrees on status before it runs. */
static int make_bound(rota_built *b, rota_claim claim)
{
    const rota_kind_table *const kind = b->task->kind;
    int status = take_claim(b, claim);

    if (status == MPI_SUCCESS && b->task->reduction.count > 0)
        status = rota_carried_make(&b->task->reduction, b->task->comm->P,
                                   &b->exec.carried);
    if (status == MPI_SUCCESS && b->task->accumulate.combine)
        status = rota_accumulate_make(b);
    if (status == MPI_SUCCESS)
        status = kind->build(b);
    if (kind->learn)
        ROTA_TRY(kind->learn(b, &status));
    if (b->task->reduction.count > 0)
        ROTA_TRY(list_carried(b, &status));
    return bind(b, status);
}

int rota_built_make(rota_built *b, rota_task *task, const rota_choice *choice,
                    rota_claim claim)
{
    begin(b, task, choice, claim);
    const int err = make_bound(b, claim);
    if (err != MPI_SUCCESS)
        rota_built_free(b);
    return err;
}

bool rota_built_free(rota_built *b)
{
    rota_exec *const x = &b->exec;

    if (x->status.broken)
        return false;
    if (!b->task)
        return true;
    rota_trace_free(x->trace);
    rota_exec_unbind(x);
    rota_carried_free(x->carried);
    rota_accumulation_free(x->accumulation);
    rota_lending_free(x->lending);
    rota_sched_free(&b->sched);
    rota_built_free_scratch(b);
    free(x->blocks.bytes);
    free(x->blocks.offset);
    free(b->sizing.landing[ROTA_RECV]);
    free(b->sizing.landing[ROTA_SEND]);
    free(b->stage);
    if (b->id > 0)
        rota_comm_id_drop(b->task->comm, b->id);
    if (b->native >= 0)
        rota_comm_native_drop(b->task->comm, b->native);
    *b = (rota_built){0};
    return true;
}
