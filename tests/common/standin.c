/* standin.c - a device that is not there, to run what deals with one without.
 *
 * A program that links this with --wrap=rota_device_in_use has a device whose
 * memory nobody may touch but its copies: every access by another way faults.
 * Copies are not made when they are put in a queue but some of them, at random,
 * whenever a mark of any queue is asked for: who does not wait finds what was
 * there before. What is asked for that is not allowed ends the program.
 *
 * Other processes open memory and marks by their files in /proc; with
 * STANDIN_REFUSES in the environment this one opens no memory. STANDIN_BY_TIME says
 * that processes share the device by time, STANDIN_DEVICE the number of this one's.
 */
#define _GNU_SOURCE
#include "standin.h"
#include "pattern.h"
#include "testdev.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static size_t objects;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "stand-in: %s\n", what);
    abort();
}

static void *must_have(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

/* ---- files that other processes open ------------------------------------- */

/* What a handle says. */
typedef struct file {
    int64_t pid, fd;
    size_t bytes, mapped;
} file;

static rota_handle handle_of(const file *f)
{
    rota_handle h = {{0}};

    memcpy(h.bytes, f, sizeof *f);
    return h;
}

/* A descriptor of its own for a file of another process's. */
static int open_file(const rota_handle *handle, file *f)
{
    char path[64];

    memcpy(f, handle->bytes, sizeof *f);
    if (f->pid == getpid())
        die("opening what is this process's own");
    snprintf(path, sizeof path, "/proc/%lld/fd/%lld", (long long)f->pid,
             (long long)f->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        die("opening what is not there");
    return fd;
}

/* ---- memory -------------------------------------------------------------- */

/* Memory of the device, which others see at an address that faults. */
typedef struct area {
    char *seen, *true_place;
    size_t bytes, mapped;
    int fd;          /* this process's */
    bool is_private; /* other processes cannot open it */
    bool foreign;    /* another process's, opened by */
    rota_handle handle;
    struct area *next;
} area;

static area *areas;

/* Memory of the host that is page-locked. */
typedef struct locked {
    char *memory;
    size_t bytes;
    struct locked *next;
} locked;

static locked *all_locked;

static const area *area_of(const void *p)
{
    const char *const at = p;
    const area *a = areas;

    while (a && (at < a->seen || at >= a->seen + a->mapped))
        a = a->next;
    return a;
}

static bool holds(const void *p)
{
    return area_of(p) != NULL;
}

/* One device for all, unless the environment says another. */
static bool identify(const void *p, rota_identity *identity)
{
    const char *const device = getenv("STANDIN_DEVICE");

    if (!holds(p))
        return false;
    *identity =
        (rota_identity){.device = 1 + (device ? strtoull(device, NULL, 10) : 0),
                        .by_time = getenv("STANDIN_BY_TIME") != NULL};
    return true;
}

/* Where n bytes at p really are. */
static char *place_of(const void *p, size_t n)
{
    const area *const a = area_of(p);

    if (!a)
        return (char *)p;
    const size_t at = (size_t)((const char *)p - a->seen);
    if (at + n > a->bytes)
        die("a copy leaves the memory that was allocated");
    return a->true_place + at;
}

void *standin_place(const void *p, size_t bytes)
{
    return place_of(p, bytes);
}

enum { PAGE = 4096 };

static int make_file(size_t mapped)
{
    const int fd = memfd_create("stand-in", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)mapped) != 0)
        die("no memory for the device");
    return fd;
}

static area *map_area(int fd, size_t bytes, size_t mapped)
{
    area *const a = must_have(calloc(1, sizeof *a));

    a->fd = fd;
    a->bytes = bytes;
    a->mapped = mapped;
    a->true_place =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    a->seen = mmap(NULL, mapped, PROT_NONE, MAP_SHARED, fd, 0);
    if (a->true_place == MAP_FAILED || a->seen == MAP_FAILED)
        die("no memory for the device");
    a->next = areas;
    areas = a;
    return a;
}

static void unmap_area(const void *memory, bool foreign)
{
    area **link = &areas;

    while (*link && (*link)->seen != memory)
        link = &(*link)->next;
    area *const a = *link;
    if (!a || a->foreign != foreign)
        die("freeing what is no memory of the device");
    *link = a->next;
    munmap(a->seen, a->mapped);
    munmap(a->true_place, a->mapped);
    close(a->fd);
    free(a);
}

