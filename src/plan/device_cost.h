/* device_cost.h - what copies of a device add to a run (cost.h). */
#ifndef ROTA_DEVICE_COST_H
#define ROTA_DEVICE_COST_H

#include "plan/cost.h"

/* How blocks on a device travel, as far as its copies go. */
typedef enum rota_device_way {
    ROTA_WAY_STAGED, /* down to the host, and up */
    ROTA_WAY_IPC,    /* each to where it belongs */
} rota_device_way;

/* Add to terms. bytes: [n_blocks], as for rota_cost_count; they become those
 * that are left to the host. */
void rota_device_count(const rota_sched *s, double bytes[], rota_device_way way,
                       rota_terms *terms);

#endif /* ROTA_DEVICE_COST_H */
