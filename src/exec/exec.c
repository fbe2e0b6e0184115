/* exec.c - start, test and wait over a bound schedule. */
#include "exec/exec.h"
#include "exec/consensus.h"
#include "exec/flow.h"
#include "exec/late.h"
#include "exec/message.h"
#include "exec/move.h"
#include "exec/native.h"
#include "exec/shm.h"
#include "exec/staging.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

/* ---- active executors ---------------------------------------------------- */

static rota_exec *active_list;
static bool moving;   /* some message has got on in this poll */
static int on_mpi;    /* active executors and waits that need MPI */
static int on_device; /* active executors that need copies of a device */
static int on_thread; /* those that the progress thread may move on */
static int asleep;    /* threads that are, or about to be, by the bell */
static unsigned polls_in_vain;
static bool idle; /* a wait gives the processor up between polls */
static _Atomic bool threaded;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

void rota_exec_set_threaded(void)
{
    threaded = true;
}

static void lock(void)
{
    if (threaded)
        pthread_mutex_lock(&list_lock);
}

static void unlock(void)
{
    if (threaded)
        pthread_mutex_unlock(&list_lock);
}

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

static void finish(rota_exec *x, int err)
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
    x->err = err;
    x->err_text[0] = '\0';
    if (err != MPI_SUCCESS && rota_fail_text()) {
        snprintf(x->err_text, sizeof x->err_text, "%s", rota_fail_text());
        rota_fail_clear(); /* it may be another plan's call */
    }
    x->broken = x->broken || err != MPI_SUCCESS;
}

/* The result of a run that is over. */
static int result(const rota_exec *x)
{
    return x->err_text[0] ? rota_fail(x->err, "%s", x->err_text) : x->err;
}

/* ---- messages ------------------------------------------------------------ */

/* Without bytes there is nothing to post: the request is then null, which MPI
 * takes for complete. */
int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_wire *const w = &x->wire[dir][m];

    if (w->parcel)
        return rota_shm_post(x, dir, m);
    if (w->late)
        return rota_late_post(x, dir, m);
    if (dir == ROTA_SEND && w->packed)
        ROTA_TRY(rota_message_pack(x, m, x->area + w->stage));
    if (w->persistent)
        return MPI_Start(&x->request[dir][m]);
    const rota_payload p = rota_payload_of(x, dir, m);
    if (p.count == 0)
        return MPI_SUCCESS;
    return rota_payload_post(&p, dir, x->s->msgs[dir].msg[m].peer, x->tag,
                             x->comm, &x->request[dir][m]);
}

static int stage_up(rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->staging && dir == ROTA_RECV ? rota_staging_arrived(x, m)
                                          : MPI_SUCCESS;
}

static int complete(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_wire *const w = &x->wire[dir][m];

    if (dir == ROTA_RECV && w->packed)
        ROTA_TRY(rota_message_unpack(x, m, x->area + w->stage));
    return stage_up(x, dir, m);
}

