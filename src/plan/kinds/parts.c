/* parts.c - see parts.h. */
#include "plan/kinds/parts.h"
#include "exec/move/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct parts {
    rota_gate gate;        /* first: the executor has its address */
    _Atomic bool *ready;   /* [n_send] */
    _Atomic bool *arrived; /* [n_recv] */
    bool *told; /* [n_recv] by rota_parts_wait, or empty, or not of a run */
    bool *by_message; /* [n_phases] each send waits for its own blocks, and not
                         the phase for all */
    const rota_copy **later; /* copies of own blocks that are not ready */
    uint32_t n_later;
    pthread_t starter;
} parts;

static parts *parts_of(const rota_exec *x)
{
    return (void *)x->gate;
}

/* ---- ready --------------------------------------------------------------- */

/* A block without bytes is, whatever the program says of it. */
static bool is_ready(const rota_exec *x, rota_block b)
{
    return rota_block_region(x->blocks.s, b) != ROTA_SRC ||
           rota_cell_bytes(x->blocks.bytes[b]) == 0 ||
           atomic_load_explicit(
               &parts_of(x)->ready[rota_block_slot(x->blocks.s, b)],
               memory_order_acquire);
}

/* From the send buffer straight to its place: nothing else depends on it. */
static bool is_own(const rota_exec *x, const rota_copy *k)
{
    return rota_block_region(x->blocks.s, k->from) == ROTA_SRC &&
           rota_block_arrives(x->blocks.s, k->to);
}

static int may_send(rota_exec *x, uint32_t m, bool *may)
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_SEND];

    *may = true;
    for (uint32_t i = l->msg[m].first; *may && i < l->msg[m + 1].first; i++)
        *may = is_ready(x, l->item[i]);
    return MPI_SUCCESS;
}

static int may_enter(rota_exec *x, const rota_phase *phase, bool *may)
{
    const rota_sched *const s = x->blocks.s;
    const bool by_message = parts_of(x)->by_message[phase - s->phase];

    *may = true;
    for (uint32_t c = phase->copy; *may && c < phase[1].copy; c++)
        *may = is_own(x, &s->copy[c]) || is_ready(x, s->copy[c].from);
    for (uint32_t m = phase->msg[ROTA_SEND];
         *may && !by_message && m < phase[1].msg[ROTA_SEND]; m++)
        ROTA_TRY(may_send(x, m, may));
    return MPI_SUCCESS;
}

/* ---- arrived ------------------------------------------------------------- */

static void note_arrival(const rota_exec *x, rota_block b)
{
    if (rota_block_arrives(x->blocks.s, b))
        atomic_store_explicit(
            &parts_of(x)->arrived[rota_block_slot(x->blocks.s, b)], true,
            memory_order_release);
}

static int arrived(rota_exec *x, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_RECV];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        note_arrival(x, l->item[i]);
    return MPI_SUCCESS;
}

static int copy_own(rota_exec *x, const rota_copy *k)
{
    ROTA_TRY(rota_block_copy(&x->blocks, k));
    note_arrival(x, k->to);
    return MPI_SUCCESS;
}

/* The gate makes all copies of own blocks, now or when they are ready. */
static int copy(rota_exec *x, const rota_copy *k, bool *taken)
{
    parts *const p = parts_of(x);

    *taken = is_own(x, k);
    if (*taken && is_ready(x, k->from))
        return copy_own(x, k);
    if (*taken)
        p->later[p->n_later++] = k;
    return MPI_SUCCESS;
}

static int leave(rota_exec *x, const rota_phase *phase)
{
    for (uint32_t c = phase->copy; c < phase[1].copy; c++)
        if (!is_own(x, &x->blocks.s->copy[c]))
            note_arrival(x, x->blocks.s->copy[c].to);
    return MPI_SUCCESS;
}

/* Copy own blocks that were not ready when it was their turn. */
static int copy_later(rota_exec *x)
{
    parts *const p = parts_of(x);

    for (uint32_t i = 0; i < p->n_later;) {
        const rota_copy *const k = p->later[i];
        if (!is_ready(x, k->from)) {
            i++;
            continue;
        }
        ROTA_TRY(copy_own(x, k));
        p->later[i] = p->later[--p->n_later];
    }
    return MPI_SUCCESS;
}

/* An exchange copies own blocks when it is complete. */
static bool own_is_ready(const rota_exec *x)
{
    const rota_sched *const s = x->blocks.s;

    for (int k = 0; k < rota_n_own(s); k++)
        if (!is_ready(x, rota_src(s, rota_own_block(s, k).send)))
            return false;
    return true;
}

static int end(rota_exec *x, bool *done)
{
    ROTA_TRY(copy_later(x));
    *done = parts_of(x)->n_later == 0 && own_is_ready(x);
    return MPI_SUCCESS;
}

/* ---- the gate ------------------------------------------------------------ */

/* Blocks without bytes are there, and nobody is told of them. */
static int begin(rota_exec *x)
{
    parts *const p = parts_of(x);
    const rota_sched *const s = x->blocks.s;

    for (int i = 0; i < s->n_send; i++)
        atomic_store_explicit(&p->ready[i], false, memory_order_relaxed);
    for (int i = 0; i < s->n_recv; i++) {
        p->told[i] = rota_cell_bytes(x->blocks.bytes[rota_dst(s, i)]) == 0;
        atomic_store_explicit(&p->arrived[i], p->told[i], memory_order_relaxed);
    }
    p->n_later = 0;
    p->starter = pthread_self();
    return MPI_SUCCESS;
}

