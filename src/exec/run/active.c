/* active.c - see active.h. */
#define _GNU_SOURCE /* for sched_getcpu */
#include "exec/run/active.h"
#include "exec/move/lock.h"
#include "exec/move/polling.h"
#include "exec/move/trace.h"
#include "exec/run/run.h"
#include "exec/run/stall.h"
#include "exec/run/waiting.h"

#include <limits.h>
#include <sched.h>

/* The following are guarded by the lock. */
static rota_exec *active_list;
static int on_others; /* active executors and waits that need MPI or a gate,
                         neither of which rings a doorbell */
static int on_thread; /* executors that the progress thread may advance */
static int asleep;    /* threads that sleep by the doorbell, or are about to */
static unsigned polls_in_vain;
static int64_t vain_since_ns; /* when things last moved; 0: not known yet */
static unsigned checks;       /* how often dead processes were looked for */

/* ---- the list ------------------------------------------------------------ */

/* May it wait for MPI or a gate? */
static bool needs_others(const rota_exec *x)
{
    return x->program.by_mpi | (x->gate != NULL);
}

static void link_active(rota_exec *x)
{
    x->run.prev = NULL;
    x->run.next = active_list;
    if (active_list)
        active_list->run.prev = x;
    active_list = x;
    x->run.number++;
    x->run.by_mpi = x->program.by_mpi;
    x->run.waits_for_others = needs_others(x);
    on_others += x->run.waits_for_others;
    on_thread += x->by_thread;
}

/* MPI may have to carry a message that another path was to carry. */
ROTA_RARE static void count_again(rota_exec *x)
{
    x->run.by_mpi = x->program.by_mpi;
    on_others += needs_others(x) - x->run.waits_for_others;
    x->run.waits_for_others = needs_others(x);
}

static void unlink_active(rota_exec *x)
{
    if (x->run.prev)
        x->run.prev->run.next = x->run.next;
    else
        active_list = x->run.next;
    if (x->run.next)
        x->run.next->run.prev = x->run.prev;
    x->run.number++;
    on_others -= x->run.waits_for_others;
    on_thread -= x->by_thread;
}

/* Advance x as far as possible without waiting. Returns whether anything
 * moved. As a call of its own it would take 20 instructions more. */
__attribute__((always_inline)) static inline bool advance(rota_exec *x)
{
    x->moved = false;
    const bool over = rota_run_advance(x);
    if (x->program.by_mpi != x->run.by_mpi)
        count_again(x);
    if (over)
        unlink_active(x);
    return x->moved;
}

/* ---- polling ------------------------------------------------------------- */

/* Call MPI now and then. Another rank may wait for a message of the user's on
 * which MPI has to work here, and plans call MPI seldom, or never if they wait
 * within the node only. A call is made every so many polls or, where a wait
 * sleeps between polls, every so often. */
static void let_mpi_work(bool often, int64_t now)
{
    enum { IDLE_NS = 1000000 }; /* 250 us: 3 % at 16 ranks */
    static int64_t worked_ns;
    int flag;

    if (!active_list || !rota_polling_may_progress())
        return;
    if (!often) {
        if (now - worked_ns < IDLE_NS)
            return;
        worked_ns = now;
    }
    MPI_Iprobe(MPI_ANY_SOURCE, ROTA_TAG_NOTHING, active_list->comm, &flag,
               MPI_STATUS_IGNORE);
}

/* When this rank next calls those it waits for, in nanoseconds; 0: messages get
 * on. The first call comes after FIRST_CALL_NS; later intervals double. */
enum { FIRST_CALL_NS = 500000, MOST_CALL_NS = 8000000 };

static int64_t call_at_ns, call_after_ns;

/* Nothing moves. The ranks waited for may be busy outside Rota: call their
 * progress threads. */
static void call_others(void)
{
    const bool first_look = call_at_ns == 0;
    const int64_t now = rota_now_ns();

    if (now < call_at_ns)
        return;
    for (rota_exec *x = first_look ? NULL : active_list; x; x = x->run.next)
        for (int i = 0; x->by_thread && i < ROTA_N_PATHS; i++)
            if (x->path[i] && rota_paths[i]->call)
                rota_paths[i]->call(x);
    if (first_look)
        call_after_ns = FIRST_CALL_NS;
    else if (call_after_ns < MOST_CALL_NS)
        call_after_ns *= 2;
    call_at_ns = now + call_after_ns;
}