int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    const rota_wire *const w = &x->wire[dir][m];
    int flag;

    if (w->parcel || w->late) {
        ROTA_TRY(w->parcel ? rota_shm_test(x, dir, m, &moving, done)
                           : rota_late_test(x, dir, m, done));
        moving = moving || *done;
        return *done ? stage_up(x, dir, m) : MPI_SUCCESS;
    }
    ROTA_TRY(MPI_Test(&x->request[dir][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    moving = moving || flag;
    return flag ? complete(x, dir, m) : MPI_SUCCESS;
}

static int make_copies(rota_exec *x, const rota_phase *phase)
{
    for (uint32_t c = phase->copy; c < phase[1].copy; c++) {
        const rota_copy *const k = &x->s->copy[c];
        bool taken = x->collect && rota_block_region(x->s, k->to) == ROTA_DST;
        if (x->staging && !taken)
            ROTA_TRY(rota_staging_copy(x, k, &taken));
        if (!taken)
            ROTA_TRY(rota_block_copy(x, k));
    }
    return MPI_SUCCESS;
}

/* ---- phases without a window --------------------------------------------- */

static bool may_send(rota_exec *x, uint32_t m, int *err)
{
    bool may = true;

    if (x->staging)
        *err = rota_staging_may_send(x, m, &may, &moving);
    return may && *err == MPI_SUCCESS;
}

/* In list order, as far as what they send is here. */
static int post_sends(rota_exec *x, const rota_phase *phase)
{
    int err = MPI_SUCCESS;

    while (x->posted < phase[1].msg[ROTA_SEND] && may_send(x, x->posted, &err))
        ROTA_TRY(rota_message_post(x, ROTA_SEND, x->posted++));
    return err;
}

static int post_all(rota_exec *x, const rota_phase *phase)
{
    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        ROTA_TRY(rota_message_post(x, ROTA_RECV, m));
    x->posted = phase->msg[ROTA_SEND];
    return post_sends(x, phase);
}

/* Testing in list order, each message until it is complete, costs one call a
 * poll however many there are: a call makes progress on all of them. */
static int poll_all(rota_exec *x, const rota_phase *phase, bool *done)
{
    bool carried = true;

    if (x->staging)
        ROTA_TRY(post_sends(x, phase));
    const uint32_t end[] = {
        [ROTA_RECV] = phase[1].msg[ROTA_RECV], [ROTA_SEND] = x->posted};
    if (x->shm)
        ROTA_TRY(rota_shm_serve(x, &moving, &carried));
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (; x->next[dir] < end[dir]; x->next[dir]++) {
            bool complete_now = false;
            if (x->wire[dir][x->next[dir]].parcel)
                continue;
            ROTA_TRY(rota_message_test(x, (rota_dir)dir, x->next[dir],
                                       &complete_now));
            if (!complete_now)
                return MPI_SUCCESS;
        }
    *done = carried && x->posted == phase[1].msg[ROTA_SEND];
    return MPI_SUCCESS;
}

/* ---- phases with a window ------------------------------------------------ */

/* A lane without a message. */
#define NO_MSG UINT32_MAX

static rota_dir lane_dir(const rota_exec *x, int lane)
{
    return lane < x->recv_lanes ? ROTA_RECV : ROTA_SEND;
}

/* Post the next message of the lane's direction that has bytes, if what it sends
 * is here. */
static int refill(rota_exec *x, const rota_phase *phase, int lane)
{
    const rota_dir dir = lane_dir(x, lane);
    int err = MPI_SUCCESS;

    x->lane[lane] = MPI_REQUEST_NULL;
    x->lane_msg[lane] = NO_MSG;
    while (x->next[dir] < phase[1].msg[dir]) {
        if (dir == ROTA_SEND && !may_send(x, x->next[dir], &err))
            break;
        const uint32_t m = x->next[dir]++;
        ROTA_TRY(rota_message_post(x, dir, m));
        if (x->request[dir][m] == MPI_REQUEST_NULL && !x->wire[dir][m].late &&
            !x->wire[dir][m].parcel)
            continue;
        x->lane[lane] = x->request[dir][m];
        x->lane_msg[lane] = m;
        x->in_flight++;
        break;
    }
    return err;
}

static int fill_lanes(rota_exec *x, const rota_phase *phase)
{
    int n[ROTA_N_DIRS];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t messages = phase[1].msg[dir] - phase->msg[dir];
        n[dir] =
            messages < (uint32_t)phase->window ? (int)messages : phase->window;
    }
    x->recv_lanes = n[ROTA_RECV];
    x->n_lanes = n[ROTA_RECV] + n[ROTA_SEND];
    x->in_flight = 0;
    for (int lane = 0; lane < x->n_lanes; lane++)
        ROTA_TRY(refill(x, phase, lane));
    return MPI_SUCCESS;
}

static int first_error(const MPI_Status status[], int n)
{
    for (int i = 0; i < n; i++)
        if (status[i].MPI_ERROR != MPI_SUCCESS &&
            status[i].MPI_ERROR != MPI_ERR_PENDING)
            return status[i].MPI_ERROR;
    return MPI_ERR_OTHER;
}

/* MPI has freed the ordinary requests among n completed lanes. */
static void forget_requests(rota_exec *x, int n)
{
    for (int i = 0; i < n; i++) {
        const int lane = x->lane_done[i];
        const rota_dir dir = lane_dir(x, lane);
        const uint32_t m = x->lane_msg[lane];
        if (!x->wire[dir][m].persistent)
            x->request[dir][m] = MPI_REQUEST_NULL;
    }
}

/* Messages that tell sizes take more than one request, one after the other,
 * those within the node take none, and lanes may wait for what they send. */
static int poll_each_lane(rota_exec *x, const rota_phase *phase, bool *done)
{
    for (int lane = 0; lane < x->n_lanes; lane++) {
        if (x->lane_msg[lane] == NO_MSG)
            ROTA_TRY(refill(x, phase, lane));
        while (x->lane_msg[lane] != NO_MSG) {
            bool complete_now = false;
            ROTA_TRY(rota_message_test(x, lane_dir(x, lane), x->lane_msg[lane],
                                       &complete_now));
            if (!complete_now)
                break;
            x->in_flight--;
            ROTA_TRY(refill(x, phase, lane));
        }
    }
    *done = x->in_flight == 0 && x->next[ROTA_SEND] == phase[1].msg[ROTA_SEND];
    return MPI_SUCCESS;
}

static int poll_lanes(rota_exec *x, const rota_phase *phase, bool *done)
{
    if (x->metadata != ROTA_META_ONCE || x->shm || x->staging)
        return poll_each_lane(x, phase, done);
    while (x->in_flight > 0) {
        int n = 0;
        const int err =
            MPI_Testsome(x->n_lanes, x->lane, &n, x->lane_done, x->lane_status);
        forget_requests(x, n);
        if (err != MPI_SUCCESS)
            return n > 0 ? first_error(x->lane_status, n) : err;
        if (n == 0)
            return MPI_SUCCESS;
        moving = true;
        for (int i = 0; i < n; i++) {
            const int lane = x->lane_done[i];
            x->in_flight--;
            ROTA_TRY(complete(x, lane_dir(x, lane), x->lane_msg[lane]));
            ROTA_TRY(refill(x, phase, lane));
        }
    }
    *done = true;
    return MPI_SUCCESS;
}

/* ---- a run --------------------------------------------------------------- */

static int enter_phase(rota_exec *x, const rota_phase *phase)
{
    x->entered = true;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        x->next[dir] = phase->msg[dir];
    if (phase->native)
        return rota_native_post(x, phase);
    if (phase->sparse && x->collect)
        return rota_consensus_post(x, phase);
    if (phase->flow)
        ROTA_TRY(rota_flow_post(x, phase));
    else
        ROTA_TRY(phase->window > 0 ? fill_lanes(x, phase) : post_all(x, phase));
    return make_copies(x, phase);
}

static int poll_phase(rota_exec *x, const rota_phase *phase, bool *done)
{
    if (phase->native) {
        int flag = 0;
        ROTA_TRY(MPI_Test(&x->native_request, &flag, MPI_STATUS_IGNORE));
        *done = flag;
        return MPI_SUCCESS;
    }
    if (phase->sparse && x->collect)
        return rota_consensus_test(x, done);
    if (phase->flow)
        return rota_flow_test(x, done);
    return phase->window > 0 ? poll_lanes(x, phase, done)
                             : poll_all(x, phase, done);
}

/* Go as far as possible without waiting. */
static int step(rota_exec *x, bool *done)
{
    while (x->phase < x->s->n_phases) {
        const rota_phase *const phase = &x->s->phase[x->phase];
        bool complete_phase = false;
        if (!x->entered && x->staging) {
            bool may = false;
            ROTA_TRY(rota_staging_may_enter(x, &may, &moving));
            if (!may)
                return MPI_SUCCESS;
        }
        if (!x->entered)
            ROTA_TRY(enter_phase(x, phase));
        ROTA_TRY(poll_phase(x, phase, &complete_phase));
        if (!complete_phase)
            return MPI_SUCCESS;
        if (x->staging)
            ROTA_TRY(rota_staging_leave(x));
        x->phase++;
        x->entered = false;
    }
    *done = true;
    return x->staging ? rota_staging_end(x, done, &moving) : MPI_SUCCESS;
}

static void advance(rota_exec *x)
{
    bool done = false;
    const int err = step(x, &done);

    rota_shm_flush(x);
    if (done || err != MPI_SUCCESS)
        finish(x, err);
}

/* Another rank may wait for a message of the user's that MPI has to see to
 * here, while plans call MPI seldom or, as long as they wait within the node
 * only, not at all. So it is called every so often: after so many polls or,
 * where a wait sleeps between them, so much time. */
static void let_mpi_work(void)
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
            rota_shm_call(x);
    if (first_look)
        call_after_ns = FIRST_CALL_NS;
    else if (call_after_ns < MOST_CALL_NS)
        call_after_ns *= 2;
    call_at_ns = now + call_after_ns;
}

