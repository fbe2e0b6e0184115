/* place.c - where temporary blocks lie in scratch.
 *
 * Time is counted in halves of phases. A temporary block lives from the half
 * that writes it to the last half that reads it, both included; until then no
 * other block takes its bytes. Halves are visited in order: blocks that have
 * died are removed, and each newborn block goes into the first gap that is
 * large enough.
 *
 * Of the blocks born in one half, those that live longest are placed first. So
 * blocks that die together lie side by side, and gaps are few and large. If all
 * temporary blocks have one size, every gap is a multiple of it, and scratch is
 * as large as the most blocks alive at once.
 */
#include "schedule/schedule.h"

#include <stdlib.h>
#include <string.h>

typedef struct gap {
    size_t at, room;
} gap;

typedef struct placing {
    const rota_sched *s;
    const size_t *bytes; /* [n_blocks] */
    ptrdiff_t *offset;   /* [n_blocks] */
    uint32_t n_halves, n_tmps;
    uint32_t *born;  /* [n_tmps] first half of its life, or NEVER */
    uint32_t *left;  /* [n_tmps] halves that remain after its death */
    uint32_t *order; /* [n_tmps] blocks by time of birth, then by left */
    uint32_t *rest;  /* [n_tmps] for sorting */
    uint32_t *count; /* [n_halves + 1] for sorting */
    size_t most;     /* most temporary blocks alive at once */

    /* State of the current half. */
    uint32_t *live, *next; /* [most] living blocks, by offset */
    uint32_t *in;          /* [most] the gap that each new block went into */
    gap *gap;         /* [most + 1] the gap before each of live, and the one
                       * after all */
    uint32_t *before; /* [most + 2] new blocks in the gaps before this one */
    size_t *widest;   /* [2 * leaves] tree: the largest room in a range of
                       * gaps */
    uint32_t n_live, leaves;
} placing;

#define NEVER UINT32_MAX

/* ---- lives --------------------------------------------------------------- */

static bool needs_place(const placing *p, uint32_t tmp)
{
    const rota_block b = rota_first_tmp(p->s) + tmp;

    return p->born[tmp] != NEVER && p->bytes[b] > 0 &&
           rota_block_region(p->s, b) == ROTA_TMP;
}

/* Block b is in use from half `from` to half `to`. */
static void use(placing *p, rota_block b, uint32_t from, uint32_t to)
{
    const rota_block first = rota_first_tmp(p->s);

    if (b < first)
        return;
    uint32_t *const born = &p->born[b - first], *const left =
                                                    &p->left[b - first];
    const uint32_t after = p->n_halves - 1 - to;
    *born = from < *born ? from : *born;
    *left = after < *left ? after : *left;
}

/* MPI_Alltoall wants its blocks end to end. Blocks that live throughout are
 * placed first, in order of their numbers. */
static void use_always(placing *p, uint32_t phase)
{
    const rota_phase *const f = &p->s->phase[phase];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &p->s->msgs[dir];
        for (uint32_t i = l->msg[f->msg[dir]].first;
             i < l->msg[f[1].msg[dir]].first; i++)
            use(p, l->item[i], 0, p->n_halves - 1);
    }
}

/* Other ranks may read and write shared blocks at any time. */
static void use_shared(placing *p)
{
    const rota_block first = rota_first_tmp(p->s);

    for (rota_block b = first; b < p->s->n_blocks; b++)
        if (rota_block_is_shared(p->s, b) && p->born[b - first] != NEVER)
            use(p, b, 0, p->n_halves - 1);
}

/* If a phase packs everything before it unpacks anything, what it sends is in
 * use in its first half only, and what it receives in its second half only.
 * Otherwise, as in a flow phase, both are in use throughout. What it copies
 * always is: messages may come and go while copies are made. */
static void use_phase(placing *p, uint32_t phase)
{
    const rota_sched *const s = p->s;
    const rota_phase *const f = &s->phase[phase];
    const bool in_turn =
        f->window == 0 && !f->flow && !f->native && !s->by_datatype;
    const uint32_t begin = 2 * phase, end = begin + 1;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &s->msgs[dir];
        for (uint32_t i = l->msg[f->msg[dir]].first;
             i < l->msg[f[1].msg[dir]].first; i++)
            use(p, l->item[i], in_turn && dir == ROTA_RECV ? end : begin,
                in_turn && dir == ROTA_SEND ? begin : end);
    }
    for (uint32_t c = f->copy; c < f[1].copy; c++) {
        use(p, s->copy[c].from, begin, end);
        use(p, s->copy[c].to, begin, end);
    }
}