/* Something moved. Wake the threads that sleep here: the flag that one waits
 * for may be gone now. */
static void note_progress(void)
{
    call_at_ns = 0;
    vain_since_ns = 0;
    if (asleep > 0)
        rota_doorbell_wake(&rota_arena_own()->bell);
}

/* Fail the executors that wait for a process that has died. */
static void check_peers(void)
{
    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->run.next;
        const int err = rota_stall_check(x);
        if (err == MPI_SUCCESS)
            continue;
        rota_status_fail(&x->status, err);
        unlink_active(x);
    }
}

/* Look for stalls, once a second. x: the executor waited for, or NULL. If the
 * process has not polled for a second, it was not waiting, and time starts
 * anew. */
static void look_for_stalls(const rota_exec *x, const rota_meeting *m,
                            int64_t now)
{
    enum { SECOND = 1000000000 };
    static int64_t looked_ns, checked_ns;

    if (vain_since_ns == 0 || now - looked_ns > SECOND)
        vain_since_ns = checked_ns = now;
    looked_ns = now;
    if (now - checked_ns < SECOND)
        return;
    checked_ns = now;
    rota_stall_tell(x || m ? x : active_list, m, now, now - vain_since_ns);
    check_peers();
    checks++;
}

/* What to do after a poll. x: the executor waited for. The clock is read only
 * if there is time to spare. */
static void after_poll(const rota_exec *x, const rota_meeting *m, bool moved,
                       bool idle)
{
    enum { POLLS = 64, CALL_POLLS = 16 };

    if (moved) {
        note_progress();
        return;
    }
    const bool often = ++polls_in_vain % POLLS == 0;
    const int64_t now = idle || often ? rota_now_ns() : 0;
    if (now > 0) {
        let_mpi_work(often, now);
        look_for_stalls(x, m, now);
    }
    if (on_thread > 0 && (idle || polls_in_vain % CALL_POLLS == 0))
        call_others();
}

static bool advance_all(const rota_exec *waited, const rota_meeting *m,
                        bool idle)
{
    bool moved = false;

    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->run.next;
        moved = advance(x) || moved;
    }
    after_poll(waited, m, moved, idle);
    return moved;
}

/* Advance x as far as this thread may: without MPI, unless any thread may call
 * it. */
static bool advance_shared(rota_exec *x)
{
    if (!x->program.by_mpi || rota_lock_is_multiple())
        return advance(x);
    x->moved = false;
    if (rota_run_help(x))
        unlink_active(x);
    return x->moved;
}

static bool advance_all_shared(void)
{
    bool moved = false;

    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->run.next;
        if (x->by_thread)
            moved = advance_shared(x) || moved;
    }
    return moved;
}

static rota_help what_is_left(void)
{
    if (on_thread == 0)
        return ROTA_HELP_NONE;
    return rota_lock_is_multiple() && on_others > 0 ? ROTA_HELP_SILENT
                                                    : ROTA_HELP_CALLED;
}

/* If another thread has the lock, it advances the executors itself. */
rota_help rota_active_help(bool *moved)
{
    enum {
        POLLS = 500,
        MPI_POLLS = 20
    }; /* polls in vain before it gives up; some 30 us */
    rota_help left = ROTA_HELP_CALLED;

    for (int vain = 0;
         left && vain < (left == ROTA_HELP_SILENT ? MPI_POLLS : POLLS);
         vain++) {
        if (!rota_lock_try())
            continue;
        left = what_is_left();
        if (advance_all_shared()) {
            *moved = true;
            vain = 0;
            note_progress();
        }
        rota_unlock();
    }
    return left;
}

/* ---- starting and testing ------------------------------------------------ */

int rota_exec_start(rota_exec *x)
{
    if (x->status.broken)
        return rota_status_refuse();
    if (x->program.prepare)
        ROTA_TRY(x->program.prepare(x));
    x->step = x->program.step; /* not entered, as at the end of a run */
    x->status.err = MPI_SUCCESS;
    rota_lock();
    link_active(x);
    advance(x);
    /* Read now: once the lock is free, another thread's test may finish the
     * run. */
    const uint32_t number = x->run.number;
    rota_unlock();
    return number % 2 == 1 ? MPI_SUCCESS : rota_status_result(&x->status);
}

