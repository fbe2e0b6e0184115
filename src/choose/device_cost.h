/* device_cost.h - what copies of a device add to a run (cost.h). */
#ifndef ROTA_DEVICE_COST_H
#define ROTA_DEVICE_COST_H

#include "choose/tuning.h"

/* Add to terms. All blocks are on devices and go by ROTA_DEVICE_IPC or by way of
 * the host. bytes: [n_blocks], as for rota_cost_count; they become those that
 * are left to the host. */
void rota_device_count(const rota_sched *s, double bytes[],
                       rota_device_path path, rota_terms *terms);

/* The terms of a run of a schedule that was built for a choice, as
 * rota_cost_count has them; on_device: and those copies. */
int rota_choice_count(const rota_choice *choice, bool on_device,
                      const rota_sched *s, double bytes[],
                      const rota_run_kind *how, rota_terms step[ROTA_STEPS]);

#endif /* ROTA_DEVICE_COST_H */
