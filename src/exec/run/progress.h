/* progress.h - a thread that advances plans while the program is elsewhere.
 *
 * The thread sleeps until a rank of the node, which has waited for this one for
 * some time, calls it (rota_lines_call). Then it advances the executors whose
 * by_thread is set as long as they move, and a little longer. It calls MPI only
 * under MPI_THREAD_MULTIPLE, so it works at any thread level. At that level it
 * also wakes by itself now and then, for messages that MPI carries. A process
 * has at most one such thread, which costs nothing while it sleeps and never
 * waits for the lock that it shares with Rota's calls.
 */
#ifndef ROTA_PROGRESS_H
#define ROTA_PROGRESS_H

#include <stdbool.h>

/* Start the thread, or count another user of it. Returns false if the system
 * gives no thread. */
bool rota_progress_hold(void);
void rota_progress_let_go(void);

#endif /* ROTA_PROGRESS_H */
