/* active.c - see active.h. */
#include "exec/active.h"
#include "exec/run.h"
#include "exec/transport/lines.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

/* Under the lock. */
static rota_exec *active_list;
static int on_mpi;    /* active executors and waits that need MPI */
static int on_device; /* active executors that need copies of a device */
static int on_thread; /* those that the progress thread may move on */
static int asleep;    /* threads that are, or about to be, by the doorbell */
static unsigned polls_in_vain;

static _Atomic bool threaded;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

void rota_exec_set_threaded(void)
{
    threaded = true;
}

void rota_active_lock(void)
{
    if (atomic_load_explicit(&threaded, memory_order_relaxed))
        pthread_mutex_lock(&list_lock);
}

void rota_active_unlock(void)
{
    if (atomic_load_explicit(&threaded, memory_order_relaxed))
        pthread_mutex_unlock(&list_lock);
}

/* ---- the list ---------------------------------------------------------------- */

static void link_active(rota_exec *x)
{
    x->prev_active = NULL;
    x->next_active = active_list;
    if (active_list)
        active_list->prev_active = x;
    active_list = x;
    x->active = true;
    on_mpi += x->by_mpi;
    on_device += x->staging != NULL;
    on_thread += x->by_thread;
}

static void unlink_active(rota_exec *x)
{
    if (x->prev_active)
        x->prev_active->next_active = x->next_active;
    else
        active_list = x->next_active;
    if (x->next_active)
        x->next_active->prev_active = x->prev_active;
    x->active = false;
    on_mpi -= x->by_mpi;
    on_device -= x->staging != NULL;
    on_thread -= x->by_thread;
}

/* Go on as far as possible without waiting. Returns whether anything moved. */
static bool advance(rota_exec *x)
{
    x->moved = false;
    if (rota_run_advance(x))
        unlink_active(x);
    return x->moved;
}

/* ---- polling ------------------------------------------------------------------ */

/* Another rank may wait for a message of the user's that MPI has to see to
 * here, while plans call MPI seldom or, as long as they wait within the node
 * only, not at all. So it is called every so often: after so many polls or,
 * where a wait sleeps between them, so much time. */
static void let_mpi_work(bool idle)
{
    enum { POLLS = 64, IDLE_NS = 1000000 }; /* 250 us: 3 % at 16 ranks */
    static int64_t worked_ns;
    int flag;

    if (!active_list)
        return;
    if (++polls_in_vain % POLLS) {
        const int64_t now = idle ? rota_now_ns() : 0;
        if (!idle || now - worked_ns < IDLE_NS)
            return;
        worked_ns = now;
    }
    MPI_Iprobe(MPI_ANY_SOURCE, ROTA_TAG_NOTHING, active_list->comm, &flag,
               MPI_STATUS_IGNORE);
}

/* When this rank calls those it waits for, in nanoseconds: 0 while messages get
 * on, and after each call in vain twice as late. */
enum { FIRST_CALL_NS = 500000, MOST_CALL_NS = 8000000 };

static int64_t call_at_ns, call_after_ns;

/* Nothing gets on: the programs of the others may be anywhere. */
static void call_others(void)
{
    const bool first_look = call_at_ns == 0;
    const int64_t now = rota_now_ns();

    if (now < call_at_ns)
        return;
    for (rota_exec *x = first_look ? NULL : active_list; x; x = x->next_active)
        if (x->by_thread)
            rota_lines_call(x);
    if (first_look)
        call_after_ns = FIRST_CALL_NS;
    else if (call_after_ns < MOST_CALL_NS)
        call_after_ns *= 2;
    call_at_ns = now + call_after_ns;
}

/* Something has got on. Another thread may sleep whose flag is gone by this. */
static void note_progress(void)
{
    call_at_ns = 0;
    if (asleep > 0)
        rota_doorbell_wake(&rota_arena_own()->bell);
}

static void after_poll(bool moved, bool idle)
{
    enum { POLLS = 16 }; /* between two looks at the clock */
    static unsigned polls;

    if (moved) {
        note_progress();
        return;
    }
    let_mpi_work(idle);
    if (on_thread > 0 && (idle || ++polls % POLLS == 0))
        call_others();
}

static bool advance_all(bool idle)
{
    bool moved = false;

    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->next_active;
        moved = advance(x) || moved;
    }
    after_poll(moved, idle);
    return moved;
}

