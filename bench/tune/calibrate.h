/* calibrate.h - what this machine's messages and copies cost. */
#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

#include "choose/cost.h"
#include "tune/env.h"

#include <stdbool.h>

/* Run fixed plans of several algorithms at env's sizes, and fit prices to what
 * they took: with memory of a device those of its copies, else all others. Rank
 * 0 prints how well they fit. before: what is kept where measurements tell
 * nothing. False if nothing could be run. Collective. */
bool calibrate(tune_env *env, const rota_machine *before,
               rota_machine *machine);

#endif
