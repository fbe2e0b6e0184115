/* arena.c - see arena.h. */
#define _GNU_SOURCE
#include "exec/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct range {
    size_t at, bytes;
    struct range *next; /* by offset */
} range;

typedef struct mapping {
    uint64_t cookie;
    rota_arena_head *head;
    size_t bytes;
    int uses;
    struct mapping *next;
} mapping;

/* Under the lock. */
static struct {
    bool tried;
    char why[ROTA_ERR_TEXT]; /* there is none */
    rota_arena_card card;
    int fd;
    char *base;
    size_t page;
    range *idle, *used;
    range *kept; /* backed, for rota_arena_take */
    size_t kept_bytes;
    mapping *mapped;
} arena;

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- making ----------------------------------------------------------------- */

static int refuse(const char *what)
{
    snprintf(arena.why, sizeof arena.why, "%s: %s", what, strerror(errno));
    return MPI_ERR_NO_MEM;
}

/* Valgrind's search for leaks reads all memory that is mapped, which would back
 * all of every arena. */
static bool is_searched(void)
{
    const char *const preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "/vgpreload");
}

/* The machine's memory, since more cannot be backed; but 256 ranks of a node
 * must be able to map each other's arenas, and a file larger than the limit on
 * files would end the process. */
static size_t address_bytes(void)
{
    const size_t most = (size_t)1 << (is_searched() ? 28 : 38);
    const long pages = sysconf(_SC_PHYS_PAGES);
    struct rlimit limit;
    size_t bytes = pages > 0 ? (size_t)pages * arena.page : most;

    bytes = bytes < most ? bytes : most;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        bytes = limit.rlim_cur / arena.page * arena.page;
    return bytes;
}

/* Signals interrupt it. */
static bool back(int fd, size_t at, size_t bytes)
{
    int err;

    do
        err = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
    while (err < 0 && errno == EINTR);
    return err == 0;
}

static int make(void)
{
    range *const all = calloc(1, sizeof *all);

    arena.page = (size_t)sysconf(_SC_PAGESIZE);
    arena.card.bytes = address_bytes();
    arena.fd = memfd_create("rota", MFD_CLOEXEC);
    if (arena.fd < 0 || !all)
        return free(all), refuse("memfd_create");
    if (ftruncate(arena.fd, (off_t)arena.card.bytes) < 0 ||
        !back(arena.fd, 0, arena.page))
        return free(all), refuse("no room in shared memory");
    void *const base = mmap(NULL, arena.card.bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, arena.fd, 0);
    if (base == MAP_FAILED)
        return free(all), refuse("mmap");
    if (getrandom(&arena.card.cookie, sizeof arena.card.cookie, 0) !=
        (ssize_t)sizeof arena.card.cookie)
        arena.card.cookie =
            (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)base;
    madvise(base, arena.card.bytes, MADV_DONTDUMP);
    *all = (range){.at = arena.page, .bytes = arena.card.bytes - arena.page};
    arena.idle = all;
    arena.base = base;
    arena.card.pid = getpid();
    arena.card.fd = arena.fd;
    arena.card.address = (uint64_t)(uintptr_t)base;
    ((rota_arena_head *)base)->cookie = arena.card.cookie;
    return MPI_SUCCESS;
}

int rota_arena_open(rota_arena_card *card)
{
    pthread_mutex_lock(&arena_lock);
    if (!arena.tried && make() != MPI_SUCCESS && arena.fd >= 0)
        close(arena.fd);
    arena.tried = true;
    *card = arena.base ? arena.card : (rota_arena_card){0};
    pthread_mutex_unlock(&arena_lock);
    return card->cookie ? MPI_SUCCESS
                        : rota_fail(MPI_ERR_NO_MEM, "%s", arena.why);
}

rota_arena_head *rota_arena_own(void)
{
    return (rota_arena_head *)(void *)arena.base;
}

bool rota_arena_holds(const void *p, size_t bytes)
{
    const uintptr_t at = (uintptr_t)p, base = (uintptr_t)arena.base;

    return base && at >= base && at - base <= arena.card.bytes &&
           bytes <= arena.card.bytes - (at - base);
}

uint64_t rota_arena_offset(const void *p)
{
    return (uint64_t)((const char *)p - arena.base);
}

/* ---- ranges ----------------------------------------------------------------- */

static void insert(range **list, range *r)
{
    while (*list && (*list)->at < r->at)
        list = &(*list)->next;
    r->next = *list;
    *list = r;
}

/* Cut bytes from the first idle range that has them; spare becomes the rest, or
 * is freed: a range of no bytes would keep its neighbours apart. */
static range *cut(size_t bytes, range *spare)
{
    range **link = &arena.idle;

    while (*link && (*link)->bytes < bytes)
        link = &(*link)->next;
    range *const r = *link;
    if (!r)
        return NULL;
    if (r->bytes == bytes) {
        *link = r->next;
        free(spare);
        return r;
    }
    *spare = (range){
        .at = r->at + bytes, .bytes = r->bytes - bytes, .next = r->next};
    *link = spare;
    r->bytes = bytes;
    return r;
}

/* Join a range to what follows it. */
static void join(range *r)
{
    range *const next = r->next;

    if (!next || r->at + r->bytes != next->at)
        return;
    r->bytes += next->bytes;
    r->next = next->next;
    free(next);
}

static void put_back(range *r)
{
    range *before = NULL;

    insert(&arena.idle, r);
    join(r);
    for (range *i = arena.idle; i != r; i = i->next)
        before = i;
    if (before)
        join(before);
}

static void release(range *r)
{
    fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)r->at, (off_t)r->bytes);
    put_back(r);
}

