/* staging.c - see staging.h. */
#include "device/staging.h"
#include "device/ipc.h"
#include "exec/memory/arena.h"
#include "exec/payload/sized.h"
#include "exec/run/waiting.h"

#include <stdlib.h>
#include <string.h>

/* Blocks are copied down in pieces of at least this many bytes, each with a
 * mark behind it, and up once this many have arrived. A bus of 10 GB/s moves as
 * many bytes in the time that it takes to start a copy, some microseconds. Not
 * measured yet. */
enum { PIECE = 1 << 16 };

/* Most marks of a run: longer lines have larger pieces. */
enum { MOST_MARKS = 32 };

enum { PAGE = 4096 };

/* The host's copy of one side of the exchange. */
typedef struct bounce {
    bool on;
    char *base;        /* the caller's buffer */
    ptrdiff_t *offset; /* [n_send] or [n_recv] offsets of the blocks in base */
    rota_types types;  /* types of the blocks; borrowed */
    char *memory;
    size_t room;
    bool pinned;
} bounce;

/* The end of a piece of the line: its mark, and how many blocks are here once
 * the mark is passed. */
typedef struct stop {
    rota_mark *mark;
    uint32_t n;
} stop;

struct rota_staging {
    rota_gate gate; /* first: the executor has its address */
    const rota_device *device;
    rota_queue *queue;
    bounce side[2]; /* [ROTA_SRC] and [ROTA_DST] */
    bool straight;  /* see rota_staging_make */

    uint32_t *line; /* [n_line] send blocks, each once, in the order needed */
    uint32_t n_line;
    uint32_t *queued;      /* [n_line] as copied: within a piece, by address */
    uint32_t *after_enter; /* [n_phases] how much of the line each waits for */
    uint32_t *after_send;  /* [n sends] how much of the line each waits for */

    /* State of the run. */
    stop stop[MOST_MARKS];
    int n_stops, next_stop; /* number of stops; the next to be passed */
    uint32_t here;          /* blocks of the line that are here */
    bool *arrived;          /* [n_recv] blocks to be copied up */
    size_t waiting;         /* bytes of these */
    rota_mark *last;        /* mark behind all copies up */
    bool rising; /* last has been put, and was not yet seen to be passed */
    bool ended;  /* all phases are complete */
    bool follow; /* stream is the user's */
    void *stream;
    int64_t began, down, exchanged, up; /* times of the run, by rota_now_ns */
};

static struct rota_staging *staging_of(const rota_exec *x)
{
    return (void *)x->gate;
}

bool rota_staging_is_on(const rota_exec *x)
{
    return x->gate && x->gate->release == rota_staging_free;
}

/* ---- the line ------------------------------------------------------------ */

/* For making the line: the place of each send block in it, from 1; 0: not in
 * it. */
typedef struct liner {
    struct rota_staging *g;
    uint32_t *place; /* [n_send] */
} liner;

/* The place of a send block, which joins the line if it is new; 0 for other
 * blocks. */
static uint32_t stand_in_line(const liner *k, const rota_sched *s, rota_block b)
{
    if (rota_block_region(s, b) != ROTA_SRC)
        return 0;
    if (k->place[b] == 0) {
        k->g->line[k->g->n_line++] = b;
        k->place[b] = k->g->n_line;
    }
    return k->place[b];
}

static void line_up_send(const liner *k, const rota_sched *s, uint32_t m,
                         bool *only_sends)
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];
    uint32_t last = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const uint32_t at = stand_in_line(k, s, l->item[i]);
        *only_sends = *only_sends && at > 0;
        last = at > last ? at : last;
    }
    k->g->after_send[m] = last;
}

/* Is it a copy from the caller's send buffer to the caller's receive buffer? */
static bool is_straight(const rota_exec *x, const rota_copy *k)
{
    return staging_of(x)->straight &&
           k->from < (rota_block)x->blocks.s->n_send &&
           rota_block_arrives(x->blocks.s, k->to);
}

