/* parts.h - plans whose blocks leave one by one, as the program says that they are
 * ready, and may be used one by one, as they arrive.
 *
 * A gate (exec/gate.h) holds up what needs a block that is not ready. Any thread may
 * say that a block is ready, or ask whether one has arrived.
 */
#ifndef ROTA_PARTS_H
#define ROTA_PARTS_H

#include "exec/exec.h"

/* From the next start on, the blocks of x, which may be bound already, are parts.
 * Local. */
int rota_parts_make(rota_exec *x);

/* While a run is under way. Send blocks first to last are ready. Fails if one is so
 * already. */
int rota_parts_ready(rota_exec *x, int first, int last);

/* Get on with all runs, if this thread may: it has started the run, or any may. */
void rota_parts_get_on(rota_exec *x);

/* Is receive block i in its place? */
bool rota_parts_arrived(const rota_exec *x, int i);

/* Wait for a receive block that has arrived and was not told of in this run. *i: the
 * block, or MPI_UNDEFINED if there is none left. By one thread at a time. */
int rota_parts_wait(rota_exec *x, int *i);

/* The same when no run is under way, of the last one: it waits for nothing. */
void rota_parts_rest(rota_exec *x, int *i);

#endif /* ROTA_PARTS_H */
