/* memory.c - see memory.h. */
#include "plan/kinds/memory.h"
#include "exec/memory/arena.h"
#include "exec/move/lock.h"
#include "exec/move/trace.h"
#include "exec/payload/parcels.h"
#include "exec/step/steps.h"
#include "plan/kinds/parts.h"
#include "plan/ranks/attaching.h"

#include <stdlib.h>

/* ---- scratch ------------------------------------------------------------- */

static int place_scratch(rota_built *b)
{
    rota_blocks *const blocks = &b->exec.blocks;

    return rota_has_parcels(&b->exec)
               ? rota_parcels_place(&b->exec, &b->room.bytes)
               : rota_sched_place(&b->sched, blocks->bytes, blocks->offset,
                                  &b->room);
}

/* Cleared, because padding travels. *lends: preferably in the arena; set to
 * whether it is. */
static int make_scratch(rota_built *b, bool *lends)
{
    rota_exec *const x = &b->exec;
    char *scratch = NULL;

    ROTA_TRY(place_scratch(b));
    if (b->room.bytes > 0 && *lends)
        scratch = rota_arena_alloc(b->room.bytes);
    *lends = scratch != NULL;
    if (b->room.bytes > 0 && !scratch)
        scratch = calloc(b->room.bytes, 1);
    x->blocks.base[ROTA_TMP] = scratch;
    if (!scratch && b->room.bytes > 0)
        return rota_fail_mem("scratch");
    if (rota_has_parcels(x))
        rota_parcels_make(x);
    return MPI_SUCCESS;
}

/* Decide whether messages may be handed over, and lend scratch for it. Not with
 * devices, which cannot access the blocks of other ranks. */
static int lend_scratch(rota_built *b, rota_reach *reach)
{
    const rota_exec *const x = &b->exec;

    reach->hands = (x->fixed || rota_has_parcels(x)) && !b->task->use.device;
    reach->lends = reach->hands && rota_sched_shares(&b->sched);
    return reach->lends ? make_scratch(b, &reach->lends) : MPI_SUCCESS;
}

/* ---- the node's memory ------------------------------------------------- */

/* Messages from this length on are copied from the sender's arena, unless a
 * hint or a measurement (rota-tune) says otherwise. One copy is saved, but the
 * sender must wait until its block has been read, and fetch it back before it
 * writes there again. If it does, and the receiver reads what came, that costs
 * more than the copy up to 2 KiB, as much at 4 KiB, and less from 8 KiB on; where
 * ranks share cores it pays from 8 to 16 KiB on (docs/measurements.md). */
enum { USUAL_ARENA_FROM = 8192 };

/* The same where more is saved: the ranks have a core each, and elements need no
 * packing, or blocks that are lent no copy at all. */
enum { USUAL_SAVING_FROM = 1536 };

/* What this rank sends to others of its node in a start, each block by itself. */
static size_t sent_within(const rota_task *t)
{
    const rota_problem *const p = &t->problem;
    const size_t *const bytes = rota_problem_sent(p);
    const rota_topo *const topo = &t->comm->topo;
    const int me = t->comm->me, n = p->in_place ? p->recv.n : p->send.n;
    size_t sum = 0;

    if (!t->kind->fixed || t->largest_unit > 0)
        return SIZE_MAX;
    for (int d = 0; d < n; d++) {
        const int to = p->neighbors ? p->neighbors->to[d] : d;
        if (to >= 0 && to != me && topo->node[to] == topo->node[me])
            sum += rota_cell_bytes(bytes[d]);
    }
    return sum;
}

size_t rota_task_attach_from(const rota_task *t, const char **why)
{
    if (t->kind->gathers) {
        *why = "not used: blocks lie in memory that is shared";
        return SIZE_MAX;
    }
    return rota_comm_attach_from(t->comm, t->attached_from, sent_within(t),
                                 why);
}

static void find_thresholds(const rota_task *t, rota_reach *reach)
{
    const int wish = t->copied_once_from > 0
                         ? t->copied_once_from
                         : t->comm->learnt.tuning.copied_once_from;
    const char *unused;

    reach->arena_threshold = (size_t)(wish > 0 ? wish : USUAL_ARENA_FROM);
    reach->attach_threshold = rota_task_attach_from(t, &unused);
    reach->contests_arena = t->copied_once_from == 0 && !t->kind->gathers &&
                            t->largest >= reach->arena_threshold;
    reach->contests_kernel =
        t->attached_from == 0 && t->largest >= reach->attach_threshold;
    /* Where ranks share cores they share caches. */
    reach->contests_stores = !t->comm->crowded;
    reach->saving_threshold = wish > 0 || t->comm->crowded
                                  ? reach->arena_threshold
                                  : USUAL_SAVING_FROM;
}

/* What keeps shared memory from carrying messages, on any rank. If plans are to
 * progress outside Rota's calls, also what keeps the progress thread from it:
 * then MPI carries them, and progresses in its calls. */
