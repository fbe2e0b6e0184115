/* rules.c - a fixed point of several rules, whose outputs travel together.
 *
 *   mpiexec -n P rules [LEVELS [WIDTH [ROUNDS]]]
 *
 * An engine for rules in small: four relations, each with its own width, counts that
 * change in every iteration, and receivers that know none of them. In each iteration
 * a rank joins what the last one found with the edges, sends each fact found to the
 * rank that keeps it, and drops what was known. The graph has LEVELS (default 40)
 * levels of WIDTH (default 12) vertices in a ring; from vertex i of a level edges go
 * to i and i + 1 of the next:
 *
 *   from(v)           is reached from vertex 0
 *   far(x, y, d)      y is reached from x, in d steps at least
 *   same(x, y)        both have a common ancestor, as many steps above
 *   half(x, b)        x is a child of an a with same(a, b)
 *
 * All of it by MPI's calls first, as engines do it: MPI_Alltoall of the counts of all
 * relations, MPI_Alltoallv of what was gathered, and MPI_Allreduce to find the end.
 * Then by an exchange of arrays, which brings the counts and the end along, and whose
 * facts are read where they have come. Results are compared with their known numbers;
 * ROUNDS (default 5) make the medians of the times.
 */
#include "must.h"
#include "pairs.h"

#include <rota.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM, FAR, SAME, HALF, RELATIONS };
static const int words[RELATIONS] = {1, 3, 2, 2};

/* A relation on one rank. Its key is the first two words of a fact, or the first. */
typedef struct {
    pair_set known;
    u64_vec delta; /* words of facts found in the last iteration */
    uint64_t *out; /* [P * room facts] to be sent, by rank */
    size_t room;
} relation;

typedef struct {
    int P, me, levels, width, by_rota;
    relation relation[RELATIONS];
    int *sent, *sent_at, *got; /* [RELATIONS * P] facts */
    const void **came;         /* [RELATIONS * P] until the next exchange */
    uint64_t left, all_left;   /* facts in the deltas, here and on all ranks */
    uint64_t steps;            /* the sum of d in far */
    rota_plan *plan;
    /* For MPI's calls. */
    u64_vec gathered, received;
    int *by_rank, *there; /* [RELATIONS * P] facts, rank by rank */
    int *out_words, *out_at, *in_words, *in_at; /* [P] */
    double exchange_s;
    int iterations;
} engine;

/* ---- the graph ----------------------------------------------------------- */

/* Children of v: none, or two, which are one where a level has one vertex. */
static int children(const engine *e, uint32_t v, uint32_t child[2])
{
    const uint32_t W = (uint32_t)e->width;

    if (v / W + 1 == (uint32_t)e->levels)
        return 0;
    child[0] = v + W;
    child[1] = (v / W + 1) * W + (v % W + 1) % W;
    return 2;
}

/* ---- facts --------------------------------------------------------------- */

static void learn(engine *e, int k, const uint64_t fact[])
{
    relation *const r = &e->relation[k];
    const uint32_t second = words[k] > 1 ? (uint32_t)fact[1] : 0;

    if (!pair_set_add(&r->known, pair_pack((uint32_t)fact[0], second)))
        return;
    for (int i = 0; i < words[k]; i++)
        u64_vec_push(&r->delta, fact[i]);
    e->left++;
    e->steps += k == FAR ? fact[2] : 0;
}

/* Twice the room for each rank. */
static void grow(engine *e, int k)
{
    relation *const r = &e->relation[k];
    const size_t width = (size_t)words[k], room = 2 * r->room + 64;
    uint64_t *const out =
        must_realloc(NULL, (size_t)e->P * room, width * sizeof *out);

    for (int q = 0; q < e->P && r->room > 0; q++)
        memcpy(out + (size_t)q * room * width,
               r->out + (size_t)q * r->room * width,
               (size_t)e->sent[k * e->P + q] * width * sizeof *out);
    free(r->out);
    r->out = out;
    r->room = room;
}

