/* repeat.h - calls with the arguments of the last one that went by Rota.
 *
 * Such a call is to cost a few dozen instructions more than a start and wait of a
 * fixed plan. So what a call was like is kept, and compared before anything else is
 * looked at: arrays by their contents, handles of types as long as none of them has
 * been freed. Buffers may be others. All of it is local: whether a rank repeats its
 * call says nothing to others, since its messages are the same.
 */
#ifndef ROTA_MPI_REPEAT_H
#define ROTA_MPI_REPEAT_H

#include "mpi/plans.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* One side of a call. */
typedef struct rota_mpi_kept {
    MPI_Datatype type; /* but for W */
    MPI_Count count;   /* of ONE */
} rota_mpi_kept;

/* Arrays of a call, to send and to receive: counts, types (of W only),
 * displacements. */
enum { ROTA_MPI_LISTS = 6 };

typedef struct rota_mpi_repeat {
    rota_mpi_fixed *plan; /* that has run it; NULL: no call is kept */
    unsigned n_freed;
    bool large, in_place;
    rota_mpi_kept send, recv;
    char *memory; /* [room] copies of the arrays, end to end */
    size_t room;
    size_t bytes_of[ROTA_MPI_LISTS];
    /* 8 or more, of each, but that displacements may have more; else 0. Then: */
    size_t bytes;
    size_t last, last_displs; /* bytes before the last 8 */
} rota_mpi_repeat;

/* Types freed so far that calls with derived types have used. */
extern atomic_uint rota_mpi_n_types_freed;

/* From MPI_Init to MPI_Finalize. */
void rota_mpi_repeat_begin(void);
void rota_mpi_repeat_end(void);

/* The plan has run this call, whose blocks it has where they are. Keep it, if it can
 * be repeated. */
void rota_mpi_repeat_keep(rota_mpi_repeat *r, const rota_mpi_args *args,
                          rota_mpi_fixed *plan);

/* No call is kept from now on. */
void rota_mpi_repeat_drop(rota_mpi_repeat *r);

/* Run the call that is kept, of this function, on these buffers. False: on these it
 * is another. */
bool rota_mpi_repeat_run(rota_mpi_repeat *r, const char *function,
                         const void *sendbuf, void *recvbuf, int *err);

/* ---- is it the same? ------------------------------------------------------ */

/* Is there a call of this form, whose types still exist? In place nothing that says
 * what is sent may be read. */
static inline bool rota_mpi_may_repeat(const rota_mpi_repeat *r, bool large,
                                       const void *sendbuf)
{
    return r->plan && r->large == large &&
           r->in_place == (sendbuf == MPI_IN_PLACE) &&
           r->n_freed == atomic_load_explicit(&rota_mpi_n_types_freed,
                                              memory_order_relaxed);
}

/* Arrays of any lengths. */
bool rota_mpi_same_each(const rota_mpi_repeat *r,
                        const void *const list[ROTA_MPI_LISTS]);

static inline uint64_t rota_mpi_differ(const char *a, const void *b, size_t at)
{
    uint64_t v, w;

    memcpy(&v, a + at, sizeof v);
    memcpy(&w, (const char *)b + at, sizeof w);
    return v ^ w;
}

/* Two arrays whose last 8 bytes begin at last, and copies of them n bytes apart. */
static inline bool rota_mpi_same_two(const char *k, size_t n, size_t last,
                                     const void *a, const void *b)
{
    for (size_t at = 0; at < last; at += 8)
        if (rota_mpi_differ(k, a, at) | rota_mpi_differ(k + n, b, at))
            return false;
    return !(rota_mpi_differ(k, a, last) | rota_mpi_differ(k + n, b, last));
}

/* Four. */
static inline bool rota_mpi_same_four(const char *k, size_t n, size_t last,
                                      const void *a, const void *b,
                                      const void *c, const void *d)
{
    const char *const k2 = k + 2 * n;

    for (size_t at = 0; at < last; at += 8)
        if (rota_mpi_differ(k, a, at) | rota_mpi_differ(k + n, b, at) |
            rota_mpi_differ(k2, c, at) | rota_mpi_differ(k2 + n, d, at))
            return false;
    return !(rota_mpi_differ(k, a, last) | rota_mpi_differ(k + n, b, last) |
             rota_mpi_differ(k2, c, last) | rota_mpi_differ(k2 + n, d, last));
}

/* Of V. */
static inline bool rota_mpi_same_v(const rota_mpi_repeat *r, const void *sn,
                                   const void *sd, const void *rn,
                                   const void *rd)
{
    return r->bytes ? rota_mpi_same_four(r->memory, r->bytes, r->last, sn, rn,
                                         sd, rd)
                    : rota_mpi_same_each(r, (const void *[ROTA_MPI_LISTS]){
                                                sn, rn, NULL, NULL, sd, rd});
}

/* Of W. */
static inline bool rota_mpi_same_w(const rota_mpi_repeat *r, const void *sn,
                                   const void *sd, const MPI_Datatype st[],
                                   const void *rn, const void *rd,
                                   const MPI_Datatype rt[])
{
    return r->bytes
               ? rota_mpi_same_four(r->memory, r->bytes, r->last, sn, rn, st,
                                    rt) &&
                     rota_mpi_same_two(r->memory + 4 * r->bytes, r->bytes_of[4],
                                       r->last_displs, sd, rd)
               : rota_mpi_same_each(
                     r, (const void *[ROTA_MPI_LISTS]){sn, rn, st, rt, sd, rd});
}

#endif /* ROTA_MPI_REPEAT_H */
