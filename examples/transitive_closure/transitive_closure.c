/* transitive_closure.c - which vertices reach which, on any number of ranks.
 *
 * A fixed-point loop that exchanges a little data with all ranks, thousands of
 * times, with counts that change every time and that receivers do not know:
 * what rota_exchange_init is for.
 * closure.c has the loop, common/exchange.c the calls to MPI and to Rota. */
#include "closure.h"
#include "deal.h"
#include "must.h"
#include "options.h"
#include "partition.h"
#include "reference.h"

#include <stdio.h>

static const char help[] =
    "Transitive closure of a directed graph by semi-naive iteration.\n"
    "\n"
    "  mpiexec -n P transitive_closure [OPTIONS] FILE\n"
    "  mpiexec -n P transitive_closure [OPTIONS] --generate WHAT\n"
    "\n" DEAL_HELP "\n" LOOP_HELP
    "  --expect N        fail unless N pairs are found\n"
    "  --verify          compare with a search from every vertex on one rank\n"
    "                    (slow on large graphs)\n"
    "  --no-split        leave all pairs that end in a vertex with one rank\n"
    "  --help            this text\n"
    "\n"
    "The number of iterations is the greatest distance between connected\n"
    "vertices; the last one finds nothing new. " LOOP_HELP_TABLE
    "Exit code: 0 if all went well, 1 for bad input or a wrong result, 2 for "
    "a\n"
    "wrong command line.\n";

/* Where --expect is not given. */
#define NO_EXPECTATION SIZE_MAX

typedef struct {
    deal_source graph;
    size_t expect;
    loop_options loop;
    int no_split;
} options;

/* What is run in rounds. */
typedef struct {
    const graph *g;
    int no_split;
    uint64_t n_split; /* vertices, in the last round */
} closure_of;

static int parse(int argc, char **argv, options *o)
{
    const option table[] = {
        {"--generate", OPTION_WORD, &o->graph.generate, 0, 0, 0},
        LOOP_OPTIONS(&o->loop),
        {"--expect", OPTION_NUMBER, &o->expect, 0, 1e15, 1},
        {"--no-split", OPTION_FLAG, &o->no_split, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.expect = NO_EXPECTATION, .loop = loop_options_default()};
    err = options_parse(argc, argv, table, help, &o->graph.file);
    if (err == 0)
        err = loop_options_check(&o->loop);
    return err == 0 ? deal_check(&o->graph) : err;
}

static void print_graph(const options *o, const graph *g, int P)
{
    printf("graph        %s\n", deal_name(&o->graph));
    printf("vertices     %s\n", grouped(g->n_vertices));
    printf("edges        %s\n", grouped(g->edges.n));
    printf("ranks        %d\n", P);
    fflush(stdout);
}

static int check_result(const options *o, const graph *g,
                        const loop_result *result)
{
    int err = 0;

    if (o->loop.verify) {
        uint64_t pairs, fingerprint;

        reference_closure(g, &pairs, &fingerprint);
        err = loop_differs(result, "breadth-first search", pairs, fingerprint);
        if (err == 0)
            printf("\nverified by a search from every vertex\n");
    }
    if (o->expect != NO_EXPECTATION && o->expect != result->facts) {
        complain("wrong result: %s pairs, expected %s", grouped(result->facts),
                 grouped(o->expect));
        err = EXIT_WRONG;
    }
    return err;
}

static int finish(const options *o, const graph *g, FILE *csv, int P,
                  uint64_t n_split, const loop_result result[])
{
    const double mean = (double)result[0].facts / P;
    const int err = loop_report(&o->loop, result, "pairs", csv);

    printf("\nbalance      the fullest rank has %.2f times the mean; %s "
           "vertices are split\n",
           (double)result[0].fullest / mean, grouped(n_split));
    return err | check_result(o, g, &result[0]);
}

static void run_closure(void *program, loop_entrant *e, loop_result *r)
{
    closure_of *c = program;
    partition part;

    partition_make(&part, c->g, MPI_COMM_WORLD);
    closure_run(&part, c->no_split, e, r);
    c->n_split = part.n_split;
    partition_free(&part);
}

/* The closure of g in all forms. */
static int run_all(const options *o, const graph *g, FILE *csv, int rank, int P)
{
    closure_of c = {.g = g, .no_split = o->no_split};
    loop_result result[EXCHANGE_FORMS];
    int err;

    if (rank == 0)
        print_graph(o, g, P);
    err = loop_rounds(&o->loop, MPI_COMM_WORLD, run_closure, &c, result);
    if (rank == 0)
        err |= finish(o, g, csv, P, c.n_split, result);
    return loop_end(&o->loop, result, err, MPI_COMM_WORLD);
}

static int run(const options *o, int rank, int P)
{
    graph g;
    FILE *csv;
    int err;

    memory_limit(o->loop.memory_mib);
    err = deal_load(&o->graph, MPI_COMM_WORLD, &g);
    if (err == 0)
        err = options_open(o->loop.csv, MPI_COMM_WORLD, &csv);
    if (err == 0)
        err = run_all(o, &g, csv, rank, P);
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
        err = run(&o, rank, P);
    return application_end(err);
}
