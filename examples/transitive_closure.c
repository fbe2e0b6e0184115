/* transitive_closure.c - which vertices reach which, on any number of ranks.
 *
 * A fixed-point loop that exchanges a little data with all ranks, thousands of
 * times, with counts that change every time and that receivers do not know:
 * what rota_exchange_init is for.
 * closure.c has the loop, exchange.c the calls to MPI and to Rota. */
#define _POSIX_C_SOURCE 200809L
#include "closure.h"
#include "graph.h"
#include "must.h"
#include "partition.h"
#include "reference.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit codes besides 0. */
enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

#define MAX_FORMS 8

const char program_name[] = "transitive_closure";

static const char help[] =
    "Transitive closure of a directed graph by semi-naive iteration.\n"
    "\n"
    "  mpiexec -n P transitive_closure [OPTIONS] FILE\n"
    "  mpiexec -n P transitive_closure [OPTIONS] --generate WHAT\n"
    "\n"
    "FILE is an edge list (\"u v\" a line, # comments) or a Matrix Market\n"
    "file (coordinate; pattern, real or integer; general or symmetric), plain\n"
    "or compressed by gzip. WHAT is one of\n"
    "  grid:ROWSxCOLS[:seed]         streets, one way east, long paths\n"
    "  rmat:SCALE:EDGEFACTOR[:seed]  2^SCALE vertices, few long paths\n"
    "\n"
    "  --exchange WHICH  how pairs travel:\n"
    "                      mpi       MPI_Alltoall of the counts, "
    "MPI_Alltoallv\n"
    "                      exchange  one Rota exchange, which finds the "
    "counts\n"
    "                      rota      two Rota plans in place of MPI's calls\n"
    "                      both      mpi, then exchange\n"
    "                      all       one after the other (default)\n"
    "  --expect N        fail unless the closure has N pairs\n"
    "  --verify          compare with a search from every vertex on one rank\n"
    "                    (slow on large graphs)\n"
    "  --csv FILE        write the figures of each iteration\n"
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

typedef struct {
    const char *file, *generate, *exchange, *csv;
    int has_expect, verify, progress, help;
    uint64_t expect;
} options;

/* ---- Command line: the same on all ranks, rank 0 speaks ---- */

static int usage_error(int rank, const char *text, const char *word)
{
    if (rank == 0)
        fprintf(stderr, "transitive_closure: %s%s; try --help\n", text, word);
    return EXIT_USAGE;
}

