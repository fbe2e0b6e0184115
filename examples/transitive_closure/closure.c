/* closure.c - see closure.h. */
#include "closure.h"

#include "balance.h"

/* Pairs that a rank remembers having sent, so as not to send them again: 512
 * KiB, about a second-level cache. On graphs of 2 to 80 million pairs and 4
 * ranks it keeps back 70 % of the bytes where many paths lead to a pair (a
 * social network of mean degree 22) and 1 to 3 % where few do. 32 times larger
 * ones keep back up to 20 % more, and cost more time than they save. */
#define FILTER_SLOTS ((size_t)1 << 16)

/* Pairs a rank in the mean before balance is looked at for the first time;
 * again whenever there are twice as many. */
#define BALANCE_PAIRS 256

typedef struct {
    partition *graph;
    loop l;
    pair_set known; /* this rank's part of T */
    u64_vec delta;  /* and of dT */
    pair_filter sent;
    uint64_t balance_at; /* pairs on all ranks; never if UINT64_MAX */
} closure;

/* dT gains what of the n pairs was not in T; so does T. */
static void learn(closure *c, const uint64_t *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pair_set_add(&c->known, pairs[i]))
            u64_vec_push(&c->delta, pairs[i]);
}

/* Add { (x,z) : dT(x,y), E(y,z) } to what is sent, without some that were sent
 * before. */
static void join(closure *c)
{
    const partition *g = c->graph;

    for (size_t i = 0; i < c->delta.n; i++) {
        const uint32_t x = pair_first(c->delta.at[i]);
        const uint32_t y = pair_second(c->delta.at[i]);

        for (size_t e = g->first[y]; e < g->first[y + 1]; e++) {
            const uint64_t found = pair_pack(x, pair_second(g->edges.at[e]));
            const int owner = g->owner[e];

            if (!pair_filter_seen(&c->sent, found))
                *exchange_add(c->l.x,
                              owner != OWNER_SPLIT ? owner
                                                   : split_owner(found, g->P),
                              1) = found;
        }
    }
}

/* One iteration; 0 if there is none left. */
static int iterate(closure *c)
{
    const exchange *x = c->l.x;

    if (!loop_step_begin(&c->l))
        return 0;
    if (c->l.facts >= c->balance_at) {
        balance(c->graph, &c->known, c->l.x);
        c->balance_at = 2 * c->l.facts;
    }
    join(c);
    if (!loop_exchange(&c->l, c->delta.n))
        return 0;
    c->delta.n = 0;
    for (int s = 0; s < x->P; s++)
        learn(c, x->came[s], (size_t)x->got[s]);
    loop_step_end(&c->l);
    return 1;
}

static void closure_open(closure *c, int no_split, loop_entrant *e)
{
    const size_t P = (size_t)c->graph->P;

    loop_open(&c->l, e);
    pair_filter_make(&c->sent, FILTER_SLOTS);
    c->balance_at = no_split || P == 1 ? UINT64_MAX : BALANCE_PAIRS * P;
}

void closure_run(partition *p, int no_split, loop_entrant *e,
                 loop_result *result)
{
    closure c = {.graph = p};

    closure_open(&c, no_split, e);
    learn(&c, p->start.at, p->start.n);
    while (iterate(&c))
        ;
    loop_close(&c.l, c.known.n, pair_set_fingerprint(&c.known), result);
    pair_filter_free(&c.sent);
    pair_set_free(&c.known);
    u64_vec_free(&c.delta);
}
