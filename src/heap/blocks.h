/* blocks.h - a range of addresses: long blocks of whole pages from its front on, and
 * what others carve from its end.
 *
 * A free block is joined with its neighbours at once, and the shortest one that is
 * long enough is taken next, found by bins as in TLSF (Masmano et al., TLSF: a New
 * Dynamic Memory Allocator for Real-Time Systems, ECRTS 2004). Lengths are rounded up
 * to pages, no further.
 */
#ifndef ROTA_HEAP_BLOCKS_H
#define ROTA_HEAP_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* Longer blocks keep no pages when they are free, as the C library gives each such
 * block a mapping of its own. Bytes. */
enum { ROTA_BLOCKS_ALONE = 1 << 25 };

/* base: a page. remove: gives pages back, which are zero when they come again; false:
 * they stay. Returns false if the system refuses, by errno. */
bool rota_blocks_begin(char *base, size_t bytes,
                       bool (*remove)(char *from, size_t bytes));

/* NULL: the range is full. alignment: a power of two. *zero: it was never written. */
void *rota_blocks_alloc(size_t bytes, size_t alignment, bool *zero);
void rota_blocks_release(void *memory);

/* Make the block longer or shorter where it lies. false: others are in the way. */
bool rota_blocks_resize(void *memory, size_t bytes);

/* Usable bytes. */
size_t rota_blocks_room(const void *memory);

/* Is this a block, or in what was carved? */
bool rota_blocks_holds(const void *memory);

/* The last bytes that nobody has, which have never been written; NULL: full. */
void *rota_blocks_carve(size_t bytes, size_t alignment);

/* Bytes in use, and at most at any time. What was carved is in use. */
void rota_blocks_count(size_t *now, size_t *most);

/* Around a fork: nothing changes meanwhile. Bytes of the front, and where in the
 * range its end begins. */
void rota_blocks_lock(void);
void rota_blocks_unlock(void);
void rota_blocks_parts(size_t *front, size_t *end);

#endif /* ROTA_HEAP_BLOCKS_H */