static int parse_count(const char *text, uint64_t *n)
{
    char *end;

    errno = 0;
    *n = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

/* Whether --exchange WHICH takes in the form of that name. */
static int takes_in(const char *which, const char *name)
{
    if (strcmp(which, "both") == 0)
        return strcmp(name, "mpi") == 0 || strcmp(name, "exchange") == 0;
    return strcmp(which, "all") == 0 || strcmp(which, name) == 0;
}

static int known_exchange(const char *which)
{
    for (int i = 0; exchange_forms[i] != NULL; i++)
        if (takes_in(which, exchange_forms[i]->name))
            return 1;
    return 0;
}

/* An option without a value; 1 if word was one. */
static int set_flag(options *o, const char *word)
{
    int *flag = NULL;

    if (strcmp(word, "--verify") == 0)
        flag = &o->verify;
    else if (strcmp(word, "--progress") == 0)
        flag = &o->progress;
    else if (strcmp(word, "--help") == 0)
        flag = &o->help;
    if (flag != NULL)
        *flag = 1;
    return flag != NULL;
}

/* The place for the value of an option that has one, or NULL. */
static const char **value_place(options *o, const char *word,
                                const char **expect)
{
    if (strcmp(word, "--generate") == 0)
        return &o->generate;
    if (strcmp(word, "--exchange") == 0)
        return &o->exchange;
    if (strcmp(word, "--csv") == 0)
        return &o->csv;
    if (strcmp(word, "--expect") == 0)
        return expect;
    return NULL;
}

static int check_options(options *o, const char *expect, int rank)
{
    if (!known_exchange(o->exchange))
        return usage_error(rank, "unknown exchange: ", o->exchange);
    o->has_expect = expect != NULL;
    if (expect != NULL && !parse_count(expect, &o->expect))
        return usage_error(rank, "--expect wants a number, not ", expect);
    if (o->file == NULL && o->generate == NULL)
        return usage_error(rank, "no graph given", "");
    if (o->file != NULL && o->generate != NULL)
        return usage_error(rank, "both a file and --generate given", "");
    return 0;
}

static int parse_options(int argc, char **argv, int rank, options *o)
{
    const char *expect = NULL;

    *o = (options){.exchange = "all", .progress = isatty(STDERR_FILENO)};
    for (int i = 1; i < argc; i++) {
        const char **value = value_place(o, argv[i], &expect);

        if (value != NULL) {
            if (++i == argc)
                return usage_error(rank, "a value must follow ", argv[i - 1]);
            *value = argv[i];
        } else if (argv[i][0] != '-') {
            if (o->file != NULL)
                return usage_error(rank, "more than one graph: ", argv[i]);
            o->file = argv[i];
        } else if (!set_flag(o, argv[i])) {
            return usage_error(rank, "unknown option: ", argv[i]);
        }
    }
    return o->help ? 0 : check_options(o, expect, rank);
}

/* ---- Input: rank 0 reads, all ranks learn whether that went well ---- */

static int load(const options *o, int rank, graph *g, FILE **csv)
{
    char error[GRAPH_ERROR_BYTES] = "";
    int err = 0;

    *g = (graph){0};
    *csv = NULL;
    if (rank == 0) {
        err = o->file != NULL ? graph_read(o->file, g, error)
                              : graph_generate(o->generate, g, error);
        if (err == 0 && o->csv != NULL && (*csv = fopen(o->csv, "w")) == NULL) {
            snprintf(error, sizeof error, "%.300s: %s", o->csv,
                     strerror(errno));
            err = -1;
        }
        if (err != 0)
            fprintf(stderr, "transitive_closure: %s\n", error);
    }
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD));
    return err != 0 ? EXIT_WRONG : 0;
}

/* ---- Output: rank 0 ---- */

/* 1234567 as "1,234,567"; the text lives until the next call but three. */
static const char *grouped(uint64_t n)
{
    static char text[4][32];
    static int turn;
    char digits[24], *to = text[turn = (turn + 1) % 4];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, n);

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return text[turn];
}