/* The state of a run; STARVED: out of memory, to be tried again. */
typedef enum standing { UNDER_WAY, STARVED, OVER } standing;

static standing standing_of(const rota_exec *x)
{
    if (!rota_exec_is_active(x))
        return OVER;
    return x->status.starved ? STARVED : UNDER_WAY;
}

/* Advance all executors. Returns the state of x. */
static standing test(const rota_exec *x)
{
    rota_lock();
    advance_all(x, NULL, false);
    const standing found = standing_of(x);
    rota_unlock();
    return found;
}

static int conclude(const rota_exec *x, standing standing, bool *done)
{
    *done = standing == OVER;
    if (*done)
        return rota_status_result(&x->status);
    return standing == STARVED ? rota_fail(MPI_ERR_NO_MEM, "%s", x->status.text)
                               : MPI_SUCCESS;
}

int rota_exec_test(rota_exec *x, bool *done)
{
    return conclude(x, test(x), done);
}

bool rota_exec_advance_all(void)
{
    if (!rota_lock_try())
        return false;
    advance_all(NULL, NULL, false);
    rota_unlock();
    return true;
}

void rota_exec_advance_within_mpi(rota_tells *tells)
{
    rota_polling_tells = tells;
    advance_all(NULL, NULL, false);
    rota_polling_tells = NULL;
}

/* ---- waiting ------------------------------------------------------------- */

/* The node, if this process waits for nothing but its ranks, and in one thread
 * only. They may then wake it together with others, by a shared wake word. */
static const rota_node *find_node(void)
{
    const rota_node *const node = active_list ? active_list->shared : NULL;

    if (rota_lock_is_threaded() || on_others > 0 || !node || !node->word)
        return NULL;
    for (const rota_exec *x = active_list; x; x = x->run.next)
        if (x->shared != node)
            return NULL;
    return node;
}

/* The least number of processes that must ring before x can move on, as far as
 * paths know. */
static int count_awaited(rota_exec *x)
{
    int least = INT_MAX;

    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->count) {
            const int n = rota_paths[i]->count(x);
            least = n < least ? n : least;
        }
    return least < INT_MAX ? least : 1;
}

/* Arm the doorbell: ranks ring it when an active executor can move on. */
static void arm(rota_outlook *o)
{
    const rota_node *const node = find_node();
    int least = INT_MAX;

    for (rota_exec *x = active_list; x; x = x->run.next) {
        const int n = count_awaited(x);
        least = n < least ? n : least;
    }
    if (on_others > 0 || !active_list)
        least = 1;
    o->word = node ? rota_node_word(node, node->me) : NULL;
    o->bit = node ? rota_node_bit(node->me) : 0;
    o->armed_at = rota_doorbell_arm(o->bell, least, node ? node->word_name : 0);
    for (rota_exec *x = active_list; x; x = x->run.next)
        for (int i = 0; i < ROTA_N_PATHS; i++)
            if (x->path[i] && rota_paths[i]->mark)
                rota_paths[i]->mark(x);
    rota_doorbell_fence();
}

/* What a wait waits for. */
typedef struct condition {
    int (*done)(void *arg, bool *flag);
    void *arg;
    const rota_exec *x; /* executor waited for; NULL: none in particular */
    const rota_meeting *meeting; /* whose ranks may not die; or NULL */
    unsigned checks;             /* as of the last look at them */
} condition;

/* Keep the number of sleepers, which other ranks may read. */
static void count_asleep(int change)
{
    asleep += change;
    if (change && rota_arena_own())
        atomic_store_explicit(&rota_arena_own()->sleepers, asleep,
                              memory_order_relaxed);
}

static int check_meeting(condition *c)
{
    if (!c->meeting || c->checks == checks)
        return MPI_SUCCESS;
    c->checks = checks;
    return rota_stall_check_meeting(c->meeting);
}

/* Might x, which waits, go on sooner if other ranks had this core? Tells them which
 * one this is. */
static bool wants_core(const rota_exec *x)
{
    rota_arena_head *const own = rota_arena_own();

    if (!x || !x->shared || !own || !x->entered || !x->step->kind->wants_core)
        return true;
    const int core = 1 + sched_getcpu();
    if (atomic_load_explicit(&own->core, memory_order_relaxed) != core)
        atomic_store_explicit(&own->core, core, memory_order_relaxed);
    return x->step->kind->wants_core(x, x->step, core);
}

