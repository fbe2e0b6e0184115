/* measure.c - candidates tried out: plans like the one that is wanted, on
 * buffers of their own. */
#include "exec/transport/arena.h"
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TRIED = 8, /* besides MPI's own */
    CACHE_LINE = 64,
    IN_A_ROW = 4,    /* runs of one candidate, of which the first is left out */
    MOST_ROUNDS = 64 /* in which each has its turn */
};

/* What is not within this factor of the lowest price is not tried. */
#define PROMISING 4.0

/* Where counts vary a rank sends no more bytes than that. */
#define MOST_DRAWN 67108864.0

/* Blocks as in the plan that is wanted, as bytes and end to end. */
typedef struct probe {
    rota_comm *comm;
    rota_kind kind;
    char *memory;          /* what is sent, then what is received */
    size_t sent, received; /* bytes */
    MPI_Count *count;      /* [2P] sent, received */
    MPI_Aint *displ;       /* [2P] */
    rota_args args;
    int n;
    int candidate[MOST_TRIED + 1]; /* its place in the list */
    rota_plan *plan[MOST_TRIED + 1];
    double *ns[MOST_TRIED + 1]; /* [MOST_ROUNDS * (IN_A_ROW - 1)] */
    int n_ns;
} probe;

/* ---- what is moved ----------------------------------------------------------- */

/* Where counts vary: from nothing to the bound, and the same on both ends. */
static size_t drawn(const rota_plan *p, int src, int dst)
{
    const double room = MOST_DRAWN / p->comm->P;
    const double most = 2 * p->stats.mean < room ? 2 * p->stats.mean : room;
    const uint64_t x = ((uint64_t)src << 32 | (uint64_t)dst) + 1;
    const uint64_t random = x * 0x9e3779b97f4a7c15u >> 32;

    return (size_t)(most * (double)random / 4294967296.0);
}

static void set_counts(const rota_plan *p, probe *t)
{
    const rota_problem *const problem = &p->problem;
    const int P = p->comm->P, me = p->comm->me;
    const size_t *const sent = rota_problem_sent(problem);
    const bool fixed = p->kind == ROTA_FIXED;
    MPI_Aint end = 0;

    for (int q = 0; q < P; q++) {
        t->count[q] = (MPI_Count)(fixed ? sent[q] : drawn(p, me, q));
        t->count[P + q] =
            (MPI_Count)(fixed ? problem->recv.bytes[q] : drawn(p, q, me));
    }
    for (int i = 0; i < 2 * P; i++) {
        if (i == P) {
            t->sent = (size_t)end;
            end = 0;
        }
        t->displ[i] = end;
        end += (MPI_Aint)t->count[i];
    }
    t->received = (size_t)end;
}

/* Memory of the kind that the caller's buffers are of. */
static int make_probe(const rota_plan *p, probe *t)
{
    const size_t n = 2 * (size_t)p->comm->P;
    rota_place at;

    *t = (probe){.comm = p->comm, .kind = p->kind};
    t->count = malloc(n * sizeof *t->count);
    t->displ = malloc(n * sizeof *t->displ);
    if (!t->count || !t->displ)
        return rota_fail_mem("what is measured");
    set_counts(p, t);
    /* Apart, as MPI wants them: some take equal addresses for in place. */
    const size_t apart = (t->sent / CACHE_LINE + 1) * CACHE_LINE;
    const size_t bytes = apart + t->received + 1;
    if (rota_arena_find(p->problem.send.base, 1, &at))
        t->memory = rota_arena_alloc(bytes);
    if (!t->memory)
        t->memory = malloc(bytes);
    for (int i = 0; i <= MOST_TRIED; i++) {
        t->ns[i] =
            malloc((size_t)MOST_ROUNDS * (IN_A_ROW - 1) * sizeof *t->ns[i]);
        if (!t->ns[i])
            return rota_fail_mem("times");
    }
    if (!t->memory)
        return rota_fail_mem("buffers to measure with");
    memset(t->memory, 0, bytes);
    const size_t half = n / 2;
    t->args = (rota_args){
        .sendbuf = t->memory,
        .sendcounts = {ROTA_COUNTS, t->count, 0},
        .sdispls = {ROTA_AINTS, t->displ, 0},
        .sendtype = MPI_BYTE,
        .recvbuf = t->memory + apart,
        .recvcounts = {ROTA_COUNTS, t->count + half, 0},
        .rdispls = {ROTA_AINTS, t->displ + half, 0},
        .recvtype = MPI_BYTE,
    };
    return MPI_SUCCESS;
}

static void free_probe(probe *t)
{
    bool broken = false;

    for (int i = 0; i <= MOST_TRIED; i++) {
        broken = broken || (t->plan[i] && t->plan[i]->exec.broken);
        rota_plan_destroy(t->plan[i]);
        free(t->ns[i]);
    }
    /* What MPI may still write to stays. */
    if (!broken && !rota_arena_free(t->memory))
        free(t->memory);
    free(t->count);
    free(t->displ);
}

/* ---- who is tried -------------------------------------------------------------- */

static bool is_tried(const probe *t, int candidate)
{
    for (int i = 0; i < t->n; i++)
        if (t->candidate[i] == candidate)
            return true;
    return false;
}

/* The cheapest of those that are not tried yet, or -1. */
static int cheapest(const probe *t, const rota_candidates *list)
{
    int best = -1;

    for (int i = 0; i < list->n; i++)
        if (!is_tried(t, i) &&
            (best < 0 || list->item[i].predicted < list->item[best].predicted))
            best = i;
    return best;
}