static void print_graph(const options *o, const graph *g, int P)
{
    printf("graph        %s\n", o->file != NULL ? o->file : o->generate);
    printf("vertices     %s\n", grouped(g->n_vertices));
    printf("edges        %s\n", grouped(g->edges.n));
    printf("ranks        %d\n", P);
    fflush(stdout);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static void print_table(int n, const exchange_form *const form[],
                        const closure_result result[])
{
    printf("iterations   %s\n", grouped(result[0].iterations));
    printf("pairs        %s\n", grouped(result[0].pairs));
    printf("fingerprint  %016" PRIx64 "\n\n", result[0].fingerprint);
    printf("%-12s %9s %9s %14s %16s  %s\n", "exchange", "total s", "set-up s",
           "in exchange s", "bytes exchanged", "by");
    for (int i = 0; i < n; i++)
        printf("%-12s %9.3f %9.3f %14.3f %16s  %s\n", form[i]->name,
               result[i].total_s, result[i].setup_s, result[i].exchange_s,
               grouped(result[i].bytes), form[i]->calls);
    for (int i = 1; i < n; i++)
        printf("%s/%-*s %9.2f %9s %14.2f\n", form[0]->name,
               (int)(11 - strlen(form[0]->name)), form[i]->name,
               ratio(result[0].total_s, result[i].total_s), "",
               ratio(result[0].exchange_s, result[i].exchange_s));
    fflush(stdout);
}

static int write_csv(FILE *csv, const char *path, int n,
                     const exchange_form *const form[],
                     const closure_result result[])
{
    fprintf(csv, "exchange,iteration,delta_pairs,bytes,exchange_s,total_s\n");
    for (int i = 0; i < n; i++) {
        for (uint64_t k = 0; k < result[i].iterations; k++) {
            const closure_step *s = &result[i].steps[k];

            fprintf(csv, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f,%.6f\n",
                    form[i]->name, k + 1, s->delta, s->bytes, s->exchange_s,
                    s->total_s);
        }
    }
    if (ferror(csv) != 0 || fclose(csv) != 0) {
        fprintf(stderr, "transitive_closure: %s: %s\n", path, strerror(errno));
        return EXIT_WRONG;
    }
    return 0;
}

/* ---- Checks: rank 0 ---- */

static int differ(const char *what, uint64_t pairs, uint64_t fingerprint,
                  const closure_result *r)
{
    if (r->pairs == pairs && r->fingerprint == fingerprint)
        return 0;
    fprintf(stderr,
            "transitive_closure: wrong result: %s finds %s pairs "
            "(%016" PRIx64 "), the closure computed has %s (%016" PRIx64 ")\n",
            what, grouped(pairs), fingerprint, grouped(r->pairs),
            r->fingerprint);
    return EXIT_WRONG;
}

static int check_results(const options *o, const graph *g, int n,
                         const exchange_form *const form[],
                         const closure_result result[])
{
    int err = 0;

    for (int i = 1; i < n; i++)
        err |= differ(form[i]->name, result[i].pairs, result[i].fingerprint,
                      &result[0]);
    if (o->verify) {
        uint64_t pairs, fingerprint;

        reference_closure(g, &pairs, &fingerprint);
        err |= differ("breadth-first search", pairs, fingerprint, &result[0]);
        if (err == 0)
            printf("\nverified by a search from every vertex\n");
    }
    if (o->has_expect && o->expect != result[0].pairs) {
        fprintf(stderr,
                "transitive_closure: wrong result: %s pairs, expected %s\n",
                grouped(result[0].pairs), grouped(o->expect));
        err = EXIT_WRONG;
    }
    return err;
}

/* ---- All of it ---- */

static int finish(const options *o, const graph *g, FILE *csv, int n,
                  const exchange_form *const form[],
                  const closure_result result[])
{
    int err;

    print_table(n, form, result);
    err = check_results(o, g, n, form, result);
    if (csv != NULL && write_csv(csv, o->csv, n, form, result) != 0)
        err = EXIT_WRONG;
    return err;
}

static int run(const options *o, int rank, int P)
{
    const exchange_form *form[MAX_FORMS];
    closure_result result[MAX_FORMS];
    graph g;
    partition part;
    FILE *csv;
    int n = 0, err = load(o, rank, &g, &csv);

    if (err != 0) {
        graph_free(&g);
        return err;
    }
    if (rank == 0)
        print_graph(o, &g, P);
    partition_make(&part, &g, MPI_COMM_WORLD);
    for (int i = 0; exchange_forms[i] != NULL && n < MAX_FORMS; i++) {
        if (!takes_in(o->exchange, exchange_forms[i]->name))
            continue;
        form[n] = exchange_forms[i];
        closure_run(&part, form[n], MPI_COMM_WORLD, o->progress, &result[n]);
        n++;
    }
    if (rank == 0)
        err = finish(o, &g, csv, n, form, result);
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++)
        free(result[i].steps);
    partition_free(&part);
    graph_free(&g);
    return err;
}

int main(int argc, char **argv)
{
    options o;
    int rank, P, err;

    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &P));
    err = parse_options(argc, argv, rank, &o);
    if (err == 0 && o.help && rank == 0)
        fputs(help, stdout);
    if (err == 0 && !o.help)
        err = run(&o, rank, P);
    MUST(MPI_Finalize());
    return err;
}
