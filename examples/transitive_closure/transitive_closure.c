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
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "Transitive closure of a directed graph by semi-naive iteration.\n"
    "\n"
    "  mpiexec -n P transitive_closure [OPTIONS] FILE\n"
    "  mpiexec -n P transitive_closure [OPTIONS] --generate WHAT\n"
    "\n"
    "FILE is an edge list (\"u v\" a line, # comments; vertices are numbers\n"
    "below 2^64, 2^32 - 1 of them at most) or a Matrix Market file\n"
    "(coordinate; pattern, real or integer; general or symmetric), plain or\n"
    "compressed by gzip. WHAT is one of\n"
    "  grid:ROWSxCOLS[:seed]         streets, one way east, long paths\n"
    "  rmat:SCALE:EDGEFACTOR[:seed]  2^SCALE vertices, few long paths\n"
    "\n" EXCHANGE_HELP
    "  --expect N        fail unless the closure has N pairs\n"
    "  --verify          compare with a search from every vertex on one rank\n"
    "                    (slow on large graphs)\n"
    "  --csv FILE        write the figures of each iteration; "
    "../common/plot.gp draws "
    "them\n"
    "  --no-split        leave all pairs that end in a vertex with one rank\n"
    "  --memory MIB      memory a rank may have (default: what the machine "
    "has,\n"
    "                    divided by its ranks)\n"
    "  --progress        report progress on stderr (default if that is a\n"
    "                    terminal)\n"
    "  --help            this text\n"
    "\n"
    "The number of iterations is the greatest distance between connected\n"
    "vertices; the last one finds nothing new. The total has set-up and\n"
    "exchange in it; the first set-up with Rota duplicates the communicator,\n"
    "for both of its forms. Bytes are those sent to other ranks. Exit code: 0\n"
    "if all went well, 1 for bad input or a wrong result, 2 for a wrong\n"
    "command line.\n";

/* Where --expect is not given. */
#define NO_EXPECTATION SIZE_MAX

typedef struct {
    const char *file, *generate, *csv;
    int verify;
    size_t expect, memory_mib;
    closure_options closure;
    const exchange_form *form[EXCHANGE_FORMS];
    int n_forms;
} options;

static int parse(int argc, char **argv, options *o)
{
    const char *exchange = "all";
    const option table[] = {
        {"--generate", OPTION_WORD, &o->generate, 0, 0, 0},
        {"--exchange", OPTION_WORD, &exchange, 0, 0, 0},
        {"--csv", OPTION_WORD, &o->csv, 0, 0, 0},
        {"--expect", OPTION_NUMBER, &o->expect, 0, 1e15, 1},
        {"--memory", OPTION_NUMBER, &o->memory_mib, 1, 1e12, 1},
        {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
        {"--no-split", OPTION_FLAG, &o->closure.no_split, 0, 0, 0},
        {"--progress", OPTION_FLAG, &o->closure.progress, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.expect = NO_EXPECTATION,
                   .closure.progress = isatty(STDERR_FILENO)};
    err = options_parse(argc, argv, table, help, &o->file);
    if (err != 0)
        return err;
    o->n_forms = exchange_choose(exchange, o->form);
    if (o->n_forms == 0)
        return usage_error("unknown exchange: %s", exchange);
    if (o->file == NULL && o->generate == NULL)
        return usage_error("no graph given");
    if (o->file != NULL && o->generate != NULL)
        return usage_error("both a file and --generate given");
    return 0;
}

static void print_graph(const options *o, const graph *g, int P)
{
    printf("graph        %s\n", o->file != NULL ? o->file : o->generate);
    printf("vertices     %s\n", grouped(g->n_vertices));
    printf("edges        %s\n", grouped(g->edges.n));
    printf("ranks        %d\n", P);
    fflush(stdout);
}

static int check_results(const options *o, const graph *g,
                         const loop_result result[])
{
    int err = loop_results_differ(o->n_forms, result);

    if (o->verify) {
        uint64_t pairs, fingerprint;

        reference_closure(g, &pairs, &fingerprint);
        err |= loop_differs(&result[0], "breadth-first search", pairs,
                            fingerprint);
        if (err == 0)
            printf("\nverified by a search from every vertex\n");
    }
    if (o->expect != NO_EXPECTATION && o->expect != result[0].facts) {
        complain("wrong result: %s pairs, expected %s",
                 grouped(result[0].facts), grouped(o->expect));
        err = EXIT_WRONG;
    }
    return err;
}

static int finish(const options *o, const graph *g, FILE *csv, int P,
                  uint64_t n_split, const loop_result result[])
{
    const double mean = (double)result[0].facts / P;
    int err;

    loop_print(o->n_forms, result, "pairs");
    printf("\nbalance      the fullest rank has %.2f times the mean; %s "
           "vertices are split\n",
           (double)result[0].fullest / mean, grouped(n_split));
    err = check_results(o, g, result);
    if (csv != NULL &&
        loop_write_csv(csv, o->csv, o->n_forms, result, "pairs") != 0)
        err = EXIT_WRONG;
    return err;
}

static int run(const options *o, int rank, int P)
{
    loop_result result[EXCHANGE_FORMS];
    uint64_t n_split = 0;
    graph g;
    FILE *csv;
    int err;

    memory_limit(o->memory_mib);
    err = deal_load(o->file, o->generate, MPI_COMM_WORLD, &g);
    if (err == 0)
        err = options_open(o->csv, MPI_COMM_WORLD, &csv);
    if (err == 0 && rank == 0)
        print_graph(o, &g, P);
    for (int i = 0; i < o->n_forms && err == 0; i++) {
        partition part;

        partition_make(&part, &g, MPI_COMM_WORLD);
        closure_run(&part, o->form[i], MPI_COMM_WORLD, &o->closure, &result[i]);
        n_split = part.n_split;
        partition_free(&part);
    }
    if (err == 0) {
        if (rank == 0)
            err = finish(o, &g, csv, P, n_split, result);
        loop_print_memory(MPI_COMM_WORLD);
        MUST(MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD));
        for (int i = 0; i < o->n_forms; i++)
            free(result[i].steps);
    }
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