/* Line up what a phase needs: copies first, since the phase waits for them.
 * Returns how much of the line it waits for. */
static uint32_t line_up_phase(const liner *k, const rota_exec *x, uint32_t p)
{
    const rota_phase *const phase = &x->blocks.s->phase[p];
    bool by_message = true;
    uint32_t enter = 0, all;

    for (uint32_t c = phase->copy; c < phase[1].copy; c++) {
        if (is_straight(x, &x->blocks.s->copy[c]))
            continue;
        const uint32_t at =
            stand_in_line(k, x->blocks.s, x->blocks.s->copy[c].from);
        enter = at > enter ? at : enter;
    }
    all = enter;
    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++) {
        line_up_send(k, x->blocks.s, m, &by_message);
        all = k->g->after_send[m] > all ? k->g->after_send[m] : all;
    }
    return by_message ? enter : all;
}

static int line_up(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);
    const rota_sched *const s = x->blocks.s;
    const size_t n = (size_t)s->n_send + 1;
    const liner k = {g, calloc(n, sizeof *k.place)};

    g->line = malloc(n * sizeof *g->line);
    g->queued = malloc(n * sizeof *g->queued);
    g->after_enter = malloc(((size_t)s->n_phases + 1) * sizeof *g->after_enter);
    g->after_send =
        malloc(((size_t)s->msgs[ROTA_SEND].n + 1) * sizeof *g->after_send);
    const bool good =
        k.place && g->line && g->queued && g->after_enter && g->after_send;
    for (uint32_t p = 0; good && p < s->n_phases; p++)
        g->after_enter[p] = line_up_phase(&k, x, p);
    free(k.place);
    return good ? MPI_SUCCESS : rota_fail_mem("staging");
}

/* ---- making -------------------------------------------------------------- */

static int make_marks(struct rota_staging *g)
{
    ROTA_TRY(g->device->mark_make(g->queue, &g->last));
    for (int i = 0; i < MOST_MARKS; i++)
        ROTA_TRY(g->device->mark_make(g->queue, &g->stop[i].mark));
    return MPI_SUCCESS;
}

static size_t n_blocks(const rota_exec *x, rota_region region)
{
    return (size_t)(region == ROTA_SRC ? x->blocks.s->n_send
                                       : x->blocks.s->n_recv);
}

static int make_sides(const rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);

    g->arrived = calloc(n_blocks(x, ROTA_DST) + 1, sizeof *g->arrived);
    for (int i = 0; i < 2; i++) {
        bounce *const m = &g->side[i];
        m->offset =
            malloc((n_blocks(x, (rota_region)i) + 1) * sizeof *m->offset);
    }
    return g->arrived && g->side[0].offset && g->side[1].offset
               ? MPI_SUCCESS
               : rota_fail_mem("staging");
}

static void free_memory(struct rota_staging *g, bounce *m)
{
    if (m->pinned)
        g->device->unpin(g->queue, m->memory);
    if (!rota_arena_free(m->memory))
        free(m->memory);
    m->memory = NULL;
    m->pinned = false;
    m->room = 0;
}

void rota_staging_free(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);

    if (!rota_staging_is_on(x))
        return;
    g->device->queue_drain(g->queue);
    rota_ipc_free(x);
    for (int i = 0; i < 2; i++) {
        free_memory(g, &g->side[i]);
        free(g->side[i].offset);
    }
    for (int i = 0; i < MOST_MARKS; i++)
        g->device->mark_free(g->queue, g->stop[i].mark);
    g->device->mark_free(g->queue, g->last);
    g->device->queue_free(g->queue);
    free(g->line);
    free(g->queued);
    free(g->after_enter);
    free(g->after_send);
    free(g->arrived);
    free(g);
    x->gate = NULL;
}

/* ---- bounce buffers ------------------------------------------------------ */

