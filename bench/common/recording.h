/* recording.h - what ROTA_RECORD wrote: who sent how much to whom in each exchange
 * of a program. The files' layout is in src/plan/kinds/record.h. */
#ifndef BENCH_RECORDING_H
#define BENCH_RECORDING_H

#include <stddef.h>
#include <stdint.h>

typedef struct recording recording;

/* All files of a folder, one after the other: *bytes of them, to be freed. NULL
 * with the reason in error [errlen]. */
void *recording_load(const char *folder, size_t *bytes, char *error,
                     size_t errlen);

/* The exchanges of P ranks (0: of as many as any had) among those in data, which
 * is to stay. NULL as above, also if there is none. */
recording *recording_open(const void *data, size_t bytes, int P, char *error,
                          size_t errlen);
void recording_close(recording *r); /* r may be NULL */

int recording_ranks(const recording *r);
size_t recording_largest(const recording *r); /* bytes of a block */
uint64_t recording_starts(const recording *r);

/* Exchanges that follow each other and are alike are one, from 0 to count - 1. */
size_t recording_count(const recording *r);
uint64_t recording_times(const recording *r, size_t k); /* starts of it */
size_t recording_busiest(const recording *r); /* most bytes in all its starts */

/* The exchange of a step: as many steps as there are starts take each once, and
 * fewer are spread over the whole. */
size_t recording_at(const recording *r, uint64_t step);

size_t recording_bytes(const recording *r, size_t k, int src, int dst);

/* Of all pairs of ranks. */
double recording_total(const recording *r, size_t k);

/* recording_bytes for every dst: bytes [ranks]. */
void recording_row(const recording *r, size_t k, int src, size_t bytes[]);

#endif
