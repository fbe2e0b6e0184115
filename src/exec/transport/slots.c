/* slots.c - memory of the node for values that travel with messages (carried.h):
 * a rank's tables, which the others read.
 *
 * When a rank frees the plan, its tables stay until all others have freed it too. A
 * word of each says so.
 */
#include "exec/memory/node.h"
#include "exec/move/lock.h"
#include "exec/payload/carried.h"

#include <stdlib.h>

const rota_path rota_path_slots;

typedef struct slots {
    const rota_node *node;
    void *taken[ROTA_N_USES]; /* in the arena */
    size_t bytes;
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
        return rota_fail_mem("a reduction within the node");
    s->node = node;
    s->n = node->n;
    s->near = calloc(n, sizeof *s->near);
    s->freed = calloc(n, sizeof *s->freed);
    s->before = calloc(n, sizeof *s->before);
    s->peer = calloc(n, sizeof *s->peer);
    return s->near && s->freed && s->before && s->peer
               ? MPI_SUCCESS
               : rota_fail_mem("a reduction within the node");
}

static int reserve(rota_exec *x, const rota_reach *reach, rota_refusal *refusal)
{
    rota_carried *const c = x->carried;
    const rota_node *const node = reach->node;
    rota_endpoint *const endpoints = node->near[node->me].endpoints;
    rota_place at[ROTA_N_USES] = {0};

    if (!c)
        return MPI_SUCCESS;
    ROTA_TRY(make(x, node));
    slots *const s = slots_of(x);
    s->bytes = 2 * (size_t)x->blocks.s->P * c->step;
    s->taken[ROTA_ENTRIES] =
        rota_arena_take(ROTA_ENTRIES, s->bytes, &at[ROTA_ENTRIES]);
    s->taken[ROTA_COUNTERS] =
        rota_arena_take(ROTA_COUNTERS, sizeof(uint64_t), &at[ROTA_COUNTERS]);
    if (!s->taken[ROTA_ENTRIES] || !s->taken[ROTA_COUNTERS]) {
        *refusal = ROTA_REFUSED_PLAN;
        return MPI_SUCCESS;
    }
    c->table[0] = s->taken[ROTA_ENTRIES];
    c->near = s->near;
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

/* Others may read this rank's word for ever: it never falls. */
static void release(rota_exec *x)
{
    rota_carried *const c = x->carried;
    slots *const s = slots_of(x);
    _Atomic uint64_t *const freed = s->taken[ROTA_COUNTERS];

    x->path[ROTA_BY_slots] = NULL;
    if (freed)
        atomic_fetch_add(freed, 1);
    rota_arena_put(ROTA_COUNTERS, freed);
    c->table[0] = NULL;
    c->near = NULL;
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