static int make_room(struct rota_staging *g, bounce *m, size_t bytes)
{
    const size_t half = m->room + m->room / 2;
    const size_t wanted = bytes > half ? bytes : half;
    const size_t more = (wanted + PAGE - 1) / PAGE * PAGE;

    if (bytes <= m->room)
        return MPI_SUCCESS;
    ROTA_TRY(g->device->queue_drain(g->queue));
    free_memory(g, m);
    if (m == &g->side[ROTA_SRC])
        m->memory = rota_arena_alloc(more); /* others copy it from there */
    if (!m->memory)
        m->memory = aligned_alloc(PAGE, more);
    if (!m->memory)
        return rota_fail_mem("staging blocks of a device");
    m->room = more;
    m->pinned = g->device->pin(g->queue, m->memory, more);
    return MPI_SUCCESS;
}

/* Sort by address, in place: starts of varying plans allocate nothing. */
static void sort_blocks(uint32_t *block, uint32_t n, const ptrdiff_t offset[])
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            const uint32_t b = block[i];
            uint32_t at = i;

            for (; at >= gap && offset[block[at - gap]] > offset[b]; at -= gap)
                block[at] = block[at - gap];
            block[at] = b;
        }
}

/* Cut the line into pieces of equal shares. The last may be short, and has a
 * spare mark. */
static void cut_line(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);
    size_t total = 0, since = 0;
    uint32_t first = 0;

    for (uint32_t i = 0; i < g->n_line; i++)
        total += rota_cell_bytes(x->blocks.bytes[g->line[i]]);
    const size_t share = total / (MOST_MARKS - 1) + 1;
    const size_t piece = share > PIECE ? share : PIECE;
    memcpy(g->queued, g->line, g->n_line * sizeof *g->line);
    g->n_stops = 0;
    for (uint32_t i = 0; i < g->n_line; i++) {
        since += rota_cell_bytes(x->blocks.bytes[g->line[i]]);
        if (since < piece && i + 1 < g->n_line)
            continue;
        g->stop[g->n_stops++].n = i + 1;
        sort_blocks(g->queued + first, i + 1 - first, g->side[ROTA_SRC].offset);
        first = i + 1;
        since = 0;
    }
}

/* Place the blocks in a bounce buffer. Send blocks lie in the order in which
 * they come, so that one copy moves blocks that lie side by side on the device
 * as well. Blocks that no message or copy reads have no bytes, or stay on the
 * device. */
static size_t place_blocks(rota_exec *x, rota_region region)
{
    const struct rota_staging *const g = staging_of(x);
    const bool sends = region == ROTA_SRC;
    const uint32_t n = sends ? g->n_line : (uint32_t)x->blocks.s->n_recv;
    size_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        const rota_block b =
            sends ? g->queued[i] : rota_dst(x->blocks.s, (int)i);
        x->blocks.offset[b] = (ptrdiff_t)at;
        at += rota_cell_bytes(x->blocks.bytes[b]);
    }
    return at;
}

int rota_staging_bounce(rota_exec *x, rota_region region, char *base,
                        const ptrdiff_t offset[], const rota_types *types)
{
    bounce *const m = &staging_of(x)->side[region];

    memcpy(m->offset, offset, n_blocks(x, region) * sizeof *offset);
    if (region == ROTA_SRC)
        cut_line(x);
    /* At least a page: even no bytes need an address. */
    ROTA_TRY(make_room(staging_of(x), m, place_blocks(x, region) + 1));
    m->on = true;
    m->base = base;
    m->types = *types;
    x->blocks.base[region] = m->memory;
    x->blocks.types[region] = rota_types_bytes;
    return MPI_SUCCESS;
}

void rota_staging_unbounce(rota_exec *x)
{
    staging_of(x)->side[ROTA_SRC].on = staging_of(x)->side[ROTA_DST].on = false;
}

bool rota_staging_bounces(const rota_exec *x, rota_region region)
{
    return rota_staging_is_on(x) && staging_of(x)->side[region].on;
}

void rota_staging_rebase(rota_exec *x, char *src, char *dst)
{
    staging_of(x)->side[ROTA_SRC].base = src;
    staging_of(x)->side[ROTA_DST].base = dst;
}

