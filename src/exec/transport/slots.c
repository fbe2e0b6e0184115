/* slots.c - memory of a plan that the other ranks of the node read in its runs:
 * tables of values that travel with messages (carried.h), what is lent (lending.h).
 *
 * When a rank frees the plan, its memory stays until all others have freed it too. A
 * word of each says so.
 */
#include "exec/memory/lending.h"
#include "exec/move/lock.h"
#include "exec/payload/carried.h"

#include <stdlib.h>
#include <string.h>

const rota_path rota_path_slots;

typedef struct slots {
    const rota_node *node;
    void *taken
        [ROTA_N_USES]; /* in the arena: values, then descriptors; the word */
    size_t bytes;
    char *lent[2];            /* buffers of a freed plan; or NULL */
    char **near;              /* [node n] tables of the ranks; or NULL */
    _Atomic uint64_t **freed; /* [node n] their words, which grow, */
    uint64_t *before;         /* [node n] what was there before, */
    rota_peer **peer;         /* [node n] and their processes; NULL: no table */
    int n;
    struct slots *next; /* in the list of freed ones that are read */
} slots;

static slots *slots_of(const rota_exec *x)
{
    return x->path[ROTA_BY_slots];
}

/* ---- making -------------------------------------------------------------- */

static int make(rota_exec *x, const rota_node *node)
{
    slots *const s = x->path[ROTA_BY_slots] = calloc(1, sizeof *s);
    const size_t n = (size_t)node->n;

    if (!s)
        return rota_fail_mem("memory that a node reads");
    s->node = node;
    s->n = node->n;
    s->near = calloc(n, sizeof *s->near);
    s->freed = calloc(n, sizeof *s->freed);
    s->before = calloc(n, sizeof *s->before);
    s->peer = calloc(n, sizeof *s->peer);
    return s->near && s->freed && s->before && s->peer
               ? MPI_SUCCESS
               : rota_fail_mem("memory that a node reads");
}

static size_t value_bytes(const rota_exec *x)
{
    const size_t line = ROTA_CACHE_LINE;
    const size_t bytes =
        x->carried ? 2 * (size_t)x->blocks.s->P * x->carried->step : 0;

    return (bytes + line - 1) / line * line;
}

/* Descriptors of lent blocks, for even and odd starts. */
static void take_descriptors(rota_lending *l, const rota_reach *reach,
                             char *memory, rota_place at, rota_peer **peer)
{
    const size_t bytes = (size_t)reach->node->n * sizeof(rota_lent);

    l->node = reach->node;
    l->peer = peer;
    l->from = reach->saving_threshold;
    for (size_t turn = 0; turn < 2; turn++) {
        l->lent[turn] = (void *)(memory + turn * bytes);
        l->lent_at[turn] = at + turn * bytes;
    }
}

static int reserve(rota_exec *x, const rota_reach *reach, rota_refusal *refusal)
{
    rota_carried *const c = x->carried;
    const rota_node *const node = reach->node;
    rota_endpoint *const endpoints = node->near[node->me].endpoints;
    const size_t values = value_bytes(x);
    rota_place at[ROTA_N_USES] = {0};

    if (!c && !x->lending)
        return MPI_SUCCESS;
    ROTA_TRY(make(x, node));
    slots *const s = slots_of(x);
    s->bytes =
        values + (x->lending ? 2 * (size_t)node->n * sizeof(rota_lent) : 0);
    s->taken[ROTA_ENTRIES] =
        rota_arena_take(ROTA_ENTRIES, s->bytes, &at[ROTA_ENTRIES]);
    s->taken[ROTA_COUNTERS] =
        rota_arena_take(ROTA_COUNTERS, sizeof(uint64_t), &at[ROTA_COUNTERS]);
    if (!s->taken[ROTA_ENTRIES] || !s->taken[ROTA_COUNTERS]) {
        *refusal = ROTA_REFUSED_PLAN;
        return MPI_SUCCESS;
    }
    if (c) {
        c->table[0] = s->taken[ROTA_ENTRIES];
        c->near = s->near;
    }
    if (x->lending)
        take_descriptors(x->lending, reach,
                         (char *)s->taken[ROTA_ENTRIES] + values,
                         at[ROTA_ENTRIES] + values, s->peer);
    for (int i = 0; i < node->n; i++) {
        endpoints[i].values = at[ROTA_ENTRIES];
        endpoints[i].freed = at[ROTA_COUNTERS];
    }
    return MPI_SUCCESS;
}

