/* flow_check.h - the advection of a flow by a second, slow way. */
#ifndef FLOW_CHECK_H
#define FLOW_CHECK_H

#include "flow.h"

/* Points along each axis up to which the check is bearable. */
#define FLOW_CHECK_POINTS 64

/* The greatest difference on this rank between what flow_advect makes of the
 * vorticity and the sum over all pairs of waves, relative to the greatest sum
 * of sizes in it. Changes stage and slope. Collective. */
double flow_check_advection(flow *f);

#endif
