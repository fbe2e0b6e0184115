/* malloc.c - malloc and its kin for programs that are not changed: librota_malloc.so,
 * which rota-run preloads.
 *
 * Memory of LEAST bytes and more is the heap's, so that plans copy from it in one
 * step. All else is the next library's, mostly C's. Addresses tell which is which.
 * The heap is made when it is first needed.
 *
 * A shared page takes longer to come than one of the C library's, which also keeps
 * more free ones. That pays for arrays that are exchanged many times, and nobody
 * knows which these are when they are allocated. So making pages may take a small
 * part of the process's time. And an array that is freed before another rank has been
 * told to read any was shared for nothing: the next ones are the C library's, until
 * the process is twice as old.
 */
#define _GNU_SOURCE
#include "base/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROTA_API __attribute__((visibility("default")))

/* Less is seldom sent by itself, and the C library is quicker with it. */
enum { LEAST = 1 << 18 };

/* ---- the next library ---------------------------------------------------- */

/* Looking up its functions may allocate. That memory is never freed. */
static struct {
    _Alignas(max_align_t) char memory[1 << 14];
    size_t used;
} early;

static void *early_malloc(size_t bytes)
{
    const size_t unit = _Alignof(max_align_t);
    const size_t at = early.used;

    if (bytes > sizeof early.memory - at)
        return NULL;
    early.used += (bytes + unit - 1) / unit * unit;
    return early.memory + at;
}

static void *early_calloc(size_t n, size_t bytes)
{
    return early_malloc(n * bytes); /* it is zero */
}

static void *early_realloc(void *memory, size_t bytes)
{
    void *const now = early_malloc(bytes);

    if (now && memory)
        memmove(now, memory, bytes); /* what follows is early memory, too */
    return now;
}

static void early_free(void *memory)
{
    (void)memory;
}

static void *first_malloc(size_t bytes);
static void *first_calloc(size_t n, size_t bytes);
static void *first_realloc(void *memory, size_t bytes);
static void first_free(void *memory);

static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t n, size_t bytes);
    void *(*realloc)(void *memory, size_t bytes);
    void (*free)(void *memory);
    void *(*memalign)(size_t alignment, size_t bytes);
    size_t (*room)(void *memory);
} next = {.malloc = first_malloc,
          .calloc = first_calloc,
          .realloc = first_realloc,
          .free = first_free};

static void find(const char *name, void *function)
{
    void *const at = dlsym(RTLD_NEXT, name);

    memcpy(function, &at, sizeof at);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Before there is a second thread: the loader itself allocates, and so do sanitizers,
 * before other functions of C may be called. */
static void find_next(void)
{
    next.malloc = early_malloc;
    next.calloc = early_calloc;
    next.realloc = early_realloc;
    next.free = early_free;
    find("memalign", &next.memalign);
    find("malloc_usable_size", &next.room);
    find("free", &next.free);
    find("realloc", &next.realloc);
    find("calloc", &next.calloc);
    find("malloc", &next.malloc);
}

static void *first_malloc(size_t bytes)
{
    find_next();
    return next.malloc(bytes);
}

static void *first_calloc(size_t n, size_t bytes)
{
    find_next();
    return next.calloc(n, bytes);
}

static void *first_realloc(void *memory, size_t bytes)
{
    find_next();
    return next.realloc(memory, bytes);
}

static void first_free(void *memory)
{
    find_next();
    next.free(memory);
}

static bool is_early(const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)early.memory < sizeof early.memory;
}

/* ---- whether to share ---------------------------------------------------- */

static bool file_has(const char *path, const char *word)
{
    FILE *const f = fopen(path, "r");
    char line[100] = "";
    const bool has = f && fgets(line, sizeof line, f) && strstr(line, word);

    if (f)
        fclose(f);
    return has;
}

/* A program's arrays have huge pages without asking, but shared memory has none:
 * its own loops would lose what exchanges win. */
