/* ipc.c - see ipc.h. */
#include "device/ipc.h"
#include "device/layout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Allocations of a sender that stay open, as its buffer may change between
 * runs. */
enum { KEPT = 2 };

typedef struct window {
    rota_handle handle;
    char *base; /* NULL: nothing is open */
} window;

typedef struct peer {
    window window[KEPT]; /* the last message's first */
    rota_mark *ready, *taken;
    bool reads; /* it has been told of a message in this run */
} peer;

/* A mark of this process that others can open. */
typedef struct own_mark {
    rota_mark *mark;
    rota_handle handle;
    const void *home;
    struct own_mark *next; /* next of those that no plan uses */
} own_mark;

struct rota_ipc {
    rota_fetching fetching; /* first: the gate has its address */
    const rota_device *device;
    rota_queue *queue;
    own_mark *ready, *taken;
    rota_allocation sent; /* the allocation with the send blocks */
    peer *peer;           /* [P] */
};

static struct rota_ipc *ipc_of(const rota_exec *x)
{
    return (void *)x->gate->fetching;
}

/* ---- of the process ------------------------------------------------------ */

/* Memory or a mark that this process has opened; plans share it. */
typedef struct opened {
    rota_handle handle;
    const void *home;
    void *what; /* the memory, or a rota_mark */
    bool is_mark;
    int uses;
    struct opened *next;
} opened;

static opened *all_opened;
static own_mark *idle_marks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int open_new(const struct rota_ipc *g, bool is_mark,
                    const rota_handle *handle, opened **result)
{
    opened *const o = calloc(1, sizeof *o);
    rota_mark *mark = NULL;
    char *base = NULL;

    if (!o)
        return rota_fail_mem("memory of another rank");
    const int err = is_mark ? g->device->mark_open(g->queue, handle, &mark)
                            : g->device->memory_open(g->queue, handle, &base);
    if (err != MPI_SUCCESS) {
        free(o);
        return err;
    }
    *o = (opened){.handle = *handle,
                  .home = g->device->queue_home(g->queue),
                  .what = is_mark ? (void *)mark : base,
                  .is_mark = is_mark,
                  .next = all_opened};
    all_opened = *result = o;
    return MPI_SUCCESS;
}

