/* fork.h - a child of fork gets a copy of the heap. */
#ifndef ROTA_HEAP_FORK_H
#define ROTA_HEAP_FORK_H

#include <stdbool.h>
#include <stddef.h>

/* From now on a forked child has, in place of the range of blocks.h that it would
 * share with this process, a copy of its own; then tell is called in the child.
 * Returns false if the system refuses. */
bool rota_heap_fork(char *base, size_t bytes, void (*tell)(void));

#endif /* ROTA_HEAP_FORK_H */
