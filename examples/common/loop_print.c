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

static void print_result(const loop_result *r)
{
    printf("%-12s %9.4f %9.4f %10.5f %10.5f %10.5f %10.5f %10.5f %16s  %s\n",
           r->form->name, r->setup_s, r->s[LOOP_ALL], r->s[LOOP_WAITING],
           r->s[LOOP_EXCHANGE], r->fast_s, r->first_s, r->s[LOOP_TAKEN],
           grouped(r->bytes), r->form->calls);
}

/* With the lowest and the highest ratio of a round, in which both had a turn. */
static void print_ratio(const loop_result *a, const loop_result *b)
{
    double least = 0, most = 0;
    char name[32];

    for (size_t k = 0; k < a->rounds && k < b->rounds; k++) {
        const double of_round = ratio(a->round_s[k], b->round_s[k]);

        least = k == 0 || of_round < least ? of_round : least;
        most = of_round > most ? of_round : most;
    }
    snprintf(name, sizeof name, "%s/%s", a->form->name, b->form->name);
    printf("%-22s %9.2f %10s %10.2f %10.2f %10.2f %10.2f  %.2f to %.2f\n", name,
           ratio(a->s[LOOP_ALL], b->s[LOOP_ALL]), "",
           ratio(a->s[LOOP_EXCHANGE], b->s[LOOP_EXCHANGE]),
           ratio(a->fast_s, b->fast_s), ratio(a->first_s, b->first_s),
           ratio(a->s[LOOP_TAKEN], b->s[LOOP_TAKEN]), least, most);
}

static int are_compared(const exchange_form *a, const exchange_form *b)
{
    return (a->by_mpi && !b->by_mpi) || b->instead == a;
}

/* The figures of all results as a table, first what the loops have in common. */
static void print_all(int n, const loop_result result[], const char *what)
{
    printf("iterations   %s\n", grouped(result[0].iterations));
    printf("%-12s %s\n", what, grouped(result[0].facts));
    printf("fingerprint  %016" PRIx64 "\n\n", result[0].fingerprint);
    printf("%-12s %9s %9s %10s %10s %10s %10s %10s %16s  %s\n", "exchange",
           "set-up s", "loop s", "waiting s", "exchange s", "fast s", "first s",
           "taken s", "bytes exchanged", "by");
    for (int i = 0; i < n; i++)
        print_result(&result[i]);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (are_compared(result[i].form, result[k].form))
                print_ratio(&result[i], &result[k]);
    fflush(stdout);
}

/* Write and close file, one line an iteration of each result. path is for
 * errors. */
static int write_csv(FILE *file, const char *path, int n,
                     const loop_result result[], const char *what)
{
    fprintf(file,
            "exchange,iteration,delta_%s,bytes,largest_block,exchange_s,"
            "waiting_s,total_s,taken_s\n",
            what);
    for (int i = 0; i < n; i++) {
        for (uint64_t k = 0; k < result[i].iterations; k++) {
            const loop_step *s = &result[i].steps[k];

            fprintf(file,
                    "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                    ",%.9f,%.9f,%.9f,%.9f\n",
                    result[i].form->name, k + 1, s->delta, s->bytes, s->largest,
                    s->s[LOOP_EXCHANGE], s->s[LOOP_WAITING], s->s[LOOP_ALL],
                    s->s[LOOP_TAKEN]);
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

int loop_report(const loop_options *o, const loop_result result[],
                const char *what, FILE *csv)
{
    print_all(o->n_forms, result, what);
    return csv != NULL ? write_csv(csv, o->csv, o->n_forms, result, what) : 0;
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
    for (int i = 0; i < o->n_forms; i++) {
        free(result[i].steps);
        free(result[i].round_s);
    }
    return err;
}
