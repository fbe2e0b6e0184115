/* interleave.h - all orders in which the atomic operations of a few threads can
 * take effect, for small protocols of flags.
 *
 * Code under test is compiled with the atomics below in the place of the
 * compiler's, and futexes of its own. A thread is a function that does the same
 * whenever it gets the same values from memory, so its state is the list of
 * those values: it is run from its begin again for each step. Two orders that
 * lead to the same memory and the same lists are followed up once.
 *
 * Stores wait in a buffer of the thread and reach memory later, in any order
 * but for those to one place and those that release, which what was stored
 * before precedes. Fences and read-modify-write operations wait until the
 * buffer is empty. So a load may overtake stores before it, but not loads.
 *
 * To be included before all that uses atomics.
 */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INTERLEAVE_THREADS = 3 };

typedef void (*interleave_thread)(void);

/* Does every order end with all threads at their end, none asleep? What is
 * stored outside threads is what each begins with, until this is called; other
 * places begin as 0. *states: how many were looked at. */
bool interleave_all_end(int n, const interleave_thread thread[],
                        uint64_t *states);

int64_t interleave_load(const volatile void *place);
void interleave_store(volatile void *place, int64_t value, memory_order order);
int64_t interleave_exchange(volatile void *place, int64_t value);
int64_t interleave_add(volatile void *place, int64_t value);
void interleave_fence(void);
/* The limit is none, and who is woken by a set of bits may be anybody. */
long interleave_futex(const volatile void *place, int operation,
                      int64_t expected, const void *limit, const void *unused,
                      uint32_t bits);

#define INTERLEAVE_LOAD(p) ((__typeof__(+*(p)))interleave_load(p))

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_thread_fence
#define atomic_load(p) INTERLEAVE_LOAD(p)
#define atomic_load_explicit(p, order) INTERLEAVE_LOAD(p)
#define atomic_store(p, value)                                                 \
    interleave_store(p, (int64_t)(value), memory_order_release)
#define atomic_store_explicit(p, value, order)                                 \
    interleave_store(p, (int64_t)(value), order)
#define atomic_exchange(p, value) interleave_exchange(p, (int64_t)(value))
#define atomic_fetch_add(p, value) interleave_add(p, (int64_t)(value))
#define atomic_fetch_sub(p, value) interleave_add(p, -(int64_t)(value))
#define atomic_thread_fence(order) interleave_fence()
#define syscall(number, place, operation, expected, ...)                       \
    interleave_futex(place, operation, (int64_t)(expected), __VA_ARGS__)

#endif /* INTERLEAVE_H */
