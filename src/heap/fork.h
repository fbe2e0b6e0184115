/* fork.h - a child of fork gets a copy of the heap. */
#ifndef ROTA_HEAP_FORK_H
#define ROTA_HEAP_FORK_H

#include <stdbool.h>
#include <stddef.h>

/* From now on a forked child has, in place of the memory at base that it would
 * share with this process, a copy of its own; then tell is called in the child.
 * used: bytes from base on that may hold anything. Returns false if the system
 * refuses. */
bool rota_heap_fork(char *base, size_t bytes, size_t (*used)(void),
                    void (*tell)(void));

#endif /* ROTA_HEAP_FORK_H */
