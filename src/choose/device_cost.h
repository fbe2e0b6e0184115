/* device_cost.h - what copies by a device add to a run (cost.h). */
#ifndef ROTA_DEVICE_COST_H
#define ROTA_DEVICE_COST_H

#include "choose/tuning.h"

/* Add the copies to terms. All blocks are on devices and go by ROTA_DEVICE_IPC,
 * or by way of the host. bytes: [n_blocks], as for rota_cost_count; on return,
 * what is left for the host to move. */
void rota_device_count(const rota_sched *s, double bytes[],
                       rota_device_path path, rota_terms *terms);

/* Count the terms of a run of a schedule built for a choice, as rota_cost_count
 * does; on_device: with copies by devices. */
int rota_choice_count(const rota_choice *choice, bool on_device,
                      const rota_sched *s, double bytes[],
                      const rota_run_kind *how, rota_terms step[ROTA_STEPS]);

#endif /* ROTA_DEVICE_COST_H */
