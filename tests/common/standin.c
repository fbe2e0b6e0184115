/* standin.c - a device that is not there, to run what deals with one without.
 *
 * A program that links this with --wrap=rota_device_in_use has a device whose
 * memory nobody may touch but its copies: every access by another way faults.
 * Copies are not made when they are put in a queue but some of them, at random,
 * whenever a mark of any queue is asked for: who does not wait finds what was
 * there before. What is asked for that is not allowed ends the program.
 */
#define _GNU_SOURCE
#include "standin.h"
#include "exec/device.h"
#include "pattern.h"
#include "testdev.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* ---- memory ------------------------------------------------------------------ */

/* Memory of the device, which others see at an address that faults. */
typedef struct area {
    char *seen, *true_place;
    size_t bytes, mapped;
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

void *standin_place(const void *p)
{
    return place_of(p, 0);
}

void *testdev_alloc(size_t bytes)
{
    enum { PAGE = 4096 };
    area *const a = must_have(malloc(sizeof *a));
    const int fd = memfd_create("stand-in", 0);

    a->bytes = bytes;
    a->mapped = (bytes / PAGE + 1) * PAGE;
    if (fd < 0 || ftruncate(fd, (off_t)a->mapped) != 0)
        die("no memory for the device");
    a->true_place =
        mmap(NULL, a->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    a->seen = mmap(NULL, a->mapped, PROT_NONE, MAP_SHARED, fd, 0);
    if (a->true_place == MAP_FAILED || a->seen == MAP_FAILED)
        die("no memory for the device");
    close(fd);
    a->next = areas;
    areas = a;
    return a->seen;
}

void testdev_free(void *memory)
{
    area **link = &areas;

    while (*link && (*link)->seen != memory)
        link = &(*link)->next;
    area *const a = *link;
    if (!a)
        die("freeing what is no memory of the device");
    *link = a->next;
    munmap(a->seen, a->mapped);
    munmap(a->true_place, a->mapped);
    free(a);
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

/* ---- queues ------------------------------------------------------------------ */

typedef enum kind { COPY, MARK, AWAIT } kind;

typedef struct job {
    kind kind;
    rota_rows rows;          /* COPY */
    rota_mark *mark;         /* MARK */
    struct rota_queue *of;   /* AWAIT: all its jobs up to */
    uint64_t number, awaits; /* of this job; of the one awaited */
    struct job *next;
} job;

struct rota_queue {
    job *first, **last;
    uint64_t put, done; /* jobs so far */
    struct rota_queue *next;
};

struct rota_mark {
    uint64_t times_put, times_passed;
};

static rota_queue *queues;

static void run_up_to(rota_queue *q, uint64_t number);

static void make_copy(const rota_rows *r)
{
    if (r->n > 1 && (r->to_pitch < r->width || r->from_pitch < r->width))
        die("rows overlap");
    for (size_t i = 0; i < r->n; i++)
        memmove(place_of(r->to + i * r->to_pitch, r->width),
                place_of(r->from + i * r->from_pitch, r->width), r->width);
}

static void run_first(rota_queue *q)
{
    job *const j = q->first;

    q->first = j->next;
    if (!q->first)
        q->last = &q->first;
    if (j->kind == COPY)
        make_copy(&j->rows);
    else if (j->kind == MARK)
        j->mark->times_passed++;
    else
        run_up_to(j->of, j->awaits);
    q->done = j->number;
    free(j);
}

static void run_up_to(rota_queue *q, uint64_t number)
{
    while (q->first && q->first->number <= number)
        run_first(q);
}

/* Time goes by: most often nothing happens, now and then a queue gets on. */
static void get_on(void)
{
    static uint64_t calls;

    for (rota_queue *q = queues; q; q = q->next) {
        const uint64_t drawn = test_hash(calls++);
        for (uint64_t n = drawn % 8 == 0 ? drawn / 8 % 6 : 0; n > 0 && q->first;
             n--)
            run_first(q);
    }
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
    run_up_to(q, q->put);
    return MPI_SUCCESS;
}

static int copy(rota_queue *q, const rota_rows *rows)
{
    if (rows->n == 0 || rows->width == 0)
        die("a copy of nothing");
    put(q, &(job){.kind = COPY, .rows = *rows});
    return MPI_SUCCESS;
}

static int queue_follow(rota_queue *q, void *stream)
{
    rota_queue *const s = stream;

    put(q, &(job){.kind = AWAIT, .of = s, .awaits = s->put});
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
    objects++;
    return MPI_SUCCESS;
}

static void mark_free(rota_queue *q, rota_mark *mark)
{
    (void)q;
    objects -= mark != NULL;
    free(mark);
}

static int mark_put(rota_queue *q, rota_mark *mark)
{
    mark->times_put++;
    put(q, &(job){.kind = MARK, .mark = mark});
    return MPI_SUCCESS;
}

static int mark_passed(rota_queue *q, rota_mark *mark, bool *passed)
{
    (void)q;
    if (mark->times_put == 0)
        die("asking for a mark that was not put");
    get_on();
    *passed = mark->times_passed == mark->times_put;
    return MPI_SUCCESS;
}

static const rota_device standin = {
    .name = "stand-in",
    .holds = holds,
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
};

const rota_device *__wrap_rota_device_in_use(void);
const rota_device *__wrap_rota_device_in_use(void)
{
    return &standin;
}

/* ---- for tests ------------------------------------------------------------------ */

bool testdev_open(const char **why)
{
    *why = "";
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