/* Send the fact to the rank that keeps it: that of one of its vertices. */
static void emit(engine *e, int k, uint32_t kept_by, const uint64_t fact[])
{
    relation *const r = &e->relation[k];
    const int q = vertex_owner(kept_by, e->P);
    int *const n = &e->sent[k * e->P + q];

    if ((size_t)*n == r->room)
        grow(e, k);
    memcpy(r->out + ((size_t)q * r->room + (size_t)(*n)++) * (size_t)words[k],
           fact, (size_t)words[k] * sizeof *fact);
}

/* ---- rules --------------------------------------------------------------- */

/* What follows from one fact, by the edges from a vertex of it. */
static void derive(engine *e, int k, const uint64_t f[])
{
    const int joined = k == FROM || k == SAME ? 0 : 1;
    uint32_t child[2];
    const int n = children(e, (uint32_t)f[joined], child);

    for (int i = 0; i < n; i++) {
        const uint64_t c = child[i];
        if (k == FROM)
            emit(e, FROM, child[i], (uint64_t[]){c});
        else if (k == FAR)
            emit(e, FAR, child[i], (uint64_t[]){f[0], c, f[2] + 1});
        else if (k == SAME)
            emit(e, HALF, (uint32_t)f[1], (uint64_t[]){c, f[1]});
        else
            emit(e, SAME, (uint32_t)f[0], (uint64_t[]){f[0], c});
    }
}

/* The edges are far, of one step, and children of one vertex are the same. */
static void begin(engine *e)
{
    const uint32_t n = (uint32_t)(e->levels * e->width);
    uint32_t child[2];

    e->left = e->steps = 0;
    if (vertex_owner(0, e->P) == e->me)
        learn(e, FROM, (uint64_t[]){0});
    for (uint32_t v = 0; v < n; v++)
        for (int i = 0, k = children(e, v, child); i < k; i++) {
            if (vertex_owner(child[i], e->P) != e->me)
                continue;
            learn(e, FAR, (uint64_t[]){v, child[i], 1});
            for (int j = 0; j < k; j++)
                learn(e, SAME, (uint64_t[]){child[i], child[j]});
        }
}

/* ---- exchanges ----------------------------------------------------------- */

static void by_arrays(engine *e)
{
    const void *out[RELATIONS];

    for (int k = 0; k < RELATIONS; k++)
        out[k] = e->relation[k].out;
    MUST(rota_exchange_start_arrays(e->plan, out, e->sent, e->sent_at));
    MUST(rota_exchange_wait_borrow(e->plan, e->came, e->got));
}

static int add_up(int n, const int count[], int at[])
{
    int sum = 0;

    for (int q = 0; q < n; q++) {
        at[q] = sum;
        sum += count[q];
    }
    return sum;
}

static void gather(engine *e)
{
    e->gathered.n = 0;
    for (int q = 0; q < e->P; q++) {
        const size_t before = e->gathered.n;
        for (int k = 0; k < RELATIONS; k++) {
            const relation *const r = &e->relation[k];
            const int n = e->sent[k * e->P + q];
            const size_t width = (size_t)words[k], all = (size_t)n * width;
            u64_vec_reserve(&e->gathered, e->gathered.n + all + 1);
            if (n > 0)
                memcpy(e->gathered.at + e->gathered.n,
                       r->out + (size_t)q * r->room * width,
                       all * sizeof *r->out);
            e->gathered.n += all;
            e->by_rank[q * RELATIONS + k] = n;
        }
        e->out_words[q] = (int)(e->gathered.n - before);
    }
}

static void find_came(engine *e)
{
    const uint64_t *next = e->received.at;

    for (int q = 0; q < e->P; q++)
        for (int k = 0; k < RELATIONS; k++) {
            const int n = e->there[q * RELATIONS + k];
            e->came[k * e->P + q] = next;
            e->got[k * e->P + q] = n;
            next += n * words[k];
        }
}

