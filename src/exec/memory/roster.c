/* roster.c - see roster.h. */
#define _GNU_SOURCE
#include "exec/memory/roster.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With a pidfd, a dead process that nobody has waited for counts as gone. On
 * systems without pidfds, it is gone only when it has left no trace. */
bool rota_process_is_gone(int64_t pid)
{
    const int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    struct pollfd end = {.fd = fd, .events = POLLIN};

    if (fd < 0)
        return errno == ESRCH || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
    const bool gone = poll(&end, 1, 0) == 1;
    close(fd);
    return gone;
}

int rota_roster_look(rota_roster *roster)
{
    for (int i = 0; i < roster->n && roster->dead == 0; i++) {
        rota_fellow *const f = &roster->fellow[i];
        const bool gone = rota_process_is_gone(f->pid);
        if (gone && f->gone)
            roster->dead = 1 + f->rank;
        f->gone = gone;
    }
    return roster->dead;
}
