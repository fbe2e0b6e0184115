/* pagerank.c - who matters in a graph, on any number of ranks.
 *
 * A sparse matrix times a vector, thousands of times: which numbers other ranks
 * need never changes, so a plan is made once and started for every product, and
 * while the numbers travel a rank multiplies what it has of its own.
 * solve.c has the loop, halo.c the calls to MPI and to Rota. */
#include "deal.h"
#include "loop.h"
#include "must.h"
#include "options.h"
#include "rounds.h"
#include "solve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "PageRank of a directed graph, from many places to begin.\n"
    "\n"
    "  mpiexec -n P pagerank [OPTIONS] FILE\n"
    "  mpiexec -n P pagerank [OPTIONS] --generate WHAT\n"
    "\n" DEAL_HELP "\n" HALO_HELP
    "  --vectors N       vectors to compute: one for readers who begin "
    "anywhere,\n"
    "                    N-1 for those who begin in one vertex (default 40)\n"
    "  --damping D       probability of reading on, in (0, 1) (default 0.85)\n"
    "  --tolerance T     sum of changes at which a vector is done (default "
    "1e-12)\n"
    "  --products N      stop a vector after so many, to compare exchanges\n"
    "                    where all would take too long\n"
    "  --verify          compare with a computation on one rank\n"
    "  --memory MIB      memory a rank may have (default: what the machine "
    "has,\n"
    "                    divided by its ranks)\n"
    "  --help            this text\n"
    "\n"
    "For each vector the exchanges take turns. Times are those of the slowest\n"
    "rank, and medians over vectors. Set-up is what is done once; Rota's "
    "first\n"
    "plan also duplicates the communicator. Break-even is the number of\n"
    "products after which set-up is paid for, against MPI_Alltoallv. Exit\n"
    "code: 0 if all went well, 1 for bad input or a wrong result, 2 for a\n"
    "wrong command line.\n";

typedef struct {
    deal_source graph;
    int verify;
    size_t n_vectors, memory_mib;
    solve_options solve;
    const halo_form *form[HALO_FORMS];
    int n_forms;
} options;

/* What the exchanges have in common, and this rank's figures of each. */
typedef struct {
    halo halo[HALO_FORMS];
    /* [n_vectors] a product, and exchanges in it; then medians of the slowest
     * rank in the first element. */
    double *product_s[HALO_FORMS], *exchange_s[HALO_FORMS];
    double copy_s; /* of what comes in a product, within a rank's memory */
    barrier together;
    uint64_t fingerprint[HALO_FORMS];
    double worst_sum;   /* of the ranks of a vector: distance from 1 */
    double worst_error; /* of a vector, sum over vertices, on rank 0 */
} results;

/* ---- Command line -------------------------------------------------------- */

static int check(options *o, const char *exchange)
{
    o->n_forms = halo_choose(exchange, o->form);
    if (o->n_forms == 0)
        return usage_error("unknown exchange: %s", exchange);
    if (o->verify && o->solve.products != SOLVE_TO_THE_END)
        return usage_error("--verify is for vectors to the end, without "
                           "--products");
    return deal_check(&o->graph);
}

static int parse(int argc, char **argv, options *o)
{
    const char *exchange = "all";
    const option table[] = {
        {"--generate", OPTION_WORD, &o->graph.generate, 0, 0, 0},
        {"--exchange", OPTION_WORD, &exchange, 0, 0, 0},
        {"--vectors", OPTION_NUMBER, &o->n_vectors, 1, 1e9, 1},
        {"--damping", OPTION_FRACTION, &o->solve.damping, 0, 1, 1},
        {"--tolerance", OPTION_FRACTION, &o->solve.tolerance, 0, 1, 1},
        {"--products", OPTION_NUMBER, &o->solve.products, 1, 1e15, 1},
        {"--memory", OPTION_NUMBER, &o->memory_mib, 1, 1e12, 1},
        {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.n_vectors = 40,
                   .solve = {.damping = 0.85,
                             .tolerance = 1e-12,
                             .products = SOLVE_TO_THE_END}};
    err = options_parse(argc, argv, table, help, &o->graph.file);
    if (err != 0)
        return err;
    return check(o, exchange);
}

/* ---- Checks -------------------------------------------------------------- */

static void check_sum(const matrix *m, const double *x, results *r)
{
    double sum = 0;

    for (size_t i = 0; i < m->n_rows; i++)
        sum += x[i];
    MUST(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, m->comm));
    /* A difference that is no number counts as large. */
    r->worst_sum = fmax(r->worst_sum, isfinite(sum) ? fabs(sum - 1) : HUGE_VAL);
}

