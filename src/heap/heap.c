/* heap.c - makes the heap (base/heap.h): long blocks by blocks.h, short ones by
 * jemalloc, in one range of addresses.
 *
 * The range is as long as the host's memory. jemalloc has an arena of its own there,
 * which all threads use, each with a cache: it keeps what it has once carved from the
 * range, and gives back the pages of what is free.
 */
#define _GNU_SOURCE
#include "base/heap.h"
#include "base/huge.h"
#include "heap/ahead.h"
#include "heap/blocks.h"
#include "heap/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define malloc rota_je_malloc
#define calloc rota_je_calloc
#define free rota_je_free
#define mallctl rota_je_mallctl
#define mallocx rota_je_mallocx
#define sallocx rota_je_sallocx
#define malloc_conf_2_conf_harder rota_je_malloc_conf_2_conf_harder
#include <jemalloc/jemalloc.h>

/* What jemalloc reads last: no setting of the program's for a jemalloc of its own
 * counts. Free pages go back after a second. */
extern const char *malloc_conf_2_conf_harder;
const char *malloc_conf_2_conf_harder =
    "narenas:1,tcache:true,tcache_max:14336,background_thread:false,"
    "retain:true,dirty_decay_ms:1000,muzzy_decay_ms:0,stats_print:false,"
    "abort_conf:false,confirm_conf:false";

/* Longer ones are no part of a slab for jemalloc. */
enum { SHORT = 14336 };

static struct {
    pthread_once_t once;
    char why[160]; /* why there is none */
    unsigned arena;
    size_t page;
    _Atomic size_t given_back; /* bytes of pages, in all */
} state = {.once = PTHREAD_ONCE_INIT};

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

static void *give(extent_hooks_t *hooks, void *at, size_t bytes,
                  size_t alignment, bool *zero, bool *commit, unsigned arena)
{
    (void)hooks;
    (void)arena;
    *zero = *commit = true;
    return at ? NULL : rota_blocks_carve(bytes, alignment);
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
static bool give_back(char *from, size_t bytes)
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
    return !give_back((char *)at + offset, length);
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

/* ---- long blocks -------------------------------------------------------- */

static void *alloc_block(size_t bytes, size_t alignment, bool zeroed)
{
    bool zero;
    void *const memory = rota_blocks_alloc(bytes, alignment, &zero);

    if (!memory)
        return NULL;
    if (zeroed && !zero &&
        (bytes <= ROTA_BLOCKS_ALONE || !give_back(memory, bytes)))
        memset(memory, 0, bytes);
    rota_ahead_back(memory, bytes);
    return memory;
}

/* ---- short blocks -------------------------------------------------------- */

static bool is_in_heap(const void *memory)
{
    return rota_heap_holds(&heap, memory);
}

static void *by_jemalloc(size_t bytes, size_t alignment, bool zeroed)
{
    const size_t least = _Alignof(max_align_t);

    bytes = bytes < least ? least : bytes;
    if (alignment > least)
        return mallocx(bytes, (int)MALLOCX_ALIGN(alignment) |
                                  (zeroed ? MALLOCX_ZERO : 0));
    return zeroed ? rota_je_calloc(1, bytes) : rota_je_malloc(bytes);
}

/* Until a thread is told, its blocks are from an arena of jemalloc's own. */
static void tell_thread(void)
{
    mallctl("thread.arena", NULL, NULL, &state.arena, sizeof state.arena);
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

/* Destructors of a thread that ends may allocate when jemalloc has no arena for it
 * any more but its own. */
static void *alloc_short(size_t bytes, size_t alignment, bool zeroed)
{
    void *memory = by_jemalloc(bytes, alignment, zeroed);

    if (!memory || is_in_heap(memory))
        return memory;
    rota_je_free(memory);
    tell_thread();
    memory = by_jemalloc(bytes, alignment, zeroed);
    if (!memory || is_in_heap(memory))
        return memory;
    rota_je_free(memory);
    return alloc_block(bytes, alignment, zeroed);
}

/* jemalloc gives pages back by and by, as long as it is called. Nobody may call it
 * again after much has been freed, so a thread looks now and then. */
static void release_short(void *memory)
{
    enum { LOOK = 1 << 14 }; /* a look is some 10 us */
    const size_t KEEP = (size_t)1 << 23;
    static _Thread_local unsigned n;

    rota_je_free(memory);
    if (++n % LOOK == 0 && free_bytes() > KEEP)
        control("arena.%u.purge", NULL, NULL);
}

/* ---- allocating ---------------------------------------------------------- */

static size_t room(const void *memory)
{
    return rota_blocks_holds(memory) ? rota_blocks_room(memory)
                                     : sallocx(memory, 0);
}

static void *alloc(size_t bytes, size_t alignment, bool zeroed)
{
    return bytes <= SHORT && alignment <= state.page
               ? alloc_short(bytes, alignment, zeroed)
               : alloc_block(bytes, alignment, zeroed);
}

static void release(void *memory)
{
    if (!rota_blocks_holds(memory)) {
        release_short(memory);
        return;
    }
    rota_ahead_forget(memory, rota_blocks_room(memory));
    rota_blocks_release(memory);
}

static void *move(void *memory, size_t before, size_t bytes)
{
    void *const now = alloc(bytes, _Alignof(max_align_t), false);

    if (!now)
        return NULL;
    memcpy(now, memory, before < bytes ? before : bytes);
    release(memory);
    return now;
}

/* Short ones stay where jemalloc would give them as much again. */
static void *resize(void *memory, size_t bytes)
{
    const size_t before = room(memory);

    if (!rota_blocks_holds(memory))
        return bytes <= before && bytes > before / 2
                   ? memory
                   : move(memory, before, bytes);
    if (!rota_blocks_resize(memory, bytes))
        return move(memory, before, bytes);
    if (bytes < before)
        rota_ahead_forget((char *)memory + bytes, before - bytes);
    else
        rota_ahead_back(memory, bytes);
    return memory;
}

static void count(rota_heap_use *use)
{
    rota_blocks_count(&use->now, &use->most);
    use->given_back = atomic_load(&state.given_back);
}

/* ---- making -------------------------------------------------------------- */

/* A forked child's heap is its own: others cannot map it. */
static void leave(void)
{
    heap.fd = -1;
    rota_ahead_end();
}

static bool make_arena(void)
{
    extent_hooks_t *const by = &hooks;
    size_t bytes = sizeof state.arena;

    errno = mallctl("arenas.create", &state.arena, &bytes,
                    (void *)(uintptr_t)&by, sizeof by);
    return errno == 0 || refuse("jemalloc");
}

/* Forks come to this file before they come to jemalloc, whose memory is in the
 * range. */
static void make(void)
{
    const int error = errno;

    if (!make_range())
        return;
    if (!rota_blocks_begin(heap.base, heap.bytes, give_back)) {
        refuse("mmap");
        return;
    }
    if (!rota_heap_fork(heap.base, heap.bytes, leave)) {
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