void rota_staging_set_stream(rota_exec *x, bool follow, void *stream)
{
    staging_of(x)->follow = follow;
    staging_of(x)->stream = stream;
}

size_t rota_staging_bytes(const rota_exec *x, bool *pinned)
{
    const bounce *const side = staging_of(x)->side;

    *pinned = (side[0].pinned || side[0].room == 0) &&
              (side[1].pinned || side[1].room == 0);
    return side[0].room + side[1].room;
}

void rota_staging_times(const rota_exec *x, double *down, double *exchange,
                        double *up)
{
    const struct rota_staging *const g = staging_of(x);

    *down = (double)(g->down - g->began) * 1e-3;
    *exchange = (double)(g->exchanged - g->down) * 1e-3;
    *up = (double)(g->up - g->exchanged) * 1e-3;
}

/* ---- down ---------------------------------------------------------------- */

static bool is_plain(const bounce *m, uint32_t block)
{
    return rota_type_is_bytes(rota_types_at(&m->types, block));
}

/* The end of a run of blocks, from i on, that are neighbours on both sides; at
 * most end. *bytes: their sum. */
static uint32_t end_of_run(const rota_exec *x, uint32_t i, uint32_t end,
                           size_t *bytes)
{
    const struct rota_staging *const g = staging_of(x);
    const bounce *const m = &g->side[ROTA_SRC];
    const rota_block first = g->queued[i];

    *bytes = rota_cell_bytes(x->blocks.bytes[first]);
    for (i++; i < end && is_plain(m, first); i++) {
        const rota_block b = g->queued[i];
        const size_t more = rota_cell_bytes(x->blocks.bytes[b]);
        if (more > 0 && (!is_plain(m, b) ||
                         m->offset[b] != m->offset[first] + (ptrdiff_t)*bytes))
            break;
        *bytes += more;
    }
    return i;
}

/* Put the last mark, behind all that is in the queue. */
static int put_last(struct rota_staging *g)
{
    g->rising = true;
    return g->device->mark_put(g->queue, g->last);
}

static int copy_line(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);
    const bounce *const m = &g->side[ROTA_SRC];
    uint32_t i = 0;

    for (int s = 0; s < g->n_stops; s++) {
        while (i < g->stop[s].n) {
            const rota_block b = g->queued[i];
            size_t bytes;
            i = end_of_run(x, i, g->stop[s].n, &bytes);
            ROTA_TRY(rota_device_pack(rota_types_at(&m->types, b), g->device,
                                      g->queue, m->base + m->offset[b], bytes,
                                      m->memory + x->blocks.offset[b]));
        }
        ROTA_TRY(g->device->mark_put(g->queue, g->stop[s].mark));
    }
    return MPI_SUCCESS;
}

static int begin(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);

    g->next_stop = g->side[ROTA_SRC].on ? 0 : g->n_stops;
    g->here = g->side[ROTA_SRC].on ? 0 : g->n_line;
    g->waiting = 0;
    g->ended = false;
    memset(g->arrived, 0, n_blocks(x, ROTA_DST) * sizeof *g->arrived);
    g->began = g->down = rota_now_ns();
    if (g->follow)
        ROTA_TRY(g->device->queue_follow(g->queue, g->stream));
    if (x->gate->fetching)
        return rota_ipc_begin(x);
    /* Without a bounce buffer, MPI may use the memory once the stream has got
     * here. */
    if (g->follow && !(g->side[ROTA_SRC].on && g->side[ROTA_DST].on))
        ROTA_TRY(put_last(g));
    return g->side[ROTA_SRC].on ? copy_line(x) : MPI_SUCCESS;
}

/* Find out which copies have been made. */
static int look(struct rota_staging *g, bool *moved)
{
    while (g->next_stop < g->n_stops) {
        const stop *const s = &g->stop[g->next_stop];
        bool passed = false;
        ROTA_TRY(g->device->mark_passed(g->queue, s->mark, &passed));
        if (!passed)
            return MPI_SUCCESS;
        g->here = s->n;
        g->next_stop++;
        g->down = rota_now_ns();
        *moved = true;
    }
    return MPI_SUCCESS;
}

