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
#include <string.h>

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
    "CALLS\n" LOOP_HELP
    "  --verify          compare with a textbook evaluator on one rank (slow)\n"
    "  --help            this text\n"
    "\n" LOOP_HELP_TABLE "Exit code: 0 if all went well, 1 for bad input or a "
    "wrong result, 2 for a\n"
    "wrong command line.\n";

typedef struct {
    const char *program;
    size_t k;
    loop_options loop;
} options;

/* What is run in rounds, and what the last one found. */
typedef struct {
    const program *p;
    analysis_counts counts;
} analysis_of;

static int parse(int argc, char **argv, options *o)
{
    const option table[] = {{"--program", OPTION_WORD, &o->program, 0, 0, 0},
                            {"--k", OPTION_NUMBER, &o->k, 0, PROGRAM_MAX_K, 1},
                            LOOP_OPTIONS(&o->loop),
                            {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){
        .program = "worst:4:8", .k = 4, .loop = loop_options_default()};
    err = options_parse(argc, argv, table, help, NULL);
    return err == 0 ? loop_options_check(&o->loop) : err;
}

/* Every rank generates the program for itself. */
static int load(const options *o, program *p, FILE **csv)
{
    char error[PROGRAM_ERROR_BYTES] = "";

    if (program_generate(o->program, (int)o->k, p, error) != 0) {
        complain("%s", error);
        return EXIT_WRONG;
    }
    return options_open(o->loop.csv, MPI_COMM_WORLD, csv);
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
    err = loop_report(&o->loop, result, "facts", csv);
    return o->loop.verify ? err | verify(p, counts) : err;
}

static void run_analysis(void *program, loop_entrant *e, loop_result *r)
{
    analysis_of *a = program;

    analysis_run(a->p, e, r, &a->counts);
}

static int run(const options *o, int rank, int P)
{
    loop_result result[EXCHANGE_FORMS];
    program p;
    analysis_of a = {.p = &p};
    FILE *csv;
    int err;

    memory_limit(o->loop.memory_mib);
    err = load(o, &p, &csv);
    if (err != 0) {
        program_free(&p);
        return err;
    }
    if (rank == 0)
        print_program(o, &p, P);
    err = loop_rounds(&o->loop, MPI_COMM_WORLD, run_analysis, &a, result);
    if (rank == 0)
        err |= finish(o, &p, csv, result, &a.counts);
    program_free(&p);
    return loop_end(&o->loop, result, err, MPI_COMM_WORLD);
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
