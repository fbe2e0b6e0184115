/* attach.c - see attach.h. */
#define _GNU_SOURCE /* process_vm_readv */
#include "exec/memory/attach.h"
#include "exec/move/copy.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static bool read_directly(pid_t pid, rota_foreign from, char *to, size_t bytes)
{
    while (bytes > 0) {
        struct iovec here = {to, bytes},
                     there = {(void *)(uintptr_t)from, bytes};
        const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (got <= 0) {
            errno = got < 0 ? errno : EFAULT;
            return false;
        }
        to += got;
        from += (rota_foreign)got;
        bytes -= (size_t)got;
    }
    return true;
}

/* The kernel copies by "rep movsb" everywhere, but only AMD's has a slow case
 * (copy.h); those processors that have AVX-512 (from Zen 4 on) only to 15 bytes. */
static bool is_slow(const char *to, rota_foreign from)
{
#ifdef __x86_64__
    return rota_copy_is_slow(to, (uintptr_t)from) && __builtin_cpu_is("amd") &&
           (!__builtin_cpu_supports("avx512f") ||
            ((uintptr_t)to - from) % ROTA_COPY_PAGE < 16);
#else
    (void)to;
    (void)from;
    return false;
#endif
}

/* By way of memory half a page away from where it is read. */
__attribute__((noinline)) static bool read_by_way(pid_t pid, rota_foreign from,
                                                  char *to, size_t bytes)
{
    enum { ROOM = 16 * ROTA_COPY_PAGE };
    char memory[ROOM + ROTA_COPY_PAGE];
    char *const way = memory + (from + ROTA_COPY_PAGE / 2 - (uintptr_t)memory) %
                                   ROTA_COPY_PAGE;

    for (size_t done = 0; done < bytes; done += ROOM) {
        const size_t n = rota_smaller(bytes - done, ROOM);
        if (!read_directly(pid, from + done, way, n))
            return false;
        memcpy(to + done, way, n);
    }
    return true;
}

bool rota_attach_read(int64_t pid, rota_foreign from, char *to, size_t bytes)
{
    return is_slow(to, from) ? read_by_way((pid_t)pid, from, to, bytes)
                             : read_directly((pid_t)pid, from, to, bytes);
}

bool rota_attach_is_readable(const char *begin, size_t bytes)
{
    char ends[2];
    struct iovec here = {ends, sizeof ends};
    struct iovec there[2] = {{(char *)begin, 1},
                             {(char *)begin + bytes - 1, 1}};

    return process_vm_readv(getpid(), &here, 1, there, 2, 0) == sizeof ends;
}
