/* active.h - the executors of this process that are running.
 *
 * Progress is made for all of them whenever one is waited for or tested, and by
 * the progress thread for those that allow it. A lock guards the list and all
 * executors in it once more than one thread may come here.
 */
#ifndef ROTA_ACTIVE_H
#define ROTA_ACTIVE_H

#include "exec/exec.h"

/* Without threads there is no lock but a branch. */
void rota_active_lock(void);
void rota_active_unlock(void);

/* Add an executor and advance it once. Returns whether it is still active. */
bool rota_active_start(rota_exec *x);

/* Advance all. Returns whether x is inactive. */
bool rota_active_test(const rota_exec *x);

/* Until x is inactive. */
int rota_active_wait(rota_exec *x);

/* For the progress thread: advance what it may, without MPI, until nothing has
 * moved for a while or another thread does so. Returns whether anything of that
 * kind is active; *moved is set if it has got on. */
bool rota_active_help(bool *moved);

#endif /* ROTA_ACTIVE_H */
