/* sim_posts.c - does bench/sim go through schedules in the order of the
 * executor?
 *
 * A plan of each algorithm is simulated on a machine whose ranks take no time
 * themselves: what a rank can post it posts at once. Then the executor runs the
 * same schedules, and its messages arrive in the order in which those of the
 * simulation did. After each arrival every rank must have posted what it has
 * posted there by that time, in the same order.
 *
 * In a phase with a window, a receive and a send that are complete at the same
 * time may be seen in either order; so there the order is compared of each
 * direction by itself.
 */
#include "common/fakempi.h"
#include "sim/engine.h"
#include "sim/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 300, SWEEPS = 8 };

typedef struct posting {
    double at;
    int peer;
    rota_dir dir;
} posting;

/* What a rank has posted, in order. */
typedef struct postings {
    posting *of; /* [room] */
    size_t n, room;
} postings;

typedef struct passing {
    double at;
    size_t number; /* by which ties are broken */
    int from, to;
} passing;

typedef struct story {
    postings *rank;   /* [P] */
    passing *passing; /* [room] */
    size_t n, room;
} story;

static story simulated;
static postings *executed; /* [P] */
static size_t n_executed;  /* of all ranks */

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static void add_posting(postings *l, posting p)
{
    if (l->n == l->room) {
        l->room = 2 * l->room + 16;
        l->of = must(realloc(l->of, l->room * sizeof *l->of));
    }
    l->of[l->n++] = p;
}

/* ---- what is told -------------------------------------------------------- */

static void simulation_posts(void *of, int rank, rota_dir dir, int peer,
                             double at)
{
    story *const s = of;

    add_posting(&s->rank[rank], (posting){at, peer, dir});
}

static void simulation_passes(void *of, int from, int to, double at)
{
    story *const s = of;

    if (s->n == s->room) {
        s->room = 2 * s->room + 16;
        s->passing = must(realloc(s->passing, s->room * sizeof *s->passing));
    }
    s->passing[s->n] = (passing){at, s->n, from, to};
    s->n++;
}

static void executor_posts(int rank, bool sends, int peer, int tag,
                           size_t bytes)
{
    (void)tag;
    (void)bytes;
    add_posting(&executed[rank],
                (posting){0, peer, sends ? ROTA_SEND : ROTA_RECV});
    n_executed++;
}

static void open_stories(int P)
{
    simulated = (story){.rank = must(calloc((size_t)P, sizeof(postings)))};
    executed = must(calloc((size_t)P, sizeof *executed));
    n_executed = 0;
}

static void close_stories(int P)
{
    for (int q = 0; q < P; q++) {
        free(simulated.rank[q].of);
        free(executed[q].of);
    }
    free(simulated.rank);
    free(simulated.passing);
    free(executed);
}

/* ---- comparing ----------------------------------------------------------- */

/* The next posting from *i on of the direction; ROTA_N_DIRS: of any. */
static const posting *next(const postings *l, size_t n, int dir, size_t *i)
{
    while (*i < n && dir < ROTA_N_DIRS && (int)l->of[*i].dir != dir)
        ++*i;
    return *i < n ? &l->of[(*i)++] : NULL;
}

static bool differ(const posting *a, const posting *b)
{
    return !a != !b || (a && (a->peer != b->peer || a->dir != b->dir));
}

static void name(const posting *p, char *text, size_t size)
{
    if (p)
        snprintf(text, size, "%s rank %d",
                 p->dir == ROTA_SEND ? "a send to" : "a receive from", p->peer);
    else
        snprintf(text, size, "nothing");
}

/* Of one direction, or of both together; until that time. */
static bool same(int rank, int dir, double until, char *text)
{
    const postings *const a = &simulated.rank[rank], *const b = &executed[rank];
    size_t i = 0, j = 0, n = 0;
    const posting *p, *q;

    while (n < a->n && a->of[n].at <= until)
        n++;
    do {
        p = next(a, n, dir, &i);
        q = next(b, b->n, dir, &j);
        if (differ(p, q)) {
            char one[60], other[60];
            name(p, one, sizeof one);
            name(q, other, sizeof other);
            snprintf(text, TEXT,
                     "rank %d, posting %zu, by %g ns: simulated %s, executed "
                     "%s",
                     rank, i, until, one, other);
            return false;
        }
    } while (p);
    return true;
}

static bool has_window(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].window > 0)
            return true;
    return false;
}

static bool all_same(const sim_plan *plan, double until, char *text)
{
    for (int q = 0; q < plan->spec.P; q++) {
        const bool apart = has_window(&plan->rank[q].s);
        const int first = apart ? 0 : ROTA_N_DIRS;
        const int end = apart ? ROTA_N_DIRS : ROTA_N_DIRS + 1;
        for (int dir = first; dir < end; dir++)
            if (!same(q, dir, until, text))
                return false;
    }
    return true;
}

