/* check.h - are schedules right? For tests and for tools that show schedules;
 * plans are not checked. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "schedule/schedule.h"

#include <stddef.h>

/* Prove that the schedules of P ranks together are an all-to-all, or an
 * exchange among their neighbours: every block is delivered once, from the
 * right place to the right place; nothing is read after its slot was taken or
 * while it is being written; the messages of each ordered pair match in number,
 * order and size; no rank waits for ever, even if no message is buffered. set:
 * [P]. bytes: [P][n_blocks] sizes of folded schedules (blocks without bytes
 * need no delivery), or NULL. Fails with MPI_ERR_INTERN and a text that names
 * the rank, the phase and the fault. */
int rota_sched_check(const rota_sched *const set[], int P,
                     const size_t *const bytes[]);

/* May messages of this schedule carry the sizes of their blocks? Such messages
 * are posted differently from direct ones, and out of turn. So within a phase,
 * an ordered pair may have several messages only if there is no window and the
 * direct ones come first. */
int rota_sched_check_varlen(const rota_sched *s);

#endif
