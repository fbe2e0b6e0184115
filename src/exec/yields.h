/* yields.h - do ranks that wait yield the processor, or sleep?
 *
 * With more ranks than cores, ranks that yield between polls hand a core round
 * among them, which takes less time than sleeping and being woken, as long as
 * all who want the core do so. A process that does not yield keeps it for a
 * time slice of milliseconds, at each turn. Then sleeping is faster, since a
 * sleeper that wakes goes before a process that has been running. Slower than
 * either is that some yield and others sleep: the former keep the core from
 * the latter when they are woken.
 *
 * So the ranks of a node do the same, by two words that they share. One that was
 * kept from running for long by a yield says until when all of them sleep. They
 * try yields again then.
 *
 * To begin with yields is not free either. Linux gives a process that has had
 * less of a core than others, while those computed or polled in MPI, its share
 * first, whether it yields or not: some milliseconds in which the others wait,
 * as much as is saved in a few dozen exchanges. Hence a trial that ends before
 * yields have paid makes the next pause longer than the last one, and one that
 * ends later has it begin short anew.
 */
#ifndef ROTA_YIELDS_H
#define ROTA_YIELDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory that all ranks of the node map; begins as zeros. Times are those of
 * rota_now_ns. */
typedef struct rota_yields {
    _Alignas(64) _Atomic int64_t again_ns; /* all sleep until then */
    _Atomic int64_t pause_ns;              /* how long, the last time */
    _Atomic int64_t told_ns; /* when a wait that lasts was told (stall.h) */
} rota_yields;

static inline bool rota_yields_pay(rota_yields *y, int64_t now_ns)
{
    return now_ns >= atomic_load_explicit(&y->again_ns, memory_order_relaxed);
}

/* A yield took from one time to the other. *well_ns: how long those of this
 * process took since the last pause or long one; is kept up to date. */
void rota_yields_note(rota_yields *y, int64_t from_ns, int64_t to_ns,
                      int64_t *well_ns);

#endif /* ROTA_YIELDS_H */