/* As far as it goes without MPI. */
static bool advance_shared(rota_exec *x)
{
    if (!x->by_mpi)
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
        next = x->next_active;
        if (x->by_thread)
            moved = advance_shared(x) || moved;
    }
    return moved;
}

/* Another thread that has the lock advances them itself. */
bool rota_active_help(bool *moved)
{
    enum { POLLS = 500 }; /* in vain; some 30 us */
    bool any = true;

    for (int vain = 0; any && vain < POLLS; vain++) {
        if (pthread_mutex_trylock(&list_lock) != 0)
            continue;
        any = on_thread > 0;
        if (advance_all_shared()) {
            *moved = true;
            vain = 0;
            note_progress();
        }
        rota_active_unlock();
    }
    return any;
}

/* ---- starting and testing ------------------------------------------------------- */

bool rota_active_start(rota_exec *x)
{
    rota_active_lock();
    link_active(x);
    advance(x);
    /* Once unlocked, another thread's test may finish it. */
    const bool active = x->active;
    rota_active_unlock();
    return active;
}

bool rota_active_test(const rota_exec *x)
{
    rota_active_lock();
    advance_all(false);
    const bool done = !x->active;
    rota_active_unlock();
    return done;
}

/* ---- waiting ------------------------------------------------------------------ */

/* Is MPI or a device waited for, which ring no doorbell? */
static bool is_silent(void)
{
    return on_mpi + on_device > 0;
}

/* Is only a node waited for, and by this thread alone? Its ranks may then wake it
 * together with others. */
static const rota_node *find_node(void)
{
    const rota_node *const node = active_list ? active_list->node : NULL;

    if (atomic_load_explicit(&threaded, memory_order_relaxed) || is_silent() ||
        !node || !node->word)
        return NULL;
    for (const rota_exec *x = active_list; x; x = x->next_active)
        if (!x->lines || x->node != node)
            return NULL;
    return node;
}

/* Have the doorbell rung when something active can get on. */
static void arm(rota_outlook *o)
{
    const rota_node *const node = find_node();
    int least = INT_MAX;

    for (rota_exec *x = active_list; x; x = x->next_active) {
        const int n = x->lines ? rota_lines_count(x) : 1;
        least = n < least ? n : least;
    }
    if (is_silent() || !active_list)
        least = 1;
    o->word = node ? rota_node_word(node, node->me) : NULL;
    o->bit = node ? rota_node_bit(node->me) : 0;
    o->armed_at = rota_doorbell_arm(o->bell, least, node ? node->word_name : 0);
    for (rota_exec *x = active_list; x; x = x->next_active)
        if (x->lines)
            rota_lines_await(x);
    rota_doorbell_fence();
}

/* What a wait is for. */
typedef struct condition {
    int (*done)(void *arg, bool *flag);
    void *arg;
} condition;

static int poll(void *arg, rota_outlook *o)
{
    const condition *const c = arg;

    rota_active_lock();
    asleep -= o->counted;
    o->bell = rota_arena_own() ? &rota_arena_own()->bell : NULL;
    if (o->arm && o->bell)
        arm(o);
    o->moved = advance_all(o->idle);
    const int err = c->done(c->arg, &o->done);
    o->silent = is_silent();
    o->alert = on_thread > 0;
    o->counted = !o->moved && o->arm && !o->done && err == MPI_SUCCESS;
    asleep += o->counted;
    rota_active_unlock();
    return err;
}

int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg)
{
    condition c = {done, arg};

    return rota_wait_for(poll, &c);
}

static int is_inactive(void *arg, bool *flag)
{
    const rota_exec *const x = arg;

    *flag = !x->active;
    return MPI_SUCCESS;
}

/* Often there is nothing to wait for any more. */
int rota_active_wait(rota_exec *x)
{
    return rota_active_test(x) ? MPI_SUCCESS : rota_wait_until(is_inactive, x);
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

static void count_on_mpi(int change)
{
    rota_active_lock();
    on_mpi += change;
    rota_active_unlock();
}

int rota_wait_requests(int n, MPI_Request request[])
{
    requests r = {.n = n, .request = request};

    count_on_mpi(1);
    const int err = rota_wait_until(test_requests, &r);
    count_on_mpi(-1);
    return err;
}
