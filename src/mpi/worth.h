/* worth.h - decides when a plan pays, from what it costs to make and what it saves.
 * Times go in, verdicts come out: there is no clock here and no MPI.
 *
 * Calls go to MPI first, and some are timed. A plan is made when two things hold:
 *
 *   It pays. By now a plan would have saved as much of MPI's time as it costs to
 *   make. So at worst, as much is lost as could have been won.
 *
 *   It cannot hurt. All plans and trials of this process, with this one, stay
 *   within a share of the time since its first exchange.
 *
 * The first calls by Rota are on trial: they are timed too, and if MPI was faster
 * at the same size, calls go to MPI again. What they saved is expected of later
 * plans for calls of that size. Times differ among ranks, so ranks decide
 * together, at calls agreed on beforehand (decide.c).
 */
#ifndef ROTA_MPI_WORTH_H
#define ROTA_MPI_WORTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum rota_mpi_verdict {
    ROTA_MPI_OPEN,  /* MPI, so far */
    ROTA_MPI_TRIAL, /* Rota, on trial */
    ROTA_MPI_TAKEN, /* Rota */
    ROTA_MPI_LEFT   /* MPI, for good */
} rota_mpi_verdict;

enum { ROTA_MPI_BINS = 12, ROTA_MPI_SAMPLES = 8 };

/* What a plan takes: the first of a process looks at the machine; the first of a
 * group maps memory. */
enum { ROTA_MPI_OF_PROCESS, ROTA_MPI_OF_GROUP, ROTA_MPI_OTHER, ROTA_MPI_COSTS };

/* What a process has spent and learned. */
typedef struct rota_mpi_purse {
    _Atomic double began; /* at its first exchange; -1: not yet */
    _Atomic double spent; /* on plans and trials */
    _Atomic double step;  /* how long the last one took; all times in seconds */
    _Atomic double plan[ROTA_MPI_COSTS]; /* without steps, alone on a core */
    atomic_bool any_plan;
    _Atomic double
        gain[ROTA_MPI_BINS]; /* part of MPI's time that calls of a size
                                           saved; 0: not known */
} rota_mpi_purse;

/* Before anything is known: the seconds of 2 cores. */
#define ROTA_MPI_PURSE                                                         \
    {                                                                          \
        .began = -1, .plan = {4.5e-3, 1e-3, 1e-4},                             \
    }

/* Calls of about one size by MPI [0] and by Rota [1]: how many were timed, and
 * the seconds of the last ones. */
typedef struct rota_mpi_bin {
    unsigned n[2];
    float seconds[2][ROTA_MPI_SAMPLES];
} rota_mpi_bin;

/* Of calls of one sort: the same on all ranks, but for times. Calls are counted by
 * the caller; the number of a call is how many there were before it. */
typedef struct rota_mpi_worth {
    bool by_cost; /* else after so many calls */
    rota_mpi_verdict verdict;
    long next;                        /* at this call, ranks decide */
    long trial;                       /* at this one, it began */
    int trials;                       /* that MPI has won */
    rota_mpi_bin *bin[ROTA_MPI_BINS]; /* by the bytes that this rank sends, or
                                         NULL */
} rota_mpi_worth;

/* From cleared memory. by_cost, or a plan after so many calls. */
void rota_mpi_worth_begin(rota_mpi_worth *w, bool by_cost, long after);
void rota_mpi_worth_end(rota_mpi_worth *w);

static inline bool rota_mpi_worth_takes(const rota_mpi_worth *w)
{
    return w->verdict == ROTA_MPI_TRIAL || w->verdict == ROTA_MPI_TAKEN;
}

/* The next call, this one or a later one, at which to decide or to time. */
long rota_mpi_worth_look(const rota_mpi_worth *w, long call);

/* Is this call's time wanted? And the time. */
bool rota_mpi_worth_is_timed(const rota_mpi_worth *w, long call);
void rota_mpi_worth_time(rota_mpi_worth *w, bool rota, size_t bytes,
                         double seconds);

/* ---- to make a plan or not, while OPEN ----------------------------------- */

/* What a rank knows when ranks decide. */
typedef struct rota_mpi_moment {
    double now, step;
    double ranks_per_core;
    bool room;     /* for a plan */
    bool has_plan; /* of an earlier trial */
    int kind;      /* ROTA_MPI_OF_PROCESS, and so on */
} rota_mpi_moment;

/* What ranks agree on, by the smallest value of each. */
enum { ROTA_MPI_TERMS = 6 };
void rota_mpi_worth_terms(const rota_mpi_worth *w, const rota_mpi_purse *p,
                          const rota_mpi_moment *m, double out[ROTA_MPI_TERMS]);

/* What to do now, from what was agreed, or NULL. MEASURE: a step that all ranks
 * begin at the same time, and then agree again. MAKE: a plan, and then made, or
 * settle for LEFT if it cannot be. */
typedef enum rota_mpi_answer {
    ROTA_MPI_WAIT,
    ROTA_MPI_MEASURE,
    ROTA_MPI_MAKE
} rota_mpi_answer;

rota_mpi_answer rota_mpi_worth_consider(rota_mpi_worth *w,
                                        const double agreed[], bool measured);
void rota_mpi_worth_made(rota_mpi_worth *w, rota_mpi_purse *p,
                         const rota_mpi_moment *m, double seconds);
void rota_mpi_worth_settle(rota_mpi_worth *w, rota_mpi_verdict verdict);

/* ---- to keep it or not, while on TRIAL ----------------------------------- */

/* What ranks agree on, by the sum of each. */
enum { ROTA_MPI_RESULTS = 3 };
void rota_mpi_worth_results(const rota_mpi_worth *w, const rota_mpi_purse *p,
                            double now, double mine[ROTA_MPI_RESULTS]);
/* all: NULL if ranks could not agree. */
void rota_mpi_worth_judge(rota_mpi_worth *w, rota_mpi_purse *p,
                          const double mine[], const double all[]);

#endif /* ROTA_MPI_WORTH_H */
