/* ahead.h - huge pages of the heap, which exist before the program touches them.
 *
 * A program that writes 64 MiB then touches 32 pages, not 16,384. It might never
 * touch them, so at no time there are more than 64 MiB that it has not touched. The
 * pages lie in the NUMA domain of the thread that allocates the block. So there are
 * none if the process may use several domains: there the first touch decides.
 */
#ifndef ROTA_HEAP_AHEAD_H
#define ROTA_HEAP_AHEAD_H

#include <stddef.h>

void rota_ahead_begin(void);
void rota_ahead_end(void); /* in a forked child: no more */

/* Back the huge pages that lie wholly in a block, if none of their pages exists. What
 * lies beside a block in one may never be used, and would not be given back. */
void rota_ahead_back(void *memory, size_t bytes);

/* The block is free: what it lay in counts no more as untouched. */
void rota_ahead_forget(void *memory, size_t bytes);

#endif /* ROTA_HEAP_AHEAD_H */