static int look_up(struct rota_staging *g, bool *moved)
{
    bool passed = false;

    ROTA_TRY(g->device->mark_passed(g->queue, g->last, &passed));
    g->rising = !passed;
    *moved = *moved || passed;
    return MPI_SUCCESS;
}

/* Receives may be posted once the last run's blocks have been copied up: it may
 * have ended before. If MPI writes to the caller's buffer, the user's stream
 * must have got here, too. Memory that only the queue writes is in order
 * anyway. */
static int may_enter(rota_exec *x, const rota_phase *phase, bool *may)
{
    struct rota_staging *const g = staging_of(x);
    const rota_phase *const first = x->blocks.s->phase;
    const uint32_t wanted = g->after_enter[phase - first];
    const bool by_host = phase == first && !x->gate->fetching;

    if (g->rising && by_host)
        ROTA_TRY(look_up(g, &x->moved));
    if (g->here < wanted)
        ROTA_TRY(look(g, &x->moved));
    *may = g->here >= wanted && !(g->rising && by_host);
    return MPI_SUCCESS;
}

static int may_send(rota_exec *x, uint32_t m, bool *may)
{
    struct rota_staging *const g = staging_of(x);

    if (g->here < g->after_send[m])
        ROTA_TRY(look(g, &x->moved));
    *may = g->here >= g->after_send[m];
    return MPI_SUCCESS;
}

/* ---- on the device ------------------------------------------------------- */

/* The caller's place for a block. */
static char *place_of(const rota_exec *x, rota_block b)
{
    const rota_region region = rota_block_region(x->blocks.s, b);
    const bounce *const m = &staging_of(x)->side[region];

    return m->on ? m->base + m->offset[rota_block_slot(x->blocks.s, b)]
                 : x->blocks.base[region] + x->blocks.offset[b];
}

static int copy(rota_exec *x, const rota_copy *k, bool *taken)
{
    struct rota_staging *const g = staging_of(x);
    const size_t bytes = rota_cell_bytes(x->blocks.bytes[k->from]);

    *taken = is_straight(x, k);
    if (!*taken || bytes == 0)
        return MPI_SUCCESS;
    ROTA_TRY(rota_device_pack(&rota_type_bytes, g->device, g->queue,
                              place_of(x, k->from), bytes, place_of(x, k->to)));
    return put_last(g);
}

/* ---- up ------------------------------------------------------------------ */

static int copy_up(rota_exec *x, uint32_t q, size_t bytes)
{
    struct rota_staging *const g = staging_of(x);
    const bounce *const m = &g->side[ROTA_DST];
    const rota_block b = rota_dst(x->blocks.s, (int)q);

    return rota_device_unpack(rota_types_at(&m->types, q), g->device, g->queue,
                              m->memory + x->blocks.offset[b], bytes,
                              m->base + m->offset[q]);
}

/* Copy up what has arrived; neighbours on both sides are one copy. */
static int copy_arrived(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);
    const bounce *const m = &g->side[ROTA_DST];
    const uint32_t n = (uint32_t)x->blocks.s->n_recv;

    for (uint32_t q = 0; q < n && g->waiting > 0; q++) {
        const uint32_t first = q;
        size_t bytes = 0;
        while (q < n && g->arrived[q] &&
               (q == first ||
                (is_plain(m, first) && is_plain(m, q) &&
                 m->offset[q] == m->offset[first] + (ptrdiff_t)bytes))) {
            g->arrived[q] = false;
            bytes +=
                rota_cell_bytes(x->blocks.bytes[rota_dst(x->blocks.s, (int)q)]);
            q++;
        }
        if (q == first)
            continue;
        ROTA_TRY(copy_up(x, first, bytes));
        g->waiting -= bytes;
        q--; /* the block that ended this run may begin another */
    }
    return put_last(g);
}

