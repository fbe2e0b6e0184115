/* err.h - how functions inside the library fail.
 *
 * A status is MPI_SUCCESS, an MPI error class from rota_fail (whose text waits
 * in a buffer of the thread until an API function makes an error code of it),
 * or an error code that an MPI call returned, passed up unchanged.
 */
#ifndef ROTA_ERR_H
#define ROTA_ERR_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What is seldom called: a path that leads there is laid aside, and no registers
 * are saved for it on the others. */
#define ROTA_RARE __attribute__((cold, noinline))

enum { ROTA_ERR_TEXT = 400 }; /* bytes of an error text, with terminator */

/* Record a text and return errorclass. The text needs no function name: the
 * API adds it. */
int rota_fail(int errorclass, const char *format, ...)
    __attribute__((format(printf, 2, 3))) ROTA_RARE;

/* MPI_ERR_NO_MEM, naming what could not be allocated. */
int rota_fail_mem(const char *what) ROTA_RARE;

/* Have the text begin with the rank that failed, unless it names one already. */
void rota_fail_at(int rank);

/* The text of the last rota_fail of this thread, or NULL if there was none
 * since rota_fail_clear: then a status is a code of MPI's. */
const char *rota_fail_text(void);

/* Any thread has failed, ever: until then there is nothing to forget, and no
 * thread's memory need be found. For the functions here alone. */
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

/* Invariants of ours, never of the user: checked in debug builds. */
#ifdef NDEBUG
#define ROTA_ASSERT(condition) ((void)0)
#else
#include <assert.h>
#define ROTA_ASSERT(condition) assert(condition)
#endif

#endif /* ROTA_ERR_H */