static void find_lives(placing *p)
{
    for (uint32_t i = 0; i < p->n_tmps; i++)
        p->born[i] = p->left[i] = NEVER;
    for (uint32_t f = 0; f < p->s->n_phases; f++) {
        use_phase(p, f);
        if (p->s->phase[f].native == ROTA_NATIVE_ALLTOALL)
            use_always(p, f);
    }
    use_shared(p);
}

/* ---- order --------------------------------------------------------------- */

/* Stable counting sort. count: [n_keys + 1]. */
static void sort_by(const uint32_t key[], const uint32_t in[], uint32_t n,
                    uint32_t out[], uint32_t count[], uint32_t n_keys)
{
    memset(count, 0, ((size_t)n_keys + 1) * sizeof *count);
    for (uint32_t i = 0; i < n; i++)
        count[key[in[i]] + 1]++;
    for (uint32_t k = 0; k < n_keys; k++)
        count[k + 1] += count[k];
    for (uint32_t i = 0; i < n; i++)
        out[count[key[in[i]]]++] = in[i];
}

/* Sort the blocks that need a place. */
static void put_in_order(placing *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_tmps; i++)
        if (needs_place(p, i))
            p->order[n++] = i;
    sort_by(p->left, p->order, n, p->rest, p->count, p->n_halves);
    sort_by(p->born, p->rest, n, p->order, p->count, p->n_halves);
    p->n_tmps = n;
}

static void count_most(placing *p)
{
    size_t live = 0;

    memset(p->count, 0, ((size_t)p->n_halves + 1) * sizeof *p->count);
    for (uint32_t i = 0; i < p->n_tmps; i++)
        p->count[p->n_halves - p->left[p->order[i]]]++;
    for (uint32_t i = 0, half = 0; i < p->n_tmps; i++) {
        for (; half <= p->born[p->order[i]]; half++)
            live -= p->count[half];
        live++;
        p->most = live > p->most ? live : p->most;
    }
}

/* ---- gaps ---------------------------------------------------------------- */

static size_t bytes_of(const placing *p, uint32_t tmp)
{
    return p->bytes[rota_first_tmp(p->s) + tmp];
}

static ptrdiff_t *offset_of(const placing *p, uint32_t tmp)
{
    return &p->offset[rota_first_tmp(p->s) + tmp];
}

static void bury(placing *p, uint32_t half)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_live; i++)
        if (p->left[p->live[i]] < p->n_halves - half)
            p->live[n++] = p->live[i];
    p->n_live = n;
}

static size_t wider(const placing *p, uint32_t node)
{
    const size_t a = p->widest[2 * node], b = p->widest[2 * node + 1];

    return a > b ? a : b;
}

static void find_gaps(placing *p)
{
    size_t end = 0;

    for (p->leaves = 1; p->leaves < p->n_live + 1; p->leaves *= 2)
        continue;
    memset(p->widest + p->leaves, 0, p->leaves * sizeof *p->widest);
    for (uint32_t g = 0; g <= p->n_live; g++) {
        const bool last = g == p->n_live;
        const size_t next = last ? SIZE_MAX : (size_t)*offset_of(p, p->live[g]);
        p->gap[g] = (gap){.at = end, .room = next - end};
        p->widest[p->leaves + g] = p->gap[g].room;
        end = last ? end : next + bytes_of(p, p->live[g]);
    }
    for (uint32_t node = p->leaves; --node > 0;)
        p->widest[node] = wider(p, node);
}

/* Take bytes from the first gap that is large enough; returns the gap's
 * number. */
static uint32_t take(placing *p, size_t bytes, ptrdiff_t *offset)
{
    uint32_t node = 1;

    while (node < p->leaves)
        node = p->widest[2 * node] >= bytes ? 2 * node : 2 * node + 1;
    const uint32_t g = node - p->leaves;
    *offset = (ptrdiff_t)p->gap[g].at;
    p->gap[g].at += bytes;
    p->widest[node] = p->gap[g].room -= bytes;
    while ((node /= 2) > 0)
        p->widest[node] = wider(p, node);
    return g;
}

