/* stall.h - finds waits in which nothing moves.
 *
 * Waits that sleep, and tests in vain, look once a second. They find a process
 * of the node that has died. They also find a wait that has lasted too long;
 * one rank of a host reports it on standard error, once.
 */
#ifndef ROTA_STALL_H
#define ROTA_STALL_H

#include "exec/exec.h"
#include "exec/memory/node.h"

/* Report waits that last this many seconds; 0: never. */
void rota_stall_set(int seconds);

/* Report the wait if it has lasted too long: nothing has moved for ns, until
 * now_ns. x, which is locked, is waited for; else m, or NULL. */
void rota_stall_tell(const rota_exec *x, const rota_meeting *m, int64_t now_ns,
                     int64_t ns);

/* Fail, with a text that names the rank, if one that x may wait for has
 * died. */
int rota_stall_check(const rota_exec *x);

/* Look whether one of the ranks that meet has died. If so fail, now and from
 * then on. */
int rota_stall_check_meeting(const rota_meeting *m);
/* Fail if that was found before. */
int rota_stall_recall_meeting(const rota_meeting *m);

#endif /* ROTA_STALL_H */