static bool loses_huge_pages(void)
{
    const char *const folder = "/sys/kernel/mm/transparent_hugepage";
    char enabled[80], shared[80];

    snprintf(enabled, sizeof enabled, "%s/enabled", folder);
    snprintf(shared, sizeof shared, "%s/shmem_enabled", folder);
    return file_has(enabled, "[always]") &&
           (file_has(shared, "[never]") || file_has(shared, "[deny]"));
}

/* These look at every access, or replace malloc themselves. */
static bool is_watched(void)
{
    static const char *const sanitizer[] = {"__asan_init", "__tsan_init",
                                            "__msan_init", "__hwasan_init"};
    const char *const preloaded = getenv("LD_PRELOAD");

    for (size_t i = 0; i < sizeof sanitizer / sizeof *sanitizer; i++)
        if (dlsym(RTLD_DEFAULT, sanitizer[i]))
            return true;
    return preloaded && strstr(preloaded, "vgpreload");
}

/* Another allocator may do without what C's promises, such as calls of a library
 * in front of it. */
static bool is_c_library(void)
{
    Dl_info of;
    void *at;

    memcpy(&at, &next.malloc, sizeof at);
    return dladdr(at, &of) && of.dli_fname && strstr(of.dli_fname, "libc.so");
}

static bool asked_to_share; /* whatever it costs */

static bool wants_to_share(void)
{
    const char *const asked = secure_getenv("ROTA_SHARE");

    if (asked && strcmp(asked, "off") == 0)
        return false;
    asked_to_share = asked && strcmp(asked, "on") == 0;
    if (!next.memalign) /* the program's first allocation is a large one */
        find_next();
    return next.room && next.memalign && is_c_library() && !is_watched() &&
           (asked_to_share || !loses_huge_pages());
}

static const rota_heap *heap;
static _Atomic uintptr_t
    base; /* of the heap; its bytes are 0 until it is there */
static _Atomic size_t room;

static void decide(void)
{
    const char *why;
    const int error = errno;

    if (!heap && wants_to_share())
        heap = rota_heap_open(&why);
    if (heap) {
        base = (uintptr_t)heap->base;
        room = heap->bytes;
    }
    errno = error;
}

/* Seconds that a page takes to be made, beyond what a program without this library
 * would have waited: 0.8 us where the C library makes one, too, 4.5 us where it has
 * kept one (MPIFFT of HPC Challenge, 2 ranks). And the part of a process's time that
 * this may take. */
static const double page_takes = 2e-6, share_of_time = 1.0 / 100;

static _Atomic double not_before; /* no array is shared; age of the process */

static double begun; /* the program, in seconds; 0: not yet */

__attribute__((constructor)) static void begin(void)
{
    begun = seconds();
}

static double age(void)
{
    return begun > 0 ? seconds() - begun : 0;
}

/* For the most bytes in use at a time, and for those made again. */
static bool is_affordable(size_t bytes)
{
    enum { PAGE = 4096 };
    rota_heap_use use;

    heap->count(&use);
    const size_t most = use.now + bytes > use.most ? use.now + bytes : use.most;
    return (double)(most + use.given_back) / PAGE * page_takes <=
           share_of_time * age();
}

static bool may_pay(size_t bytes)
{
    return asked_to_share ||
           ((*heap->lent || age() >= not_before) && is_affordable(bytes));
}

static void note_freed(void)
{
    enum { AGAIN = 2 };

    if (!*heap->lent)
        not_before = AGAIN * age();
}

static const rota_heap *heap_for(size_t bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (bytes < LEAST)
        return NULL;
    pthread_once(&once, decide);
    return heap && may_pay(bytes) ? heap : NULL;
}

static bool is_shared(const void *memory)
{
    return (uintptr_t)memory - base < room;
}

/* ---- malloc and its kin -------------------------------------------------- */