static void by_mpi(engine *e)
{
    gather(e);
    MUST(MPI_Alltoall(e->by_rank, RELATIONS, MPI_INT, e->there, RELATIONS,
                      MPI_INT, MPI_COMM_WORLD));
    for (int q = 0; q < e->P; q++) {
        e->in_words[q] = 0;
        for (int k = 0; k < RELATIONS; k++)
            e->in_words[q] += e->there[q * RELATIONS + k] * words[k];
    }
    add_up(e->P, e->out_words, e->out_at);
    const int n = add_up(e->P, e->in_words, e->in_at);
    u64_vec_reserve(&e->received, (size_t)n + 1);
    MUST(MPI_Alltoallv(e->gathered.at, e->out_words, e->out_at, MPI_UINT64_T,
                       e->received.at, e->in_words, e->in_at, MPI_UINT64_T,
                       MPI_COMM_WORLD));
    MUST(MPI_Allreduce(&e->left, &e->all_left, 1, MPI_UINT64_T, MPI_SUM,
                       MPI_COMM_WORLD));
    find_came(e);
}

/* ---- the loop ------------------------------------------------------------ */

/* Returns 0 if nothing was left to do. */
static int iterate(engine *e)
{
    memset(e->sent, 0, (size_t)(RELATIONS * e->P) * sizeof *e->sent);
    for (int k = 0; k < RELATIONS; k++) {
        u64_vec *const delta = &e->relation[k].delta;
        for (size_t i = 0; i < delta->n; i += (size_t)words[k])
            derive(e, k, delta->at + i);
        delta->n = 0;
    }
    for (int k = 0; k < RELATIONS; k++)
        for (int q = 0; q < e->P; q++)
            e->sent_at[k * e->P + q] = (int)e->relation[k].room * q;
    e->exchange_s -= MPI_Wtime();
    if (e->by_rota)
        by_arrays(e);
    else
        by_mpi(e);
    e->exchange_s += MPI_Wtime();
    if (e->all_left == 0)
        return 0;
    e->left = 0;
    for (int k = 0; k < RELATIONS; k++)
        for (int q = 0; q < e->P; q++) {
            const uint64_t *fact = e->came[k * e->P + q];
            for (int i = 0; i < e->got[k * e->P + q]; i++, fact += words[k])
                learn(e, k, fact);
        }
    return 1;
}

/* ---- the known answer ---------------------------------------------------- */

static uint64_t at_most(int n, int width)
{
    return (uint64_t)(n < width ? n : width);
}

/* Facts of each relation, and then the sum of steps. */
static void known(const engine *e, uint64_t n[RELATIONS + 1])
{
    const int L = e->levels, W = e->width;
    const uint64_t all = (uint64_t)W;

    memset(n, 0, (RELATIONS + 1) * sizeof *n);
    for (int l = 0; l < L; l++) {
        const uint64_t pairs =
            l > 0 ? all * (uint64_t)(L - l) * at_most(l + 1, W) : 0;
        n[FROM] += at_most(l + 1, W);
        n[FAR] += pairs;
        n[RELATIONS] += (uint64_t)l * pairs;
        n[SAME] += l > 0 ? all * at_most(2 * l + 1, W) : 0;
        n[HALF] += l > 0 && l + 1 < L ? all * at_most(2 * l + 2, W) : 0;
    }
}

static int check(const engine *e)
{
    uint64_t found[RELATIONS + 1], wanted[RELATIONS + 1];

    for (int k = 0; k < RELATIONS; k++)
        found[k] = e->relation[k].known.n;
    found[RELATIONS] = e->steps;
    MUST(MPI_Allreduce(MPI_IN_PLACE, found, RELATIONS + 1, MPI_UINT64_T,
                       MPI_SUM, MPI_COMM_WORLD));
    known(e, wanted);
    return memcmp(found, wanted, sizeof found) == 0;
}

/* ---- all together -------------------------------------------------------- */