static bool attach(rota_exec *x)
{
    slots *const s = slots_of(x);
    bool all = true;

    for (int i = 0; i < s->n && all; i++) {
        const rota_near *const near = &s->node->near[i];
        if (!near->peer)
            continue;
        const rota_endpoint *const there = &near->endpoints[s->node->me];
        all = rota_arena_update(near->peer);
        if (!all)
            continue;
        s->peer[i] = near->peer;
        s->near[i] = rota_peer_at(near->peer, there->values);
        s->freed[i] = (void *)rota_peer_at(near->peer, there->freed);
        s->before[i] = atomic_load(s->freed[i]);
    }
    return all;
}

/* Also without shared memory: the plan then has a table of its own. */
static int bind(rota_exec *x)
{
    return x->carried ? rota_carried_bind(x) : MPI_SUCCESS;
}

static void describe(const rota_exec *x, rota_path_facts *facts)
{
    facts->bytes += slots_of(x)->bytes;
}

/* ---- memory that others may still read ----------------------------------- */

static slots *deferred; /* guarded by rota_lock */

static bool is_read(const slots *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->peer[i] &&
            atomic_load_explicit(s->freed[i], memory_order_acquire) ==
                s->before[i])
            return false;
    return true;
}

static void destroy(slots *s)
{
    rota_arena_put(ROTA_ENTRIES, s->taken[ROTA_ENTRIES]);
    rota_lending_free_buffer(s->lent[0]);
    rota_lending_free_buffer(s->lent[1]);
    free(s->near);
    free(s->freed);
    free(s->before);
    free(s->peer);
    free(s);
}

static void hold_peers(const slots *s, void (*act)(rota_peer *peer))
{
    for (int i = 0; i < s->n; i++)
        if (s->peer[i])
            act(s->peer[i]);
}

static void sweep(void)
{
    rota_lock();
    for (slots **link = &deferred; *link;) {
        slots *const s = *link;
        if (!is_read(s)) {
            link = &s->next;
            continue;
        }
        *link = s->next;
        hold_peers(s, rota_arena_drop);
        destroy(s);
    }
    rota_unlock();
}

/* The owners use this memory no more. */
static void take_away(rota_exec *x, slots *s)
{
    rota_carried *const c = x->carried;
    rota_lending *const l = x->lending;

    if (c) {
        c->table[0] = NULL;
        c->near = NULL;
    }
    if (l) {
        memcpy(s->lent, l->buffer, sizeof s->lent);
        *l = (rota_lending){0};
    }
}

/* Others may read this rank's word for ever: it never falls. */
static void release(rota_exec *x)
{
    slots *const s = slots_of(x);
    _Atomic uint64_t *const freed = s->taken[ROTA_COUNTERS];

    x->path[ROTA_BY_slots] = NULL;
    if (freed)
        atomic_fetch_add(freed, 1);
    rota_arena_put(ROTA_COUNTERS, freed);
    take_away(x, s);
    if (!s->peer || !s->before || !s->freed || is_read(s)) {
        destroy(s);
        return;
    }
    hold_peers(s, rota_arena_hold);
    rota_lock();
    s->next = deferred;
    deferred = s;
    rota_unlock();
}

const rota_path rota_path_slots = {
    .reserve = reserve,
    .attach = attach,
    .bind = bind,
    .describe = describe,
    .release = release,
    .sweep = sweep,
};