/* NULL: let the next library do it. */
static void *share(size_t bytes, size_t alignment, bool zeroed)
{
    const rota_heap *const from = heap_for(bytes);

    return from ? from->alloc(bytes, alignment, zeroed) : NULL;
}

static bool is_too_much(size_t n, size_t bytes)
{
    if (bytes == 0 || n <= SIZE_MAX / bytes)
        return false;
    errno = ENOMEM;
    return true;
}

static void release(void *memory)
{
    const int error = errno;

    note_freed();
    heap->release(memory);
    errno = error;
}

ROTA_API void *malloc(size_t bytes)
{
    void *const memory =
        bytes < LEAST ? NULL : share(bytes, _Alignof(max_align_t), false);

    return memory ? memory : next.malloc(bytes);
}

ROTA_API void *calloc(size_t n, size_t bytes)
{
    if (is_too_much(n, bytes))
        return NULL;
    void *const memory = share(n * bytes, _Alignof(max_align_t), true);
    return memory ? memory : next.calloc(n, bytes);
}

ROTA_API void free(void *memory)
{
    if (is_shared(memory))
        release(memory);
    else if (!is_early(memory))
        next.free(memory);
}

/* To other memory, between the heap and the next library. */
static void *move(void *memory, size_t before, void *now, size_t bytes)
{
    if (!now)
        return NULL;
    memcpy(now, memory, before < bytes ? before : bytes);
    free(memory);
    return now;
}

static void *resize_shared(void *memory, size_t bytes)
{
    const size_t before = heap->room(memory);
    const bool stays =
        bytes >= LEAST && (bytes <= before || may_pay(bytes - before));
    void *const now = stays ? heap->resize(memory, bytes) : NULL;

    return now ? now : move(memory, before, next.malloc(bytes), bytes);
}

static void *resize_early(void *memory, size_t bytes)
{
    const size_t most =
        (size_t)(early.memory + sizeof early.memory - (char *)memory);

    return move(memory, most, malloc(bytes), bytes);
}

ROTA_API void *realloc(void *memory, size_t bytes)
{
    if (!memory)
        return malloc(bytes);
    if (is_early(memory))
        return resize_early(memory, bytes);
    if (bytes == 0) {
        free(memory);
        return NULL;
    }
    if (is_shared(memory))
        return resize_shared(memory, bytes);
    void *const now =
        bytes < LEAST ? NULL : share(bytes, _Alignof(max_align_t), false);
    return now ? move(memory, next.room(memory), now, bytes)
               : next.realloc(memory, bytes);
}

ROTA_API void *reallocarray(void *memory, size_t n, size_t bytes)
{
    return is_too_much(n, bytes) ? NULL : realloc(memory, n * bytes);
}

static bool is_power(size_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

ROTA_API void *memalign(size_t alignment, size_t bytes)
{
    const size_t least = _Alignof(max_align_t);
    void *const memory =
        is_power(alignment)
            ? share(bytes, alignment < least ? least : alignment, false)
            : NULL;

    if (!next.memalign)
        find_next();
    return memory ? memory : next.memalign(alignment, bytes);
}

ROTA_API void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (is_power(alignment))
        return memalign(alignment, bytes);
    errno = EINVAL;
    return NULL;
}

ROTA_API int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    const int error = errno;

    if (!is_power(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    void *const now = memalign(alignment, bytes);
    errno = error;
    if (!now)
        return ENOMEM;
    *memory = now;
    return 0;
}

static size_t page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

ROTA_API void *valloc(size_t bytes)
{
    return memalign(page(), bytes);
}

ROTA_API void *pvalloc(size_t bytes)
{
    return memalign(page(), (bytes + page() - 1) / page() * page());
}

ROTA_API size_t malloc_usable_size(void *memory)
{
    if (is_shared(memory))
        return heap->room(memory);
    return memory && !is_early(memory) ? next.room(memory) : 0;
}
