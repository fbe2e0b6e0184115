/* crossing.h - from which size on one copy of a message is worth it. */
#ifndef BENCH_CROSSING_H
#define BENCH_CROSSING_H

#include "tune/env.h"

/* Bytes from which a message within a node that lies in memory of
 * rota_mem_alloc goes to its receiver no slower by one copy from there than by
 * two through a ring: of the sizes measured the least of which that is so and of
 * all above it, or twice the largest; of the nodes the most. 0 where shared
 * memory carries no messages, and where there was no time to find out.
 * Collective. */
int find_crossing(tune_env *env);

#endif
