/* huge.c - see huge.h. */
#define _GNU_SOURCE
#include "base/huge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Older headers lack these. */
enum { POPULATE_WRITE = 23, COLLAPSE = 25 };

/* Without stdio, whose buffer is from malloc: that may have much to tidy up. */
static void read_line(const char *path, char line[], size_t bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, line, bytes - 1);

    line[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

#define FOLDER "/sys/kernel/mm/transparent_hugepage/"

static bool ask(void)
{
    char enabled[64], bytes[64];

    read_line(FOLDER "enabled", enabled, sizeof enabled);
    read_line(FOLDER "hpage_pmd_size", bytes, sizeof bytes);
    return (strstr(enabled, "[always]") || strstr(enabled, "[madvise]")) &&
           strcmp(bytes, "2097152\n") == 0;
}

/* The system is asked once: memory is allocated more often. */
bool rota_huge_allowed(void)
{
    enum { UNKNOWN, NO, YES };
    static _Atomic int found;

    if (found == UNKNOWN)
        found = ask() ? YES : NO;
    return found == YES;
}

/* Address and place in the file are the same, modulo a huge page. */
char *rota_huge_map(int fd, size_t at, size_t bytes, int protection)
{
    const int flags = MAP_SHARED | MAP_NORESERVE;

    if (bytes < ROTA_HUGE)
        return mmap(NULL, bytes, protection, flags, fd, (off_t)at);
    char *const room = mmap(NULL, bytes + ROTA_HUGE, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return room;
    const size_t before = (at - (uintptr_t)room) % ROTA_HUGE;
    char *const base = mmap(room + before, bytes, protection, flags | MAP_FIXED,
                            fd, (off_t)at);
    if (base == MAP_FAILED) {
        const int error = errno;
        munmap(room, bytes + ROTA_HUGE);
        errno = error;
        return base;
    }
    if (before > 0)
        munmap(room, before);
    munmap(room + before + bytes, ROTA_HUGE - before);
    return base;
}

size_t rota_huge_pages(char *memory, size_t bytes, char **first)
{
    const size_t before = -(uintptr_t)memory % ROTA_HUGE;

    *first = memory + before;
    return bytes < before ? 0 : (bytes - before) / ROTA_HUGE;
}

/* A page must exist, or there is nothing to collapse. */
void rota_huge_back(char *memory, size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t begun = 0;

    while (begun < n &&
           madvise(memory + begun * ROTA_HUGE, page, POPULATE_WRITE) == 0)
        begun++;
    if (begun > 0)
        madvise(memory, begun * ROTA_HUGE, COLLAPSE);
}
