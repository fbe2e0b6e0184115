/* loop_print.c - what fixed-point loops found and cost; see loop.h. */
#include "loop.h"
#include "must.h"
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *grouped(uint64_t n)
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

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* The figures of all results as a table, first what the loops have in common. */
static void print_all(int n, const loop_result result[], const char *what)
{
    const char *first = result[0].form->name;

    printf("iterations   %s\n", grouped(result[0].iterations));
    printf("%-12s %s\n", what, grouped(result[0].facts));
    printf("fingerprint  %016" PRIx64 "\n\n", result[0].fingerprint);
    printf("%-12s %9s %9s %14s %16s  %s\n", "exchange", "total s", "set-up s",
           "in exchange s", "bytes exchanged", "by");
    for (int i = 0; i < n; i++)
        printf("%-12s %9.3f %9.3f %14.3f %16s  %s\n", result[i].form->name,
               result[i].total_s, result[i].setup_s, result[i].exchange_s,
               grouped(result[i].bytes), result[i].form->calls);
    for (int i = 1; i < n; i++)
        printf("%s/%-*s %9.2f %9s %14.2f\n", first, (int)(11 - strlen(first)),
               result[i].form->name,
               ratio(result[0].total_s, result[i].total_s), "",
               ratio(result[0].exchange_s, result[i].exchange_s));
    fflush(stdout);
}

/* Write and close file, one line an iteration of each result. path is for
 * errors. */
static int write_csv(FILE *file, const char *path, int n,
                     const loop_result result[], const char *what)
{
    fprintf(file,
            "exchange,iteration,delta_%s,bytes,largest_block,exchange_s,"
            "total_s\n",
            what);
    for (int i = 0; i < n; i++) {
        for (uint64_t k = 0; k < result[i].iterations; k++) {
            const loop_step *s = &result[i].steps[k];

            fprintf(file,
                    "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%.9f,%.9f\n",
                    result[i].form->name, k + 1, s->delta, s->bytes, s->largest,
                    s->exchange_s, s->total_s);
        }
    }
    if (ferror(file) != 0 || fclose(file) != 0) {
        complain("%s: %s", path, strerror(errno));
        return EXIT_WRONG;
    }
    return 0;
}

int loop_differs(const loop_result *r, const char *what, uint64_t facts,
                 uint64_t fingerprint)
{
    if (r->facts == facts && r->fingerprint == fingerprint)
        return 0;
    complain("wrong result: %s finds %s (%016" PRIx64
             "), the loop with %s found %s (%016" PRIx64 ")",
             what, grouped(facts), fingerprint, r->form->name,
             grouped(r->facts), r->fingerprint);
    return EXIT_WRONG;
}

static int compare_all(int n, const loop_result result[])
{
    int err = 0;

    for (int i = 1; i < n; i++)
        err |= loop_differs(&result[0], result[i].form->name, result[i].facts,
                            result[i].fingerprint);
    return err;
}

int loop_report(const loop_options *o, const loop_result result[],
                const char *what, FILE *csv)
{
    int err;

    print_all(o->n_forms, result, what);
    err = compare_all(o->n_forms, result);
    if (csv != NULL)
        err |= write_csv(csv, o->csv, o->n_forms, result, what);
    return err;
}

void loop_print_memory(MPI_Comm comm)
{
    uint64_t peak[2] = {memory_peak(), UINT64_MAX - memory_peak()};
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    MUST(MPI_Allreduce(MPI_IN_PLACE, peak, 2, MPI_UINT64_T, MPI_MAX, comm));
    if (me == 0)
        printf("\nmemory       %s to %s MiB a rank at most\n",
               grouped(UINT64_MAX - peak[1]), grouped(peak[0]));
}

int loop_end(const loop_options *o, loop_result result[], int err,
             MPI_Comm comm)
{
    loop_print_memory(comm);
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, comm));
    for (int i = 0; i < o->n_forms; i++)
        free(result[i].steps);
    return err;
}