/* Something has got on. Another thread may sleep whose mark is gone by this. */
static void note_progress(void)
{
    call_at_ns = 0;
    if (asleep > 0)
        rota_bell_wake(&rota_arena_own()->bell);
}

static void after_poll(void)
{
    enum { POLLS = 16 }; /* between two looks at the clock */
    static unsigned polls;

    if (moving) {
        note_progress();
        return;
    }
    let_mpi_work();
    if (on_thread > 0 && (idle || ++polls % POLLS == 0))
        call_others();
}

static void advance_all(void)
{
    moving = false;
    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->next_active;
        advance(x);
    }
    after_poll();
}

/* As far as it goes without MPI. */
static void advance_shared(rota_exec *x)
{
    bool done = false;

    if (!x->by_mpi) {
        advance(x);
        return;
    }
    const int err = rota_shm_serve(x, &moving, &done);
    rota_shm_flush(x);
    if (err != MPI_SUCCESS)
        finish(x, err);
}

static void advance_all_shared(void)
{
    moving = false;
    for (rota_exec *x = active_list, *next; x; x = next) {
        next = x->next_active;
        if (x->by_thread)
            advance_shared(x);
    }
}

/* Another thread that has the lock advances them itself. */
bool rota_exec_help(bool *moved)
{
    enum { POLLS = 500 }; /* in vain; some 30 us */
    bool any = true;

    for (int vain = 0; any && vain < POLLS; vain++) {
        if (pthread_mutex_trylock(&list_lock) != 0)
            continue;
        any = on_thread > 0;
        advance_all_shared();
        if (moving) {
            *moved = true;
            vain = 0;
            note_progress();
        }
        unlock();
    }
    return any;
}

