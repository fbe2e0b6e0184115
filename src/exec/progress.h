/* progress.h - a thread that moves plans on while the program is elsewhere.
 *
 * It sleeps until a rank of the node, which has waited for this one for some
 * time, calls it (rota_lines_call); then it advances the executors whose by_thread
 * is set for as long as they move, and a little longer. It calls MPI under
 * MPI_THREAD_MULTIPLE only, so it may run whatever level of threads MPI was told
 * of; there it wakes by itself every so often, for what MPI carries. A process has
 * one at most, otherwise asleep it costs nothing, and the lock that it shares with
 * calls of Rota's is one that it never waits for.
 */
#ifndef ROTA_PROGRESS_H
#define ROTA_PROGRESS_H

#include <stdbool.h>

/* Have it, until it has been let go as often. False: the system gives no
 * thread. */
bool rota_progress_hold(void);
void rota_progress_let_go(void);

#endif /* ROTA_PROGRESS_H */
