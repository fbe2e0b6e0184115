/* contest.h - the same work by several ways of exchanging, timed in rounds. */
#ifndef CONTEST_H
#define CONTEST_H

#include "options.h"
#include "rounds.h"
#include "traffic.h"

/* What contests can be told. */
typedef struct {
    const char *exchange; /* WHICH */
    size_t rounds, steps; /* steps a round */
} contest_options;

/* Rows of a table of options; c points to some. */
/* clang-format off */
#define CONTEST_OPTIONS(c)                                                     \
    {"--exchange", OPTION_WORD, &(c)->exchange, 0, 0, 0},                      \
    {"--rounds", OPTION_NUMBER, &(c)->rounds, 1, 1000, 1},                     \
    {"--steps", OPTION_NUMBER, &(c)->steps, 1, 1e9, 1}
/* clang-format on */

/* For help texts: what is said of them, but for steps, and of the table. */
#define CONTEST_HELP_OPTIONS                                                   \
    "  --exchange WHICH   how transposes are done:\n"                          \
    "                       mpi             MPI_Alltoallv\n"                   \
    "                       persistent      MPI_Alltoallv_init, from MPI 4 "   \
    "on\n"                                                                     \
    "                       rota            Rota plans\n"                      \
    "                       rota_mem        on buffers of rota_mem_alloc\n"    \
    "                       rota_parts      each block leaves when it is "     \
    "packed,\n"                                                                \
    "                                       and is unpacked when it has "      \
    "come\n"                                                                   \
    "                       all             side by side (default)\n"          \
    "                     or several of these, with commas between them\n"     \
    "  --rounds N         timed rounds; one more goes before (5)\n"
#define CONTEST_HELP_TABLE                                                     \
    "Times are per step, of the slowest rank, median over rounds: of all, "    \
    "in\n"                                                                     \
    "exchanges (from start to wait; fast: a tenth of the rounds took less),\n" \
    "in packing and unpacking, and once for making plans. The first plan of\n" \
    "Rota on a communicator duplicates it. Break-even: starts after which\n"   \
    "plans have paid.\n"

/* A way, and how the program uses it. */
typedef struct {
    const traffic_way *way;
    int overlapped;
    void (*step)(void *state); /* collective */
    void (*close)(void *state);
    void *state;       /* from malloc */
    traffic_cost cost; /* that the plans of the state add to */
    /* Results in seconds, of the slowest rank; a median over rounds. */
    double step_s, exchange_s, pack_s, plan_s;
    double fast_s; /* exchange, in the fastest tenth of the rounds */
    double starts; /* a step, on this rank */
} entrant;

/* Whom to enter: ways for buffers on a device or for others, with types also
 * those that are typed, with overlap those that can overlap a second time. */
typedef struct {
    int on_device, types, overlap;
} contest_kinds;

/* Enter the ways that WHICH asks for, "all" those that this MPI library has. 0, or
 * EXIT_USAGE after saying what is wrong; then there are none. */
int contest_enter(const char *which, contest_kinds kinds, entrant **e, int *n);

/* Steps of all entrants, rounds times; the first round is not timed. States
 * must have been made with &e[i].cost. Collective. */
void contest_run(entrant e[], int n, const contest_options *o, MPI_Comm comm);

/* On rank 0. Breaks even: starts after which plans have paid for themselves
 * against MPI_Alltoallv. */
void contest_print(const entrant e[], int n);

/* Close and free all states, and then e. */
void contest_close(entrant e[], int n);

#endif
