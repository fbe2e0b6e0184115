/* closure.c - see closure.h. */
#define _POSIX_C_SOURCE 200809L
#include "closure.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Pairs that a rank remembers having sent, so as not to send them again: 512
 * KiB, about a second-level cache. On graphs of 2 to 80 million pairs and 4
 * ranks it keeps back 70 % of the bytes where many paths lead to a pair (a
 * social network of mean degree 22) and 1 to 3 % where few do. 32 times larger
 * ones keep back up to 20 % more, and cost more time than they save. */
#define FILTER_SLOTS ((size_t)1 << 16)

/* Seconds between two lines of progress. */
#define PROGRESS_S 1.0

typedef struct {
    const partition *graph;
    exchange x;
    pair_set known; /* this rank's part of T */
    u64_vec delta;  /* and of dT */
    pair_filter sent;
    u64_vec *block;    /* [P] pairs found, by owner */
    closure_step *log; /* [n_log] with this rank's own figures */
    size_t n_log, log_capacity;
    uint64_t pairs; /* on all ranks, up to the current delta */
    double began, reported;
    int progress;
} closure;

/* dT gains what of the n pairs was not in T; so does T. */
static void learn(closure *c, const uint64_t *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pair_set_add(&c->known, pairs[i]))
            u64_vec_push(&c->delta, pairs[i]);
}

/* block := { (x,z) : dT(x,y), E(y,z) }, without some that were sent before. */
static void join(closure *c)
{
    const partition *g = c->graph;

    for (int d = 0; d < c->x.P; d++)
        c->block[d].n = 0;
    for (size_t i = 0; i < c->delta.n; i++) {
        const uint32_t x = pair_first(c->delta.at[i]);
        const uint32_t y = pair_second(c->delta.at[i]);

        for (size_t e = g->first[y]; e < g->first[y + 1]; e++) {
            const uint64_t found = pair_pack(x, g->target[e]);

            if (!pair_filter_seen(&c->sent, found))
                u64_vec_push(&c->block[g->owner[e]], found);
        }
    }
}

static void log_step(closure *c, closure_step step)
{
    if (c->n_log == c->log_capacity) {
        c->log_capacity = 2 * c->log_capacity + 64;
        c->log = must_realloc(c->log, c->log_capacity, sizeof c->log[0]);
    }
    c->log[c->n_log++] = step;
}

/* A terminal gets one line that changes, anything else a line each time. */
static void report(closure *c, int last)
{
    const double now = MPI_Wtime();
    const int tty = isatty(STDERR_FILENO);

    if (!c->progress || c->x.me != 0 ||
        (!last && now - c->reported < PROGRESS_S))
        return;
    c->reported = now;
    fprintf(stderr, "%s%s: iteration %zu, %llu pairs, %.1f s%s",
            tty ? "\r" : "", c->x.form->name, c->n_log,
            (unsigned long long)c->pairs, now - c->began,
            last || !tty ? "\n" : " ");
    fflush(stderr);
}

/* One iteration; 0 if the delta was empty on all ranks. */
static int iterate(closure *c)
{
    const double began = MPI_Wtime(), exchanged = c->x.seconds;
    const uint64_t bytes = c->x.bytes;
    closure_step step = {0};

    join(c);
    step.delta = exchange_run(&c->x, c->block, c->delta.n);
    if (step.delta == 0)
        return 0;
    c->pairs += step.delta;
    c->delta.n = 0;
    for (int s = 0; s < c->x.P; s++)
        learn(c, c->x.came + c->x.got_at[s], (size_t)c->x.got[s]);
    step.bytes = c->x.bytes - bytes;
    step.exchange_s = c->x.seconds - exchanged;
    step.total_s = MPI_Wtime() - began;
    log_step(c, step);
    report(c, 0);
    return 1;
}

/* The steps as rank 0 gets them: figures of all ranks together. Two reductions
 * for all of them, as each may cost more than a whole iteration did. */
static closure_step *gather_steps(const closure *c)
{
    const size_t n = c->n_log;
    double *seconds = must_realloc(NULL, 2 * n, sizeof seconds[0]);
    uint64_t *bytes = must_realloc(NULL, n, sizeof bytes[0]);
    closure_step *steps = must_realloc(NULL, n, sizeof steps[0]);
    const int root = c->x.me == 0;

    for (size_t i = 0; i < n; i++) {
        seconds[2 * i] = c->log[i].total_s;
        seconds[2 * i + 1] = c->log[i].exchange_s;
        bytes[i] = c->log[i].bytes;
    }
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : seconds, seconds, (int)(2 * n),
                    MPI_DOUBLE, MPI_MAX, 0, c->x.comm));
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : bytes, bytes, (int)n, MPI_UINT64_T,
                    MPI_SUM, 0, c->x.comm));
    for (size_t i = 0; i < n; i++)
        steps[i] = (closure_step){c->log[i].delta, bytes[i], seconds[2 * i],
                                  seconds[2 * i + 1]};
    free(seconds);
    free(bytes);
    return steps;
}

static void summarise(const closure *c, double total_s, closure_result *r)
{
    double seconds[3] = {total_s, c->x.setup_s, c->x.seconds}, longest[3];
    uint64_t mine[3] = {c->known.n, pair_set_fingerprint(&c->known),
                        c->x.bytes};
    uint64_t sum[3];

    MUST(MPI_Allreduce(seconds, longest, 3, MPI_DOUBLE, MPI_MAX, c->x.comm));
    MUST(MPI_Allreduce(mine, sum, 3, MPI_UINT64_T, MPI_SUM, c->x.comm));
    *r = (closure_result){.iterations = c->n_log,
                          .pairs = sum[0],
                          .fingerprint = sum[1],
                          .bytes = sum[2],
                          .total_s = longest[0],
                          .setup_s = longest[1],
                          .exchange_s = longest[2]};
    r->steps = gather_steps(c);
}

static void closure_open(closure *c, const exchange_form *form, MPI_Comm comm)
{
    exchange_open(&c->x, form, comm);
    pair_filter_make(&c->sent, FILTER_SLOTS);
    c->block = must_realloc(NULL, (size_t)c->x.P, sizeof c->block[0]);
    for (int d = 0; d < c->x.P; d++)
        c->block[d] = (u64_vec){0};
}

static void closure_close(closure *c)
{
    for (int d = 0; d < c->x.P; d++)
        u64_vec_free(&c->block[d]);
    free(c->block);
    free(c->log);
    pair_filter_free(&c->sent);
    pair_set_free(&c->known);
    u64_vec_free(&c->delta);
    exchange_close(&c->x);
}

void closure_run(const partition *p, const exchange_form *form, MPI_Comm comm,
                 int progress, closure_result *result)
{
    closure c = {.graph = p, .progress = progress};

    MUST(MPI_Barrier(comm));
    c.began = c.reported = MPI_Wtime();
    closure_open(&c, form, comm);
    learn(&c, p->start.at, p->start.n);
    while (iterate(&c))
        ;
    report(&c, 1);
    summarise(&c, MPI_Wtime() - c.began, result);
    closure_close(&c);
}