static void select_promising(probe *t, const rota_candidates *list)
{
    const double least = list->item[cheapest(t, list)].predicted;

    while (t->n < MOST_TRIED) {
        const int next = cheapest(t, list);
        if (next < 0 || list->item[next].predicted > PROMISING * least)
            break;
        t->candidate[t->n++] = next;
    }
    for (int i = 0; i < list->n && t->n <= MOST_TRIED; i++)
        if (list->item[i].choice.algo->native && !is_tried(t, i))
            t->candidate[t->n++] = i;
}

static int make_plan(const rota_plan *p, const rota_hints *wish, probe *t,
                     rota_plan **plan)
{
    if (t->kind == ROTA_FIXED)
        return rota_plan_make_fixed(t->comm, &t->args, wish, MPI_SUCCESS, plan);
    ROTA_TRY(rota_plan_make_varying(t->comm, t->kind, p->max_block, MPI_BYTE,
                                    wish, MPI_SUCCESS, plan));
    (*plan)->user_out = t->args.recvbuf;
    (*plan)->user_room = t->received;
    return MPI_SUCCESS;
}

/* Collective. A candidate that cannot be made is left out, on all ranks; the
 * last one's error counts if none can. */
static int make_plans(const rota_plan *p, const rota_hints *hints,
                      const rota_candidates *list, probe *t)
{
    rota_hints wish = *hints;
    int err = MPI_SUCCESS, made = 0;

    wish.measure = false;
    for (int i = 0; i < t->n; i++) {
        const rota_choice *const choice = &list->item[t->candidate[i]].choice;
        wish.algo = choice->algo;
        wish.batch = choice->params.batch;
        wish.radix = choice->params.radix;
        wish.leaders = choice->params.leaders;
        err = make_plan(p, &wish, t, &t->plan[made]);
        if (err != MPI_SUCCESS)
            continue;
        t->candidate[made++] = t->candidate[i];
        wish.check = false; /* counts match */
    }
    t->n = made;
    if (made == 0)
        return err;
    rota_fail_clear();
    return MPI_SUCCESS;
}

/* ---- how long it takes ----------------------------------------------------------- */

static int run_once(const probe *t, rota_plan *plan, double *ns)
{
    const int64_t begin = rota_now_ns();
    rota_found found = {0};

    if (t->kind == ROTA_FIXED)
        ROTA_TRY(rota_exec_start(&plan->exec));
    else
        ROTA_TRY(t->kind == ROTA_VARYING ? rota_varying_start(plan, &t->args)
                                         : rota_exchange_begin(plan, &t->args));
    ROTA_TRY(rota_exec_wait(&plan->exec));
    if (t->kind == ROTA_EXCHANGE)
        ROTA_TRY(rota_exchange_collect(plan, &found));
    *ns = (double)(rota_now_ns() - begin);
    return MPI_SUCCESS;
}

static int run_round(probe *t)
{
    double first;

    for (int i = 0; i < t->n; i++) {
        ROTA_TRY(run_once(t, t->plan[i], &first));
        for (int k = 0; k < IN_A_ROW - 1; k++)
            ROTA_TRY(run_once(t, t->plan[i], &t->ns[i][t->n_ns + k]));
    }
    t->n_ns += IN_A_ROW - 1;
    return MPI_SUCCESS;
}

/* As many rounds as there is time for; the first tells, and does not count. */
static int run_all(probe *t, int ms)
{
    const int64_t begin = rota_now_ns();

    ROTA_TRY(run_round(t));
    double took = (double)(rota_now_ns() - begin);
    ROTA_TRY(rota_agree_times(t->comm, 1, &took));
    const double room = 1e6 * ms / (took + 1);
    const int rounds = room < MOST_ROUNDS ? (int)room : MOST_ROUNDS;
    if (rounds > 1)
        t->n_ns = 0;
    for (int i = 1; i < rounds; i++)
        ROTA_TRY(run_round(t));
    return MPI_SUCCESS;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Medians; of the slowest rank. */
static int conclude(probe *t, rota_candidates *list)
{
    double ns[ROTA_MAX_PRICES];

    for (int i = 0; i < t->n; i++) {
        qsort(t->ns[i], (size_t)t->n_ns, sizeof *t->ns[i], compare);
        ns[i] = t->ns[i][t->n_ns / 2];
    }
    ROTA_TRY(rota_agree_times(t->comm, t->n, ns));
    for (int i = 0; i < t->n; i++)
        list->item[t->candidate[i]].measured = ns[i];
    return MPI_SUCCESS;
}

/* A failure in a run may have left messages about, and no rank waits for
 * another any more. */
static int try_out(const rota_plan *p, const rota_hints *hints, probe *t,
                   rota_candidates *list)
{
    select_promising(t, list);
    ROTA_TRY(make_plans(p, hints, list, t));
    ROTA_TRY(run_all(t, hints->measure_ms));
    return conclude(t, list);
}

int rota_measure(rota_plan *p, const rota_hints *hints, rota_candidates *list)
{
    probe t;
    int err = make_probe(p, &t);

    err = rota_agree(p->comm, err, NULL);
    if (err == MPI_SUCCESS)
        err = try_out(p, hints, &t, list);
    free_probe(&t);
    return err;
}
