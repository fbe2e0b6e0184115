/* heap.h - memory that a process allocates by itself and that the others of its
 * node can map: what librota_heap.so offers to every Rota in the process.
 *
 * The heap is one range of addresses: a memfd, of which pages exist where they
 * have been touched. So whoever has mapped the range reaches all that is ever
 * allocated there, and one comparison tells whether an address lies in it.
 */
#ifndef ROTA_BASE_HEAP_H
#define ROTA_BASE_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes in use now, and at most at any time; of short blocks all that they have been
 * given, once. And those of pages that were given back to the system and may have to
 * be made again. */
typedef struct rota_heap_use {
    size_t now, most, given_back;
} rota_heap_use;

typedef struct rota_heap {
    char *base;   /* a page */
    size_t bytes; /* of the range */
    int fd;       /* the memfd, from base on; -1: in a forked child, private */
    uint64_t inode; /* tells whether fd is still the memfd */

    /* NULL: the range is full. alignment: a power of two. */
    void *(*alloc)(size_t bytes, size_t alignment, bool zeroed);
    void *(*resize)(void *memory, size_t bytes);
    void (*release)(void *memory);
    size_t (*room)(const void *memory); /* usable bytes */
    void (*count)(rota_heap_use *use);

    atomic_bool *lent; /* another rank has been told to read there */
} rota_heap;

#define ROTA_HEAP_LIBRARY "librota_heap.so.1"

/* The functions of that library. */

/* Make the process's heap, unless it exists. NULL: there is none, and *why says
 * why not; that is final. */
typedef const rota_heap *rota_heap_open_function(const char **why);
rota_heap_open_function rota_heap_open;

/* The heap, if it has been made; else NULL. */
typedef const rota_heap *rota_heap_find_function(void);
rota_heap_find_function rota_heap_find;

static inline bool rota_heap_holds(const rota_heap *h, const void *p)
{
    return (uintptr_t)p - (uintptr_t)h->base < h->bytes;
}

#endif /* ROTA_BASE_HEAP_H */
