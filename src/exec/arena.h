/* arena.h - memory of this process that the other processes of its node map.
 *
 * A process has one arena, made when it is first needed: a range of addresses
 * as large as the machine's memory, of which only what has been allocated is
 * backed. The others map it once, whole, so that whatever is allocated in it
 * later is theirs to reach at once and an offset names it. It has no name in
 * any file system: when the last process that maps it ends, however it ends,
 * it is gone.
 */
#ifndef ROTA_ARENA_H
#define ROTA_ARENA_H

#include "err.h"
#include "exec/bell.h"
#include "exec/yields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By which others find the arena. All zero: there is none. */
typedef struct rota_arena_card {
    uint64_t cookie; /* also at its begin, so that the right one is mapped */
    uint64_t bytes;
    int64_t pid;
    int64_t fd;       /* of that process */
    uint64_t address; /* where that process has it */
} rota_arena_card;

/* For 128 ranks of a node that do not share seats. */
enum { ROTA_GONGS = 4 };

/* What an arena begins with. */
typedef struct rota_arena_head {
    uint64_t cookie;
    rota_bell bell;             /* of the process */
    rota_bell helper;           /* of its progress thread */
    rota_gong gong[ROTA_GONGS]; /* of nodes of which it is the first */
    rota_yields yields; /* of the host: those of one process are heeded */
} rota_arena_head;

/* Make this process's arena unless it is there. Fails with a text that says
 * what the system refuses; it is not tried again. */
int rota_arena_open(rota_arena_card *card);

/* Whole pages, zeroed and backed, or NULL. */
void *rota_arena_alloc(size_t bytes);
bool rota_arena_free(void *memory); /* false if it is none */

/* The same for what plans need, one after the other: what was put back stays
 * backed, up to a bound, and is handed out again, not zeroed. */
void *rota_arena_take(size_t bytes);
bool rota_arena_put(void *memory);

bool rota_arena_holds(const void *p, size_t bytes);
uint64_t rota_arena_offset(const void *p);
rota_arena_head *rota_arena_own(void); /* NULL before it is open */

/* The arena of another process, mapped here until it is dropped as often as it
 * was mapped. */
int rota_arena_map(const rota_arena_card *card, rota_arena_head **head);
void rota_arena_drop(rota_arena_head *head);

#endif /* ROTA_ARENA_H */