/* In place: what is to be sent lies where data will arrive. */
static int stage_in(rota_exec *x)
{
    for (int d = 0; d < x->s->P; d++) {
        const rota_block to = rota_src(x->s, d), from = rota_dst(x->s, d);
        if (x->bytes[to] > 0)
            ROTA_TRY(rota_block_pack(x, from, rota_block_at(x, to)));
    }
    return MPI_SUCCESS;
}

void rota_exec_note(rota_exec *x, rota_note note, int peer, size_t sent,
                    size_t expected)
{
    if (x->note != ROTA_NOTHING &&
        (x->note != note || note != ROTA_ABOVE_BOUND || sent <= x->note_sent))
        return;
    x->note = note;
    x->note_peer = peer;
    x->note_sent = sent;
    x->note_expected = expected;
}

int rota_exec_start(rota_exec *x)
{
    if (x->broken)
        return rota_fail(MPI_ERR_OTHER, "a message of an earlier run failed; "
                                        "the plan can only be freed");
    if (x->stage_in)
        ROTA_TRY(stage_in(x));
    if (x->shm)
        rota_shm_begin(x);
    if (x->staging)
        ROTA_TRY(rota_staging_begin(x));
    x->phase = 0;
    x->entered = false;
    x->err = MPI_SUCCESS;
    lock();
    link_active(x);
    advance(x);
    /* Once unlocked, another thread's test may finish it. */
    const int err = x->active ? MPI_SUCCESS : result(x);
    unlock();
    return err;
}

int rota_exec_test(rota_exec *x, bool *done)
{
    lock();
    advance_all();
    *done = !x->active;
    unlock();
    return *done ? result(x) : MPI_SUCCESS;
}

/* ---- waiting ------------------------------------------------------------- */

/* Polls before the processor is given up, where every rank has a core of its
 * own and where not. */
enum { SPINS = 10000, SPINS_CROWDED = 0 };

static int spins = SPINS;

void rota_wait_set_crowded(void)
{
    spins = SPINS_CROWDED;
}

/* Yields before sleeps, and how long those are where MPI is waited for: never
 * shorter than some 60 us. */
enum { YIELDS = 2000, NAP_NS = 20000 };

/* Where only ranks of the node are waited for they end the sleep when they have
 * something. Its limit is for what MPI has to do meanwhile. A limit below the
 * kernel's tick of 4 ms or so has a timer set and taken off again, which makes a
 * switch take twice as long; so it is that, and less for some time after it was
 * reached. */
enum { SLEEP_NS = 4000000, WARY_SLEEP_NS = 500000, WARY = 16 };

static _Atomic int wary; /* sleeps until the limit is the longer one again */

static rota_yields own_yields;
static rota_yields *yields = &own_yields; /* heeded */
static int64_t yielded_ns;                /* how long yields went well */

void rota_wait_share(rota_yields *shared)
{
    lock();
    yields = shared ? shared : &own_yields;
    unlock();
}

int64_t rota_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How one wait goes on. */
typedef struct patience {
    int n; /* polls in vain */
    bool armed;
    uint32_t armed_at;     /* of the bell */
    const rota_node *node; /* by whose gong it sleeps, or NULL */
    bool asleep;           /* counted as such */
    bool unrung;           /* as is_unrung says */
    bool may_call; /* progress threads may have to be called meanwhile */
} patience;

