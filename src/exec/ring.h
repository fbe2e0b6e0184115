/* ring.h - a queue of entries in shared memory, from one process to another.
 *
 * The sender owns the memory. An entry is full once its flag holds its number,
 * which is written after all else in it; a small message and its flag share a
 * cache line. The receiver counts what it has taken in a word of the ring,
 * which the sender looks at only when it believes the ring full: once in as
 * many entries as there are.
 *
 * A receiver that is about to sleep (bell.h) marks the rings that it waits for,
 * and takes a mark off with the next entry: a ring that is empty may be gone.
 */
#ifndef ROTA_RING_H
#define ROTA_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum rota_entry_kind {
    ROTA_ENTRY_DATA,  /* a piece of the message itself */
    ROTA_ENTRY_ARENA, /* data: offset of the message in the sender's arena */
    ROTA_ENTRY_CMA,   /* data: its address in the sender's memory */
    ROTA_ENTRY_IPC,   /* data: a rota_ipc_place */
} rota_entry_kind;

enum { ROTA_CACHE_LINE = 64, ROTA_ENTRY_HEAD = 2 * sizeof(uint64_t) };

typedef struct rota_entry {
    _Alignas(ROTA_CACHE_LINE) _Atomic uint64_t flag; /* number * 4 + kind */
    uint64_t bytes;                                  /* of the whole message */
    char data[ROTA_CACHE_LINE - ROTA_ENTRY_HEAD];    /* and on */
} rota_entry;

typedef struct rota_ring_head {
    _Alignas(2 * ROTA_CACHE_LINE) _Atomic uint64_t taken; /* by the receiver */
    _Atomic bool awaited;                                 /* its mark */
    _Alignas(2 * ROTA_CACHE_LINE) uint64_t stride;
    uint64_t entries;
} rota_ring_head;

/* One end of a ring. */
typedef struct rota_ring {
    rota_ring_head *head;
    size_t stride;    /* bytes from an entry to the next */
    uint64_t entries; /* a power of two */
    uint64_t next;    /* entries put or taken so far at this end */
    uint64_t seen;    /* sender: entries known to have been taken */
    bool marked;      /* receiver: by this end, since the last entry */
} rota_ring;

static inline size_t rota_ring_stride(size_t room)
{
    const size_t line = ROTA_CACHE_LINE;

    return (ROTA_ENTRY_HEAD + room + line - 1) / line * line;
}

static inline size_t rota_ring_bytes(size_t stride, uint64_t entries)
{
    return sizeof(rota_ring_head) + stride * entries;
}

/* Bytes of data that an entry holds. */
static inline size_t rota_ring_room(const rota_ring *r)
{
    return r->stride - ROTA_ENTRY_HEAD;
}

static inline rota_entry *rota_ring_entry(const rota_ring *r, uint64_t number)
{
    return (rota_entry *)(void *)((char *)(r->head + 1) +
                                  (number & (r->entries - 1)) * r->stride);
}

/* The sender's end, in memory of rota_ring_bytes on a cache line, before the
 * receiver opens the other one. */
static inline void rota_ring_make(rota_ring *r, void *memory, size_t stride,
                                  uint64_t entries)
{
    *r = (rota_ring){.head = memory, .stride = stride, .entries = entries};
    r->head->stride = stride;
    r->head->entries = entries;
    atomic_store(&r->head->taken, 0);
    atomic_store(&r->head->awaited, false);
    for (uint64_t i = 0; i < entries; i++)
        atomic_store(&rota_ring_entry(r, i)->flag, 0);
}

static inline void rota_ring_open(rota_ring *r, void *memory)
{
    rota_ring_head *const head = memory;

    *r = (rota_ring){
        .head = head, .stride = head->stride, .entries = head->entries};
}

static inline bool rota_ring_taken(rota_ring *r, uint64_t number)
{
    if (r->seen < number)
        r->seen = atomic_load_explicit(&r->head->taken, memory_order_acquire);
    return r->seen >= number;
}

/* The entry to fill next, or NULL while the ring is full. */
static inline rota_entry *rota_ring_begin(rota_ring *r)
{
    return r->next < r->entries || rota_ring_taken(r, r->next - r->entries + 1)
               ? rota_ring_entry(r, r->next)
               : NULL;
}

static inline void rota_ring_put(rota_ring *r, rota_entry_kind kind,
                                 size_t bytes)
{
    rota_entry *const e = rota_ring_entry(r, r->next++);

    e->bytes = bytes;
    atomic_store_explicit(&e->flag, r->next << 2 | (uint64_t)kind,
                          memory_order_release);
}

/* The entry to take next, or NULL while it is not full. */
static inline rota_entry *rota_ring_look(const rota_ring *r)
{
    rota_entry *const e = rota_ring_entry(r, r->next);
    const uint64_t flag = atomic_load_explicit(&e->flag, memory_order_acquire);

    return flag >> 2 == r->next + 1 ? e : NULL;
}

static inline rota_entry_kind rota_entry_kind_of(const rota_entry *e)
{
    return (
        rota_entry_kind)(atomic_load_explicit(&e->flag, memory_order_relaxed) &
                         3);
}

/* Set the mark, after the bell was armed. */
static inline void rota_ring_await(rota_ring *r)
{
    r->marked = true;
    atomic_store_explicit(&r->head->awaited, true, memory_order_release);
}

/* Sender: take the mark off, if it is there. */
static inline bool rota_ring_answer(const rota_ring *r)
{
    return atomic_load_explicit(&r->head->awaited, memory_order_relaxed) &&
           atomic_exchange(&r->head->awaited, false);
}

/* Done with the entry; the sender may be waiting for room. */
static inline void rota_ring_take(rota_ring *r)
{
    if (r->marked)
        atomic_store_explicit(&r->head->awaited, false, memory_order_relaxed);
    r->marked = false;
    atomic_store_explicit(&r->head->taken, ++r->next, memory_order_release);
}

#endif /* ROTA_RING_H */
