/* pulled.h - what forms are expected to take whose leaders read the memory of their
 * members and write to it: a plan's schedule has messages in the place of that. */
#ifndef BENCH_SIM_PULLED_H
#define BENCH_SIM_PULLED_H

#include "sim/engine.h"

typedef struct sim_pulled {
    rota_machine between; /* prices of what goes between nodes, nothing else */
    double before; /* ns of barriers and of copies that nothing overlaps */
    double beside; /* ns of a leader's copies while it sends and receives */
} sim_pulled;

/* Blocks have mean bytes in the mean. c's form is one that is pulled. */
sim_pulled sim_pulled_price(const sim_case *c, const sim_machine *m,
                            double mean);

#endif