/* Is MPI or a device waited for, which ring no bell? */
static bool is_unrung(void)
{
    return on_mpi + on_device > 0;
}

/* Is only a node waited for, and by this thread alone? Its ranks may then wake it
 * together with others. */
static const rota_node *find_node(void)
{
    const rota_node *const node = active_list ? active_list->node : NULL;

    if (threaded || is_unrung())
        return NULL;
    for (const rota_exec *x = active_list; x; x = x->next_active)
        if (!x->shm || x->node != node)
            return NULL;
    return node;
}

/* Have the bell rung when something active can get on. */
static void arm_bell(patience *p)
{
    bool takes = false;
    int least = INT_MAX;

    for (rota_exec *x = active_list; x; x = x->next_active) {
        const int n = x->shm ? rota_shm_await(x, &takes) : 1;
        least = n < least ? n : least;
    }
    if (is_unrung() || !active_list)
        least = 1;
    p->node = find_node();
    p->armed_at = rota_bell_arm(&rota_arena_own()->bell, least, takes,
                                p->node ? p->node->gong_name : 0);
    for (rota_exec *x = active_list; x; x = x->next_active)
        if (x->shm)
            rota_shm_mark(x);
    rota_bell_fence();
}

static bool sleep_until(const patience *p, long ns)
{
    rota_bell *const bell = &rota_arena_own()->bell;
    const rota_node *const node = p->node;

    return node ? rota_gong_sleep(rota_node_gong(node, node->me),
                                  rota_node_seat(node->me), bell, ns)
                : rota_bell_sleep(bell, p->armed_at, ns);
}

static void sleep_armed(const patience *p)
{
    const long limit = wary > 0 || p->may_call ? WARY_SLEEP_NS : SLEEP_NS;

    if (p->unrung)
        sleep_until(p, NAP_NS);
    else if (!sleep_until(p, limit) &&
             rota_bell_is_armed(&rota_arena_own()->bell))
        wary = WARY;
    else if (wary > 0)
        wary--;
}

/* The first call has the bell armed, and there is one more poll before the
 * second one sleeps. */
static void doze(patience *p)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NS};

    if (!rota_arena_own()) {
        nanosleep(&nap, NULL);
        return;
    }
    if (p->armed)
        sleep_armed(p);
    p->armed = !p->armed;
}

static bool may_yield(int64_t now)
{
    lock();
    const bool pays = rota_yields_pay(yields, now);
    if (!pays)
        yielded_ns = 0;
    unlock();
    return pays;
}

/* Yield if that is worth while at present. */
static bool yield(void)
{
    const int64_t from = rota_now_ns();

    if (!may_yield(from))
        return false;
    sched_yield();
    const int64_t to = rota_now_ns();
    lock();
    rota_yields_note(yields, from, to, &yielded_ns);
    unlock();
    return true;
}

/* Give way to others after a poll in vain. */
static void give_way(patience *p)
{
    if (p->n < spins) {
        p->n++;
    } else if (p->n < spins + YIELDS && yield()) {
        p->n++;
        p->armed = false;
    } else {
        doze(p);
    }
}

int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg)
{
    for (patience p = {0};;) {
        bool flag = false;
        lock();
        asleep -= p.asleep;
        if (p.armed)
            arm_bell(&p);
        idle = p.n >= spins;
        advance_all();
        idle = false;
        const int err = done(arg, &flag);
        const bool waited = !moving;
        const bool ends = flag || err != MPI_SUCCESS;
        p.unrung = is_unrung();
        p.may_call = on_thread > 0;
        p.asleep = waited && p.armed && !ends;
        asleep += p.asleep;
        unlock();
        if (ends)
            return err;
        if (waited)
            give_way(&p);
        else
            p = (patience){0};
    }
}

static int is_inactive(void *arg, bool *flag)
{
    const rota_exec *const x = arg;

    *flag = !x->active;
    return MPI_SUCCESS;
}

int rota_exec_wait(rota_exec *x)
{
    ROTA_TRY(rota_wait_until(is_inactive, x));
    return result(x);
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
    lock();
    on_mpi += change;
    unlock();
}

int rota_wait_requests(int n, MPI_Request request[])
{
    requests r = {.n = n, .request = request};

    count_on_mpi(1);
    const int err = rota_wait_until(test_requests, &r);
    count_on_mpi(-1);
    return err;
}
