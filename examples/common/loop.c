/* loop.c - run fixed-point loops; see loop.h. */
#include "loop.h"

#include "must.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Seconds between two lines of progress. */
#define PROGRESS_S 1.0

void loop_open(loop *l, loop_entrant *e)
{
    *l = (loop){.x = &e->x, .entrant = e, .bytes_before = e->x.bytes};
    barrier_wait(e->together);
    l->began = l->reported = MPI_Wtime();
}

/* A terminal gets one line that changes, anything else a line each time. */
static void report(loop *l, int last)
{
    const double now = MPI_Wtime();
    const int tty = isatty(STDERR_FILENO);

    if (!l->entrant->options->progress || l->x->me != 0 ||
        (!last && now - l->reported < PROGRESS_S))
        return;
    l->reported = now;
    fprintf(stderr, "%s%s: iteration %zu, %s facts, %.1f s%s", tty ? "\r" : "",
            l->x->form->name, l->n_steps, grouped(l->facts), now - l->began,
            last || !tty ? "\n" : " ");
    fflush(stderr);
}

int loop_step_begin(loop *l)
{
    if (l->n_steps >= l->entrant->options->iterations)
        return 0;
    l->step_began = MPI_Wtime();
    l->now = (loop_own_step){.bytes = l->x->bytes};
    return 1;
}

int loop_exchange(loop *l, uint64_t delta)
{
    const exchange *x = l->x;

    l->now.delta = exchange_run(l->x, delta);
    l->zero = l->entrant->common_clock ? 0 : x->began;
    l->now.largest = x->largest;
    l->now.began = x->began - l->zero;
    l->now.ended = x->ended - l->zero;
    l->facts += l->now.delta;
    return l->now.delta > 0;
}

void loop_step_end(loop *l)
{
    l->now.taken = node_clock() - l->zero;
    l->now.bytes = l->x->bytes - l->now.bytes;
    l->now.all_s = MPI_Wtime() - l->step_began;
    if (l->n_steps == l->capacity) {
        l->capacity = 2 * l->capacity + 64;
        l->step = must_realloc(l->step, l->capacity, sizeof l->step[0]);
    }
    l->step[l->n_steps++] = l->now;
    report(l, 0);
}

/* Figures of all ranks together, on rank 0: of the iterations' times, n each,
 * the greatest of all_s, began, -began, ended and taken; of their bytes the sum,
 * and then the largest. One reduction for all iterations, as each may cost more
 * than an iteration did. */
static void reduce_steps(const loop *l, double *times, uint64_t *bytes)
{
    const size_t n = l->n_steps;
    const int root = l->x->me == 0;

    for (size_t i = 0; i < n; i++) {
        const loop_own_step *own = &l->step[i];

        times[i] = own->all_s;
        times[n + i] = own->began;
        times[2 * n + i] = -own->began;
        times[3 * n + i] = own->ended;
        times[4 * n + i] = own->taken;
        bytes[i] = own->bytes;
        bytes[n + i] = own->largest;
    }
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : times, times, (int)(5 * n),
                    MPI_DOUBLE, MPI_MAX, 0, l->x->comm));
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : bytes, bytes, (int)n, MPI_UINT64_T,
                    MPI_SUM, 0, l->x->comm));
    MUST(MPI_Reduce(root ? MPI_IN_PLACE : bytes + n, bytes + n, (int)n,
                    MPI_UINT64_T, MPI_MAX, 0, l->x->comm));
}

/* Times do not overlap: a rank that begins an exchange when another has not yet
 * left the one before waits for that one only from then on. */
static void gather_steps(const loop *l, loop_result *r)
{
    const size_t n = l->n_steps;
    double *times = must_realloc(NULL, 5 * n, sizeof times[0]);
    const double *last = times + n, *not_first = times + 2 * n;
    const double *left = times + 3 * n, *taken = times + 4 * n;
    uint64_t *bytes = must_realloc(NULL, 2 * n, sizeof bytes[0]);

    reduce_steps(l, times, bytes);
    r->steps = must_realloc(NULL, n, sizeof r->steps[0]);
    for (size_t i = 0; i < n; i++) {
        const double before = i > 0 ? left[i - 1] : -not_first[i];
        loop_step *s = &r->steps[i];

        *s = (loop_step){l->step[i].delta, bytes[i], bytes[n + i], {0}};
        s->s[LOOP_ALL] = times[i];
        s->s[LOOP_WAITING] = fmax(0, last[i] - fmax(-not_first[i], before));
        s->s[LOOP_EXCHANGE] = left[i] - last[i];
        s->s[LOOP_TAKEN] = taken[i] - last[i];
        r->s[LOOP_WAITING] += s->s[LOOP_WAITING];
        r->s[LOOP_EXCHANGE] += s->s[LOOP_EXCHANGE];
        r->s[LOOP_TAKEN] += s->s[LOOP_TAKEN];
    }
    free(times);
    free(bytes);
}

void loop_close(loop *l, uint64_t facts, uint64_t fingerprint, loop_result *r)
{
    double seconds[2] = {MPI_Wtime() - l->began, l->x->setup_s};
    uint64_t sum[3] = {facts, fingerprint, l->x->bytes - l->bytes_before};
    uint64_t fullest = facts;
    MPI_Comm comm = l->x->comm;

    report(l, 1);
    MUST(MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, comm));
    MUST(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPI_UINT64_T, MPI_SUM, comm));
    MUST(MPI_Allreduce(MPI_IN_PLACE, &fullest, 1, MPI_UINT64_T, MPI_MAX, comm));
    *r = (loop_result){.form = l->x->form,
                       .iterations = l->n_steps,
                       .facts = sum[0],
                       .bytes = sum[2],
                       .fingerprint = sum[1],
                       .fullest = fullest,
                       .setup_s = seconds[1]};
    r->s[LOOP_ALL] = seconds[0];
    gather_steps(l, r);
    free(l->step);
}
