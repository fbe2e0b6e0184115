/* yields.h - do waiting ranks yield the processor, or sleep?
 *
 * If there are more ranks than cores, ranks that yield between polls pass a
 * core around. That takes less time than sleeping and being woken, as long as
 * everyone who wants the core yields. A process that does not yield keeps it
 * for a time slice of milliseconds at each turn. Then sleeping is faster,
 * because a sleeper that wakes runs before a process that has been running. The
 * worst is a mixture: ranks that yield keep the core from sleepers that are
 * woken.
 *
 * So all ranks of a node do the same, by two words that they share. A rank
 * whose yield has taken long says until when all of them sleep. After that they
 * try yields again.
 *
 * Trying has its price. Linux first lets a process run that has had less of the
 * core than those that computed or polled in MPI, whether it yields or not. The
 * others wait some milliseconds, as much as a few dozen exchanges save. So a
 * trial that ends before yields have paid makes the next pause longer than the
 * last; one that ends later makes it short again.
 */
#ifndef ROTA_YIELDS_H
#define ROTA_YIELDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory that all ranks of the node map; begins as zeros. Times are from
 * rota_now_ns. */
typedef struct rota_yields {
    _Alignas(64) _Atomic int64_t again_ns; /* until when all ranks sleep */
    _Atomic int64_t pause_ns;              /* length of the last pause */
    _Atomic int64_t told_ns; /* when a long wait was last reported (stall.h) */
} rota_yields;

static inline bool rota_yields_pay(rota_yields *y, int64_t now_ns)
{
    return now_ns >= atomic_load_explicit(&y->again_ns, memory_order_relaxed);
}

/* Record a yield from from_ns to to_ns. *well_ns, kept here, is the time that
 * this process's yields took since the last long one or the last pause. */
void rota_yields_note(rota_yields *y, int64_t from_ns, int64_t to_ns,
                      int64_t *well_ns);

#endif /* ROTA_YIELDS_H */