/* Note that block b is in its place, if it is a receive block. A temporary
 * block in the receive buffer has another number. */
static void note_arrival(rota_exec *x, rota_block b, size_t bytes)
{
    struct rota_staging *const g = staging_of(x);

    if (!rota_block_arrives(x->blocks.s, b) ||
        g->arrived[rota_block_slot(x->blocks.s, b)])
        return;
    g->arrived[rota_block_slot(x->blocks.s, b)] = bytes > 0;
    g->waiting += bytes;
}

static int arrived(rota_exec *x, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_RECV];

    if (!staging_of(x)->side[ROTA_DST].on)
        return MPI_SUCCESS;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        note_arrival(x, l->item[i],
                     rota_cell_bytes(x->blocks.bytes[l->item[i]]));
    return staging_of(x)->waiting >= PIECE ? copy_arrived(x) : MPI_SUCCESS;
}

static int leave(rota_exec *x, const rota_phase *phase)
{
    if (!staging_of(x)->side[ROTA_DST].on)
        return MPI_SUCCESS;
    for (uint32_t c = phase->copy; c < phase[1].copy; c++)
        if (!is_straight(x, &x->blocks.s->copy[c]))
            note_arrival(x, x->blocks.s->copy[c].to,
                         rota_copy_bytes(x->blocks.s, &x->blocks.s->copy[c],
                                         x->blocks.bytes));
    const bool last = phase + 1 == x->blocks.s->phase + x->blocks.s->n_phases;
    const size_t least = last ? 1 : PIECE;
    return staging_of(x)->waiting >= least ? copy_arrived(x) : MPI_SUCCESS;
}

static int end(rota_exec *x, bool *done)
{
    struct rota_staging *const g = staging_of(x);

    if (!g->ended) {
        g->ended = true;
        g->exchanged = rota_now_ns();
        if (x->gate->fetching) {
            ROTA_TRY(rota_ipc_end(x));
            ROTA_TRY(put_last(g));
        }
        if (g->follow && g->rising)
            ROTA_TRY(g->device->queue_lead(g->queue, g->stream));
    }
    if (g->rising && !g->follow)
        ROTA_TRY(look_up(g, &x->moved));
    *done = g->follow || !g->rising;
    if (*done)
        g->up = rota_now_ns();
    return MPI_SUCCESS;
}

/* ---- the gate ------------------------------------------------------------ */

static int make(rota_exec *x)
{
    ROTA_TRY(make_marks(staging_of(x)));
    ROTA_TRY(make_sides(x));
    return line_up(x);
}

int rota_staging_make(rota_exec *x, const rota_device *device,
                      rota_queue *queue, bool straight)
{
    struct rota_staging *const g = calloc(1, sizeof *g);

    if (!g) {
        device->queue_free(queue);
        return rota_fail_mem("staging");
    }
    g->gate = (rota_gate){.begin = begin,
                          .may_enter = may_enter,
                          .may_send = may_send,
                          .copy = copy,
                          .arrived = arrived,
                          .leave = leave,
                          .end = end,
                          .release = rota_staging_free};
    g->device = device;
    g->queue = queue;
    g->straight = straight;
    x->gate = &g->gate;
    const int err = make(x);
    if (err != MPI_SUCCESS)
        rota_staging_free(x);
    return err == MPI_SUCCESS && x->program.step ? rota_exec_gate(x) : err;
}

/* ---- blocks that were found ---------------------------------------------- */

int rota_staging_deliver(rota_exec *x)
{
    struct rota_staging *const g = staging_of(x);

    for (rota_block b = rota_dst(x->blocks.s, 0);
         b < rota_first_tmp(x->blocks.s); b++)
        note_arrival(x, b, rota_cell_bytes(x->blocks.bytes[b]));
    if (g->waiting > 0)
        ROTA_TRY(copy_arrived(x));
    if (g->follow)
        return g->device->queue_lead(g->queue, g->stream);
    g->rising = false;
    return g->device->queue_drain(g->queue);
}