static int poll(void *arg, rota_outlook *o)
{
    condition *const c = arg;

    rota_lock();
    count_asleep(-(int)o->counted);
    o->bell = rota_arena_own() ? &rota_arena_own()->bell : NULL;
    if (o->arm && o->bell)
        arm(o);
    o->moved = advance_all(c->x, c->meeting, o->idle);
    int err = c->done(c->arg, &o->done);
    if (o->done)
        vain_since_ns = 0;
    else if (err == MPI_SUCCESS)
        err = check_meeting(c);
    o->elsewhere = o->idle && !o->moved && !o->done && !wants_core(c->x);
    o->silent = on_others > 0;
    o->alert = on_thread > 0;
    o->meets = c->meeting != NULL;
    o->counted = !o->moved && o->arm && !o->done && err == MPI_SUCCESS;
    count_asleep(o->counted);
    rota_unlock();
    return err;
}

int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg)
{
    condition c = {.done = done, .arg = arg};

    return rota_wait_for(poll, &c);
}

typedef struct ending {
    const rota_exec *x;
    standing standing;
} ending;

static int has_ended(void *arg, bool *flag)
{
    ending *const e = arg;

    e->standing = standing_of(e->x);
    *flag = e->standing != UNDER_WAY;
    return MPI_SUCCESS;
}

/* Test first: often the run is over already. */
int rota_exec_await(rota_exec *x, bool *done)
{
    const standing now = test(x);

    if (now != UNDER_WAY)
        return conclude(x, now, done);
    ending e = {x, now};
    *done = true;
    ROTA_TRY(rota_wait_for(poll, &(condition){has_ended, &e, x, NULL, 0}));
    return conclude(x, e.standing, done);
}

/* Does x run by itself, so that it is listed only if it has to wait? */
static inline bool is_alone(const rota_exec *x)
{
    return !active_list && !rota_lock_is_threaded() && !needs_others(x);
}

int rota_exec_run(rota_exec *x, bool *done)
{
    *done = true;
    if (x->status.broken)
        return rota_status_refuse();
    if (x->program.prepare)
        ROTA_TRY(x->program.prepare(x));
    x->step = x->program.step;
    x->status.err = MPI_SUCCESS;
    rota_lock();
    if (is_alone(x) &&
        (rota_run_advance(x) || (x->entered && rota_run_advance(x)))) {
        x->run.number += 2;
        note_progress();
        /* Without threads nothing is locked. */
        return rota_status_result(&x->status);
    }
    link_active(x);
    if (!x->entered)
        advance(x);
    const standing now = standing_of(x);
    rota_unlock();
    return now == UNDER_WAY ? rota_exec_await(x, done) : conclude(x, now, done);
}

int rota_exec_wait(rota_exec *x)
{
    for (;;) {
        bool done;
        const int err = rota_exec_await(x, &done);
        if (done)
            return err;
        rota_fail_clear();
    }
}

typedef struct requests {
    int n, next;
    MPI_Request *request;
} requests;

static int test_requests(void *arg, bool *flag)
{
    requests *const r = arg;

    for (; r->next < r->n; r->next++) {
        int complete_now;
        ROTA_TRY(
            MPI_Test(&r->request[r->next], &complete_now, MPI_STATUS_IGNORE));
        if (!complete_now)
            return MPI_SUCCESS;
    }
    *flag = true;
    return MPI_SUCCESS;
}

/* Returns how often dead processes were looked for by then. */
static unsigned count_on_others(int change)
{
    rota_lock();
    on_others += change;
    const unsigned so_far = checks;
    rota_unlock();
    return so_far;
}

/* A receive that MPI has begun already goes on. */
static void cancel(int n, MPI_Request request[])
{
    for (int i = 0; i < n; i++) {
        if (request[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(&request[i]);
        MPI_Request_free(&request[i]);
    }
}

int rota_wait_requests(const rota_meeting *m, int n_recvs, int n,
                       MPI_Request request[])
{
    requests r = {.n = n, .request = request};
    condition c = {.done = test_requests, .arg = &r, .meeting = m};

    int err = rota_stall_recall_meeting(m);
    if (err == MPI_SUCCESS) {
        c.checks = count_on_others(1);
        err = rota_wait_for(poll, &c);
        count_on_others(-1);
    }
    if (err != MPI_SUCCESS)
        cancel(n_recvs, request);
    return err;
}