/* Merge the new blocks into live: each goes behind those already in its gap. */
static void join(placing *p, const uint32_t born[], uint32_t n)
{
    memset(p->before, 0, ((size_t)p->n_live + 2) * sizeof *p->before);
    for (uint32_t i = 0; i < n; i++)
        p->before[p->in[i] + 1]++;
    for (uint32_t g = 0; g <= p->n_live; g++)
        p->before[g + 1] += p->before[g];
    for (uint32_t g = 0; g < p->n_live; g++)
        p->next[g + p->before[g + 1]] = p->live[g];
    for (uint32_t i = 0; i < n; i++)
        p->next[p->in[i] + p->before[p->in[i]]++] = born[i];
    uint32_t *const live = p->live;
    p->live = p->next;
    p->next = live;
    p->n_live += n;
}

/* Place all temporary blocks in order; returns the bytes of scratch. */
static size_t place_all(placing *p)
{
    size_t end = 0;

    for (uint32_t i = 0, n; i < p->n_tmps; i += n) {
        const uint32_t *const born = &p->order[i];
        bury(p, p->born[born[0]]);
        find_gaps(p);
        for (n = 0; i + n < p->n_tmps && p->born[born[n]] == p->born[born[0]];
             n++)
            p->in[n] = take(p, bytes_of(p, born[n]), offset_of(p, born[n]));
        join(p, born, n);
        const uint32_t last = p->live[p->n_live - 1];
        const size_t top = (size_t)*offset_of(p, last) + bytes_of(p, last);
        end = top > end ? top : end;
    }
    return end;
}

/* ---- all together -------------------------------------------------------- */

/* Padded blocks are as large as a bound, which may exceed all memory. */
static bool can_be_added(const placing *p)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < p->n_tmps; i++) {
        const size_t bytes = bytes_of(p, p->order[i]);
        if (bytes > PTRDIFF_MAX - sum)
            return false;
        sum += bytes;
    }
    return true;
}

static int make_lists(placing *p)
{
    const size_t n = (size_t)p->n_tmps + 1;

    p->born = malloc(n * sizeof *p->born);
    p->left = malloc(n * sizeof *p->left);
    p->order = calloc(n, sizeof *p->order);
    p->rest = malloc(n * sizeof *p->rest);
    p->count = malloc(((size_t)p->n_halves + 1) * sizeof *p->count);
    return p->born && p->left && p->order && p->rest && p->count
               ? MPI_SUCCESS
               : rota_fail_mem("placing scratch");
}

static int make_gaps(placing *p)
{
    const size_t n = p->most + 2;

    p->live = malloc(n * sizeof *p->live);
    p->next = malloc(n * sizeof *p->next);
    p->in = malloc(n * sizeof *p->in);
    p->gap = malloc(n * sizeof *p->gap);
    p->before = malloc(n * sizeof *p->before);
    p->widest = malloc(4 * n * sizeof *p->widest);
    return p->live && p->next && p->in && p->gap && p->before && p->widest
               ? MPI_SUCCESS
               : rota_fail_mem("placing scratch");
}

static void free_placing(placing *p)
{
    free(p->born);
    free(p->left);
    free(p->order);
    free(p->rest);
    free(p->count);
    free(p->live);
    free(p->next);
    free(p->in);
    free(p->gap);
    free(p->before);
    free(p->widest);
}

static void place_in_dst(const rota_sched *s, ptrdiff_t offset[])
{
    for (rota_block b = rota_first_tmp(s); b < s->n_blocks; b++)
        offset[b] = rota_block_region(s, b) == ROTA_DST
                        ? offset[rota_dst(s, (int)rota_block_slot(s, b))]
                        : 0;
}

int rota_sched_place(const rota_sched *s, const size_t bytes[],
                     ptrdiff_t offset[], rota_scratch *scratch)
{
    placing p = {.s = s,
                 .bytes = bytes,
                 .offset = offset,
                 .n_halves = 2 * s->n_phases,
                 .n_tmps = s->n_blocks - rota_first_tmp(s)};
    int err = make_lists(&p);

    place_in_dst(s, offset);
    *scratch = (rota_scratch){0};
    if (err == MPI_SUCCESS) {
        find_lives(&p);
        put_in_order(&p);
        count_most(&p);
        err = can_be_added(&p) ? make_gaps(&p) : rota_fail_mem("scratch");
    }
    if (err == MPI_SUCCESS)
        *scratch = (rota_scratch){.bytes = place_all(&p), .slots = p.most};
    free_placing(&p);
    return err;
}
