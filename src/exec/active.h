/* active.h - the executors of this process that are running.
 *
 * Progress is made for all of them whenever one is waited for or tested, and by
 * the progress thread for those that allow it. One lock (lock.h) guards the list
 * and all executors in it. exec.h has what starts, tests and waits.
 */
#ifndef ROTA_ACTIVE_H
#define ROTA_ACTIVE_H

#include "exec/exec.h"

/* What the progress thread may still be needed for: nothing, what it is called
 * for, or what nobody calls it for, since MPI carries it. */
typedef enum rota_help {
    ROTA_HELP_NONE,
    ROTA_HELP_CALLED,
    ROTA_HELP_SILENT
} rota_help;

/* For the progress thread: advance what it may, without MPI but where any thread
 * may call that, until nothing has moved for a while or another thread does so.
 * *moved is set if something has got on. */
rota_help rota_active_help(bool *moved);

#endif /* ROTA_ACTIVE_H */