typedef enum obstacle {
    NO_OBSTACLE,
    NO_ROOM,
    THREAD_TYPE,
    THREAD_OP,
    THREAD_DEVICE,
    NO_THREAD
} obstacle;

static const char *const obstacle_text[] = {
    [NO_ROOM] = "no room in shared memory",
    [THREAD_TYPE] = "rota_progress = thread, and MPI packs elements of a type, "
                    "or functions do",
    [THREAD_OP] = "rota_progress = thread, and MPI combines blocks",
    [THREAD_DEVICE] = "rota_progress = thread, and a device may be in use",
    [NO_THREAD] = "rota_progress = thread, and the system gives no thread",
};

static obstacle find_obstacle(const rota_built *b)
{
    const rota_task *const t = b->task;

    if (t->progress != ROTA_PROGRESS_THREAD)
        return NO_OBSTACLE;
    if (!rota_lock_is_multiple() &&
        (!rota_types_are_bytes(&b->exec.blocks.types[ROTA_DST]) ||
         !rota_types_are_bytes(&b->exec.blocks.types[ROTA_SRC])))
        return THREAD_TYPE;
    if (!rota_lock_is_multiple() && t->accumulate.combine &&
        rota_operator_needs_mpi(&t->accumulate))
        return THREAD_OP;
    if (t->use.device)
        return THREAD_DEVICE;
    return rota_comm_hold_thread(t->comm) ? NO_OBSTACLE : NO_THREAD;
}

const char *rota_built_needs_calls(const rota_built *b)
{
    const rota_exec *const x = &b->exec;
    const rota_progress asked = b->task->progress;

    if (asked == ROTA_PROGRESS_CALLS)
        return "no hint asks for more";
    if (asked == ROTA_PROGRESS_THREAD)
        return x->by_thread ? NULL
                            : "MPI carries messages or the algorithm needs "
                              "calls";
    if (x->shared)
        return "not all messages go by MPI";
    const ptrdiff_t steps = /* but for the one that combines, which is local */
        x->program.end - x->program.step - (x->accumulation ? 1 : 0);
    if (steps > 1 || (steps == 1 && !rota_step_is_at_once(x->program.step)))
        return "the algorithm has more than one round";
    return x->counts_unknown && (x->max_block == ROTA_UNBOUNDED ||
                                 b->choice.metadata != ROTA_META_FUSED)
               ? "receives wait for sizes: there is no bound"
               : NULL;
}

const char *rota_built_refuses_node(const rota_built *b)
{
    const rota_comm *const c = b->task->comm;

    if (b->choice.intranode == ROTA_INTRANODE_P2P)
        return "asked for by a hint";
    if (b->choice.device == ROTA_DEVICE_AWARE)
        return "rota_device = cuda_aware: MPI takes all messages";
    if (c->node && b->task->kind->group && c->node->apart)
        return "some ranks of a node share no memory";
    return c->node ? NULL : c->node_why;
}

int rota_built_share(rota_built *b, int status)
{
    const rota_comm *const c = b->task->comm;
    rota_reach reach = {.node = c->node};
    rota_exec *const x = &b->exec;
    rota_vote vote = {0};
    rota_refusal refusal = ROTA_REFUSED_NOTHING;

    find_thresholds(b->task, &reach);
    if (status == MPI_SUCCESS)
        status = lend_scratch(b, &reach);
    if (status == MPI_SUCCESS)
        status = rota_exec_reserve(x, &reach, &refusal);
    vote.largest = refusal == ROTA_REFUSED_PLAN ? NO_ROOM : find_obstacle(b);
    ROTA_TRY(rota_agree(c, status, &vote));
    b->no_room = refusal != ROTA_REFUSED_NOTHING;
    b->node_why = obstacle_text[vote.largest];
    x->by_thread = b->task->progress == ROTA_PROGRESS_THREAD && !b->node_why &&
                   !b->choice.algo->native && !b->task->kind->group;
    /* Attach before the last agreement: after it, another rank may already have
     * run and freed the plan, and the communicator with its endpoints. */
    if (b->node_why) {
        rota_exec_detach(x);
        return MPI_SUCCESS;
    }
    b->apart = !rota_exec_attach(x);
    return MPI_SUCCESS;
}

/* ---- all of it ----------------------------------------------------------- */

int rota_built_bind(rota_built *b)
{
    rota_exec *const x = &b->exec;
    bool lends = false;

    if (b->task->kind->place)
        ROTA_TRY(b->task->kind->place(b));
    if ((b->choice.metadata == ROTA_META_ONCE || rota_has_parcels(x)) &&
        !x->blocks.base[ROTA_TMP])
        ROTA_TRY(make_scratch(b, &lends));
    ROTA_TRY(rota_trace_make(&x->blocks, b->id, &x->trace));
    if (b->task->partitioned)
        ROTA_TRY(rota_parts_make(x));
    return rota_exec_bind(x);
}

void rota_built_free_scratch(rota_built *b)
{
    char *const scratch = b->exec.blocks.base[ROTA_TMP];

    if (!rota_arena_free(scratch))
        free(scratch);
}
