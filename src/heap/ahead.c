/* ahead.c - see ahead.h.
 *
 * A huge page is not mapped until the program touches it, which /proc/self/pagemap
 * tells.
 */
#define _GNU_SOURCE
#include "heap/ahead.h"

#include "base/huge.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 32 }; /* huge pages that have not been touched */

static struct {
    bool on;
    size_t page;
    pthread_mutex_t lock;
    char *at[MOST];
    int n;
} ahead = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* May memory of this process lie in one NUMA domain only? */
static bool has_one_domain(void)
{
    FILE *const f = fopen("/proc/self/status", "r");
    char line[256];
    int first, n = 0;
    char more = '\0';

    while (f && n == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "Mems_allowed_list:", 18) == 0)
            n = sscanf(line + 18, "%d%c", &first, &more);
    if (f)
        fclose(f);
    return n > 0 && more == '\n';
}

void rota_ahead_begin(void)
{
    ahead.page = (size_t)sysconf(_SC_PAGESIZE);
    ahead.on = rota_huge_allowed() && has_one_domain();
}

void rota_ahead_end(void)
{
    ahead.on = false;
}

/* Forget those that the program has touched since. */
static void look(void)
{
    const int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry;
    int left = 0;

    for (int i = 0; i < ahead.n; i++) {
        const uintptr_t page = (uintptr_t)ahead.at[i] / ahead.page;
        if (pread(map, &entry, sizeof entry, (off_t)(page * sizeof entry)) !=
                (ssize_t)sizeof entry ||
            !(entry >> 63))
            ahead.at[left++] = ahead.at[i];
    }
    ahead.n = left;
    if (map >= 0)
        close(map);
}

static bool is_empty(char *huge)
{
    unsigned char there[ROTA_HUGE / 4096];

    return mincore(huge, ROTA_HUGE, there) == 0 &&
           !memchr(there, 1, ROTA_HUGE / ahead.page);
}

/* Back the next pages of a block that are empty and follow each other; returns the
 * first behind them. */
static char *back_some(char *from, const char *end)
{
    size_t n = 0;

    while (from < end && !is_empty(from))
        from += ROTA_HUGE;
    for (char *p = from; p < end && ahead.n < MOST && is_empty(p);
         p += ROTA_HUGE) {
        ahead.at[ahead.n++] = p;
        n++;
    }
    if (n > 0) {
        rota_huge_back(from, n);
        madvise(from, n * ROTA_HUGE, MADV_DONTNEED); /* it unmaps them */
    }
    return from + n * ROTA_HUGE;
}

void rota_ahead_back(void *memory, size_t bytes)
{
    char *from;
    const size_t n = rota_huge_pages(memory, bytes, &from);
    const char *const end = from + n * ROTA_HUGE;

    if (!ahead.on || n == 0)
        return;
    pthread_mutex_lock(&ahead.lock);
    if (ahead.n > 0)
        look();
    while (from < end && ahead.n < MOST)
        from = back_some(from, end);
    pthread_mutex_unlock(&ahead.lock);
}

void rota_ahead_forget(void *memory, size_t bytes)
{
    const char *const end = (char *)memory + bytes;
    int left = 0;

    if (!ahead.on || bytes < ROTA_HUGE)
        return;
    pthread_mutex_lock(&ahead.lock);
    for (int i = 0; i < ahead.n; i++)
        if (ahead.at[i] + ROTA_HUGE <= (char *)memory || ahead.at[i] >= end)
            ahead.at[left++] = ahead.at[i];
    ahead.n = left;
    pthread_mutex_unlock(&ahead.lock);
}
