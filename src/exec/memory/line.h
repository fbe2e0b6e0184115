/* line.h - a queue of two entries from one process to another.
 *
 * The receiver owns the memory: the entries, and a word in which it counts the
 * entries it has taken. An entry is full when its flag holds its number; the
 * flag is written last. A small message and its flag share a cache line, so one
 * transfer between caches delivers both. The sender reads the count only when
 * it must know whether an entry is free or a message has been read.
 *
 * Two ranks that send each other at most one message a start seldom read the
 * count to find a free entry: the peer's message of a start proves that the
 * peer has completed the start before (rota_line_prove).
 */
#ifndef ROTA_LINE_H
#define ROTA_LINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What passes through a queue, for tests that compare two builds: a build with
 * ROTA_EVENTS calls this function if the program has it. Others do nothing.
 *
 * what: 'o', opened (bytes: of an entry), 'p', put, 't', taken, 'r', returned */
#ifdef ROTA_EVENTS
__attribute__((weak)) void rota_line_event(const void *entries, char what,
                                           uint64_t kind, uint64_t bytes);
#define ROTA_LINE_EVENT(l, what, kind, bytes)                                  \
    (rota_line_event                                                           \
         ? rota_line_event((l)->entries, what, (uint64_t)(kind), bytes)        \
         : (void)0)
#else
#define ROTA_LINE_EVENT(l, what, kind, bytes) ((void)0)
#endif

/* What an entry holds. */
typedef enum rota_entry_kind {
    ROTA_ENTRY_DATA,    /* part of the message, as much as fits */
    ROTA_ENTRY_PIECE,   /* rota_part: part of it, in a piece of the pool */
    ROTA_ENTRY_ARENA,   /* rota_place of the whole, then any header */
    ROTA_ENTRY_PRIVATE, /* the same, by a rota_foreign of the sender's process */
    ROTA_ENTRY_FETCHED, /* a descriptor from rota_fetching */
    ROTA_ENTRY_LENT,    /* nothing: all data are in shared blocks */
    ROTA_ENTRY_TYPED,   /* rota_place of the first byte; the layout that the
                            sender told says where the rest lies */
    ROTA_ENTRY_KINDS
} rota_entry_kind;

enum {
    ROTA_LINE_ENTRIES = 2,
    ROTA_KIND_BITS = 4, /* bits of a flag */
    ROTA_ENTRY_HEAD = 2 * sizeof(uint64_t),
    ROTA_LINE_ROOM = 64 - ROTA_ENTRY_HEAD, /* bytes in an entry of one line */
};

_Static_assert(ROTA_ENTRY_KINDS <= 1 << ROTA_KIND_BITS, "kinds in a flag");

typedef struct rota_part {
    uint64_t at, bytes;
    bool votes; /* by another way the kernel could have copied the message, and
                   the sender says that it found this one to be faster */
} rota_part;

typedef struct rota_entry {
    _Alignas(64) _Atomic uint64_t flag; /* number << ROTA_KIND_BITS | kind */
    uint64_t bytes;                     /* length of the whole message */
    char data[ROTA_LINE_ROOM];          /* continues to the end of the entry */
} rota_entry;

/* One end of a queue. */
typedef struct rota_line {
    char *entries;           /* NULL: there is no queue */
    _Atomic uint64_t *taken; /* the receiver's count, in its memory */
    size_t stride;           /* bytes of an entry, a multiple of a cache line */
    uint64_t next;           /* entries put or taken so far, at this end */
    uint64_t seen;           /* sender: entries known to have been taken */
    uint64_t before; /* sender: entries put before this start's message */
} rota_line;

/* Bytes of an entry with room for `room` bytes of data. */
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
    char *const entry = l->entries + (number & 1) * l->stride;

    if (!entry)
        __builtin_unreachable(); /* so callers need not look */
    return (rota_entry *)(void *)entry;
}

/* Open one end. Numbers continue from the count found there. */
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
    ROTA_LINE_EVENT(l, 'o', 0, stride);
}

/* Open the receiver's end, before the sender opens the other. */
static inline void rota_line_make(rota_line *l, char *entries,
                                  _Atomic uint64_t *taken, size_t stride)
{
    rota_line_open(l, entries, taken, stride);
    for (uint64_t i = 0; i < ROTA_LINE_ENTRIES; i++)
        atomic_store(&rota_line_entry(l, i)->flag, 0);
}

/* Has the receiver taken this entry? Numbers begin with 1. */
static inline bool rota_line_taken(rota_line *l, uint64_t number)
{
    if (l->seen < number)
        l->seen = atomic_load_explicit(l->taken, memory_order_acquire);
    return l->seen >= number;
}

/* A start begins: what was put so far is taken when the peer's message of this
 * start comes. */
static inline void rota_line_mark(rota_line *l)
{
    l->before = l->next;
}

/* The peer's message of this start has come. */
static inline void rota_line_prove(rota_line *l)
{
    if (l->seen < l->before)
        l->seen = l->before;
}

/* The entry to fill next; NULL: none is free. */
static inline rota_entry *rota_line_begin(rota_line *l)
{
    return l->next - l->seen < ROTA_LINE_ENTRIES ||
                   rota_line_taken(l, l->next + 1 - ROTA_LINE_ENTRIES)
               ? rota_line_entry(l, l->next)
               : NULL;
}

/* e: the entry that rota_line_begin returned. */
static inline void rota_line_put(rota_line *l, rota_entry *e,
                                 rota_entry_kind kind, size_t bytes)
{
    const uint64_t number = ++l->next;

    e->bytes = bytes;
    ROTA_LINE_EVENT(l, 'p', kind, bytes);
    atomic_store_explicit(&e->flag, number << ROTA_KIND_BITS | (uint64_t)kind,
                          memory_order_release);
}

/* The entry to take next; NULL: it is not full. */
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

static inline void rota_line_take(rota_line *l)
{
    ROTA_LINE_EVENT(l, 't', rota_entry_kind_of(rota_line_entry(l, l->next)),
                    rota_line_entry(l, l->next)->bytes);
    atomic_store_explicit(l->taken, ++l->next, memory_order_release);
}

#endif /* ROTA_LINE_H */