/* Every form adds the same numbers in the same order. */
static uint64_t fingerprint(const matrix *m, const double *x)
{
    uint64_t sum = 0, bits;

    for (size_t i = 0; i < m->n_rows; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        sum += mix64(bits + i);
    }
    return sum;
}

/* The vector on rank 0, in the order of its vertices. */
static double *gather(const matrix *m, const double *x)
{
    const size_t P = (size_t)m->P, n = (size_t)m->n_vertices;
    const size_t most = (n + P - 1) / P; /* rows of a rank */
    double *block = must_realloc(NULL, most, sizeof block[0]);
    double *blocks = must_realloc(NULL, most * P, sizeof blocks[0]);
    double *all = must_realloc(NULL, n, sizeof all[0]);

    memset(block, 0, most * sizeof block[0]);
    memcpy(block, x, m->n_rows * sizeof block[0]);
    MUST(MPI_Gather(block, (int)most, MPI_DOUBLE, blocks, (int)most, MPI_DOUBLE,
                    0, m->comm));
    for (size_t v = 0; v < n && m->me == 0; v++)
        all[v] = blocks[v % P * most + v / P];
    free(block);
    free(blocks);
    return all;
}

static void verify(const matrix *m, const graph *g, const solve_options *o,
                   uint64_t i, const double *x, results *r)
{
    double *found = gather(m, x), *wanted, error = 0;

    if (m->me == 0) {
        wanted = must_realloc(NULL, g->n_vertices, sizeof wanted[0]);
        solve_serial(g, o, i, wanted);
        for (size_t v = 0; v < g->n_vertices; v++)
            error += fabs(found[v] - wanted[v]);
        free(wanted);
        r->worst_error =
            fmax(r->worst_error, isfinite(error) ? error : HUGE_VAL);
    }
    free(found);
}

/* Two vectors that changed by the tolerance in their last products, in which an
 * error shrinks by the damping, differ by so much at most. */
static double error_bound(const solve_options *o)
{
    return 2 * o->tolerance / (1 - o->damping) + 1e-12;
}

static int verdict(const options *o, const results *r)
{
    int err = 0;

    for (int f = 1; f < o->n_forms; f++) {
        if (r->fingerprint[f] == r->fingerprint[0])
            continue;
        complain("wrong result: %s and %s differ", o->form[f]->name,
                 o->form[0]->name);
        err = EXIT_WRONG;
    }
    if (r->worst_sum > 1e-9) {
        complain("wrong result: the ranks of a vector add up to 1 +- %.3g",
                 r->worst_sum);
        err = EXIT_WRONG;
    }
    if (o->verify && r->worst_error > error_bound(&o->solve)) {
        complain("wrong result: a vector differs by %.3g from one computed by "
                 "one rank",
                 r->worst_error);
        err = EXIT_WRONG;
    }
    if (o->verify && err == 0)
        printf("\nverified by a computation on one rank\n");
    return err;
}

/* ---- All of it ----------------------------------------------------------- */

static void open_all(const options *o, const matrix *m, results *r)
{
    for (int f = 0; f < o->n_forms; f++) {
        halo_open(&r->halo[f], o->form[f], &m->at, m->comm);
        r->product_s[f] = must_realloc(NULL, o->n_vectors, sizeof(double));
        r->exchange_s[f] = must_realloc(NULL, o->n_vectors, sizeof(double));
    }
    barrier_open(&r->together, m->comm);
}

static void close_all(const options *o, results *r)
{
    barrier_close(&r->together);
    for (int f = 0; f < o->n_forms; f++) {
        halo_close(&r->halo[f]);
        free(r->product_s[f]);
        free(r->exchange_s[f]);
    }
}

/* Vector i into x, by form f. */
static void compute_one(const options *o, const matrix *m, int f, uint64_t i,
                        results *r, double *x)
{
    halo *h = &r->halo[f];
    const uint64_t starts = h->starts;
    const double seconds = h->seconds;
    double began, n;

    barrier_wait(&r->together);
    began = MPI_Wtime();
    solve(m, h, &o->solve, i, x);
    n = (double)(h->starts - starts);
    r->product_s[f][i] = (MPI_Wtime() - began) / n;
    r->exchange_s[f][i] = (h->seconds - seconds) / n;
    r->fingerprint[f] += fingerprint(m, x);
    check_sum(m, x, r);
}

static void compute(const options *o, const matrix *m, const graph *g,
                    results *r)
{
    double *x = must_realloc(NULL, m->n_rows, sizeof x[0]);

    for (uint64_t i = 0; i < o->n_vectors; i++) {
        for (int turn = 0; turn < o->n_forms; turn++)
            compute_one(o, m, round_turn(i, turn, o->n_forms), i, r, x);
        if (o->verify)
            verify(m, g, &o->solve, i, x, r);
    }
    free(x);
}