static int open_shared(const struct rota_ipc *g, bool is_mark,
                       const rota_handle *handle, void **what)
{
    const void *const home = g->device->queue_home(g->queue);
    int err = MPI_SUCCESS;

    pthread_mutex_lock(&lock);
    opened *o = all_opened;
    while (o && (o->is_mark != is_mark || o->home != home ||
                 memcmp(&o->handle, handle, sizeof *handle) != 0))
        o = o->next;
    if (!o)
        err = open_new(g, is_mark, handle, &o);
    if (o) {
        o->uses++;
        *what = o->what;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

/* what may be NULL. */
static void close_shared(const struct rota_ipc *g, void *what)
{
    opened **link = &all_opened;

    pthread_mutex_lock(&lock);
    while (*link && (*link)->what != what)
        link = &(*link)->next;
    opened *const o = *link;
    if (o && --o->uses == 0) {
        *link = o->next;
        if (o->is_mark)
            g->device->mark_free(g->queue, what);
        else
            g->device->memory_close(g->queue, what);
        free(o);
    }
    pthread_mutex_unlock(&lock);
}

static own_mark *find_idle(const void *home)
{
    own_mark **link = &idle_marks;

    pthread_mutex_lock(&lock);
    while (*link && (*link)->home != home)
        link = &(*link)->next;
    own_mark *const m = *link;
    if (m)
        *link = m->next;
    pthread_mutex_unlock(&lock);
    return m;
}

static int take_mark(const struct rota_ipc *g, own_mark **result)
{
    const void *const home = g->device->queue_home(g->queue);
    own_mark *m = find_idle(home);
    int err = MPI_SUCCESS;

    if (!m) {
        m = calloc(1, sizeof *m);
        if (!m)
            return rota_fail_mem("a mark");
        m->home = home;
        err = g->device->mark_share(g->queue, &m->mark, &m->handle);
    }
    if (err == MPI_SUCCESS)
        *result = m;
    else
        free(m);
    return err;
}

/* m may be NULL. */
static void put_back_mark(own_mark *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&lock);
    m->next = idle_marks;
    idle_marks = m;
    pthread_mutex_unlock(&lock);
}

/* ---- messages ------------------------------------------------------------ */

static void tell(rota_exec *x, int to, const char *body, void *place)
{
    struct rota_ipc *const g = ipc_of(x);
    const rota_ipc_place told = {g->sent.handle,
                                 (uint64_t)(body - g->sent.base)};

    g->peer[to].reads = true;
    memcpy(place, &told, sizeof told);
}

static int open_memory(const struct rota_ipc *g, const rota_handle *handle,
                       window *w)
{
    void *base;

    ROTA_TRY(open_shared(g, false, handle, &base));
    *w = (window){*handle, base};
    return MPI_SUCCESS;
}

static bool is_window(const window *w, const rota_handle *handle)
{
    return w->base && memcmp(&w->handle, handle, sizeof *handle) == 0;
}

/* Open the allocation of the handle, if need be, as the first window. */
static int turn_to(const struct rota_ipc *g, peer *p, const rota_handle *handle)
{
    const window first = p->window[0], last = p->window[KEPT - 1];

    if (is_window(&first, handle))
        return MPI_SUCCESS;
    if (is_window(&last, handle)) {
        p->window[0] = last;
    } else {
        if (last.base)
            ROTA_TRY(g->device->queue_drain(g->queue));
        ROTA_TRY(open_memory(g, handle, &p->window[0]));
        close_shared(g, last.base);
    }
    p->window[KEPT - 1] = first;
    return MPI_SUCCESS;
}

static int fetch(rota_exec *x, int from, const void *place, char *to,
                 size_t bytes)
{
    const struct rota_ipc *const g = ipc_of(x);
    peer *const p = &g->peer[from];
    rota_ipc_place told;

    memcpy(&told, place, sizeof told);
    ROTA_TRY(turn_to(g, p, &told.memory));
    ROTA_TRY(g->device->mark_await(g->queue, p->ready));
    ROTA_TRY(rota_device_pack(&rota_type_bytes, g->device, g->queue,
                              p->window[0].base + told.at, bytes, to));
    return g->device->mark_put(g->queue, g->taken->mark);
}

/* ---- making -------------------------------------------------------------- */

const char *rota_ipc_share(const rota_device *device, int P, const char *base,
                           const size_t bytes[], const ptrdiff_t offset[],
                           rota_allocation *allocation)
{
    const char *why = NULL;

    *allocation = (rota_allocation){0};
    for (int q = 0; q < P && !why; q++) {
        const char *const block = base + offset[q];
        if (bytes[q] == 0)
            continue;
        if (!device->holds(block))
            why = "sendbuf is memory of the host";
        else if (!allocation->base)
            why = device->memory_share(block, allocation);
        if (!why && (block < allocation->base ||
                     block + bytes[q] > allocation->base + allocation->bytes))
            why = "sendbuf is not all of one allocation";
    }
    return why;
}

static bool sends_any(const rota_exec *x)
{
    for (int q = 0; q < x->blocks.s->P; q++)
        if (x->blocks.bytes[q] > 0)
            return true;
    return false;
}

int rota_ipc_rebase(rota_exec *x, const char *base)
{
    rota_allocation sent = {0};
    const char *const why =
        sends_any(x) ? rota_ipc_share(ipc_of(x)->device, x->blocks.s->P, base,
                                      x->blocks.bytes, x->blocks.offset, &sent)
                     : NULL;

    if (why)
        return rota_fail(MPI_ERR_BUFFER,
                         "%s, and other ranks are to copy from there "
                         "(rota_device = cuda_ipc); copy_to_cpu works",
                         why);
    ipc_of(x)->sent = sent;
    return MPI_SUCCESS;
}

int rota_ipc_make(rota_exec *x, const rota_device *device, rota_queue *queue,
                  rota_ipc_address *address)
{
    struct rota_ipc *const g = calloc(1, sizeof *g);

    if (!g)
        return rota_fail_mem("copies from device to device");
    x->gate->fetching = &g->fetching;
    *g = (struct rota_ipc){.fetching = {.place_bytes = sizeof(rota_ipc_place),
                                        .tell = tell,
                                        .fetch = fetch},
                           .device = device,
                           .queue = queue};
    g->peer = calloc((size_t)x->blocks.s->P, sizeof *g->peer);
    if (!g->peer)
        return rota_fail_mem("copies from device to device");
    ROTA_TRY(take_mark(g, &g->ready));
    ROTA_TRY(take_mark(g, &g->taken));
    ROTA_TRY(rota_ipc_rebase(x, x->blocks.base[ROTA_SRC]));
    *address = (rota_ipc_address){.sends = sends_any(x),
                                  .memory = g->sent.handle,
                                  .ready = g->ready->handle,
                                  .taken = g->taken->handle};
    return MPI_SUCCESS;
}

static int open_mark(const struct rota_ipc *g, const rota_handle *handle,
                     rota_mark **mark)
{
    void *what;

    ROTA_TRY(open_shared(g, true, handle, &what));
    *mark = what;
    return MPI_SUCCESS;
}

int rota_ipc_open(rota_exec *x, const rota_ipc_address addresses[])
{
    struct rota_ipc *const g = ipc_of(x);

    for (int q = 0; q < x->blocks.s->P; q++) {
        peer *const p = &g->peer[q];
        if (q == x->blocks.s->me)
            continue;
        if (addresses[q].sends)
            ROTA_TRY(open_memory(g, &addresses[q].memory, &p->window[0]));
        ROTA_TRY(open_mark(g, &addresses[q].ready, &p->ready));
        ROTA_TRY(open_mark(g, &addresses[q].taken, &p->taken));
    }
    return MPI_SUCCESS;
}

static void free_peer(const struct rota_ipc *g, const peer *p)
{
    for (int i = 0; i < KEPT; i++)
        close_shared(g, p->window[i].base);
    close_shared(g, p->ready);
    close_shared(g, p->taken);
}

void rota_ipc_free(rota_exec *x)
{
    struct rota_ipc *const g = ipc_of(x);

    if (!g)
        return;
    g->device->queue_drain(g->queue);
    for (int q = 0; g->peer && q < x->blocks.s->P; q++)
        free_peer(g, &g->peer[q]);
    put_back_mark(g->ready);
    put_back_mark(g->taken);
    free(g->peer);
    free(g);
    x->gate->fetching = NULL;
}

/* ---- a run --------------------------------------------------------------- */

int rota_ipc_begin(rota_exec *x)
{
    return ipc_of(x)->device->mark_put(ipc_of(x)->queue,
                                       ipc_of(x)->ready->mark);
}

int rota_ipc_end(rota_exec *x)
{
    const struct rota_ipc *const g = ipc_of(x);

    for (int q = 0; q < x->blocks.s->P; q++) {
        if (g->peer[q].reads)
            ROTA_TRY(g->device->mark_await(g->queue, g->peer[q].taken));
        g->peer[q].reads = false;
    }
    return MPI_SUCCESS;
}
