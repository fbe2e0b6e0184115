/* yields.c - see yields.h. */
#include "exec/memory/yields.h"

/* A yield that takes longer than LONG_NS went to a process that does not yield,
 * or not yet. A round among a few dozen ranks takes less. */
enum { LONG_NS = 500000, WELL_NS = 500000, FIRST_NS = 1000000, TIMES = 4 };
enum { MOST_NS = 1000000000 };

static int64_t next_pause(int64_t last, int64_t well)
{
    if (last == 0 || well > WELL_NS)
        return FIRST_NS;
    return TIMES * last < MOST_NS ? TIMES * last : MOST_NS;
}

/* If several ranks come back late from the same trial, only one counts. */
static void pause_all(rota_yields *y, int64_t from_ns, int64_t to_ns,
                      int64_t well_ns)
{
    int64_t again = atomic_load_explicit(&y->again_ns, memory_order_relaxed);

    if (from_ns < again)
        return;
    const int64_t pause = next_pause(
        atomic_load_explicit(&y->pause_ns, memory_order_relaxed), well_ns);
    if (atomic_compare_exchange_strong_explicit(
            &y->again_ns, &again, to_ns + pause, memory_order_relaxed,
            memory_order_relaxed))
        atomic_store_explicit(&y->pause_ns, pause, memory_order_relaxed);
}

void rota_yields_note(rota_yields *y, int64_t from_ns, int64_t to_ns,
                      int64_t *well_ns)
{
    if (to_ns - from_ns <= LONG_NS) {
        *well_ns += to_ns - from_ns;
    } else {
        pause_all(y, from_ns, to_ns, *well_ns);
        *well_ns = 0;
    }
}
