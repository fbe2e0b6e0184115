/* fork.c - see fork.h.
 *
 * The child copies while its parent waits, so that it has what was there at the
 * fork. posix_spawn, system, popen and vfork do not come by here. The child reads
 * the parent's mapping, which it has after the fork, and needs no descriptor, which
 * the program may have closed.
 */
#define _GNU_SOURCE
#include "heap/fork.h"

#include "heap/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    char *base;
    size_t bytes, page;
    void (*tell)(void);
    bool copied; /* this process's is a copy, which the system copies itself */
    int pipe[2]; /* the child closes it when it has copied */
    pthread_mutex_t lock;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void prepare(void)
{
    pthread_mutex_lock(&heap.lock);
    rota_blocks_lock();
    if (!heap.copied && pipe2(heap.pipe, O_CLOEXEC) < 0)
        heap.pipe[0] = heap.pipe[1] = -1; /* then the parent does not wait */
}

static void wait_for_child(void)
{
    char end;

    if (!heap.copied && heap.pipe[0] >= 0) {
        close(heap.pipe[1]);
        while (read(heap.pipe[0], &end, 1) < 0 && errno == EINTR)
            continue;
        close(heap.pipe[0]);
    }
    rota_blocks_unlock();
    pthread_mutex_unlock(&heap.lock);
}

/* Copy the pages that exist. */
static void copy(char *to, char *from, size_t bytes)
{
    enum { PAGES = 4096 };
    unsigned char there[PAGES];

    for (size_t at = 0; at < bytes; at += PAGES * heap.page) {
        const size_t left = (bytes - at + heap.page - 1) / heap.page;
        const size_t n = left < PAGES ? left : PAGES;
        const bool known = mincore(from + at, n * heap.page, there) == 0;
        for (size_t i = 0; i < n; i++)
            if (!known || there[i] & 1)
                memcpy(to + at + i * heap.page, from + at + i * heap.page,
                       heap.page);
    }
}

static void have_copy(void)
{
    size_t front, end;
    char *const made = mmap(NULL, heap.bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (made == MAP_FAILED)
        abort(); /* there is no other way to fail a fork here */
    rota_blocks_parts(&front, &end);
    copy(made, heap.base, front);
    copy(made + end, heap.base + end, heap.bytes - end);
    /* UCX replaces mremap by a function that leaves the last argument out. */
    if (syscall(SYS_mremap, made, heap.bytes, heap.bytes,
                MREMAP_MAYMOVE | MREMAP_FIXED, heap.base) < 0)
        abort();
    heap.copied = true;
    heap.tell();
}

static void begin_child(void)
{
    if (!heap.copied) {
        have_copy();
        if (heap.pipe[0] >= 0) {
            close(heap.pipe[0]);
            close(heap.pipe[1]);
        }
    }
    rota_blocks_unlock();
    pthread_mutex_unlock(&heap.lock);
}

bool rota_heap_fork(char *base, size_t bytes, void (*tell)(void))
{
    heap.base = base;
    heap.bytes = bytes;
    heap.page = (size_t)sysconf(_SC_PAGESIZE);
    heap.tell = tell;
    return pthread_atfork(prepare, wait_for_child, begin_child) == 0;
}
