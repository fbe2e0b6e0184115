/* loop.c - run fixed-point loops; see loop.h. */
#include "loop.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds between two lines of progress. */
#define PROGRESS_S 1.0

void loop_open(loop *l, const exchange_form *form, MPI_Comm comm,
               const loop_options *options)
{
    *l = (loop){.options = options};
    MUST(MPI_Barrier(comm));
    l->began = l->reported = MPI_Wtime();
    exchange_open(&l->x, form, comm);
}

/* A terminal gets one line that changes, anything else a line each time. */
static void report(loop *l, int last)
{
    const double now = MPI_Wtime();
    const int tty = isatty(STDERR_FILENO);

    if (!l->options->progress || l->x.me != 0 ||
        (!last && now - l->reported < PROGRESS_S))
        return;
    l->reported = now;
    fprintf(stderr, "%s%s: iteration %zu, %s facts, %.1f s%s", tty ? "\r" : "",
            l->x.form->name, l->n_steps, grouped(l->facts), now - l->began,
            last || !tty ? "\n" : " ");
    fflush(stderr);
}

int loop_step_begin(loop *l)
{
    if (l->n_steps >= l->options->iterations)
        return 0;
    l->step_began = MPI_Wtime();
    l->now = (loop_step){.bytes = l->x.bytes, .exchange_s = l->x.seconds};
    return 1;
}

int loop_exchange(loop *l, const u64_vec block[], uint64_t delta)
{
    l->now.delta = exchange_run(&l->x, block, delta);
    l->now.largest = l->x.largest;
    l->facts += l->now.delta;
    return l->now.delta > 0;
}

void loop_step_end(loop *l)
{
    l->now.bytes = l->x.bytes - l->now.bytes;
    l->now.exchange_s = l->x.seconds - l->now.exchange_s;
    l->now.total_s = MPI_Wtime() - l->step_began;
    if (l->n_steps == l->capacity) {
        l->capacity = 2 * l->capacity + 64;
        l->step = must_realloc(l->step, l->capacity, sizeof l->step[0]);
    }
    l->step[l->n_steps++] = l->now;
    report(l, 0);
}

/* The steps as rank 0 gets them: figures of all ranks together. One reduction
 * a figure for all of them, as each may cost more than an iteration did. */
static void gather_steps(loop *l)
{
    const size_t n = l->n_steps;
    double *seconds = must_realloc(NULL, 2 * n, sizeof seconds[0]);
    uint64_t *bytes = must_realloc(NULL, 2 * n, sizeof bytes[0]);
    const int root = l->x.me == 0;

    for (size_t i = 0; i < n; i++) {
        seconds[i] = l->step[i].total_s;
        seconds[n + i] = l->step[i].exchange_s;
        bytes[i] = l->step[i].bytes;
        bytes[n + i] = l->step[i].largest;
    }
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : seconds, seconds, (int)(2 * n),
                    MPI_DOUBLE, MPI_MAX, 0, l->x.comm));
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : bytes, bytes, (int)n, MPI_UINT64_T,
                    MPI_SUM, 0, l->x.comm));
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : bytes + n, bytes + n, (int)n,
                    MPI_UINT64_T, MPI_MAX, 0, l->x.comm));
    for (size_t i = 0; i < n; i++)
        l->step[i] = (loop_step){l->step[i].delta, bytes[i], bytes[n + i],
                                 seconds[i], seconds[n + i]};
    free(seconds);
    free(bytes);
}

void loop_close(loop *l, uint64_t facts, uint64_t fingerprint, loop_result *r)
{
    double seconds[3] = {MPI_Wtime() - l->began, l->x.setup_s, l->x.seconds};
    uint64_t sum[3] = {facts, fingerprint, l->x.bytes}, fullest = facts;

    report(l, 1);
    MUST(MPI_Allreduce(MPI_IN_PLACE, seconds, 3, MPI_DOUBLE, MPI_MAX,
                       l->x.comm));
    MUST(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_UINT64_T, MPI_SUM, l->x.comm));
    MUST(MPI_Allreduce(MPI_IN_PLACE, &fullest, 1, MPI_UINT64_T, MPI_MAX,
                       l->x.comm));
    gather_steps(l);
    *r = (loop_result){.form = l->x.form,
                       .iterations = l->n_steps,
                       .facts = sum[0],
                       .bytes = sum[2],
                       .fingerprint = sum[1],
                       .fullest = fullest,
                       .total_s = seconds[0],
                       .setup_s = seconds[1],
                       .exchange_s = seconds[2],
                       .steps = l->step};
    exchange_close(&l->x);
}
