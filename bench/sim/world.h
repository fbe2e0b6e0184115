/* world.h - the neighbourhoods of all ranks, and what every node knows of the edges
 * between its ranks and others, as plans among neighbours have them. */
#ifndef BENCH_SIM_WORLD_H
#define BENCH_SIM_WORLD_H

#include "common/inside.h"
#include "common/neighborhood.h"

typedef struct sim_world {
    const neighborhood *among; /* borrowed */
    int P, n_nodes;
    rota_neighbors *of;      /* [P] */
    rota_crossing *crossing; /* [n_nodes] */
} sim_world;

/* Dies where memory is short. */
void sim_world_make(sim_world *w, const neighborhood *among,
                    const rota_topo *topo);
void sim_world_free(sim_world *w);

/* Of a block that a rank sends, or receives (side 1). */
static inline size_t sim_world_bytes(const sim_world *w, int side, int rank,
                                     int block)
{
    const neighborhood *const n = w->among;

    return n->bytes[side][n->first[side][rank] + (size_t)block];
}

#endif
