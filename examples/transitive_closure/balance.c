/* balance.c - split vertices that too many pairs end in; see balance.h.
 *
 * Hashing spreads vertices evenly, and pairs too unless a few vertices have a
 * large part of them: a sink that all others reach, say. Those are found where
 * they lie, made known to all ranks, and split. */
#include "balance.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

/* A rank has too many pairs if it has more than 5/4 of the mean: the slowest
 * rank then makes an iteration longer by a quarter at most. A vertex is worth
 * splitting if it has more than 1/16 of the mean, so a rank names few. */
static int too_many(uint64_t most, uint64_t sum, int P)
{
    return most * 4 > sum / (uint64_t)P * 5;
}

static int is_heavy(uint64_t pairs, uint64_t sum, int P)
{
    return pairs > sum / (uint64_t)P / 16;
}

/* The vertices that are heavy on this rank and not yet split. */
static u64_vec find_heavy(const partition *p, const pair_set *known,
                          uint64_t sum)
{
    const size_t n = (size_t)p->n_vertices;
    uint32_t *pairs = must_realloc(NULL, n, sizeof pairs[0]);
    u64_vec heavy = {0};

    memset(pairs, 0, n * sizeof pairs[0]);
    for (size_t i = 0; i < known->n_slots; i++)
        if (known->slot[i] != NO_PAIR)
            pairs[pair_second(known->slot[i])]++;
    for (size_t y = 0; y < n; y++)
        if (!p->split[y] && is_heavy(pairs[y], sum, p->P))
            u64_vec_push(&heavy, y);
    free(pairs);
    return heavy;
}

/* With a note that is not 0, or nobody would be taken to send anything. */
static void send(exchange *x)
{
    (void)exchange_run(x, 1);
}

/* Tell all ranks of the vertices and mark them; returns how many there are. */
static uint64_t mark(partition *p, const u64_vec *heavy, exchange *x)
{
    uint64_t n = 0;

    for (int d = 0; d < p->P; d++)
        for (size_t i = 0; i < heavy->n; i++)
            *exchange_add(x, d, 1) = heavy->at[i];
    send(x);
    for (int s = 0; s < p->P; s++) {
        const uint64_t *vertex = x->came[s];

        for (int i = 0; i < x->got[s]; i++) {
            const uint64_t y = vertex[i];

            n += !p->split[y];
            p->split[y] = 2; /* to be moved */
        }
    }
    p->n_split += n;
    return n;
}

/* Give all ranks the edges of the vertices marked. */
static void share_edges(partition *p, exchange *x)
{
    for (size_t e = 0; e < p->edges.n; e++)
        for (int d = 0; d < p->P; d++)
            if (d != p->me && p->split[pair_first(p->edges.at[e])] == 2)
                *exchange_add(x, d, 1) = p->edges.at[e];
    send(x);
    for (int s = 0; s < p->P; s++) {
        const uint64_t *edge = x->came[s];

        for (int i = 0; i < x->got[s]; i++)
            u64_vec_push(&p->edges, edge[i]);
    }
    partition_index(p);
}

/* Those that lie with another rank now go there. They are no part of the delta
 * in their new place: this rank still joins them, as it still has the edges. */
static void move_pairs(const partition *p, pair_set *known, exchange *x)
{
    pair_set kept = {0};

    for (size_t i = 0; i < known->n_slots; i++) {
        const uint64_t pair = known->slot[i];
        const int owner = pair == NO_PAIR ? p->me : pair_owner(p, pair);

        if (owner != p->me)
            *exchange_add(x, owner, 1) = pair;
        else if (pair != NO_PAIR)
            (void)pair_set_add(&kept, pair);
    }
    pair_set_free(known);
    *known = kept;
    send(x);
    for (int s = 0; s < p->P; s++) {
        const uint64_t *pair = x->came[s];

        for (int i = 0; i < x->got[s]; i++)
            (void)pair_set_add(known, pair[i]);
    }
}

/* How many pairs there are, and how many the fullest rank has. */
static uint64_t count(const pair_set *known, exchange *x, uint64_t *most)
{
    uint64_t sum = 0;

    for (int d = 0; d < x->P; d++)
        *exchange_add(x, d, 1) = known->n;
    send(x);
    *most = 0;
    for (int s = 0; s < x->P; s++) {
        const uint64_t *n = x->came[s];

        sum += *n;
        *most = *n > *most ? *n : *most;
    }
    return sum;
}

void balance(partition *p, pair_set *known, exchange *x)
{
    uint64_t most;
    const uint64_t sum = count(known, x, &most);
    u64_vec heavy = {0};

    if (!too_many(most, sum, p->P))
        return;
    if (too_many(known->n, sum, p->P))
        heavy = find_heavy(p, known, sum);
    if (mark(p, &heavy, x) > 0) {
        share_edges(p, x);
        move_pairs(p, known, x);
        for (size_t y = 0; y < p->n_vertices; y++)
            p->split[y] = p->split[y] != 0;
    }
    u64_vec_free(&heavy);
}