/* A block that the run has not been told of, of those that it needs. */
static int held(const rota_exec *x)
{
    for (int i = 0; i < x->blocks.s->n_send; i++)
        if (!is_ready(x, rota_src(x->blocks.s, i)))
            return i;
    return -1;
}

static void release(rota_exec *x)
{
    parts *const p = parts_of(x);

    free(p->ready);
    free(p->arrived);
    free(p->told);
    free(p->by_message);
    free(p->later);
    free(p);
    x->gate = NULL;
}

/* Do all sends of a phase consist of blocks of the send buffer? Otherwise blocks may
 * take the places of others in the phase, and it must not begin too soon. */
static bool sends_own(const rota_sched *s, const rota_phase *phase)
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];

    for (uint32_t i = l->msg[phase->msg[ROTA_SEND]].first;
         i < l->msg[phase[1].msg[ROTA_SEND]].first; i++)
        if (rota_block_region(s, l->item[i]) != ROTA_SRC)
            return false;
    return true;
}

int rota_parts_make(rota_exec *x)
{
    const rota_sched *const s = x->blocks.s;
    parts *const p = calloc(1, sizeof *p);

    if (!p)
        return rota_fail_mem("the parts of a plan");
    p->gate = (rota_gate){.any_order = true,
                          .begin = begin,
                          .may_enter = may_enter,
                          .may_send = may_send,
                          .copy = copy,
                          .arrived = arrived,
                          .leave = leave,
                          .end = end,
                          .held = held,
                          .release = release};
    p->ready = calloc((size_t)s->n_send + 1, sizeof *p->ready);
    p->arrived = calloc((size_t)s->n_recv + 1, sizeof *p->arrived);
    p->told = calloc((size_t)s->n_recv + 1, sizeof *p->told);
    p->by_message = calloc((size_t)s->n_phases + 1, sizeof *p->by_message);
    p->later = calloc((size_t)s->n_recv + 1, sizeof *p->later);
    x->gate = &p->gate;
    if (!p->ready || !p->arrived || !p->told || !p->by_message || !p->later) {
        release(x);
        return rota_fail_mem("the parts of a plan");
    }
    for (int i = 0; i < s->n_recv; i++)
        p->told[i] = true;
    for (uint32_t i = 0; i < s->n_phases; i++)
        p->by_message[i] = sends_own(s, &s->phase[i]);
    return x->program.step ? rota_exec_gate(x) : MPI_SUCCESS;
}

/* ---- what the program says and asks -------------------------------------- */

int rota_parts_ready(rota_exec *x, int first, int last)
{
    parts *const p = parts_of(x);

    for (int i = first; i <= last; i++)
        if (atomic_exchange_explicit(&p->ready[i], true, memory_order_release))
            return rota_fail(MPI_ERR_ARG, "destination %d is ready already", i);
    return MPI_SUCCESS;
}

/* May this thread call MPI for the run? */
static bool may_get_on(const rota_exec *x)
{
    return rota_lock_is_multiple() ||
           pthread_equal(parts_of(x)->starter, pthread_self());
}

/* A block of this rank's own is copied now, while it is in the caches. An error is
 * found again where the run ends. */
void rota_parts_get_on(rota_exec *x)
{
    bool done;

    if (!may_get_on(x))
        return;
    rota_lock();
    if (copy_later(x) != MPI_SUCCESS)
        rota_fail_clear();
    rota_unlock();
    if (rota_lock_is_multiple())
        rota_exec_advance_all();
    else if (rota_exec_test(x, &done) != MPI_SUCCESS)
        rota_fail_clear();
}

bool rota_parts_arrived(const rota_exec *x, int i)
{
    return atomic_load_explicit(&parts_of(x)->arrived[i], memory_order_acquire);
}

typedef struct search {
    rota_exec *x;
    int found;
} search;

/* A block that has arrived and was not told of; -1 if there are only others that were
 * not, or MPI_UNDEFINED. */
static int look(const rota_exec *x)
{
    const parts *const p = parts_of(x);
    bool all = true;

    for (int i = 0; i < x->blocks.s->n_recv; i++) {
        if (!p->told[i] && rota_parts_arrived(x, i))
            return i;
        all = all && p->told[i];
    }
    return all ? MPI_UNDEFINED : -1;
}

/* A run that has failed brings no more, nor does one without memory for now. */
static int find(void *arg, bool *flag)
{
    search *const f = arg;

    f->found = look(f->x);
    *flag = f->found >= 0 || f->found == MPI_UNDEFINED;
    if (!*flag && rota_exec_is_active(f->x) && f->x->status.starved)
        return rota_fail(MPI_ERR_NO_MEM, "%s", f->x->status.text);
    return *flag || rota_exec_is_active(f->x)
               ? MPI_SUCCESS
               : rota_status_result(&f->x->status);
}

static void tell(rota_exec *x, int found, int *i)
{
    if (found >= 0)
        parts_of(x)->told[found] = true;
    *i = found;
}

void rota_parts_rest(rota_exec *x, int *i)
{
    const int found = look(x);

    tell(x, found < 0 ? MPI_UNDEFINED : found, i);
}

int rota_parts_wait(rota_exec *x, int *i)
{
    search f = {.x = x, .found = -1};
    _Static_assert(MPI_UNDEFINED < -1, "it is no block, and not -1");

    if (!may_get_on(x))
        return rota_fail(MPI_ERR_REQUEST,
                         "another thread has started the plan, and threads may "
                         "not call MPI (MPI_THREAD_MULTIPLE)");
    ROTA_TRY(rota_wait_until(find, &f));
    tell(x, f.found, i);
    return MPI_SUCCESS;
}
