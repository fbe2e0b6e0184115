/* recent.h - calls that go to MPI at once.
 *
 * Where MPI takes an exchange, a call is to cost a few dozen instructions more than
 * MPI's. So a thread keeps, of the communicator that it has used last, what counts
 * calls on it (exchange.c). MPI looks at their arguments itself: a call that it
 * refuses does not count.
 */
#ifndef ROTA_MPI_RECENT_H
#define ROTA_MPI_RECENT_H

#include "mpi/args.h"

#include <limits.h>
#include <stdatomic.h>

/* Blocking calls of one sort by one group: the same on all its ranks. */
typedef struct rota_mpi_tally {
    long calls; /* up to now */
    long plain; /* calls below this number go to MPI, untimed */
    rota_mpi_call call;
    MPI_Count bytes; /* of a block, if that has a size; else 0 */
    bool in_place;   /* likewise */
} rota_mpi_tally;

typedef struct rota_mpi_recent {
    MPI_Comm comm;
    unsigned n_freed;                      /* rota_mpi_n_freed then */
    rota_mpi_tally *tally[ROTA_MPI_CALLS]; /* or NULL: not known */
    rota_mpi_tally *const *size; /* for ONE: where the last one is, or NULL */
    rota_mpi_type known;         /* likewise */
    rota_mpi_tally passed;       /* of calls that are always MPI's */
} rota_mpi_recent;

extern _Thread_local rota_mpi_recent rota_mpi_recently;

/* Communicators freed so far. A handle that was known may have come to mean
 * another one. */
extern atomic_uint rota_mpi_n_freed;

static inline bool rota_mpi_is_recent(MPI_Comm comm)
{
    return rota_mpi_recently.comm == comm &&
           rota_mpi_recently.n_freed ==
               atomic_load_explicit(&rota_mpi_n_freed, memory_order_relaxed);
}

/* NULL if the next call is to be looked at. */
static inline rota_mpi_tally *rota_mpi_if_plain(rota_mpi_tally *t)
{
    return t && t->calls < t->plain ? t : NULL;
}

/* What counts a blocking call that goes to MPI at once; NULL: none is known. */
static inline rota_mpi_tally *rota_mpi_plain(rota_mpi_call call, MPI_Comm comm)
{
    return rota_mpi_is_recent(comm)
               ? rota_mpi_if_plain(rota_mpi_recently.tally[call])
               : NULL;
}

/* The same where each size has its own. They are in the order in which they came,
 * the same on all ranks: only the one in front is used here. */
static inline rota_mpi_tally *
rota_mpi_plain_one(rota_mpi_call call, const void *sendbuf, MPI_Count sendcount,
                   MPI_Datatype sendtype, MPI_Count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    const rota_mpi_recent *const r = &rota_mpi_recently;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const MPI_Count n = in_place ? recvcount : sendcount;

    if (!rota_mpi_is_recent(comm))
        return NULL;
    if (r->tally[call])
        return rota_mpi_if_plain(r->tally[call]);
    if (!r->size || (in_place ? recvtype : sendtype) != r->known.type ||
        n < 0 || n > INT_MAX)
        return NULL;
    rota_mpi_tally *const t = *r->size;
    return t->call == call && t->in_place == in_place &&
                   t->bytes == n * r->known.size
               ? rota_mpi_if_plain(t)
               : NULL;
}

#endif /* ROTA_MPI_RECENT_H */
