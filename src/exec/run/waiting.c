/* waiting.c - see waiting.h. */
#include "exec/run/waiting.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

/* Polls before a waiter gives up the processor, where every rank has a core of
 * its own and where not. Beside other processes two such ranks may be on one core
 * all the same, and then each would wait in vain until the other's polls are over;
 * so there are fewer, at least FEWEST, after yields that have helped. */
enum { SPINS = 10000, FEWEST = 20, SPINS_CROWDED = 0 };

/* Polls before a waiter whom only ranks of other cores can help gives up its own: for
 * about as long as a switch to another process and back takes. */
enum { SPINS_ELSEWHERE = 20 };

/* Yields before a waiter sleeps. Where every rank has a core of its own they take
 * longer than the turn of a busy process on another rank's core, some 4 ms: that rank
 * would find everyone asleep when its own turn comes, wait for them to wake, and give
 * way again. */
enum { YIELDS = 30000, YIELDS_CROWDED = 2000 };

/* How long it sleeps where nobody rings: in fact at least 60 us. */
enum { NAP_NS = 20000 };

/* Longest sleep by a doorbell: MPI needs attention meanwhile. With limits below
 * the kernel's tick of about 4 ms, a process switch takes twice as long, since
 * a timer is set and cancelled. So the limit is a tick, and shorter for a while
 * after a sleep has reached it. */
enum { SLEEP_NS = 4000000, WARY_SLEEP_NS = 500000, WARY = 16 };

static _Atomic int spins = SPINS;
static _Atomic int wary; /* sleeps left with the shorter limit */
static rota_yields own_yields;

/* The following are guarded by yields_lock. */
static rota_yields *yields = &own_yields; /* the words that waits follow */
static int64_t yielded_ns;                /* how long yields have gone well */
static pthread_mutex_t yields_lock = PTHREAD_MUTEX_INITIALIZER;

/* The state of one wait. */
typedef struct patience {
    int n;         /* polls in vain */
    int elsewhere; /* and those made for ranks of other cores */
    bool yielded;  /* for the first time, just now */
    rota_outlook o;
} patience;

void rota_wait_set_crowded(void)
{
    atomic_store(&spins, SPINS_CROWDED);
}

void rota_wait_share(rota_yields *shared)
{
    pthread_mutex_lock(&yields_lock);
    yields = shared ? shared : &own_yields;
    pthread_mutex_unlock(&yields_lock);
}

bool rota_wait_is_first(int64_t now_ns, int64_t ns)
{
    pthread_mutex_lock(&yields_lock);
    int64_t told = atomic_load(&yields->told_ns);
    const bool first =
        (told == 0 || now_ns - told >= ns) &&
        atomic_compare_exchange_strong(&yields->told_ns, &told, now_ns);
    pthread_mutex_unlock(&yields_lock);
    return first;
}

static bool sleep_until(const rota_outlook *o, long ns)
{
    return o->word ? rota_wake_word_sleep(o->word, o->bit, o->bell, ns)
                   : rota_doorbell_sleep(o->bell, o->armed_at, ns);
}

static void sleep_armed(const rota_outlook *o)
{
    const long limit = wary > 0 || o->alert ? WARY_SLEEP_NS : SLEEP_NS;

    if (o->silent)
        sleep_until(o, NAP_NS);
    else if (!sleep_until(o, limit) && rota_doorbell_is_armed(o->bell))
        wary = WARY;
    else if (wary > 0)
        wary--;
}

/* Every other call sleeps: the one before asks for an armed doorbell, so that a
 * poll comes between. */
static void doze(rota_outlook *o)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = NAP_NS};

    if (!o->bell) {
        nanosleep(&nap, NULL);
        return;
    }
    if (o->arm)
        sleep_armed(o);
    o->arm = !o->arm;
}

static bool may_yield(int64_t now)
{
    pthread_mutex_lock(&yields_lock);
    const bool pays = rota_yields_pay(yields, now);
    if (!pays)
        yielded_ns = 0;
    pthread_mutex_unlock(&yields_lock);
    return pays;
}

/* Yield, if yields pay at present. Returns how long it took, -1 if it did not. */
static int64_t yield(void)
{
    const int64_t from = rota_now_ns();

    if (!may_yield(from))
        return -1;
    sched_yield();
    const int64_t to = rota_now_ns();
    pthread_mutex_lock(&yields_lock);
    rota_yields_note(yields, from, to, &yielded_ns);
    pthread_mutex_unlock(&yields_lock);
    return to - from;
}

/* If the first yield of a wait has helped, and was short, whom this rank waits for
 * had no other core; else the next waits poll for longer again. */
static void adapt_spins(bool helped)
{
    enum { TIMES = 4 };
    int polls = atomic_load_explicit(&spins, memory_order_relaxed);

    if (polls == SPINS_CROWDED)
        return;
    const int next = helped ? polls / TIMES : polls * TIMES;
    atomic_compare_exchange_strong(&spins, &polls,
                                   next < FEWEST  ? FEWEST
                                   : next > SPINS ? SPINS
                                                  : next);
}

static bool give_core(patience *p, bool is_first)
{
    enum { SHORT_NS = 500000 };
    const int64_t took = yield();

    p->yielded = is_first && took >= 0 && took < SHORT_NS;
    if (is_first && took < 0)
        adapt_spins(false); /* to sleep takes longer than to poll */
    return took >= 0;
}

/* Give way to other processes after a poll in vain. Where ranks that share cores make
 * a plan, they compute between their messages. Ranks that yielded meanwhile would
 * still take their share of the core, which is most of it. */
static void give_way(patience *p)
{
    const int polls = atomic_load_explicit(&spins, memory_order_relaxed);
    const bool crowded = polls == SPINS_CROWDED;
    const int most = crowded ? YIELDS_CROWDED : YIELDS;

    if (p->n < polls) {
        p->n++;
    } else if (p->o.elsewhere && p->elsewhere < SPINS_ELSEWHERE) {
        p->elsewhere++;
    } else if (p->n < polls + most && !(crowded && p->o.meets) &&
               give_core(p, p->n == polls)) {
        p->n++;
        p->o.arm = false;
    } else {
        doze(&p->o);
    }
}

int rota_wait_for(int (*poll)(void *arg, rota_outlook *o), void *arg)
{
    patience p = {0};

    for (;;) {
        p.o.idle = p.n >= atomic_load_explicit(&spins, memory_order_relaxed);
        const int err = poll(arg, &p.o);
        if (p.yielded) {
            adapt_spins(p.o.done || p.o.moved);
            p.yielded = false;
        }
        if (p.o.done || err != MPI_SUCCESS)
            return err;
        if (p.o.moved)
            p = (patience){.o = {.counted = p.o.counted}};
        else
            give_way(&p);
    }
}
