/* bell.h - waking a process that sleeps until another of its node has
 * something for it.
 *
 * Who is about to sleep arms its bell, looks once more for what it waits for,
 * and only then sleeps. Who has written something for another looks at its bell
 * afterwards and rings it if it is armed. Either the writer sees the bell armed
 * or the sleeper sees what was written: between the two steps of each lies a
 * full fence.
 */
#ifndef ROTA_BELL_H
#define ROTA_BELL_H

#include <stdatomic.h>
#include <stdint.h>

/* In memory that both processes map; begins as zeros. */
typedef struct rota_bell {
    _Alignas(64) _Atomic uint32_t armed;
    _Atomic uint32_t rung; /* how often; the futex */
} rota_bell;

/* Arm the bell; the result is for rota_bell_sleep. */
uint32_t rota_bell_arm(rota_bell *bell);

/* Sleep until the bell has been rung since it was armed, or ns have passed. */
void rota_bell_sleep(rota_bell *bell, uint32_t armed_at, long ns);

/* Between what was written and looking at the bells of its readers. */
static inline void rota_bell_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

void rota_bell_wake(rota_bell *bell);

static inline void rota_bell_ring(rota_bell *bell)
{
    if (atomic_load_explicit(&bell->armed, memory_order_relaxed))
        rota_bell_wake(bell);
}

#endif /* ROTA_BELL_H */
