/* loop_rounds.c - the same loop with several exchanges in turns; see loop.h. */
#include "loop.h"
#include "must.h"

#include <stdlib.h>

typedef struct {
    int n_forms;
    size_t n;              /* rounds */
    loop_entrant *entrant; /* [n_forms] */
    loop_result *each;     /* [n_forms][n] */
    barrier together;
} contest;

static int share_a_node(MPI_Comm comm)
{
    MPI_Comm node;
    int n_node, n;

    MUST(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                             &node));
    MUST(MPI_Comm_size(node, &n_node));
    MUST(MPI_Comm_size(comm, &n));
    MUST(MPI_Comm_free(&node));
    return n_node == n;
}

/* The barrier comes last: the set-up of the first form with Rota is that of the
 * first plan on the communicator. */
static void open_all(contest *c, const loop_options *o, MPI_Comm comm)
{
    const size_t n = (size_t)o->n_forms;
    const int common_clock = share_a_node(comm);

    *c = (contest){.n_forms = o->n_forms, .n = o->rounds};
    c->entrant = must_realloc(NULL, n, sizeof c->entrant[0]);
    c->each = must_realloc(NULL, n * c->n, sizeof c->each[0]);
    for (size_t i = 0; i < n; i++) {
        c->entrant[i] = (loop_entrant){.options = o,
                                       .together = &c->together,
                                       .common_clock = common_clock};
        MUST(MPI_Barrier(comm));
        exchange_open(&c->entrant[i].x, o->form[i], comm);
    }
    barrier_open(&c->together, comm);
}

static void close_all(contest *c)
{
    barrier_close(&c->together);
    for (int i = 0; i < c->n_forms; i++)
        exchange_close(&c->entrant[i].x);
    for (size_t i = 0; i < (size_t)c->n_forms * c->n; i++)
        free(c->each[i].steps);
    free(c->each);
    free(c->entrant);
}

/* The quantile of a time over rounds; at [n] is scratch. */
static double over_rounds(const loop_result each[], size_t n, int what,
                          double q, double *at)
{
    for (size_t k = 0; k < n; k++)
        at[k] = each[k].s[what];
    return quantile(at, n, q);
}

static double step_over_rounds(const loop_result each[], size_t n, size_t step,
                               int what, double *at)
{
    for (size_t k = 0; k < n; k++)
        at[k] = each[k].steps[step].s[what];
    return quantile(at, n, 0.5);
}

/* All rounds of a form as one result, which takes over the steps of the first
 * one. */
static void conclude(loop_result each[], size_t n, loop_result *r)
{
    double *at = must_realloc(NULL, n, sizeof at[0]);

    *r = each[0];
    r->rounds = n;
    r->round_s = must_realloc(NULL, n, sizeof r->round_s[0]);
    for (size_t k = 0; k < n; k++)
        r->round_s[k] = each[k].s[LOOP_EXCHANGE];
    r->first_s = r->s[LOOP_EXCHANGE];
    r->fast_s = over_rounds(each, n, LOOP_EXCHANGE, 0.1, at);
    for (int what = 0; what < LOOP_TIMES; what++) {
        r->s[what] = over_rounds(each, n, what, 0.5, at);
        for (size_t i = 0; i < r->iterations; i++)
            r->steps[i].s[what] = step_over_rounds(each, n, i, what, at);
    }
    each[0].steps = NULL;
    free(at);
}

/* Every round does the same. */
static int check_round(const loop_result *first, const loop_result *r)
{
    if (r->iterations == first->iterations)
        return loop_differs(first, r->form->name, r->facts, r->fingerprint);
    complain("wrong result: %s iterations with %s, %s with %s",
             grouped(first->iterations), first->form->name,
             grouped(r->iterations), r->form->name);
    return EXIT_WRONG;
}

int loop_rounds(const loop_options *o, MPI_Comm comm,
                void (*run)(void *program, loop_entrant *e, loop_result *r),
                void *program, loop_result result[])
{
    contest c;
    int err = 0;

    open_all(&c, o, comm);
    for (size_t k = 0; k < c.n; k++)
        for (int turn = 0; turn < c.n_forms; turn++) {
            const int i = round_turn(k, turn, c.n_forms);
            loop_result *r = &c.each[(size_t)i * c.n + k];

            run(program, &c.entrant[i], r);
            err |= check_round(&c.each[0], r);
        }
    for (int i = 0; i < c.n_forms; i++)
        conclude(&c.each[(size_t)i * c.n], err == 0 ? c.n : 1, &result[i]);
    close_all(&c);
    return err;
}
