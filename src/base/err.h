/* err.h - how functions inside the library fail.
 *
 * A status is one of three: MPI_SUCCESS; an MPI error class from rota_fail,
 * whose text waits in a buffer of the thread until an API function makes an
 * error code of it; or an error code from an MPI call, passed up unchanged.
 */
#ifndef ROTA_ERR_H
#define ROTA_ERR_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* For functions that are seldom called. The compiler moves paths that lead to
 * them out of line, and saves no registers for them on the others. */
#define ROTA_RARE __attribute__((cold, noinline))

enum { ROTA_ERR_TEXT = 400 }; /* bytes of an error text, with terminator */

/* Record a text and return errorclass. The text needs no function name: the
 * API adds it. */
int rota_fail(int errorclass, const char *format, ...)
    __attribute__((format(printf, 2, 3))) ROTA_RARE;

/* Fail with MPI_ERR_NO_MEM; what names the object that needed memory. */
int rota_fail_mem(const char *what) ROTA_RARE;

/* Prefix the text with the rank that failed, unless it names a rank already. */
void rota_fail_at(int rank);

/* The text of this thread's last rota_fail; NULL if there was none since
 * rota_fail_clear: then a status is an MPI error code. */
const char *rota_fail_text(void);

/* Has any thread ever failed? Until then there is nothing to clear, and no
 * thread-local memory is looked up. */
extern _Atomic bool rota_fail_any;
void rota_fail_forget(void) ROTA_RARE;

static inline void rota_fail_clear(void)
{
    if (atomic_load_explicit(&rota_fail_any, memory_order_relaxed))
        rota_fail_forget();
}

/* Return early with a status that is not MPI_SUCCESS. */
#define ROTA_TRY(expression)                                                   \
    do {                                                                       \
        const int rota_try_ = (expression);                                    \
        if (rota_try_ != MPI_SUCCESS)                                          \
            return rota_try_;                                                  \
    } while (0)

/* Checks an invariant of the library, never of the user; debug builds only. */
#ifdef NDEBUG
#define ROTA_ASSERT(condition) ((void)0)
#else
#include <assert.h>
#define ROTA_ASSERT(condition) assert(condition)
#endif

#endif /* ROTA_ERR_H */