static void release_kept(void)
{
    while (arena.kept) {
        range *const r = arena.kept;
        arena.kept = r->next;
        release(r);
    }
    arena.kept_bytes = 0;
}

/* Pages from idle ones, backed; NULL if there are none. */
static range *back_idle(size_t bytes)
{
    range *const spare = calloc(1, sizeof *spare);
    range *const r = spare ? cut(bytes, spare) : NULL;

    if (!r)
        free(spare);
    if (!r || back(arena.fd, r->at, r->bytes))
        return r;
    put_back(r);
    return NULL;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + arena.page - 1) / arena.page * arena.page;
}

void *rota_arena_alloc(size_t bytes)
{
    range *r = NULL;

    pthread_mutex_lock(&arena_lock);
    if (arena.base && bytes > 0 && bytes <= arena.card.bytes) {
        r = back_idle(whole_pages(bytes));
        if (!r && arena.kept) {
            release_kept();
            r = back_idle(whole_pages(bytes));
        }
    }
    if (r)
        insert(&arena.used, r);
    pthread_mutex_unlock(&arena_lock);
    return r ? arena.base + r->at : NULL;
}

/* Take the range that begins there out of those in use, or return NULL. */
static range *find_used(const void *memory)
{
    range **link = &arena.used;

    while (*link && (*link)->at != rota_arena_offset(memory))
        link = &(*link)->next;
    range *const r = *link;
    if (r)
        *link = r->next;
    return r;
}

bool rota_arena_free(void *memory)
{
    if (!rota_arena_holds(memory, 1))
        return false;
    pthread_mutex_lock(&arena_lock);
    range *const r = find_used(memory);
    if (r)
        release(r);
    pthread_mutex_unlock(&arena_lock);
    return r != NULL;
}

/* ---- kept ranges ------------------------------------------------------------ */

/* In all; a longer range is not kept. The rings of a plan take up to 8 MiB. */
enum { MOST_KEPT = 1 << 23 };

/* The smallest that will do, if not much of it is left over. */
static range *find_kept(size_t bytes)
{
    range **best = NULL;

    for (range **link = &arena.kept; *link; link = &(*link)->next)
        if ((*link)->bytes >= bytes && (*link)->bytes / 2 <= bytes &&
            (!best || (*link)->bytes < (*best)->bytes))
            best = link;
    range *const r = best ? *best : NULL;
    if (r)
        *best = r->next;
    return r;
}

void *rota_arena_take(size_t bytes)
{
    pthread_mutex_lock(&arena_lock);
    range *const r = arena.base ? find_kept(whole_pages(bytes)) : NULL;
    if (r) {
        arena.kept_bytes -= r->bytes;
        insert(&arena.used, r);
    }
    pthread_mutex_unlock(&arena_lock);
    return r ? arena.base + r->at : rota_arena_alloc(bytes);
}

bool rota_arena_put(void *memory)
{
    if (!rota_arena_holds(memory, 1))
        return false;
    pthread_mutex_lock(&arena_lock);
    range *const r = find_used(memory);
    if (r && r->bytes <= MOST_KEPT - arena.kept_bytes) {
        arena.kept_bytes += r->bytes;
        insert(&arena.kept, r);
    } else if (r) {
        release(r);
    }
    pthread_mutex_unlock(&arena_lock);
    return r != NULL;
}

/* ---- those of others -------------------------------------------------------- */

static int open_card(const rota_arena_card *card, rota_arena_head **head)
{
    char path[64];
    struct stat file;

    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)card->pid,
             (long long)card->fd);
    if (stat(path, &file) < 0)
        return rota_fail(MPI_ERR_NO_MEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(file.st_mode) || (uint64_t)file.st_size != card->bytes)
        return rota_fail(MPI_ERR_NO_MEM, "%s is another file", path);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return rota_fail(MPI_ERR_NO_MEM, "%s: %s", path, strerror(errno));
    void *const base = mmap(NULL, card->bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, fd, 0);
    const int error = errno;
    close(fd);
    if (base == MAP_FAILED)
        return rota_fail(MPI_ERR_NO_MEM, "mmap: %s", strerror(error));
    *head = base;
    if ((*head)->cookie == card->cookie)
        return MPI_SUCCESS;
    munmap(base, card->bytes);
    return rota_fail(MPI_ERR_NO_MEM, "%s is another process's memory", path);
}

static int map_new(const rota_arena_card *card, rota_arena_head **head)
{
    mapping *const m = calloc(1, sizeof *m);
    const int err =
        m ? open_card(card, head) : rota_fail_mem("a mapping of memory");

    if (err != MPI_SUCCESS) {
        free(m);
        return err;
    }
    madvise(*head, card->bytes, MADV_DONTDUMP);
    *m = (mapping){card->cookie, *head, card->bytes, 1, arena.mapped};
    arena.mapped = m;
    return MPI_SUCCESS;
}

int rota_arena_map(const rota_arena_card *card, rota_arena_head **head)
{
    int err = MPI_SUCCESS;

    pthread_mutex_lock(&arena_lock);
    mapping *m = arena.mapped;
    while (m && m->cookie != card->cookie)
        m = m->next;
    if (m) {
        m->uses++;
        *head = m->head;
    } else {
        err = map_new(card, head);
    }
    pthread_mutex_unlock(&arena_lock);
    return err;
}

void rota_arena_drop(rota_arena_head *head)
{
    mapping **link = &arena.mapped;

    pthread_mutex_lock(&arena_lock);
    while (*link && (*link)->head != head)
        link = &(*link)->next;
    mapping *const m = *link;
    if (m && --m->uses == 0) {
        *link = m->next;
        munmap(m->head, m->bytes);
        free(m);
    }
    pthread_mutex_unlock(&arena_lock);
}