void *testdev_alloc(size_t bytes)
{
    const size_t mapped = (bytes / PAGE + 1) * PAGE;

    return map_area(make_file(mapped), bytes, mapped)->seen;
}

void *testdev_alloc_shared(size_t bytes)
{
    return testdev_alloc(bytes);
}

void *testdev_alloc_private(size_t bytes)
{
    void *const memory = testdev_alloc(bytes);

    areas->is_private = true;
    return memory;
}

void testdev_free(void *memory)
{
    unmap_area(memory, false);
}

static const char *memory_share(const void *p, rota_allocation *allocation)
{
    const area *const a = area_of(p);

    if (!a || a->foreign)
        die("sharing what is no memory of this process on the device");
    if (a->is_private)
        return "the memory is such as other processes cannot open";
    const file f = {getpid(), a->fd, a->bytes, a->mapped};
    *allocation = (rota_allocation){a->seen, a->bytes, handle_of(&f)};
    return NULL;
}

static int memory_open(rota_queue *q, const rota_handle *handle, char **base)
{
    file f;

    (void)q;
    for (const area *a = areas; a; a = a->next)
        if (a->foreign && memcmp(&a->handle, handle, sizeof *handle) == 0)
            die("opening memory twice");
    if (getenv("STANDIN_REFUSES"))
        return rota_fail(MPI_ERR_OTHER, "the stand-in refuses");
    const int fd = open_file(handle, &f);
    area *const a = map_area(fd, f.bytes, f.mapped);
    a->foreign = true;
    a->handle = *handle;
    objects++;
    *base = a->seen;
    return MPI_SUCCESS;
}

void testdev_put(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(place_of(to, bytes), from, bytes);
}

void testdev_get(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, place_of(from, bytes), bytes);
}

/* Fails now and then, as it may. */
static bool pin(rota_queue *q, void *memory, size_t bytes)
{
    static uint64_t calls;

    (void)q;
    if (holds(memory))
        die("page-locking memory of the device");
    memset(memory, 0xEE, bytes); /* it must all be there */
    if (test_hash(calls++) % 5 == 0)
        return false;
    locked *const l = must_have(malloc(sizeof *l));
    *l = (locked){memory, bytes, all_locked};
    all_locked = l;
    objects++;
    return true;
}

static void unpin(rota_queue *q, void *memory)
{
    locked **link = &all_locked;

    (void)q;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    locked *const l = *link;
    if (!l)
        die("unlocking what is not page-locked");
    *link = l->next;
    free(l);
    objects--;
}

/* ---- queues -------------------------------------------------------------- */

typedef enum kind { COPY, MARK, AWAIT, AWAIT_MARK, CALL } kind;

typedef struct job {
    kind kind;
    rota_rows rows;            /* COPY */
    rota_mark *mark;           /* MARK, AWAIT_MARK */
    uint64_t time;             /* of those that it was put */
    struct rota_queue *of;     /* AWAIT: all its jobs up to */
    uint64_t number, awaits;   /* of this job; of the one awaited */
    void (*call)(void *state); /* CALL */
    void *state;
    struct job *next;
} job;

struct rota_queue {
    job *first, **last;
    uint64_t put, done; /* jobs so far */
    struct rota_queue *next;
};

/* Seen by all processes that have opened it. */
typedef struct times {
    _Atomic uint64_t put, passed;
} times;

struct rota_mark {
    times *times;
    enum { ALONE, SHARED, OPENED } how;
    rota_handle handle; /* OPENED */
    rota_mark *next;    /* of those opened */
};

static rota_queue *queues;
static rota_mark *opened;

/* One that is not has done all that was in it. */
static bool is_there(const rota_queue *q)
{
    const rota_queue *at = queues;

    while (at && at != q)
        at = at->next;
    return at != NULL;
}

static bool run_up_to(rota_queue *q, uint64_t number);

static void make_copy(const rota_rows *r)
{
    if (r->n > 1 && (r->to_pitch < r->width || r->from_pitch < r->width))
        die("rows overlap");
    for (size_t i = 0; i < r->n; i++)
        memmove(place_of(r->to + i * r->to_pitch, r->width),
                place_of(r->from + i * r->from_pitch, r->width), r->width);
}

