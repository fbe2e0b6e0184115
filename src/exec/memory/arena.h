/* arena.h - memory of this process that the other processes of its node map.
 *
 * A process has one arena, made when it is first needed: a memfd that grows by
 * segments. The first segment begins with the arena's head, which lists the
 * segments. A new segment is at least half as long as all before it together,
 * so there are few. Only allocated memory is backed. The memfd has no name in
 * any file system, so its memory is freed when the last process that maps it
 * ends, however it ends.
 *
 * A place names memory in an arena by segment and offset. Each process maps the
 * segments of others one by one, when a plan or memory is made and never while
 * an exchange runs. In its own head it records how many segments of each peer
 * it has mapped. A sender names only places in segments that the receiver has
 * mapped.
 *
 * The process's heap (local.h), if it has one, is the last segment: a file of its
 * own, all of which others map at once, to read.
 */
#ifndef ROTA_ARENA_H
#define ROTA_ARENA_H

#include "base/err.h"
#include "exec/memory/doorbell.h"
#include "exec/memory/yields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How others find the arena. All zero: there is none. */
typedef struct rota_arena_address {
    uint64_t cookie; /* also in the head, to check that it is the one */
    uint64_t bytes;  /* bytes of the first segment */
    int64_t pid;
    int64_t fd; /* the memfd in that process */
} rota_arena_address;

enum {
    ROTA_SEGMENTS = 64,        /* most segments of an arena */
    ROTA_HEAP = ROTA_SEGMENTS, /* the segment that is the heap */
    ROTA_HEAP_MAPPED = 128,    /* the heap is mapped, too */
    ROTA_PEERS = 1024,    /* most processes of the node that a process knows */
    ROTA_WAKE_WORDS = 4,  /* for 128 ranks of a node, each with its own bit */
    ROTA_CACHE_LINE = 64, /* bytes */
};

/* Segment << 48 | byte offset in it. */
typedef uint64_t rota_place;

static inline int rota_place_segment(rota_place at)
{
    return (int)(at >> 48);
}

/* The beginning of an arena. The last two tables have a slot for each process
 * that this one knows. */
typedef struct rota_arena_head {
    uint64_t cookie;
    _Atomic uint32_t n_segments;
    struct {
        uint64_t at, bytes; /* where each segment is in the file */
    } segment[ROTA_SEGMENTS];
    struct {
        int64_t fd;
        uint64_t inode;
        _Atomic uint64_t bytes; /* 0: there is none; stored last */
    } heap;
    rota_doorbell bell;   /* the process's doorbell */
    rota_doorbell helper; /* its progress thread's doorbell */
    _Atomic int sleepers; /* threads that sleep in a wait, or are about to */
    _Atomic bool ended;   /* the process has ended normally */
    rota_wake_word word[ROTA_WAKE_WORDS]; /* for nodes whose first rank it is */
    rota_yields yields; /* of the host: all follow one process's */
    /* 1 + the processor that the process last waited on; 0: none yet. */
    _Atomic int core;
    _Atomic uint8_t mapped[ROTA_PEERS]; /* segments mapped of each peer, and
                                           ROTA_HEAP_MAPPED */
    _Alignas(ROTA_CACHE_LINE) rota_interest interest[ROTA_PEERS];
} rota_arena_head;

/* May this process read another's private memory? */
typedef enum rota_attaching {
    ROTA_ATTACH_UNKNOWN,
    ROTA_ATTACH_ALLOWED,
    ROTA_ATTACH_REFUSED
} rota_attaching;

/* A process of the node, possibly this one, as seen from here. */
typedef struct rota_peer {
    rota_arena_head *head; /* NULL: not mapped now */
    char *segment[ROTA_SEGMENTS + 1];
    _Atomic int n_segments; /* mapped segments; stored after their addresses */
    int slot;               /* its slot in this process's tables */
    _Atomic int slot_there; /* this process's slot in its tables, the same for
                               every communicator; -1: not known yet */
    int64_t pid;
    uint64_t cookie;
    _Atomic int attaching; /* a rota_attaching */
    /* Only for arena.c. */
    int64_t fd;
    _Atomic bool stuck; /* a segment could not be mapped: map no more */
    bool heap_stuck;    /* nor could the heap */
    int uses;
    struct rota_peer *next;
} rota_peer;

/* Make this process's arena, unless it exists. A failure, whose text says what
 * the system refuses, is final. */
int rota_arena_open(rota_arena_address *address);
rota_arena_head *rota_arena_own(void); /* NULL before the arena is open */
rota_peer *rota_arena_self(void);

/* Call bind for every segment, present and future. */
void rota_arena_bind(void (*bind)(void *memory, size_t bytes));

/* Allocate whole pages, zeroed and backed; NULL: none. */
void *rota_arena_alloc(size_t bytes);
bool rota_arena_free(void *memory); /* false: not from rota_arena_alloc */

/* Allocate whole cache lines; NULL: none. Entries hold anything. Counters are
 * words that only ever hold a count, which never falls. So a process that still
 * reads a counter after it was freed and reused sees at least the count it
 * waits for. */
typedef enum rota_use { ROTA_ENTRIES, ROTA_COUNTERS, ROTA_N_USES } rota_use;

void *rota_arena_take(rota_use use, size_t bytes, rota_place *at);
void rota_arena_put(rota_use use, void *memory);

/* Let others map this process's heap, if it has been made: when they map
 * segments next. */
void rota_arena_offer_heap(void);

/* Do these bytes lie in this process's arena? If so, at which place? */
bool rota_arena_find(const void *p, size_t bytes, rota_place *at);

/* The bytes of all segments, and how many are backed. */
size_t rota_arena_bytes(size_t *backed);

/* Map another process's arena, until it has been dropped as often as mapped. */
int rota_arena_map(const rota_arena_address *address, rota_peer **peer);
void rota_arena_hold(rota_peer *peer); /* map a mapped arena once more */
void rota_arena_drop(rota_peer *peer);

/* Map segments that it has added since. Returns false if not all can be
 * mapped. */
bool rota_arena_update(rota_peer *peer);

/* The memory at a place of a peer's, in a mapped segment. */
static inline char *rota_peer_at(const rota_peer *peer, rota_place at)
{
    return peer->segment[rota_place_segment(at)] +
           (at & (((rota_place)1 << 48) - 1));
}

/* Has the peer mapped the segment of this process's arena with this place? */
static inline bool rota_peer_has(const rota_peer *peer, rota_place at)
{
    const int segment = rota_place_segment(at);
    const int mapped = atomic_load_explicit(
        &peer->head->mapped[peer->slot_there], memory_order_acquire);

    return segment == ROTA_HEAP ? mapped & ROTA_HEAP_MAPPED
                                : segment < (mapped & ~ROTA_HEAP_MAPPED);
}

#endif /* ROTA_ARENA_H */
