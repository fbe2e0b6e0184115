/* solve.c - see solve.h. */
#include "solve.h"

#include "must.h"

#include <math.h>
#include <stdlib.h>

/* Edges that are multiplied between two looks at the exchange: some ten
 * microseconds at a nanosecond or two for each. */
#define PIECE_EDGES 8192

typedef struct {
    const matrix *m;
    halo *h;
    const solve_options *o;
    uint64_t begin;
    double *x;            /* [n_rows] ranks, the caller's */
    double *share;        /* [n_rows] of each target */
    double *sum;          /* [n_rows] of shares that come in */
    double stuck, change; /* of this rank's vertices */
} solver;

uint64_t solve_begin(uint64_t i, uint64_t n)
{
    return i == 0 ? SOLVE_EVERYWHERE : mix64(i) % n;
}

double solve_weight(uint64_t begin, uint64_t v, uint64_t n)
{
    if (begin == SOLVE_EVERYWHERE)
        return 1.0 / (double)n;
    return v == begin;
}

static double weight(const solver *s, size_t row)
{
    const matrix *m = s->m;

    return solve_weight(s->begin, row * (uint64_t)m->P + (uint64_t)m->me,
                        m->n_vertices);
}

/* What x gives to each target, and what finds none. */
static void divide(solver *s)
{
    s->stuck = 0;
    for (size_t i = 0; i < s->m->n_rows; i++) {
        if (s->m->outdegree[i] == 0)
            s->stuck += s->x[i];
        else
            s->share[i] = s->x[i] / s->m->outdegree[i];
    }
}

static void pack(const solver *s)
{
    const halo_layout *at = &s->m->at;
    const uint32_t *give = s->m->give;

    for (int q = 0; q < s->m->P; q++) {
        double *to = at->send + at->sdispls[q];

        if (q == s->m->me)
            continue;
        to[0] = s->stuck;
        to[1] = s->change;
        for (int i = BLOCK_HEAD; i < at->sendcounts[q]; i++)
            to[i] = s->share[*give++];
    }
}

/* The local part of the product, with a look at the exchange after each piece.
 */
static void multiply_local(solver *s)
{
    const rows *r = &s->m->local;
    size_t next = PIECE_EDGES;

    for (size_t i = 0; i < s->m->n_rows; i++) {
        double sum = 0;

        for (size_t e = r->first[i]; e < r->first[i + 1]; e++)
            sum += s->share[r->column[e]];
        s->sum[i] = sum;
        if (r->first[i + 1] >= next) {
            halo_test(s->h);
            next = r->first[i + 1] + PIECE_EDGES;
        }
    }
}

static void multiply_remote(solver *s)
{
    const rows *r = &s->m->remote;

    for (size_t i = 0; i < s->m->n_rows; i++)
        for (size_t e = r->first[i]; e < r->first[i + 1]; e++)
            s->sum[i] += s->m->at.recv[r->column[e]];
}

/* The heads of all blocks, added in the order of the ranks so that the sums are
 * the same everywhere, and all stop together. */
static void add_heads(const solver *s, double total[BLOCK_HEAD])
{
    const double own[BLOCK_HEAD] = {s->stuck, s->change};

    for (int h = 0; h < BLOCK_HEAD; h++) {
        total[h] = 0;
        for (int q = 0; q < s->m->P; q++)
            total[h] +=
                q == s->m->me ? own[h] : s->m->at.recv[s->m->at.rdispls[q] + h];
    }
}

static void renew(solver *s, double stuck)
{
    const double d = s->o->damping;

    s->change = 0;
    for (size_t i = 0; i < s->m->n_rows; i++) {
        const double t = weight(s, i);
        const double y = d * (s->sum[i] + stuck * t) + (1 - d) * t;

        s->change += fabs(y - s->x[i]);
        s->x[i] = y;
    }
}

/* One product; 0 if the one before changed so little that this is the end. */
static int step(solver *s)
{
    double total[BLOCK_HEAD];

    divide(s);
    pack(s);
    halo_start(s->h);
    multiply_local(s);
    halo_wait(s->h);
    add_heads(s, total);
    if (total[1] <= s->o->tolerance)
        return 0;
    multiply_remote(s);
    renew(s, total[0]);
    return 1;
}

void solve(const matrix *m, halo *h, const solve_options *o, uint64_t i,
           double *x)
{
    solver s = {m, h, o, solve_begin(i, m->n_vertices), x, .change = HUGE_VAL};

    s.share = must_realloc(NULL, m->n_rows, sizeof s.share[0]);
    s.sum = must_realloc(NULL, m->n_rows, sizeof s.sum[0]);
    for (size_t r = 0; r < m->n_rows; r++)
        x[r] = weight(&s, r);
    for (size_t n = 1; step(&s) && n != o->products; n++)
        if (n == SOLVE_STEPS)
            die("vector %llu still changes after %d products; a larger "
                "--tolerance is needed",
                (unsigned long long)i, SOLVE_STEPS);
    free(s.share);
    free(s.sum);
}