/* ---- running ------------------------------------------------------------- */

/* Let all ranks do what they can. */
static void sweep(sim_plan *plan)
{
    for (int idle = 0; idle < SWEEPS; idle++) {
        const size_t before = n_executed;
        bool done;
        rota_exec_test(&plan->rank[0].x, &done);
        if (n_executed > before)
            idle = 0;
    }
}

static int by_time(const void *a, const void *b)
{
    const passing *const p = a, *const q = b;

    if (p->at != q->at)
        return p->at < q->at ? -1 : 1;
    return p->number < q->number ? -1 : 1;
}

/* All messages that are complete at the time of the first, from i on. */
static bool pass(size_t *i, char *text)
{
    const double at = simulated.passing[*i].at;

    for (; *i < simulated.n && simulated.passing[*i].at == at; ++*i) {
        const passing *const p = &simulated.passing[*i];
        if (fakempi_transfer(p->from, p->to))
            continue;
        snprintf(text, TEXT,
                 "the message from %d to %d that arrives after %g ns is not "
                 "posted on both ends",
                 p->from, p->to, at);
        return false;
    }
    return true;
}

static bool follow(sim_plan *plan, char *text)
{
    bool good = true;

    fakempi_manual();
    fakempi_listen(executor_posts);
    for (int q = 0; q < plan->spec.P && good; q++)
        good = sim_plan_start(plan, q, text);
    sweep(plan);
    good = good && all_same(plan, 0, text);
    for (size_t i = 0; i < simulated.n && good;) {
        const double at = simulated.passing[i].at;
        good = pass(&i, text);
        sweep(plan);
        good = good && all_same(plan, at, text);
    }
    for (int q = 0; q < plan->spec.P && good; q++) {
        bool done;
        rota_exec_test(&plan->rank[q].x, &done);
        snprintf(text, TEXT, "rank %d is not through", q);
        good = done && sim_plan_finish(plan, q, text);
    }
    fakempi_listen(NULL);
    return good;
}

/* Ranks themselves take no time. */
static sim_machine machine_without_ranks(void)
{
    sim_machine m = {.net = rota_machine_usual.network};
    double *const ns = m.prices.ns;

    m.net.posted_receive = 0;
    m.net.past_short = 0;
    m.net.domains = 2;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)] = 1000;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_MESSAGE)] = 17;
    ns[rota_term(ROTA_LINK_P2P, ROTA_PER_PHASE)] = 311;
    ns[rota_term(ROTA_LINK_P2P, ROTA_PER_MESSAGE)] = 7;
    return m;
}

/* By a plan with the parameters that the simulation has found. Ends the program
 * where they differ, as the plan may still run. */
static void check(const rota_algo *algo, int batch, shape shape, int P)
{
    const sim_machine m = machine_without_ranks();
    rota_topo topo = shape_topo(shape, P);
    const sim_watch watch = {&simulated, simulation_posts, simulation_passes};
    const sim_case c = {.form = {.algo = algo},
                        .hints = {.algo = algo,
                                  .params.batch = batch,
                                  .metadata = ROTA_META_ONCE},
                        .P = P,
                        .node = rota_topo_node_size(&topo, 0),
                        .largest = 1,
                        .watch = &watch};
    char text[TEXT] = "";
    sim_plan plan;

    rota_topo_free(&topo);
    open_stories(P);
    const spec wanted = {.algo = algo,
                         .P = P,
                         .shape = shape,
                         .params = sim_run(&c, &m).choice.params,
                         .pattern = ONE_BYTE};
    qsort(simulated.passing, simulated.n, sizeof *simulated.passing, by_time);
    fakempi_reset(P, 1);
    const bool good =
        sim_plan_make(&plan, &wanted, 0, text) && follow(&plan, text);
    if (!good || fakempi_fault()) {
        printf("FAILED: %s, P %d, %s, batch %d: %s\n", algo->name, P,
               shape_name[shape], batch, good ? fakempi_fault() : text);
        exit(EXIT_FAILURE);
    }
    sim_plan_free(&plan);
    close_stories(P);
}

int main(void)
{
    static const shape shapes[] = {NODES_OF_ONE, EVEN, ONE_NODE};
    static const int ranks[] = {2, 5, 8, 12};

    for (int i = 0; rota_algo_table[i]; i++) {
        const rota_algo *const algo = rota_algo_table[i];
        for (size_t s = 0; s < 3 && !algo->native; s++)
            for (size_t p = 0; p < 4; p++)
                for (int batch = 1; batch <= 3; batch += 2)
                    check(algo, batch, shapes[s], ranks[p]);
    }
    puts("posted in the same order");
    return EXIT_SUCCESS;
}