/* False if it has to wait for another process. */
static bool run(const job *j)
{
    switch (j->kind) {
    case COPY:
        make_copy(&j->rows);
        return true;
    case MARK:
        atomic_store(&j->mark->times->passed, j->time);
        return true;
    case CALL:
        j->call(j->state);
        return true;
    case AWAIT:
        return run_up_to(j->of, j->awaits);
    default:
        return atomic_load(&j->mark->times->passed) >= j->time;
    }
}

static bool run_first(rota_queue *q)
{
    job *const j = q->first;

    if (!run(j))
        return false;
    q->first = j->next;
    if (!q->first)
        q->last = &q->first;
    q->done = j->number;
    free(j);
    return true;
}

static bool run_up_to(rota_queue *q, uint64_t number)
{
    while (is_there(q) && q->first && q->first->number <= number)
        if (!run_first(q))
            return false;
    return true;
}

/* Time goes by: most often nothing happens, now and then a queue gets on. */
static void get_on(void)
{
    static uint64_t calls;

    for (rota_queue *q = queues; q; q = q->next) {
        const uint64_t drawn = test_hash(calls++);
        for (uint64_t n = drawn % 8 == 0 ? drawn / 8 % 6 : 0; n > 0 && q->first;
             n--)
            if (!run_first(q))
                break;
    }
}

/* A real device goes on while its process sleeps. This one does when the process
 * waits in Rota, which calls MPI now and then: another process may wait for what
 * is queued here. */
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag,
               MPI_Status *status)
{
    get_on();
    return PMPI_Iprobe(source, tag, comm, flag, status);
}

static void put(rota_queue *q, const job *what)
{
    job *const j = must_have(malloc(sizeof *j));

    *j = *what;
    j->number = ++q->put;
    j->next = NULL;
    *q->last = j;
    q->last = &j->next;
}

static int queue_make(const void *near, rota_queue **result)
{
    rota_queue *const q = must_have(calloc(1, sizeof *q));

    if (near && !holds(near))
        die("a queue near no memory of the device");
    q->last = &q->first;
    q->next = queues;
    queues = q;
    objects++;
    *result = q;
    return MPI_SUCCESS;
}

static void queue_free(rota_queue *q)
{
    rota_queue **link = &queues;

    if (!q)
        return;
    if (q->first)
        die("freeing a queue with copies in it");
    while (*link != q)
        link = &(*link)->next;
    *link = q->next;
    free(q);
    objects--;
}

static int queue_drain(rota_queue *q)
{
    enum { SECONDS = 60 };
    const time_t end = time(NULL) + SECONDS;

    while (!run_up_to(q, q->put)) {
        if (time(NULL) > end)
            die("a queue waits for another process without end");
        get_on();
        sched_yield();
    }
    return MPI_SUCCESS;
}

static const void *queue_home(const rota_queue *q)
{
    (void)q;
    return &queues;
}

static void memory_close(rota_queue *q, char *base)
{
    const area *const a = area_of(base);

    (void)q;
    for (const rota_queue *other = queues; other; other = other->next)
        for (const job *j = other->first; j; j = j->next)
            if (j->kind == COPY && area_of(j->rows.from) == a)
                die("closing memory from which something is copied");
    unmap_area(base, true);
    objects--;
}

static size_t copies[2];

size_t standin_copies(bool up)
{
    return copies[up];
}

static int copy(rota_queue *q, const rota_rows *rows)
{
    if (rows->n == 0 || rows->width == 0)
        die("a copy of nothing");
    copies[holds(rows->to)]++;
    put(q, &(job){.kind = COPY, .rows = *rows});
    return MPI_SUCCESS;
}

void standin_await(rota_queue *q, rota_queue *of, uint64_t number)
{
    put(q, &(job){.kind = AWAIT, .of = of, .awaits = number});
}

void standin_call(rota_queue *q, void (*call)(void *state), void *state)
{
    put(q, &(job){.kind = CALL, .call = call, .state = state});
}

uint64_t standin_put(const rota_queue *q)
{
    return q->put;
}

bool standin_passed(const rota_queue *q, uint64_t number)
{
    get_on();
    return !is_there(q) || q->done >= number;
}

static int queue_follow(rota_queue *q, void *stream)
{
    rota_queue *const s = stream;

    standin_await(q, s, s->put);
    return MPI_SUCCESS;
}

static int queue_lead(rota_queue *q, void *stream)
{
    return queue_follow(stream, q);
}

static int mark_make(rota_queue *q, rota_mark **mark)
{
    (void)q;
    *mark = must_have(calloc(1, sizeof **mark));
    (*mark)->times = must_have(calloc(1, sizeof *(*mark)->times));
    objects++;
    return MPI_SUCCESS;
}

