/* arena.c - see arena.h. */
#define _GNU_SOURCE
#include "exec/memory/arena.h"
#include "base/huge.h"
#include "exec/memory/local.h"

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
    rota_place at;
    size_t bytes;
    struct range *next; /* next by place */
} range;

/* Guarded by arena_lock. Once the arena is open, what never changes may be read
 * without it: the address, where segments are, and their lengths. */
static struct {
    bool tried;
    _Atomic bool open;
    char why[ROTA_ERR_TEXT]; /* why there is none */
    rota_arena_address address;
    int fd;
    size_t page;
    size_t bytes, backed;
    rota_peer self;
    range *idle, *used;        /* ranges of pages */
    range *head;               /* pages of the head, never free */
    range *parts[ROTA_N_USES]; /* idle parts of pages in use */
    range *taken[ROTA_N_USES]; /* parts in use */
    void (*bind)(void *memory, size_t bytes);
    _Atomic(const rota_heap *) heap; /* offered to others; NULL: none */
    rota_peer *peers;                /* all processes met so far */
    int n_peers;
} arena = {.fd = -1};

static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;

/* Least length of a segment, where the system allows it: enough for a few plans of a
 * process. It is not backed before it is used, but each takes system calls of every
 * other process of the node. */
enum { LEAST_SEGMENT = 1 << 20 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* ---- ranges -------------------------------------------------------------- */

/* Join a range to the next one if they touch. Ranges of different segments
 * never do: their places differ. */
static void join(range *r)
{
    range *const next = r->next;

    if (!next || r->at + r->bytes != next->at)
        return;
    r->bytes += next->bytes;
    r->next = next->next;
    free(next);
}

static void insert(range **list, range *r)
{
    while (*list && (*list)->at < r->at)
        list = &(*list)->next;
    r->next = *list;
    *list = r;
}

static void put_back(range **list, range *r)
{
    range *before = NULL;

    insert(list, r);
    for (range *i = *list; i != r; i = i->next)
        before = i;
    join(r);
    if (before)
        join(before);
}

/* Cut bytes from the first range that is large enough, or return NULL. */
static range *cut(range **list, size_t bytes)
{
    while (*list && (*list)->bytes < bytes)
        list = &(*list)->next;
    range *const r = *list;
    if (!r)
        return NULL;
    if (r->bytes == bytes) {
        *list = r->next;
        return r;
    }
    range *const part = malloc(sizeof *part);
    if (!part)
        return NULL;
    *part = (range){.at = r->at, .bytes = bytes};
    r->at += bytes;
    r->bytes -= bytes;
    return part;
}

/* Remove the range that begins at `at` from a list, or return NULL. */
static range *take_out(range **list, rota_place at)
{
    while (*list && (*list)->at != at)
        list = &(*list)->next;
    range *const r = *list;
    if (r)
        *list = r->next;
    return r;
}

/* ---- segments ------------------------------------------------------------ */

/* Bytes that processes of this host can still get; SIZE_MAX: unknown. */
static size_t memory_left(void)
{
    FILE *const f = fopen("/proc/meminfo", "r");
    unsigned long kib = 0;
    char line[128];
    bool known = false;

    while (f && !known && fgets(line, sizeof line, f))
        known = sscanf(line, "MemAvailable: %lu kB", &kib) == 1;
    if (f)
        fclose(f);
    return known ? (size_t)kib * 1024 : SIZE_MAX;
}

static bool is_left(size_t bytes)
{
    enum { LARGE = 1 << 26 }; /* less is not worth looking */

    if (bytes < LARGE || bytes <= memory_left())
        return true;
    errno = ENOMEM;
    return false;
}

/* Back memory piece by piece, because a signal interrupts the call, which then
 * starts again. For what is not there the system would end processes, so look
 * before and, as other ranks take memory, too, now and then. */
static bool back(size_t at, size_t bytes)
{
    enum { PIECE = 1 << 20, LOOK = 256 * PIECE };

    for (size_t done = 0; done < bytes;) {
        if (done % LOOK == 0 && !is_left(bytes - done))
            return false;
        const size_t n = bytes - done < PIECE ? bytes - done : PIECE;
        if (fallocate(arena.fd, FALLOC_FL_KEEP_SIZE, (off_t)(at + done),
                      (off_t)n) == 0)
            done += n;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

static size_t file_offset(rota_place at)
{
    const rota_arena_head *const head = arena.self.head;
    const int segment = rota_place_segment(at);

    return (size_t)(head ? head->segment[segment].at : 0) +
           (at & (((rota_place)1 << 48) - 1));
}

/* What is whole huge pages, if there are such. All of it is backed soon, anyway. */
static void back_huge(const range *r)
{
    char *first;
    const size_t n =
        rota_huge_pages(rota_peer_at(&arena.self, r->at), r->bytes, &first);

    if (n > 0 && rota_huge_allowed() && is_left(r->bytes))
        rota_huge_back(first, n);
}

static void discard(const range *r)
{
    fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
              (off_t)file_offset(r->at), (off_t)r->bytes);
    arena.backed -= r->bytes;
}

/* May the file grow? Beyond the limit on file sizes, a signal would end the
 * process. */
static bool may_grow(size_t bytes)
{
    struct rlimit limit;

    errno = EFBIG;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY ||
           arena.bytes + bytes <= limit.rlim_cur;
}

/* Extend the file and map the new part. */
static char *extend(size_t bytes)
{
    if (!may_grow(bytes) ||
        ftruncate(arena.fd, (off_t)(arena.bytes + bytes)) < 0)
        return NULL;
    char *const base =
        rota_huge_map(arena.fd, arena.bytes, bytes, PROT_READ | PROT_WRITE);
    if (base == MAP_FAILED)
        return NULL;
    madvise(base, bytes, MADV_DONTDUMP);
    return base;
}

static void tell_mapped(const rota_peer *peer)
{
    const int heap = peer->segment[ROTA_HEAP] ? ROTA_HEAP_MAPPED : 0;

    atomic_store_explicit(&arena.self.head->mapped[peer->slot],
                          (uint8_t)(peer->n_segments | heap),
                          memory_order_release);
}

/* Add a segment, all of it idle. */
static bool add_segment(size_t bytes)
{
    rota_peer *const self = &arena.self;
    const int i = self->n_segments;
    range *const all = malloc(sizeof *all);
    char *const base = all && i < ROTA_SEGMENTS ? extend(bytes) : NULL;

    if (!base) {
        free(all);
        return false;
    }
    if (i == 0)
        self->head = (rota_arena_head *)(void *)base;
    else
        self->head->segment[i].at = arena.bytes;
    *all = (range){.at = (rota_place)i << 48, .bytes = bytes};
    put_back(&arena.idle, all);
    arena.bytes += bytes;
    self->segment[i] = base;
    if (i == 0) { /* its head is not backed yet */
        self->n_segments = 1;
        return true;
    }
    self->head->segment[i].bytes = bytes;
    self->n_segments = i + 1;
    atomic_store_explicit(&self->head->n_segments, (uint32_t)i + 1,
                          memory_order_release);
    tell_mapped(self);
    if (arena.bind)
        arena.bind(base, bytes);
    return true;
}

/* Add more than is asked for, if the system allows it. A buffer that grows by half,
 * up to three times, is then where others have mapped it. What is not used takes
 * addresses, not memory; so not too many. */
static bool grow(size_t bytes)
{
    enum { MUCH = 1 << 28, TIMES = 4 };
    const size_t half = round_up(arena.bytes / 2, arena.page);
    const size_t least = half > LEAST_SEGMENT ? half : LEAST_SEGMENT;
    const size_t wish =
        bytes >= LEAST_SEGMENT && bytes < MUCH ? TIMES * bytes : bytes;
    const size_t more = wish > least ? wish : least;

    return is_left(bytes) &&
           ((bytes < more && add_segment(more)) || add_segment(bytes));
}

/* Take idle pages and back them; NULL if there are none. */
static range *take_pages(size_t bytes)
{
    range *r = cut(&arena.idle, bytes);

    if (!r && grow(bytes))
        r = cut(&arena.idle, bytes);
    if (!r)
        return NULL;
    arena.backed += r->bytes;
    back_huge(r);
    if (back(file_offset(r->at), r->bytes))
        return r;
    discard(r); /* give back the part that was backed */
    put_back(&arena.idle, r);
    return NULL;
}

/* ---- making -------------------------------------------------------------- */

static int refuse(const char *what)
{
    snprintf(arena.why, sizeof arena.why, "%s: %s", what, strerror(errno));
    return MPI_ERR_NO_MEM;
}

static uint64_t make_cookie(void)
{
    uint64_t cookie;

    if (getrandom(&cookie, sizeof cookie, 0) != (ssize_t)sizeof cookie)
        cookie =
            (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)arena.self.head;
    return cookie;
}

static int make(void)
{
    rota_peer *const self = &arena.self;

    arena.page = (size_t)sysconf(_SC_PAGESIZE);
    arena.fd = memfd_create("rota", MFD_CLOEXEC);
    if (arena.fd < 0)
        return refuse("memfd_create");
    const size_t head = round_up(sizeof *self->head, arena.page);
    if (!add_segment(round_up(LEAST_SEGMENT, arena.page)) && !add_segment(head))
        return refuse("no room in shared memory");
    arena.head = take_pages(head);
    if (!arena.head)
        return refuse("no room in shared memory");
    self->head->segment[0].bytes = arena.bytes;
    atomic_store(&self->head->n_segments, 1);
    tell_mapped(self);
    self->pid = getpid();
    self->fd = arena.fd;
    self->cookie = self->head->cookie = make_cookie();
    arena.n_peers = 1; /* slot 0 is this process's own */
    arena.address = (rota_arena_address){.cookie = self->cookie,
                                         .bytes = arena.bytes,
                                         .pid = self->pid,
                                         .fd = arena.fd};
    return MPI_SUCCESS;
}

int rota_arena_open(rota_arena_address *address)
{
    pthread_mutex_lock(&arena_lock);
    if (!arena.tried && make() != MPI_SUCCESS) {
        arena.self.head = NULL;
        if (arena.fd >= 0)
            close(arena.fd);
    }
    arena.tried = true;
    *address = arena.address;
    atomic_store_explicit(&arena.open, address->cookie != 0,
                          memory_order_release);
    pthread_mutex_unlock(&arena_lock);
    return address->cookie ? MPI_SUCCESS
                           : rota_fail(MPI_ERR_NO_MEM, "%s", arena.why);
}

static bool is_open(void)
{
    return atomic_load_explicit(&arena.open, memory_order_acquire);
}

rota_arena_head *rota_arena_own(void)
{
    return is_open() ? arena.self.head : NULL;
}

rota_peer *rota_arena_self(void)
{
    return &arena.self;
}

void rota_arena_offer_heap(void)
{
    const rota_heap *const heap = rota_local_find();
    rota_peer *const self = &arena.self;

    pthread_mutex_lock(&arena_lock);
    if (heap && rota_arena_own() && !self->segment[ROTA_HEAP]) {
        self->head->heap.fd = heap->fd;
        self->head->heap.inode = heap->inode;
        atomic_store(&self->head->heap.bytes, heap->bytes);
        self->segment[ROTA_HEAP] = heap->base;
        tell_mapped(self);
        atomic_store(&arena.heap, heap);
    }
    pthread_mutex_unlock(&arena_lock);
}

void rota_arena_bind(void (*bind)(void *memory, size_t bytes))
{
    pthread_mutex_lock(&arena_lock);
    const bool is_new = arena.bind != bind;
    arena.bind = bind;
    for (int i = 0; is_new && bind && i < arena.self.n_segments; i++)
        bind(arena.self.segment[i], (size_t)arena.self.head->segment[i].bytes);
    pthread_mutex_unlock(&arena_lock);
}

/* ---- allocating ---------------------------------------------------------- */

void *rota_arena_alloc(size_t bytes)
{
    range *r = NULL;

    pthread_mutex_lock(&arena_lock);
    if (rota_arena_own() && bytes > 0 && bytes <= (size_t)1 << 47)
        r = take_pages(round_up(bytes, arena.page));
    if (r)
        insert(&arena.used, r);
    pthread_mutex_unlock(&arena_lock);
    return r ? rota_peer_at(&arena.self, r->at) : NULL;
}

/* Does a heap that others may map hold these bytes? */
static bool find_in_heap(const void *p, size_t bytes, rota_place *at)
{
    const rota_heap *const heap =
        atomic_load_explicit(&arena.heap, memory_order_acquire);

    if (!heap || !rota_heap_holds(heap, p))
        return false;
    if (!atomic_load_explicit(heap->lent, memory_order_relaxed))
        atomic_store_explicit(heap->lent, true, memory_order_relaxed);
    const size_t from = (size_t)((const char *)p - heap->base);
    *at = (rota_place)ROTA_HEAP << 48 | from;
    return bytes <= heap->bytes - from;
}

/* Needs no lock: segments are added, never changed. */
bool rota_arena_find(const void *p, size_t bytes, rota_place *at)
{
    if (find_in_heap(p, bytes, at))
        return true;
    for (int i = 0; is_open() && i < arena.self.n_segments; i++) {
        const size_t room = (size_t)arena.self.head->segment[i].bytes;
        const uintptr_t from = (uintptr_t)p - (uintptr_t)arena.self.segment[i];
        if (from < room && bytes <= room - from) {
            *at = (rota_place)i << 48 | from;
            return true;
        }
    }
    return false;
}

/* Remove the range of this memory from a list of those in use, or return NULL. */
static range *take_back(range **list, const void *memory)
{
    rota_place at;

    return rota_arena_find(memory, 1, &at) ? take_out(list, at) : NULL;
}

bool rota_arena_free(void *memory)
{
    pthread_mutex_lock(&arena_lock);
    range *const r = take_back(&arena.used, memory);
    if (r) {
        discard(r);
        put_back(&arena.idle, r);
    }
    pthread_mutex_unlock(&arena_lock);
    return r != NULL;
}

/* Put back an idle range, or free it if it is empty. */
static void put_part(rota_use use, range *r)
{
    if (r->bytes > 0)
        put_back(&arena.parts[use], r);
    else
        free(r);
}

/* Cut a part from pages in use. If more pages are needed, take somewhat more
 * than is asked for. */
static range *cut_part(rota_use use, size_t bytes)
{
    enum { LEAST = 1 << 14 };
    range *const r = cut(&arena.parts[use], bytes);

    if (r)
        return r;
    range *const pages =
        take_pages(round_up(bytes > LEAST ? bytes : LEAST, arena.page));
    if (pages)
        put_back(&arena.parts[use], pages);
    return pages ? cut(&arena.parts[use], bytes) : NULL;
}

void *rota_arena_take(rota_use use, size_t bytes, rota_place *at)
{
    range *r = NULL;

    pthread_mutex_lock(&arena_lock);
    if (rota_arena_own())
        r = cut_part(use, round_up(bytes, ROTA_CACHE_LINE));
    if (r) {
        *at = r->at;
        insert(&arena.taken[use], r);
    }
    pthread_mutex_unlock(&arena_lock);
    return r ? rota_peer_at(&arena.self, *at) : NULL;
}

/* Give back whole pages of idle entries if there are many, as after a plan of
 * many ranks. Counters stay. */
static void trim(rota_use use)
{
    enum { LEAST = 1 << 16 };
    range *r = use == ROTA_ENTRIES ? arena.parts[use] : NULL;

    while (r && r->bytes < LEAST)
        r = r->next;
    if (!r)
        return;
    range *const pages = malloc(sizeof *pages), *const rest = malloc(sizeof *r);
    const rota_place begin = round_up(r->at, arena.page);
    const rota_place end = (r->at + r->bytes) / arena.page * arena.page;
    if (!pages || !rest || end <= begin) {
        free(pages);
        free(rest);
        return;
    }
    take_out(&arena.parts[use], r->at);
    *pages = (range){.at = begin, .bytes = end - begin};
    *rest = (range){.at = end, .bytes = r->at + r->bytes - end};
    r->bytes = begin - r->at;
    put_part(use, r);
    put_part(use, rest);
    discard(pages);
    put_back(&arena.idle, pages);
}

void rota_arena_put(rota_use use, void *memory)
{
    pthread_mutex_lock(&arena_lock);
    range *const r = take_back(&arena.taken[use], memory);
    if (r) {
        put_back(&arena.parts[use], r);
        trim(use);
    }
    pthread_mutex_unlock(&arena_lock);
}

size_t rota_arena_bytes(size_t *backed)
{
    pthread_mutex_lock(&arena_lock);
    const size_t bytes = arena.bytes;
    *backed = arena.backed;
    pthread_mutex_unlock(&arena_lock);
    return bytes;
}

/* Runs when the process ends normally, not when it is killed. A forked child
 * does not own the arena. */
__attribute__((destructor)) static void note_end(void)
{
    if (rota_arena_own() && getpid() == arena.self.pid)
        atomic_store(&arena.self.head->ended, true);
}

/* ---- those of others ----------------------------------------------------- */

static void name_file(int64_t pid, int64_t fd, char path[], size_t bytes)
{
    snprintf(path, bytes, "/proc/%lld/fd/%lld", (long long)pid, (long long)fd);
}

/* Open the peer's arena file, by its path in /proc. */
static int open_file(const rota_peer *peer, size_t bytes)
{
    char path[64];
    struct stat file;

    name_file(peer->pid, peer->fd, path, sizeof path);
    if (stat(path, &file) < 0) {
        rota_fail(MPI_ERR_NO_MEM, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (!S_ISREG(file.st_mode) || (uint64_t)file.st_size < bytes) {
        rota_fail(MPI_ERR_NO_MEM, "%s is another file", path);
        return -1;
    }
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        rota_fail(MPI_ERR_NO_MEM, "%s: %s", path, strerror(errno));
    return fd;
}

static bool map_segment(rota_peer *peer, int fd, size_t at, size_t bytes)
{
    char *const base = rota_huge_map(fd, at, bytes, PROT_READ | PROT_WRITE);

    if (base == MAP_FAILED) {
        rota_fail(MPI_ERR_NO_MEM, "mmap: %s", strerror(errno));
        return false;
    }
    madvise(base, bytes, MADV_DONTDUMP);
    peer->segment[peer->n_segments] = base;
    peer->n_segments++;
    return true;
}

/* Map the peer's heap, once it has one. If that fails, messages from there go
 * another way. A program that has limited its address space needs it. */
static void map_heap(rota_peer *peer)
{
    const size_t bytes = (size_t)atomic_load(&peer->head->heap.bytes);
    struct rlimit limit;
    struct stat file;
    char path[64];

    if (peer->segment[ROTA_HEAP] || peer->heap_stuck || bytes == 0)
        return;
    peer->heap_stuck = true;
    name_file(peer->pid, peer->head->heap.fd, path, sizeof path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &file) == 0 && file.st_ino == peer->head->heap.inode &&
        (uint64_t)file.st_size == bytes && getrlimit(RLIMIT_AS, &limit) == 0 &&
        limit.rlim_cur == RLIM_INFINITY) {
        char *const base = rota_huge_map(fd, 0, bytes, PROT_READ);
        if (base != MAP_FAILED) {
            madvise(base, bytes, MADV_DONTDUMP);
            peer->segment[ROTA_HEAP] = base;
            peer->heap_stuck = false;
        }
    }
    close(fd);
}

static void unmap_all(rota_peer *peer)
{
    if (peer->segment[ROTA_HEAP])
        munmap(peer->segment[ROTA_HEAP],
               (size_t)atomic_load(&peer->head->heap.bytes));
    peer->segment[ROTA_HEAP] = NULL;
    while (peer->n_segments > 0) {
        const int i = --peer->n_segments;
        const size_t bytes = (size_t)peer->head->segment[i].bytes;
        munmap(peer->segment[i], bytes); /* the head goes last */
    }
    peer->head = NULL;
}

/* The address has the length of the first segment; that segment has those of
 * the others. */
static int map_head(rota_peer *peer, const rota_arena_address *address)
{
    peer->pid = address->pid;
    peer->fd = address->fd;
    const int fd = open_file(peer, address->bytes);
    if (fd < 0)
        return MPI_ERR_NO_MEM;
    const bool mapped = map_segment(peer, fd, 0, address->bytes);
    close(fd);
    if (!mapped)
        return MPI_ERR_NO_MEM;
    peer->head = (rota_arena_head *)(void *)peer->segment[0];
    if (peer->head->cookie == address->cookie)
        return MPI_SUCCESS;
    munmap(peer->segment[0], address->bytes);
    peer->n_segments = 0;
    peer->head = NULL;
    return rota_fail(MPI_ERR_NO_MEM,
                     "/proc/%lld/fd/%lld is another process's "
                     "memory",
                     (long long)address->pid, (long long)address->fd);
}

static bool map_segments(rota_peer *peer)
{
    const int n = (int)atomic_load_explicit(&peer->head->n_segments,
                                            memory_order_acquire);

    if (peer->n_segments == n)
        return true;
    const size_t end = (size_t)(peer->head->segment[n - 1].at +
                                peer->head->segment[n - 1].bytes);
    const int fd = peer->stuck ? -1 : open_file(peer, end);
    while (fd >= 0 && !peer->stuck && peer->n_segments < n) {
        const int i = peer->n_segments;
        peer->stuck = !map_segment(peer, fd, (size_t)peer->head->segment[i].at,
                                   (size_t)peer->head->segment[i].bytes);
    }
    if (fd >= 0)
        close(fd);
    peer->stuck = peer->n_segments < n;
    return !peer->stuck;
}

static bool update(rota_peer *peer)
{
    const bool good = map_segments(peer);

    map_heap(peer);
    tell_mapped(peer);
    return good;
}

bool rota_arena_update(rota_peer *peer)
{
    if (peer == &arena.self)
        return true;
    pthread_mutex_lock(&arena_lock);
    const bool good = update(peer);
    pthread_mutex_unlock(&arena_lock);
    rota_fail_clear(); /* not an error of the caller's */
    return good;
}

/* Find a process, or enter it. One that was met before keeps its slot. */
static int meet(uint64_t cookie, rota_peer **peer)
{
    *peer = arena.peers;
    while (*peer && (*peer)->cookie != cookie)
        *peer = (*peer)->next;
    if (*peer)
        return MPI_SUCCESS;
    if (arena.n_peers == ROTA_PEERS)
        return rota_fail(MPI_ERR_NO_MEM, "more than %d processes share memory",
                         ROTA_PEERS);
    *peer = calloc(1, sizeof **peer);
    if (!*peer)
        return rota_fail_mem("a process of the node");
    (*peer)->cookie = cookie;
    (*peer)->slot = arena.n_peers++;
    (*peer)->slot_there = -1;
    (*peer)->next = arena.peers;
    arena.peers = *peer;
    return MPI_SUCCESS;
}

int rota_arena_map(const rota_arena_address *address, rota_peer **peer)
{
    int err;

    pthread_mutex_lock(&arena_lock);
    err = meet(address->cookie, peer);
    if (err == MPI_SUCCESS && !(*peer)->head)
        err = map_head(*peer, address);
    if (err == MPI_SUCCESS) {
        (*peer)->uses++;
        update(*peer);
    } else {
        *peer = NULL;
    }
    pthread_mutex_unlock(&arena_lock);
    return err;
}

void rota_arena_hold(rota_peer *peer)
{
    pthread_mutex_lock(&arena_lock);
    peer->uses++;
    pthread_mutex_unlock(&arena_lock);
}

void rota_arena_drop(rota_peer *peer)
{
    if (peer == &arena.self)
        return;
    pthread_mutex_lock(&arena_lock);
    if (--peer->uses == 0) {
        unmap_all(peer);
        tell_mapped(peer);
        peer->stuck = peer->heap_stuck = false;
    }
    pthread_mutex_unlock(&arena_lock);
}
