/* heap.c - makes the heap (base/heap.h): jemalloc, in one range of addresses.
 *
 * The range is as long as the host's memory. jemalloc has an arena of its own
 * there: it takes from the front, keeps what it was once given, and gives back the
 * pages of what is free.
 */
#define _GNU_SOURCE
#include "base/heap.h"
#include "base/huge.h"
#include "heap/ahead.h"
#include "heap/fork.h"

#define mallctl rota_je_mallctl
#define mallocx rota_je_mallocx
#define rallocx rota_je_rallocx
#define sallocx rota_je_sallocx
#define xallocx rota_je_xallocx
#define dallocx rota_je_dallocx
#define malloc_conf_2_conf_harder rota_je_malloc_conf_2_conf_harder
#include <jemalloc/jemalloc.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* What jemalloc reads last: no setting of the program's for a jemalloc of its own
 * counts. Free pages go back after a second. */
extern const char *malloc_conf_2_conf_harder;
const char *malloc_conf_2_conf_harder =
    "narenas:1,tcache:false,background_thread:false,retain:true,"
    "dirty_decay_ms:1000,muzzy_decay_ms:0,stats_print:false,abort_conf:false,"
    "confirm_conf:false";

static struct {
    pthread_once_t once;
    char why[160]; /* why there is none */
    unsigned arena;
    int flags; /* for mallocx */
    size_t page;
    _Atomic size_t used;  /* bytes given to jemalloc, from base on */
    pthread_mutex_t lock; /* of used */
    _Atomic size_t now, most;
    _Atomic size_t freed;      /* bytes, since pages were last given back */
    _Atomic size_t given_back; /* bytes of pages, in all */
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool lent;
static rota_heap heap = {.fd = -1, .lent = &lent};
static _Atomic(const rota_heap *) made; /* NULL: not yet */

/* ---- the range ----------------------------------------------------------- */

static bool refuse(const char *what)
{
    snprintf(state.why, sizeof state.why, "%s: %s", what, strerror(errno));
    return false;
}

static bool is_below(const struct rlimit *limit, size_t bytes)
{
    return limit->rlim_cur != RLIM_INFINITY && limit->rlim_cur < bytes;
}

/* Bytes of the range: a power of two, as many as the host has memory. 128 ranks
 * of a node can map as much of each other. */
static size_t range_bytes(void)
{
    const size_t LEAST = (size_t)1 << 30, MOST = (size_t)1 << 38;
    const size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * state.page;
    size_t bytes = LEAST;

    while (bytes < all && bytes < MOST)
        bytes *= 2;
    return bytes;
}

/* Do the program's arrays have huge pages without being asked? Then this memory
 * should, where the system lets shared memory have them. */
static bool has_huge_pages(void)
{
    FILE *const f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    char line[64] = "";

    if (f && !fgets(line, sizeof line, f))
        line[0] = '\0';
    if (f)
        fclose(f);
    return strstr(line, "[always]");
}

/* Beyond a limit on file sizes, ftruncate would end the process. A limit on the
 * address space the program needs for itself. */
static bool make_range(void)
{
    struct rlimit addresses, files;
    struct stat file;

    state.page = (size_t)sysconf(_SC_PAGESIZE);
    heap.bytes = range_bytes();
    if (getrlimit(RLIMIT_AS, &addresses) < 0 ||
        getrlimit(RLIMIT_FSIZE, &files) < 0)
        return refuse("getrlimit");
    errno = ENOMEM;
    if (is_below(&addresses, SIZE_MAX))
        return refuse("the address space is limited (ulimit -v)");
    if (is_below(&files, heap.bytes))
        return refuse("file sizes are limited (ulimit -f)");
    heap.fd = memfd_create("rota-heap", MFD_CLOEXEC);
    if (heap.fd < 0 || ftruncate(heap.fd, (off_t)heap.bytes) < 0 ||
        fstat(heap.fd, &file) < 0)
        return refuse("memfd_create");
    heap.inode = file.st_ino;
    heap.base = rota_huge_map(heap.fd, 0, heap.bytes, PROT_READ | PROT_WRITE);
    if (heap.base == MAP_FAILED)
        return refuse("mmap");
    madvise(heap.base, heap.bytes, MADV_DONTDUMP);
    if (has_huge_pages())
        madvise(heap.base, heap.bytes, MADV_HUGEPAGE);
    return true;
}

/* ---- what jemalloc asks for ---------------------------------------------- */

/* The next part of the range, which has never been written. What has been given
 * is in core dumps. */
static void *give(extent_hooks_t *hooks, void *at, size_t bytes,
                  size_t alignment, bool *zero, bool *commit, unsigned arena)
{
    char *begin = NULL;

    (void)hooks;
    (void)arena;
    pthread_mutex_lock(&state.lock);
    const size_t used = atomic_load(&state.used);
    const size_t from = (used + alignment - 1) / alignment * alignment;
    if (from <= heap.bytes && bytes <= heap.bytes - from &&
        (!at || at == heap.base + from)) {
        begin = heap.base + from;
        atomic_store(&state.used, from + bytes);
        madvise(heap.base + used, from + bytes - used, MADV_DODUMP);
        *zero = *commit = true;
    }
    pthread_mutex_unlock(&state.lock);
    return begin;
}

/* jemalloc keeps addresses. */
static bool keep(extent_hooks_t *hooks, void *at, size_t bytes, bool committed,
                 unsigned arena)
{
    (void)hooks;
    (void)at;
    (void)bytes;
    (void)committed;
    (void)arena;
    return true;
}

/* How to give back pages. By the mapping, as the program may have closed the
 * descriptor and have another file under its number. */
static int remove_pages(void)
{
    return heap.fd < 0 ? MADV_DONTNEED : MADV_REMOVE;
}

/* Bytes of all pages that exist; 0: not known, the descriptor is closed. */
static size_t resident(void)
{
    struct stat file;

    return heap.fd >= 0 && fstat(heap.fd, &file) == 0 &&
                   file.st_ino == heap.inode
               ? (size_t)file.st_blocks * 512
               : 0;
}

/* Only pages that exist count: there may be none. */
static bool remove_range(char *from, size_t bytes)
{
    const size_t before = resident();
    const bool removed = madvise(from, bytes, remove_pages()) == 0;
    const size_t after = resident();

    if (after < before)
        atomic_fetch_add(&state.given_back, before - after);
    return removed;
}

static bool purge(extent_hooks_t *hooks, void *at, size_t bytes, size_t offset,
                  size_t length, unsigned arena)
{
    (void)hooks;
    (void)bytes;
    (void)arena;
    return !remove_range((char *)at + offset, length);
}

static bool split(extent_hooks_t *hooks, void *at, size_t bytes, size_t first,
                  size_t second, bool committed, unsigned arena)
{
    (void)hooks;
    (void)at;
    (void)bytes;
    (void)first;
    (void)second;
    (void)committed;
    (void)arena;
    return false;
}

static bool merge(extent_hooks_t *hooks, void *first, size_t first_bytes,
                  void *second, size_t second_bytes, bool committed,
                  unsigned arena)
{
    (void)hooks;
    (void)first;
    (void)first_bytes;
    (void)second;
    (void)second_bytes;
    (void)committed;
    (void)arena;
    return false;
}

static extent_hooks_t hooks = {.alloc = give,
                               .dalloc = keep,
                               .purge_forced = purge,
                               .split = split,
                               .merge = merge};

/* ---- allocating ---------------------------------------------------------- */

static void note_more(size_t bytes)
{
    const size_t now = atomic_fetch_add(&state.now, bytes) + bytes;
    size_t most = atomic_load(&state.most);

    while (now > most && !atomic_compare_exchange_weak(&state.most, &most, now))
        continue;
}

static size_t room(const void *memory)
{
    return sallocx(memory, 0);
}

/* Read or set what a name says of the arena; both NULL: do it. */
static int control(const char *format, size_t *get, size_t *set)
{
    size_t length = sizeof *get;
    char name[40];

    snprintf(name, sizeof name, format, state.arena);
    return mallctl(name, get, get ? &length : NULL, set, set ? sizeof *set : 0);
}

static size_t free_bytes(void)
{
    uint64_t epoch = 1;
    size_t pages = 0;

    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    control("stats.arenas.%u.pdirty", &pages, NULL);
    return pages * state.page;
}

/* Bytes of free pages to keep for the next blocks, so that no more memory is resident
 * than with the C library. That one returns blocks longer than LONG at once. Of the
 * others it keeps TOP, and what lies between those in use. */
static size_t worth_keeping(size_t freed)
{
    const size_t LONG = (size_t)1 << 25, TOP = (size_t)1 << 26;
    const size_t now = atomic_load(&state.now);
    const size_t third = now / 3 < TOP ? now / 3 : TOP;

    return freed > LONG || now / 20 > third ? now / 20 : third;
}

static void give_back(size_t bytes)
{
    const size_t LOOK = (size_t)1 << 22;
    const size_t before = atomic_fetch_add(&state.freed, bytes);

    if (before / LOOK != (before + bytes) / LOOK &&
        free_bytes() > 2 * LOOK + worth_keeping(bytes))
        control("arena.%u.purge", NULL, NULL);
}

/* jemalloc rounds sizes up, by as much as a fourth. Pages behind what was asked for
 * may exist, from what was there before. Among shorter blocks the C library has more
 * that is of no use. */
static void trim(char *memory, size_t bytes)
{
    const size_t LEAST = (size_t)1 << 25;
    const size_t from =
        ((uintptr_t)memory + bytes + state.page - 1) / state.page * state.page;
    const size_t end =
        ((uintptr_t)memory + room(memory)) / state.page * state.page;

    if (bytes >= LEAST && from < end)
        remove_range((char *)from, end - from);
}

static void release(void *memory)
{
    const size_t bytes = room(memory);

    rota_ahead_forget(memory, bytes);
    atomic_fetch_sub(&state.now, bytes);
    dallocx(memory, state.flags);
    give_back(bytes);
}

static void *alloc(size_t bytes, size_t alignment, bool zeroed)
{
    if (bytes > heap.bytes || alignment > heap.bytes)
        return NULL;
    void *const memory =
        mallocx(bytes > 0 ? bytes : 1, state.flags | MALLOCX_ALIGN(alignment) |
                                           (zeroed ? MALLOCX_ZERO : 0));
    if (memory) {
        trim(memory, bytes);
        rota_ahead_back(memory, bytes);
        note_more(room(memory));
    }
    return memory;
}

/* To memory with huge pages; jemalloc would write it before it had any. */
static void *move(void *memory, size_t before, size_t bytes)
{
    void *const now = alloc(bytes, 1, false);

    if (!now)
        return NULL;
    memcpy(now, memory, before);
    release(memory);
    return now;
}

static void *resize(void *memory, size_t bytes)
{
    const size_t before = room(memory);

    if (bytes > heap.bytes)
        return NULL;
    if (bytes >= 2 * ROTA_HUGE && before < bytes &&
        xallocx(memory, bytes, 0, state.flags) < bytes)
        return move(memory, before, bytes);
    void *const now = rallocx(memory, bytes > 0 ? bytes : 1, state.flags);
    if (now && now != memory)
        rota_ahead_forget(memory, before);
    else if (now && bytes < before)
        rota_ahead_forget((char *)now + bytes, before - bytes);
    if (now) {
        rota_ahead_back(now, bytes);
        atomic_fetch_sub(&state.now, before);
        note_more(room(now));
    }
    return now;
}

static void count(rota_heap_use *use)
{
    *use = (rota_heap_use){atomic_load(&state.now), atomic_load(&state.most),
                           atomic_load(&state.given_back)};
}

/* ---- making -------------------------------------------------------------- */

static size_t used(void)
{
    return atomic_load(&state.used);
}

/* A forked child's heap is its own: others cannot map it. */
static void leave(void)
{
    heap.fd = -1;
    rota_ahead_end();
}

/* Even what is long is not given back at once: the next array takes its place. */
static bool make_arena(void)
{
    size_t never = SIZE_MAX;
    extent_hooks_t *const by = &hooks;
    size_t bytes = sizeof state.arena;

    errno = mallctl("arenas.create", &state.arena, &bytes,
                    (void *)(uintptr_t)&by, sizeof by);
    if (errno)
        return refuse("jemalloc");
    errno = control("arena.%u.oversize_threshold", NULL, &never);
    if (errno)
        return refuse("jemalloc");
    state.flags = (int)MALLOCX_ARENA(state.arena) | MALLOCX_TCACHE_NONE;
    return true;
}

/* Forks come to this file before they come to jemalloc, whose memory is in the
 * range. */
static void make(void)
{
    const int error = errno;

    if (!make_range())
        return;
    if (!rota_heap_fork(heap.base, heap.bytes, used, leave)) {
        refuse("pthread_atfork");
        return;
    }
    heap.alloc = alloc;
    heap.resize = resize;
    heap.release = release;
    heap.room = room;
    heap.count = count;
    rota_ahead_begin();
    if (make_arena())
        atomic_store(&made, &heap);
    errno = error;
}

const rota_heap *rota_heap_open(const char **why)
{
    pthread_once(&state.once, make);
    *why = state.why;
    return atomic_load(&made);
}

const rota_heap *rota_heap_find(void)
{
    return atomic_load_explicit(&made, memory_order_acquire);
}
