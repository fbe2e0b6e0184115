/* stall.h - waits in which nothing gets on.
 *
 * They are looked at by waits that sleep and by tests in vain, once a second. A
 * process of the node that has died is found, and so is a wait that lasts longer
 * than anybody expects, which is told on standard error: by one rank of a host,
 * once.
 */
#ifndef ROTA_STALL_H
#define ROTA_STALL_H

#include "exec/exec.h"

/* A wait of so many seconds is to be told; 0: never. */
void rota_stall_set(int seconds);

/* Nothing has got on for ns, until now. What is waited for is x, or NULL: that all
 * ranks call what makes a plan. x is locked. */
void rota_stall_tell(const rota_exec *x, int64_t now_ns, int64_t ns);

/* Has a rank that x may wait for died? Fails with a text that names it. */
int rota_stall_check(const rota_exec *x);

#endif /* ROTA_STALL_H */
