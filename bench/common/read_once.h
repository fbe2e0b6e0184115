/* read_once.h - what must cross between cores: each rank copies what it receives from
 * where its sender has written it, once, and learns that others have read its own.
 *
 * No exchange that copies once can take less. Ranks must be of one node, in memory
 * that it shares (--mem window).
 */
#ifndef BENCH_READ_ONCE_H
#define BENCH_READ_ONCE_H

#include "common/exchange.h"

typedef struct read_once read_once;

/* Collective. Returns NULL if not all ranks are of one node. */
read_once *read_once_create(const exchange *x);

/* What all ranks send has been written, and all know that. */
void read_once_run(read_once *r, const exchange *x);

void read_once_free(read_once *r); /* collective; r may be NULL */

#endif
