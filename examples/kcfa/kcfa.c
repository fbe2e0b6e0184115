/* kcfa.c - which functions may be called where in a program, on any number of
 * ranks: k-CFA as a loop over relations.
 *
 * With large k the analysis follows the program call by call, and the loop has
 * thousands of iterations with little to send in each; with small k it has few,
 * with much to send. analysis.c has the loop, common/exchange.c the calls to
 * MPI and to Rota. */
#include "analysis.h"
#include "must.h"
#include "options.h"
#include "reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Control-flow analysis of a generated program, sensitive to the last k\n"
    "calls (k-CFA).\n"
    "\n"
    "  mpiexec -n P kcfa [OPTIONS]\n"
    "\n"
    "  --program WHAT    worst:DEPTH:CALLS, DEPTH functions inside each "
    "other,\n"
    "                    each called in CALLS places: CALLS^DEPTH "
    "environments\n"
    "                    or more if k > 0 (default worst:4:8)\n"
    "  --k K             calls that are told apart, 0 to 64 (default 4); each\n"
    "                    has 64/K bits in a contour, which bounds DEPTH and "
    "CALLS\n" EXCHANGE_HELP
    "  --verify          compare with a textbook evaluator on one rank (slow)\n"
    "  --csv FILE        write the figures of each iteration;\n"
    "                    ../common/plot.gp draws them\n"
    "  --memory MIB      memory a rank may have (default: what the machine "
    "has,\n"
    "                    divided by its ranks)\n"
    "  --progress        report progress on stderr (default if that is a\n"
    "                    terminal)\n"
    "  --help            this text\n"
    "\n"
    "The total has set-up and exchange in it. Bytes are those sent to other\n"
    "ranks. Exit code: 0 if all went well, 1 for bad input or a wrong result, "
    "2\n"
    "for a wrong command line.\n";

typedef struct {
    const char *program, *csv;
    int verify, progress;
    size_t k, memory_mib;
    const exchange_form *form[EXCHANGE_FORMS];
    int n_forms;
} options;

static int parse(int argc, char **argv, options *o)
{
    const char *exchange = "all";
    const option table[] = {
        {"--program", OPTION_WORD, &o->program, 0, 0, 0},
        {"--k", OPTION_NUMBER, &o->k, 0, PROGRAM_MAX_K, 1},
        {"--exchange", OPTION_WORD, &exchange, 0, 0, 0},
        {"--csv", OPTION_WORD, &o->csv, 0, 0, 0},
        {"--memory", OPTION_NUMBER, &o->memory_mib, 1, 1e12, 1},
        {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
        {"--progress", OPTION_FLAG, &o->progress, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){
        .program = "worst:4:8", .k = 4, .progress = isatty(STDERR_FILENO)};
    err = options_parse(argc, argv, table, help, NULL);
    if (err != 0)
        return err;
    o->n_forms = exchange_choose(exchange, o->form);
    if (o->n_forms == 0)
        return usage_error("unknown exchange: %s", exchange);
    return 0;
}

/* Every rank generates the program for itself. */
static int load(const options *o, program *p, FILE **csv)
{
    char error[PROGRAM_ERROR_BYTES] = "";

    if (program_generate(o->program, (int)o->k, p, error) != 0) {
        complain("%s", error);
        return EXIT_WRONG;
    }
    return options_open(o->csv, MPI_COMM_WORLD, csv);
}

static void print_program(const options *o, const program *p, int P)
{
    printf("program      %s\n", o->program);
    printf("lambdas      %d\n", p->n);
    printf("calls        %d\n", p->n_calls);
    printf("k            %d\n", p->k);
    printf("fact         %zu bytes\n", analysis_width(p) * sizeof(uint64_t));
    printf("ranks        %d\n", P);
    fflush(stdout);
}

static int verify(const program *p, const analysis_counts *found)
{
    const analysis_counts c = reference_analysis(p);

    if (memcmp(&c, found, sizeof c) == 0) {
        printf("\nverified by a textbook evaluator\n");
        return 0;
    }
    complain("wrong result: a textbook evaluator finds %" PRIu64
             " states, %" PRIu64 " values, fingerprint %016" PRIx64,
             c.states, c.values, c.fingerprint);
    return EXIT_WRONG;
}

static int finish(const options *o, const program *p, FILE *csv,
                  const loop_result result[], const analysis_counts *counts)
{
    int err;

    printf("states       %s, %s of them of the innermost function\n",
           grouped(counts->states), grouped(counts->innermost));
    printf("values       %s\n", grouped(counts->values));
    loop_print(o->n_forms, result, "facts");
    err = loop_results_differ(o->n_forms, result);
    if (o->verify)
        err |= verify(p, counts);
    if (csv != NULL &&
        loop_write_csv(csv, o->csv, o->n_forms, result, "facts") != 0)
        err = EXIT_WRONG;
    return err;
}

static int run(const options *o, int rank, int P)
{
    loop_result result[EXCHANGE_FORMS];
    analysis_counts counts;
    program p;
    FILE *csv;
    int err;

    memory_limit(o->memory_mib);
    err = load(o, &p, &csv);
    if (err != 0) {
        program_free(&p);
        return err;
    }
    if (rank == 0)
        print_program(o, &p, P);
    for (int i = 0; i < o->n_forms; i++)
        analysis_run(&p, o->form[i], MPI_COMM_WORLD, o->progress, &result[i],
                     &counts);
    if (rank == 0)
        err = finish(o, &p, csv, result, &counts);
    loop_print_memory(MPI_COMM_WORLD);
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < o->n_forms; i++)
        free(result[i].steps);
    program_free(&p);
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