static void median(double *at, size_t n, MPI_Comm comm)
{
    MUST(MPI_Allreduce(MPI_IN_PLACE, at, (int)n, MPI_DOUBLE, MPI_MAX, comm));
    at[0] = quantile(at, n, 0.5);
}

/* Figures of the slowest rank, and fingerprints of all. */
static void reduce(const options *o, results *r, MPI_Comm comm)
{
    for (int f = 0; f < o->n_forms; f++) {
        MUST(MPI_Allreduce(MPI_IN_PLACE, &r->halo[f].setup_s, 1, MPI_DOUBLE,
                           MPI_MAX, comm));
        median(r->product_s[f], o->n_vectors, comm);
        median(r->exchange_s[f], o->n_vectors, comm);
    }
    MUST(MPI_Allreduce(MPI_IN_PLACE, &r->copy_s, 1, MPI_DOUBLE, MPI_MAX, comm));
    MUST(MPI_Allreduce(MPI_IN_PLACE, r->fingerprint, o->n_forms, MPI_UINT64_T,
                       MPI_SUM, comm));
}

/* Of form f against MPI_Alltoallv, which is form 0 if it is measured. */
static void print_break_even(const options *o, const results *r, int f)
{
    const double saved = r->product_s[0][0] - r->product_s[f][0];

    if (f == 0 || strcmp(o->form[0]->name, "mpi") != 0)
        printf("%11s", "-");
    else if (saved <= 0)
        printf("%11s", "never");
    else
        printf("%11.0f", ceil(r->halo[f].setup_s / saved));
}

static void print_table(const options *o, const results *r)
{
    printf("products     %s for each exchange\n", grouped(r->halo[0].starts));
    printf("worst sum    1 +- %.2g\n\n", r->worst_sum);
    printf("%-12s %10s %12s %15s %10s  %s\n", "exchange", "set-up us",
           "us a product", "in exchange us", "break-even", "by");
    for (int f = 0; f < o->n_forms; f++) {
        printf("%-12s %10.1f %12.2f %15.2f", o->form[f]->name,
               r->halo[f].setup_s * 1e6, r->product_s[f][0] * 1e6,
               r->exchange_s[f][0] * 1e6);
        print_break_even(o, r, f);
        printf("  %s\n", o->form[f]->calls);
    }
    printf("%-12s %10s %12s %15.2f %10s  memcpy of what comes\n", "copies", "",
           "", r->copy_s * 1e6, "");
    fflush(stdout);
}

static void print_graph(const options *o, const matrix *m)
{
    uint64_t numbers[2] = {0, 0};

    for (int q = 0; q < m->P; q++)
        numbers[0] += (uint64_t)m->at.sendcounts[q];
    numbers[1] = m->local.first[m->n_rows];
    MUST(MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_UINT64_T, MPI_SUM,
                       m->comm));
    if (m->me != 0)
        return;
    printf("graph        %s\n", deal_name(&o->graph));
    printf("vertices     %s\n", grouped(m->n_vertices));
    printf("edges        %s, %s of them within a rank\n", grouped(m->n_edges),
           grouped(numbers[1]));
    printf("ranks        %d\n", m->P);
    printf("exchanged    %s bytes a product\n",
           grouped(numbers[0] * sizeof(double)));
    printf("vectors      %s\n", grouped(o->n_vectors));
    fflush(stdout);
}

static int run(const options *o, int rank)
{
    results r = {0};
    matrix m;
    graph g;
    int err;

    memory_limit(o->memory_mib);
    err = deal_load(&o->graph, MPI_COMM_WORLD, &g);
    if (err != 0)
        return err;
    matrix_make(&m, &g, MPI_COMM_WORLD);
    print_graph(o, &m);
    open_all(o, &m, &r);
    compute(o, &m, &g, &r);
    r.copy_s = halo_copy(&m.at, m.P);
    reduce(o, &r, MPI_COMM_WORLD);
    if (rank == 0) {
        print_table(o, &r);
        err = verdict(o, &r);
    }
    loop_print_memory(MPI_COMM_WORLD);
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD));
    close_all(o, &r);
    matrix_free(&m);
    graph_free(&g);
    return err;
}

int main(int argc, char **argv)
{
    options o;
    int rank, P, err;

    application_begin(&argc, &argv, &rank, &P);
    err = parse(argc, argv, &o);
    if (err == 0)
        err = run(&o, rank);
    return application_end(err);
}
