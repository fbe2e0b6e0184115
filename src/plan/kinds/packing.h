/* packing.h - plans whose blocks functions of the program pack and unpack. */
#ifndef ROTA_PLAN_PACKING_H
#define ROTA_PLAN_PACKING_H

#include "plan/kinds/plan.h"

/* From the next start on, have these functions write and read the inactive plan's
 * blocks; those that are NULL: the buffers have them. The plan is built anew, by the
 * same choice. Collective; the ranks agree on every failure, after which the plan is
 * as it was. */
int rota_plan_pack(rota_plan *plan, const rota_packer *wanted);

#endif /* ROTA_PLAN_PACKING_H */
