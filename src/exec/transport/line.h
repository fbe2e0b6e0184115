/* line.h - a queue of two entries from one process to another.
 *
 * The receiver owns the memory: the entries, and a word in which it counts what
 * it has taken. An entry is full once its flag holds its number, which is
 * written after all else in it; a small message and its flag share a cache line,
 * which changes hands once. The sender reads the count only when it must know
 * whether an entry is free or a message has been read.
 *
 * Where two ranks send each other exactly one message a start, the count need
 * not be read for a free entry: the peer's message of one start proves that the
 * peer has completed the start before (rota_line_prove).
 */
#ifndef ROTA_LINE_H
#define ROTA_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an entry holds. */
typedef enum rota_entry_kind {
    ROTA_ENTRY_DATA,     /* a part of the message, as much as fits */
    ROTA_ENTRY_PIECE,    /* rota_part: a part of it in a piece of the pool */
    ROTA_ENTRY_ARENA,    /* rota_place of all of it, behind it a header */
    ROTA_ENTRY_CMA,      /* its address in the sender's memory, likewise */
    ROTA_ENTRY_HANDOVER, /* a place as of rota_handover */
    ROTA_ENTRY_REFUSED,  /* by the receiver: it cannot read there */
    ROTA_ENTRY_ANSWER,   /* by the sender, to that: rota_part, of which at is 0
                            if the bytes follow it */
    ROTA_ENTRY_HANDED,   /* nothing: all of it lies in shared blocks */
    ROTA_ENTRY_TYPED,    /* rota_place of its first byte: it lies there as the
                            layout says that was told */
    ROTA_ENTRY_KINDS
} rota_entry_kind;

enum {
    ROTA_LINE_ENTRIES = 2,
    ROTA_KIND_BITS = 4, /* of a flag */
    ROTA_ENTRY_HEAD = 2 * sizeof(uint64_t),
    ROTA_LINE_ROOM = 64 - ROTA_ENTRY_HEAD, /* bytes in an entry of one line */
};

_Static_assert(ROTA_ENTRY_KINDS <= 1 << ROTA_KIND_BITS, "kinds in a flag");

typedef struct rota_part {
    uint64_t at, bytes;
} rota_part;

typedef struct rota_entry {
    _Alignas(64) _Atomic uint64_t flag; /* its number, and the kind below */
    uint64_t bytes;                     /* of the whole message */
    char data[ROTA_LINE_ROOM];          /* and on */
} rota_entry;

/* One end of a queue. */
typedef struct rota_line {
    char *entries;           /* NULL: there is no queue */
    _Atomic uint64_t *taken; /* the receiver's count, in its memory */
    size_t stride;           /* bytes of an entry, whole cache lines */
    uint64_t next;           /* entries put or taken so far at this end */
    uint64_t seen;           /* sender: known to have been taken */
    uint64_t before; /* sender: put before the message of the last start */
} rota_line;

/* Bytes of an entry for so many bytes of data. */
static inline size_t rota_line_stride(size_t room)
{
    return (ROTA_ENTRY_HEAD + room + 63) / 64 * 64;
}

static inline size_t rota_line_room(const rota_line *l)
{
    return l->stride - ROTA_ENTRY_HEAD;
}

static inline rota_entry *rota_line_entry(const rota_line *l, uint64_t number)
{
    return (rota_entry *)(void *)(l->entries + (number & 1) * l->stride);
}

/* One end. Numbers go on from what was counted there before. */
static inline void rota_line_open(rota_line *l, char *entries,
                                  _Atomic uint64_t *taken, size_t stride)
{
    const uint64_t n = atomic_load(taken);

    *l = (rota_line){.entries = entries,
                     .taken = taken,
                     .stride = stride,
                     .next = n,
                     .seen = n,
                     .before = n};
}

/* The receiver's, before the sender opens the other one. */
static inline void rota_line_make(rota_line *l, char *entries,
                                  _Atomic uint64_t *taken, size_t stride)
{
    rota_line_open(l, entries, taken, stride);
    for (uint64_t i = 0; i < ROTA_LINE_ENTRIES; i++)
        atomic_store(&rota_line_entry(l, i)->flag, 0);
}

/* Has the receiver taken entry number, from 1 on? */
static inline bool rota_line_taken(rota_line *l, uint64_t number)
{
    if (l->seen < number)
        l->seen = atomic_load_explicit(l->taken, memory_order_acquire);
    return l->seen >= number;
}

/* The peer is known to have taken what was put before the message of the last
 * start but one. Called once a start, before its message is put. */
static inline void rota_line_prove(rota_line *l)
{
    if (l->seen < l->before)
        l->seen = l->before;
    l->before = l->next;
}

/* The entry to fill next, or NULL while none is free. */
static inline rota_entry *rota_line_begin(rota_line *l)
{
    return l->next - l->seen < ROTA_LINE_ENTRIES ||
                   rota_line_taken(l, l->next + 1 - ROTA_LINE_ENTRIES)
               ? rota_line_entry(l, l->next)
               : NULL;
}

static inline void rota_line_put(rota_line *l, rota_entry_kind kind,
                                 size_t bytes)
{
    rota_entry *const e = rota_line_entry(l, l->next++);

    e->bytes = bytes;
    atomic_store_explicit(&e->flag, l->next << ROTA_KIND_BITS | (uint64_t)kind,
                          memory_order_release);
}

/* The entry to take next, or NULL while it is not full. */
static inline rota_entry *rota_line_look(const rota_line *l)
{
    rota_entry *const e = rota_line_entry(l, l->next);
    const uint64_t flag = atomic_load_explicit(&e->flag, memory_order_acquire);

    return flag >> ROTA_KIND_BITS == l->next + 1 ? e : NULL;
}

static inline rota_entry_kind rota_entry_kind_of(const rota_entry *e)
{
    const uint64_t flag = atomic_load_explicit(&e->flag, memory_order_relaxed);

    return (rota_entry_kind)(flag & ((1u << ROTA_KIND_BITS) - 1));
}

/* The entry, numbered from 1 on, goes to the other end once more: of another kind,
 * and still not taken. */
static inline void rota_line_turn(const rota_line *l, uint64_t number,
                                  rota_entry_kind kind)
{
    atomic_store_explicit(&rota_line_entry(l, number - 1)->flag,
                          number << ROTA_KIND_BITS | (uint64_t)kind,
                          memory_order_release);
}

static inline bool rota_line_is_refused(const rota_line *l, uint64_t number)
{
    return atomic_load_explicit(&rota_line_entry(l, number - 1)->flag,
                                memory_order_acquire) ==
           (number << ROTA_KIND_BITS | ROTA_ENTRY_REFUSED);
}

static inline void rota_line_take(rota_line *l)
{
    atomic_store_explicit(l->taken, ++l->next, memory_order_release);
}

#endif /* ROTA_LINE_H */
