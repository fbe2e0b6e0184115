/* counted.h - what kinds have in common whose counts come with each start. */
#ifndef ROTA_COUNTED_H
#define ROTA_COUNTED_H

#include "plan/kinds/built.h"

#include <stdint.h>

/* For functions that are compiled anew wherever they are called, with those of
 * their arguments that are constants there. */
#define ROTA_ANEW inline __attribute__((always_inline))

/* task->own begins with this. */
typedef struct rota_counted {
    rota_unit unit; /* of the plan's type */
    bool plain;     /* its elements are bytes, end to end */
    bool usual;     /* and all blocks of an all-to-all are in memory of the
                       host; a displacement is as long as an element */

    /* Of kinds that collect: the caller's buffer, or NULL. */
    char *buffer;
    size_t room; /* bytes */
    bool early;  /* a start may use it, too, not only a wait */
} rota_counted;

/* As in rota_kind_table. */
int rota_counted_prepare(rota_task *task, const rota_args *args);
void rota_counted_vote(const rota_task *task, rota_alike *alike,
                       rota_vote *vote);
void rota_counted_forget(rota_task *task);

static inline rota_counted *rota_counted_of(const rota_built *b)
{
    return b->task->own;
}

/* Does the plan need nothing but what most plans need? This is tested once, when it
 * is made. Below, usual is the answer where that is a constant, or false. */
static inline bool rota_counted_is_usual(const rota_built *b)
{
    return rota_counted_of(b)->usual;
}

/* The blocks that the rank sends to itself: their number, and the k-th of them. */
static ROTA_ANEW int rota_counted_n_own(const rota_sched *s, bool usual)
{
    return usual ? 1 : rota_n_own(s);
}

static ROTA_ANEW rota_own rota_counted_own(const rota_sched *s, int k,
                                           bool usual)
{
    return usual ? (rota_own){s->me, s->me} : rota_own_block(s, k);
}

/* Set the sizes and places of send blocks, or of receive blocks. *largest: the bytes
 * of the largest. Local. */
int rota_counted_fill_any(const rota_built *b, const rota_start_args *args,
                          rota_region side, size_t *largest);
/* What a rank has for itself is empty, where the program moves it. */
void rota_counted_leave_own(const rota_built *b, rota_region side) ROTA_RARE;
/* Only a copy of *largest has an address, so that it can be in a register. */
static ROTA_ANEW int rota_counted_fill(const rota_built *b,
                                       const rota_start_args *args,
                                       rota_region side, size_t *largest,
                                       bool usual)
{
    const rota_sched *const s = &b->sched;
    const bool sent = side == ROTA_SRC;
    const int n = sent ? s->n_send : s->n_recv;
    const rota_block first = sent ? rota_src(s, 0) : rota_dst(s, 0);
    size_t *const bytes = b->exec.blocks.bytes + first;
    rota_unit unit = rota_counted_of(b)->unit;

    if (usual) {
        unit.displ = (ptrdiff_t)unit.element;
        unit.true_lb = 0;
        unit.small = true;
        if (n < 1)
            __builtin_unreachable(); /* there is at least one rank */
    }
    if (args->form != ROTA_INTS ||
        !rota_fill_ints(&unit, sent ? &args->send : &args->recv, n, bytes,
                        b->exec.blocks.offset + first, largest)) {
        size_t found;
        ROTA_TRY(rota_counted_fill_any(b, args, side, &found));
        *largest = found;
    }
    if (!usual && s->neighbors)
        rota_neighbors_drop(n, sent ? s->neighbors->to : s->neighbors->from,
                            bytes);
    if (!usual && b->task->leaves_own)
        rota_counted_leave_own(b, side);
    return MPI_SUCCESS;
}

/* Leave out blocks above the bound, of those before number `end`. If both ends
 * know the counts, both take such a block for empty; otherwise its size, marked,
 * is sent in its place. */
void rota_counted_find_left_out(rota_built *b, rota_block end);
static inline void rota_counted_leave_out(rota_built *b, size_t largest,
                                          rota_block end)
{
    b->exec.status.note = ROTA_NOTHING;
    if (largest > b->exec.max_block)
        rota_counted_find_left_out(b, end);
}

/* Where to collect `bytes` bytes: the caller's buffer, in which they have to
 * fit, or the plan's own, *out, which grows. */
int rota_counted_find_buffer(const rota_built *b, size_t bytes, char **out,
                             size_t *room, char **buffer) ROTA_RARE;
static inline int rota_counted_buffer(const rota_built *b, size_t bytes,
                                      char **out, size_t *room, char **buffer)
{
    *buffer = *out;
    return !rota_counted_of(b)->buffer && bytes <= *room
               ? MPI_SUCCESS
               : rota_counted_find_buffer(b, bytes, out, room, buffer);
}

/* Put down block i: n elements that begin at element `at`. Returns false if they
 * do not fit the found arrays. */
bool rota_counted_note(const rota_found *found, int i, size_t n, size_t at);

/* rota_exchange_set_buffer, while the plan is active or not. */
static inline void rota_counted_set_buffer(rota_task *task, void *buffer,
                                           size_t room, bool active)
{
    rota_counted *const own = task->own;

    own->buffer = buffer;
    own->room = room;
    own->early = !active;
}

#endif /* ROTA_COUNTED_H */
