/* loop.h - fixed-point loops: what they share and what they cost.
 *
 * Every iteration makes facts, sends them to the ranks that own them in one
 * exchange, and drops what is known there. What is new, the delta, goes into
 * the next iteration; the loop ends where it is empty on all ranks. */
#ifndef LOOP_H
#define LOOP_H

#include "exchange.h"
#include "options.h"
#include "rounds.h"

#include <stdio.h>

/* ---- What loops can be told ---------------------------------------------- */

/* iterations where --iterations is not given. */
#define LOOP_TO_THE_END SIZE_MAX

typedef struct {
    const char *exchange, *csv;
    size_t rounds;
    size_t iterations; /* at most so many */
    size_t memory_mib; /* as for memory_limit */
    int verify, progress;
    /* By loop_options_check: in this order. */
    const exchange_form *form[EXCHANGE_FORMS];
    int n_forms;
} loop_options;

/* Rows of a table of options; l points to some. */
/* clang-format off */
#define LOOP_OPTIONS(l)                                                        \
    {"--exchange", OPTION_WORD, &(l)->exchange, 0, 0, 0},                      \
    {"--rounds", OPTION_NUMBER, &(l)->rounds, 1, 1000, 1},                     \
    {"--iterations", OPTION_NUMBER, &(l)->iterations, 1, 1e15, 1},             \
    {"--verify", OPTION_FLAG, &(l)->verify, 0, 0, 0},                          \
    {"--csv", OPTION_WORD, &(l)->csv, 0, 0, 0},                                \
    {"--memory", OPTION_NUMBER, &(l)->memory_mib, 1, 1e12, 1},                 \
    {"--progress", OPTION_FLAG, &(l)->progress, 0, 0, 0}
/* clang-format on */

/* For help texts: what is said of them, but for verify. */
#define LOOP_HELP                                                              \
    EXCHANGE_HELP                                                              \
    "  --rounds N        run the loop so often with each exchange, in turns\n" \
    "                    (default 1); fewer than ten or so are no "            \
    "measurement\n"                                                            \
    "  --iterations N    stop after so many, to compare exchanges where all\n" \
    "                    would take too long\n"                                \
    "  --csv FILE        write the figures of each iteration;\n"               \
    "                    ../common/plot.gp draws them\n"                       \
    "  --memory MIB      memory a rank may have (default: what the machine\n"  \
    "                    has, divided by its ranks)\n"                         \
    "  --progress        report progress on stderr (default if that is a\n"    \
    "                    terminal)\n"

#define LOOP_HELP_TABLE                                                        \
    "Times are medians over rounds: of the loop; of what it spends waiting,\n" \
    "from when the first rank begins an exchange until the last one does; "    \
    "and\n"                                                                    \
    "in exchanges, from then until the last rank has what it gets (fast: a\n"  \
    "tenth of the rounds took less; first: in the first round, where memory "  \
    "is\n"                                                                     \
    "new to the program); and from the same moment until the last rank has\n"  \
    "dealt with what it got (taken). Ratios are followed by the lowest and\n"  \
    "the highest of a round, of exchanges. Where ranks have no common\n"       \
    "clock, on several nodes, waiting counts as exchange. Set-up is done\n"    \
    "once; the first one with Rota duplicates the communicator, for all of\n"  \
    "its forms. Bytes are those sent to other ranks.\n"

loop_options loop_options_default(void);

/* 0, or EXIT_USAGE after saying what is wrong. */
int loop_options_check(loop_options *o);

/* ---- Loops --------------------------------------------------------------- */

/* Times of an iteration, or of all. */
enum {
    LOOP_ALL,      /* of the slowest rank; has the others in it */
    LOOP_WAITING,  /* from when the first rank begins the exchange, and all have
                      left the one before, until the last one begins */
    LOOP_EXCHANGE, /* from then until the last rank ends it */
    LOOP_TAKEN,    /* from then until the last rank has dealt with what came */
    LOOP_TIMES
};