static times *map_times(int fd)
{
    times *const t =
        mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (t == MAP_FAILED)
        die("no memory for a mark");
    return t;
}

/* Stays, and so does not count. */
static int mark_share(rota_queue *q, rota_mark **mark, rota_handle *handle)
{
    const file f = {getpid(), make_file(PAGE), 0, PAGE};

    (void)q;
    *mark = must_have(calloc(1, sizeof **mark));
    (*mark)->how = SHARED;
    (*mark)->times = map_times((int)f.fd);
    *handle = handle_of(&f);
    return MPI_SUCCESS;
}

static int mark_open(rota_queue *q, const rota_handle *handle, rota_mark **mark)
{
    file f;

    (void)q;
    for (const rota_mark *m = opened; m; m = m->next)
        if (memcmp(&m->handle, handle, sizeof *handle) == 0)
            die("opening a mark twice");
    const int fd = open_file(handle, &f);
    rota_mark *const m = must_have(calloc(1, sizeof *m));
    *m = (rota_mark){map_times(fd), OPENED, *handle, opened};
    close(fd);
    opened = *mark = m;
    objects++;
    return MPI_SUCCESS;
}

static void close_mark(const rota_mark *mark)
{
    rota_mark **link = &opened;

    while (*link && *link != mark)
        link = &(*link)->next;
    if (!*link)
        die("freeing a mark that others may await");
    *link = mark->next;
    munmap(mark->times, sizeof *mark->times);
}

static void mark_free(rota_queue *q, rota_mark *mark)
{
    (void)q;
    if (!mark)
        return;
    objects--;
    if (mark->how == ALONE)
        free(mark->times);
    else
        close_mark(mark);
    free(mark);
}

static int mark_put(rota_queue *q, rota_mark *mark)
{
    put(q, &(job){.kind = MARK,
                  .mark = mark,
                  .time = atomic_fetch_add(&mark->times->put, 1) + 1});
    return MPI_SUCCESS;
}

static int mark_await(rota_queue *q, rota_mark *mark)
{
    put(q, &(job){.kind = AWAIT_MARK,
                  .mark = mark,
                  .time = atomic_load(&mark->times->put)});
    return MPI_SUCCESS;
}

static int mark_passed(rota_queue *q, rota_mark *mark, bool *passed)
{
    (void)q;
    if (atomic_load(&mark->times->put) == 0)
        die("asking for a mark that was not put");
    get_on();
    *passed =
        atomic_load(&mark->times->passed) == atomic_load(&mark->times->put);
    return MPI_SUCCESS;
}

const rota_device standin_device = {
    .name = "stand-in",
    .holds = holds,
    .identify = identify,
    .pin = pin,
    .unpin = unpin,
    .queue_make = queue_make,
    .queue_free = queue_free,
    .queue_drain = queue_drain,
    .copy = copy,
    .queue_follow = queue_follow,
    .queue_lead = queue_lead,
    .mark_make = mark_make,
    .mark_free = mark_free,
    .mark_put = mark_put,
    .mark_passed = mark_passed,
    .memory_share = memory_share,
    .queue_home = queue_home,
    .memory_open = memory_open,
    .memory_close = memory_close,
    .mark_share = mark_share,
    .mark_open = mark_open,
    .mark_await = mark_await,
};

const rota_device *__wrap_rota_device_in_use(void);
const rota_device *__wrap_rota_device_in_use(void)
{
    return &standin_device;
}

/* ---- for tests ----------------------------------------------------------- */

bool testdev_open(const char **why)
{
    *why = "";
    return true;
}

bool testdev_pretend(int device, bool by_time)
{
    testdev_tell_standin(device, by_time);
    return true;
}

void *testdev_stream_make(void)
{
    rota_queue *q;

    queue_make(NULL, &q);
    return q;
}

void testdev_stream_wait(void *stream)
{
    queue_drain(stream);
}

void testdev_stream_free(void *stream)
{
    queue_drain(stream);
    queue_free(stream);
}

void testdev_put_later(void *to, const void *from, size_t bytes, void *stream)
{
    copy(stream, &(rota_rows){.to = to,
                              .from = from,
                              .to_pitch = bytes,
                              .from_pitch = bytes,
                              .width = bytes,
                              .n = 1});
}

size_t testdev_left(void)
{
    return objects;
}
