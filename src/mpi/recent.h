/* recent.h - calls that go to MPI at once, or to a plan that has run the same.
 *
 * Such a call is to cost a few dozen instructions more than MPI's, or the plan's. So
 * a thread keeps, of the communicator that it has used last, what counts calls on it
 * (exchange.c). MPI looks at their arguments itself: a call that it refuses does not
 * count.
 */
#ifndef ROTA_MPI_RECENT_H
#define ROTA_MPI_RECENT_H

#include "mpi/repeat.h"

#include <limits.h>
#include <stdatomic.h>

/* Blocking calls of one sort by one group: the same on all its ranks. */
typedef struct rota_mpi_tally {
    long calls;          /* up to now */
    long look;           /* calls below this number go as the last, untimed: */
    rota_mpi_repeat *by; /* where they repeat one by Rota; NULL: to MPI */
    rota_mpi_call call;
    MPI_Count bytes;   /* of a block, if that has a size; else 0 */
    bool in_place;     /* likewise; and what these bytes were last: */
    MPI_Datatype type; /* a predefined type, else MPI_DATATYPE_NULL */
    MPI_Count key;     /* elements, or -1 minus them in place */
} rota_mpi_tally;

typedef struct rota_mpi_recent {
    MPI_Comm comm;
    unsigned n_freed;                      /* rota_mpi_n_freed then */
    rota_mpi_tally *tally[ROTA_MPI_CALLS]; /* or NULL: not known */
    rota_mpi_tally *const *size; /* for ONE: where the last one is, or NULL */
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
static inline rota_mpi_tally *rota_mpi_if_settled(rota_mpi_tally *t)
{
    return t && t->calls < t->look ? t : NULL;
}

/* What counts a blocking call that need not be looked at; NULL: none is known. */
static inline rota_mpi_tally *rota_mpi_settled(rota_mpi_call call,
                                               MPI_Comm comm)
{
    return rota_mpi_is_recent(comm)
               ? rota_mpi_if_settled(rota_mpi_recently.tally[call])
               : NULL;
}

/* The same where each size has its own. They are in the order in which they came,
 * the same on all ranks: only the one in front is used here. key: of a block, as in
 * the tally. */
static inline rota_mpi_tally *rota_mpi_settled_one(rota_mpi_call call,
                                                   MPI_Count key,
                                                   MPI_Datatype type,
                                                   MPI_Comm comm)
{
    const rota_mpi_recent *const r = &rota_mpi_recently;

    if (!rota_mpi_is_recent(comm))
        return NULL;
    if (r->tally[call])
        return rota_mpi_if_settled(r->tally[call]);
    rota_mpi_tally *const t = r->size ? *r->size : NULL;
    return t && t->call == call && t->key == key && t->type == type
               ? rota_mpi_if_settled(t)
               : NULL;
}

/* The one that is. */
static inline rota_mpi_tally *rota_mpi_recent_one(rota_mpi_call call)
{
    const rota_mpi_recent *const r = &rota_mpi_recently;

    return r->tally[call] ? r->tally[call] : *r->size;
}

#endif /* ROTA_MPI_RECENT_H */