typedef struct {
    uint64_t delta;   /* facts that this iteration worked on, on all ranks */
    uint64_t bytes;   /* sent to other ranks, on all ranks */
    uint64_t largest; /* block sent to another rank, in bytes, on any rank */
    double s[LOOP_TIMES];
} loop_step;

/* The same on all ranks, but for steps and what they add up to, which are right
 * on rank 0. */
typedef struct {
    const exchange_form *form;
    uint64_t iterations, facts, bytes;
    uint64_t fingerprint; /* of the facts: the sum of that of the ranks */
    uint64_t fullest;     /* facts of the rank that has most */
    double setup_s;       /* what a form does once, of the slowest rank */
    double s[LOOP_TIMES];
    double fast_s, first_s; /* of rounds: s[LOOP_EXCHANGE] in the fastest tenth
                               and in the first one */
    loop_step *steps;       /* [iterations] the caller frees, as */
    double *round_s; /* [rounds] s[LOOP_EXCHANGE] of each round, in order */
    size_t rounds;
} loop_result;

/* One form that takes its turns. */
typedef struct {
    exchange x;
    const loop_options *options;
    barrier *together;
    int common_clock; /* to all ranks: they are on one node */
} loop_entrant;

/* An iteration on one rank. */
typedef struct {
    uint64_t delta, bytes, largest; /* as in loop_step */
    double all_s;
    double began, ended; /* of the exchange, by the common clock; if there is
                            none, began is 0 */
    double taken;        /* likewise: what came is dealt with */
} loop_own_step;

typedef struct {
    exchange *x;
    uint64_t facts;      /* on all ranks, up to the current delta */
    loop_own_step *step; /* [n_steps] */
    size_t n_steps, capacity;
    loop_own_step now;                        /* the iteration under way */
    double began, step_began, reported, zero; /* of the clock for now */
    uint64_t bytes_before;                    /* x->bytes as the loop began */
    const loop_entrant *entrant;
} loop;

/* Run a loop with all forms of the options in turns, for their number of
 * rounds: run opens one with e and closes it into r. result [n_forms] gets the
 * medians. Returns 0, or EXIT_WRONG after saying which loop found other facts
 * than the first one. Collective; blocks. */
int loop_rounds(const loop_options *o, MPI_Comm comm,
                void (*run)(void *program, loop_entrant *e, loop_result *r),
                void *program, loop_result result[]);

/* Begin, and measure from here. With progress, rank 0 reports on stderr now and
 * then. Collective; blocks. */
void loop_open(loop *l, loop_entrant *e);

/* An iteration: call the first before the facts are added to l->x, the second to
 * send them, with the number of facts in this rank's delta, and the third when
 * those that came are dealt with. The first returns 0 if no more iterations are asked
 * for, the second if the delta was empty on all ranks; then the loop is over.
 * What came is in l->x. */
int loop_step_begin(loop *l);
int loop_exchange(loop *l, uint64_t delta);
void loop_step_end(loop *l);

/* End it: facts and fingerprint are this rank's own. Collective; blocks. */
void loop_close(loop *l, uint64_t facts, uint64_t fingerprint, loop_result *r);

/* ---- Results ------------------------------------------------------------- */

/* On rank 0: print the results of all forms, and write the CSV file, unless it
 * is NULL, and close it. what is "pairs" or another word for facts. 0, or
 * EXIT_WRONG after saying what is wrong. */
int loop_report(const loop_options *o, const loop_result result[],
                const char *what, FILE *csv);

/* Print what memory was taken and free the steps of the results; returns rank
 * 0's err. Collective. */
int loop_end(const loop_options *o, loop_result result[], int err,
             MPI_Comm comm);

/* Say that what found other facts than the loop, if it did; returns EXIT_WRONG
 * then, else 0. */
int loop_differs(const loop_result *r, const char *what, uint64_t facts,
                 uint64_t fingerprint);

/* Peak of memory on the ranks, as a line. Collective. */
void loop_print_memory(MPI_Comm comm);

/* 1234567 as "1,234,567"; the text lives until the next call but three. */
const char *grouped(uint64_t n);

#endif