static void open_engine(engine *e)
{
    const size_t P = (size_t)e->P, n = RELATIONS * P;
    MPI_Datatype fact[RELATIONS];
    int *const ints = must_realloc(NULL, 5 * n + 4 * P, sizeof *ints);

    e->sent = ints, e->sent_at = ints + n, e->got = ints + 2 * n;
    e->by_rank = ints + 3 * n, e->there = ints + 4 * n;
    e->out_words = ints + 5 * n, e->out_at = e->out_words + P;
    e->in_words = e->out_at + P, e->in_at = e->in_words + P;
    e->came = must_realloc(NULL, n, sizeof *e->came);
    for (int k = 0; k < RELATIONS; k++) {
        MUST(MPI_Type_contiguous(words[k], MPI_UINT64_T, &fact[k]));
        MUST(MPI_Type_commit(&fact[k]));
    }
    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, RELATIONS, fact,
                                   MPI_COMM_WORLD, MPI_INFO_NULL, &e->plan));
    MUST(rota_plan_set_reduction(e->plan, &e->left, &e->all_left, 1,
                                 MPI_UINT64_T, MPI_SUM));
    for (int k = 0; k < RELATIONS; k++)
        MUST(MPI_Type_free(&fact[k]));
}

static void forget_facts(engine *e)
{
    for (int k = 0; k < RELATIONS; k++) {
        pair_set_free(&e->relation[k].known);
        e->relation[k].delta.n = 0;
    }
}

static void close_engine(engine *e)
{
    MUST(rota_plan_free(&e->plan));
    for (int k = 0; k < RELATIONS; k++) {
        free(e->relation[k].out);
        u64_vec_free(&e->relation[k].delta);
    }
    u64_vec_free(&e->gathered);
    u64_vec_free(&e->received);
    free(e->sent);
    free((void *)e->came);
}

/* One fixed point: seconds of the slowest rank in exchanges, and in all. Returns
 * whether it is right. */
static int run(engine *e, double seconds[2])
{
    e->exchange_s = 0;
    e->iterations = 1;
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    seconds[1] = -MPI_Wtime();
    begin(e);
    while (iterate(e))
        e->iterations++;
    seconds[1] += MPI_Wtime();
    seconds[0] = e->exchange_s;
    MUST(MPI_Allreduce(MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX,
                       MPI_COMM_WORLD));
    const int right = check(e);
    forget_facts(e);
    return right;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const engine *e, int n, double *exchange_s, double *all_s)
{
    qsort(exchange_s, (size_t)n, sizeof *exchange_s, compare);
    qsort(all_s, (size_t)n, sizeof *all_s, compare);
    if (e->me == 0)
        printf("%s  %9.1f us of exchange an iteration, of %d, %9.1f in all\n",
               e->by_rota ? "Rota" : "MPI ",
               1e6 * exchange_s[n / 2] / e->iterations, e->iterations,
               1e6 * all_s[n / 2] / e->iterations);
}

int main(int argc, char **argv)
{
    engine e = {0};
    int right = 1;

    must_name(argv[0]);
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &e.P));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &e.me));
    e.levels = argc > 1 ? atoi(argv[1]) : 40;
    e.width = argc > 2 ? atoi(argv[2]) : 12;
    const int rounds = argc > 3 ? atoi(argv[3]) : 5;
    if (e.levels < 1 || e.width < 1 || rounds < 1 || e.levels > 10000 ||
        e.width > 10000)
        die("usage: rules [LEVELS [WIDTH [ROUNDS]]]");
    open_engine(&e);
    double *const s = must_realloc(NULL, 4 * (size_t)rounds, sizeof *s);
    for (int i = 0; i < 2 * rounds; i++) {
        double seconds[2];
        e.by_rota = i % 2;
        right = run(&e, seconds) && right;
        s[2 * e.by_rota * rounds + i / 2] = seconds[0];
        s[(2 * e.by_rota + 1) * rounds + i / 2] = seconds[1];
    }
    for (e.by_rota = 0; e.by_rota < 2; e.by_rota++)
        print(&e, rounds, s + 2 * e.by_rota * rounds,
              s + (2 * e.by_rota + 1) * rounds);
    if (e.me == 0)
        printf("%s\n", right ? "right" : "wrong");
    free(s);
    close_engine(&e);
    MUST(MPI_Finalize());
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
