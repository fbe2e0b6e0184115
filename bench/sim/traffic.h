/* traffic.h - the schedules of all ranks, of which as few are kept as differ,
 * and who sends what in their messages.
 *
 * Where rank p's schedule is rank (p mod period)'s with all ranks shifted by
 * the difference, modulo P, the first period ranks stand for all: one does for
 * direct and logarithmic algorithms, those of a node do where nodes of one size
 * are honoured. Whether it is so is found by comparing.
 */
#ifndef BENCH_SIM_TRAFFIC_H
#define BENCH_SIM_TRAFFIC_H

#include "common/dist.h"
#include "common/inside.h"
#include "sim/world.h"

/* A block: where it comes from and goes to or, among neighbours, its number among
 * those that it is sent with. */
typedef struct sim_label {
    int from, to;
} sim_label;

/* Marks of the blocks of received messages. */
enum { SIM_LANDS = 1, SIM_PADDED = 2 };

/* What the blocks of a message add up to. */
typedef struct sim_size {
    double bytes, lands; /* those that land in the receive buffer */
    uint32_t n, n_land;  /* blocks that have any */
} sim_size;

typedef struct sim_sum {
    uint32_t bytes, lands, n, n_land;
} sim_sum;

typedef struct sim_rep {
    rota_sched s;
    uint32_t *partner[ROTA_N_DIRS]; /* [n messages] the other end's number */
    uint32_t *phase_of;             /* [n receives] */
    sim_label *label;               /* [items of receives] */
    uint8_t *mark;                  /* [items of receives] */
    sim_label *copied;              /* [n_copies] */
    sim_sum **sum;                  /* [n receives] of all ranks that it stands
                                       for; NULL: not yet added up */
    bool *apart[ROTA_N_DIRS];       /* [n messages] blocks do not lie end to
                                       end; NULL if all are of one block */
} sim_rep;

typedef struct sim_traffic {
    const rota_topo *topo;
    int P, period;
    sim_rep *rep; /* [period] */
    const dist *dist;
    const sim_world *world; /* neighbours, which have the sizes; NULL: an
                               all-to-all */
    size_t largest;         /* S */
    uint64_t seed;
    bool gaps; /* between the blocks of the user's buffers */
    void
        *table; /* [P*P] all sizes, of width bytes each, by distance and then by
                    sender, those of one representative together; NULL: none */
    int width;
    bool *any; /* [P*period] has a row of the table any bytes? of the senders of
                  one representative at one distance */
    double *received; /* [P] bytes that each rank gets; NULL: no table */
} sim_traffic;

/* t->topo, dist, world, largest, seed and gaps are given. Dies where memory is short.
 * hints, choice: as inside_build takes and gives them; fixed: sizes are known
 * before the start. */
void sim_traffic_init(sim_traffic *t, const rota_hints *hints, rota_kind kind,
                      rota_choice *choice);
void sim_traffic_free(sim_traffic *t);

static inline const sim_rep *sim_rep_of(const sim_traffic *t, int rank)
{
    return &t->rep[rank % t->period];
}

/* The rank that a message of a representative has for its peer, as seen from
 * one that it stands for. */
static inline int sim_peer(const sim_traffic *t, int rank, int peer)
{
    return (int)(((int64_t)rank - rank % t->period + peer) % t->P);
}

/* Bytes of a block. */
size_t sim_block(const sim_traffic *t, int from, int to);

/* As seen from a rank whose number is larger by shift, a multiple of the
 * period. */
static inline sim_label sim_shifted(const sim_traffic *t, sim_label l,
                                    int shift)
{
    const int from = l.from + shift, to = l.to + shift;

    if (shift == 0)
        return l;
    return (sim_label){from >= t->P ? from - t->P : from,
                       to >= t->P ? to - t->P : to};
}

/* Of all blocks for a rank. */
double sim_received(const sim_traffic *t, int rank);

/* Of message m that rank receives. */
sim_size sim_message(sim_traffic *t, int rank, uint32_t m);

#endif
