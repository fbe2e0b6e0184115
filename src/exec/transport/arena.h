/* arena.h - memory of this process that the other processes of its node map.
 *
 * A process has one arena, made when it is first needed: a memfd that grows by
 * segments. The first segment begins with the arena's head, which lists the
 * others. A new segment is at least half as long as all before it together, so
 * that a process has few of them; only what is allocated is backed by memory.
 * The memfd has no name in any file system: when the last process that maps it
 * ends, however it ends, its memory is gone.
 *
 * A place names memory in an arena: segment and offset. Each process maps the
 * segments of the others one by one, when a plan or memory is made and never
 * while an exchange runs, and counts in a word of its own head how many it has.
 * A sender names only places in segments that the receiver has mapped.
 */
#ifndef ROTA_ARENA_H
#define ROTA_ARENA_H

#include "base/err.h"
#include "exec/transport/doorbell.h"
#include "exec/yields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By which others find the arena. All zero: there is none. */
typedef struct rota_arena_address {
    uint64_t
        cookie;     /* also at its beginning, so that the right one is mapped */
    uint64_t bytes; /* of the first segment */
    int64_t pid;
    int64_t fd;       /* of that process */
    uint64_t address; /* where that process has the head */
} rota_arena_address;

enum {
    ROTA_SEGMENTS = 64,   /* of an arena, at most */
    ROTA_PEERS = 1024,    /* processes of the node that a process knows */
    ROTA_WAKE_WORDS = 4,  /* for 128 ranks of a node that do not share bits */
    ROTA_CACHE_LINE = 64, /* bytes */
};

/* Segment << 48 | bytes from its beginning. */
typedef uint64_t rota_place;

static inline int rota_place_segment(rota_place at)
{
    return (int)(at >> 48);
}

/* What an arena begins with. A process knows each of the others by a slot in
 * the last two tables. */
typedef struct rota_arena_head {
    uint64_t cookie;
    _Atomic uint32_t n_segments;
    struct {
        uint64_t at, bytes; /* in the file */
    } segment[ROTA_SEGMENTS];
    rota_doorbell bell;   /* of the process */
    rota_doorbell helper; /* of its progress thread */
    _Atomic int
        sleepers; /* threads of it that sleep in a wait, or are about to */
    _Atomic bool ended;                   /* it has, by itself */
    rota_wake_word word[ROTA_WAKE_WORDS]; /* of nodes whose first rank it is */
    rota_yields yields; /* of the host: those of one process are followed */
    _Atomic uint8_t mapped[ROTA_PEERS]; /* segments of the other one's arena */
    _Alignas(ROTA_CACHE_LINE) rota_interest interest[ROTA_PEERS];
} rota_arena_head;

/* A process of the node, this one too, as seen from here. */
typedef struct rota_peer {
    rota_arena_head *head; /* NULL: not mapped now */
    char *segment[ROTA_SEGMENTS];
    _Atomic int n_segments; /* mapped; stored after what it counts */
    int slot;               /* of that process in this one's tables */
    _Atomic int slot_there; /* of this process in that one's; -1: not known
                               yet; every communicator finds the same */
    int64_t pid;
    uint64_t cookie;
    _Atomic bool blind; /* it could not read what is private of this one */
    /* For arena.c. */
    int64_t fd;
    _Atomic bool
        stuck; /* a segment could not be mapped: no other one will be */
    int uses;
    struct rota_peer *next;
} rota_peer;

/* Make this process's arena unless it is there. Fails with a text that says
 * what the system refuses; it is not tried again. */
int rota_arena_open(rota_arena_address *address);
rota_arena_head *rota_arena_own(void); /* NULL before it is open */
rota_peer *rota_arena_self(void);

/* Call this for every segment from now on, and for those that are there. */
void rota_arena_bind(void (*bind)(void *memory, size_t bytes));

/* Whole pages, zeroed and backed, or NULL. */
void *rota_arena_alloc(size_t bytes);
bool rota_arena_free(void *memory); /* false if it is none */

/* Whole cache lines, or NULL. Entries hold anything. Counters are words that never hold anything but a count, which never
 * falls: who looks at one that was put back and taken anew, sees that what it
 * counted before has been done. */
typedef enum rota_use { ROTA_ENTRIES, ROTA_COUNTERS, ROTA_N_USES } rota_use;

void *rota_arena_take(rota_use use, size_t bytes, rota_place *at);
void rota_arena_put(rota_use use, void *memory);

/* Do these bytes lie in this process's arena, and where? */
bool rota_arena_find(const void *p, size_t bytes, rota_place *at);

/* Bytes of all segments; of those what is backed. */
size_t rota_arena_bytes(size_t *backed);

/* Another process's arena, mapped here until it is dropped as often as it was
 * mapped. */
int rota_arena_map(const rota_arena_address *address, rota_peer **peer);
void rota_arena_hold(rota_peer *peer); /* one that is mapped, once more */
void rota_arena_drop(rota_peer *peer);

/* Map the segments that it has made since. False: not all of them can be. */
bool rota_arena_update(rota_peer *peer);

/* Has its process died, or ended? */
bool rota_peer_is_gone(const rota_peer *peer);

/* Memory of a peer. Its segment is mapped. */
static inline char *rota_peer_at(const rota_peer *peer, rota_place at)
{
    return peer->segment[rota_place_segment(at)] +
           (at & (((rota_place)1 << 48) - 1));
}

/* Has that process mapped the segment of this process's arena? */
static inline bool rota_peer_has(const rota_peer *peer, rota_place at)
{
    return rota_place_segment(at) <
           atomic_load_explicit(&peer->head->mapped[peer->slot_there],
                                memory_order_acquire);
}

#endif /* ROTA_ARENA_H */
