/* log.h - the logarithmic exchange that several algorithms are forms of. */
#ifndef ROTA_LOG_H
#define ROTA_LOG_H

#include "algos/algo.h"

/* Write the schedule of parlogna.c in radix r. */
int rota_build_log(rota_sched *s, int r);

#endif /* ROTA_LOG_H */
