/* worth.h - decides when a plan pays, from what it costs to make and what it saves.
 * Times go in, verdicts come out: it has no clock and calls no MPI.
 *
 * It counts time, not calls. Calls go to MPI first, and as many are timed as cost
 * nothing to speak of. A plan is made when it would have saved as much of MPI's time
 * as it takes to make. So at worst it costs as much as it could have saved until
 * then. That may be a part of a short program's time that is noticed. So until plans
 * have been proved to gain, they may take a small part of it, unless MPI's waits keep
 * ranks from the cores that they share: there plans gain.
 *
 * Then there is a trial: MPI and Rota take calls in pairs, each timed, until a
 * sequential test (choose/sequential.h) says which is faster in exchanges of the size
 * that takes the most time. A trial costs a small share of all calls. Where it would
 * cost more, the one that seems faster takes all calls, and the trial goes on later.
 * A verdict is tested again after several times as many calls, since sizes and
 * machines change. Later plans are expected to save as much in calls of that size.
 *
 * Times differ among ranks, so ranks decide together, by the times of all, at calls
 * agreed on beforehand. These go to MPI: its waits carry what ranks say to each other
 * (decide.c). They decide after the call.
 */
#ifndef ROTA_MPI_WORTH_H
#define ROTA_MPI_WORTH_H

#include "choose/sequential.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum rota_mpi_verdict {
    ROTA_MPI_OPEN,  /* MPI: no plan yet */
    ROTA_MPI_TRIAL, /* MPI and Rota in turn */
    ROTA_MPI_TAKEN, /* Rota */
    ROTA_MPI_LEFT   /* MPI */
} rota_mpi_verdict;

/* BINS: sizes, by powers of 4 from 4 KiB on, below which size hardly matters. PAIRS:
 * the most pairs of a trial between two looks at them. */
enum { ROTA_MPI_BINS = 14, ROTA_MPI_PAIRS = 16 };

/* Plans by what they take: the first of a process looks at the machine, too,
 * and the first of a group maps memory. */
enum { ROTA_MPI_OF_PROCESS, ROTA_MPI_OF_GROUP, ROTA_MPI_OTHER, ROTA_MPI_COSTS };

/* What a process has learned. */
typedef struct rota_mpi_purse {
    /* All times in seconds. */
    _Atomic double step; /* how long one took, forgotten little by little */
    _Atomic double plan[ROTA_MPI_COSTS]; /* without steps, alone on a core */
    atomic_bool any_plan;
    _Atomic double spent; /* to make plans */
    _Atomic double saved; /* what plans would have saved in all calls by MPI */
    _Atomic double
        gain[ROTA_MPI_BINS]; /* part of MPI's time that calls of a size
                                           saved; 0: not known */
} rota_mpi_purse;

/* Before anything is known: the seconds of 2 cores. */
#define ROTA_MPI_PURSE                                                         \
    {                                                                          \
        .plan = {1e-3, 5e-4, 1e-4},                                            \
    }

/* Calls of about one size on trial: the way is false by MPI, true by Rota. */
typedef struct rota_mpi_bin {
    rota_sequential test;
    double weight; /* seconds of the faster call of each pair */
    double waits;  /* for its like by the other way: seconds, or 0 */
    bool way;      /* of that one */
} rota_mpi_bin;

/* Numbers of which ranks make the mean over all of them: seconds and bytes of each
 * call since they last looked. */
enum { ROTA_MPI_RESULTS = 4 * ROTA_MPI_PAIRS };

typedef struct rota_mpi_trial {
    long first; /* call of the pairs that ranks look at next */
    int pairs;  /* how many these are */
    bool off;   /* the way that calls did not go before */
    double result[ROTA_MPI_RESULTS];
    rota_mpi_bin bin[ROTA_MPI_BINS]; /* by the bytes that a rank sends */
    int tested;                      /* pairs in all */
} rota_mpi_trial;

/* Of calls of one sort: the same on all ranks, but for times. Calls are counted by
 * the caller; the number of a call is how many there were before it. */
typedef struct rota_mpi_worth {
    bool by_cost; /* else after so many calls */
    rota_mpi_verdict verdict;
    bool sure;   /* of the last verdict: another must be proved */
    long next;   /* at this call, ranks ask each other, or begin a trial */
    double lost; /* by trials: calls of the faster way */

    /* While OPEN, of this rank. */
    long timed;     /* calls below this number are in total */
    double total;   /* seconds of MPI, from those that were timed */
    double typical; /* of a call */
    double saved;   /* what a plan would have, as in the purse */
    size_t bytes;   /* of the last one */

    rota_mpi_trial *trial; /* from the first on */
} rota_mpi_worth;

/* w is cleared. by_cost: a plan is made when it pays; else after so many
 * calls. */
void rota_mpi_worth_begin(rota_mpi_worth *w, bool by_cost, long after);
void rota_mpi_worth_end(rota_mpi_worth *w);

/* Does this call go by Rota? */
bool rota_mpi_worth_takes(const rota_mpi_worth *w, long call);

/* The next call, this one or a later one, at which to decide or to time. In a trial
 * each: the way changes. */
long rota_mpi_worth_look(const rota_mpi_worth *w, long call);

/* Is this call's time wanted? And the time. */
bool rota_mpi_worth_is_timed(const rota_mpi_worth *w, long call);
void rota_mpi_worth_time(rota_mpi_worth *w, long call, size_t bytes,
                         double seconds);

/* ---- to make a plan or not, while OPEN ----------------------------------- */

/* What a rank knows when ranks decide. */
typedef struct rota_mpi_moment {
    double step; /* 0: not known */
    double age;  /* of the process, from its first exchange on */
    double ranks_per_core;
    bool
        spins; /* while ranks of a core wait in MPI, they keep it from each other */
    bool room; /* for a plan */
    int kind;  /* ROTA_MPI_OF_PROCESS, and so on */
} rota_mpi_moment;

/* What ranks agree on, by the mean of each. */
enum { ROTA_MPI_TERMS = 6 };
void rota_mpi_worth_terms(rota_mpi_worth *w, rota_mpi_purse *p,
                          const rota_mpi_moment *m, double out[ROTA_MPI_TERMS]);

/* What to do now. agreed: the means; NULL: ranks could not agree. MEASURE: time
 * a step that all ranks begin at the same time, then agree again. MAKE: make a
 * plan, then call made, or stop if it cannot be made. */
typedef enum rota_mpi_answer {
    ROTA_MPI_WAIT,
    ROTA_MPI_MEASURE,
    ROTA_MPI_MAKE
} rota_mpi_answer;

rota_mpi_answer rota_mpi_worth_consider(rota_mpi_worth *w,
                                        const double agreed[], bool measured);

/* The trial begins, in this cleared memory from malloc, which is taken. */
void rota_mpi_worth_made(rota_mpi_worth *w, rota_mpi_purse *p,
                         const rota_mpi_moment *m, double seconds,
                         rota_mpi_trial *trial);

/* MPI has all calls from now on. */
void rota_mpi_worth_stop(rota_mpi_worth *w);
static inline bool rota_mpi_worth_is_over(const rota_mpi_worth *w)
{
    return w->verdict == ROTA_MPI_LEFT && !w->trial;
}

/* ---- who has the calls, once there is a plan ----------------------------- */

/* After a trial, before the call next: begin another. */
void rota_mpi_worth_try(rota_mpi_worth *w);

/* In a trial: judge by the means of the results over all ranks; NULL: ranks could
 * not agree, and MPI has all calls from now on. */
void rota_mpi_worth_judge(rota_mpi_worth *w, rota_mpi_purse *p,
                          const double all[ROTA_MPI_RESULTS]);

#endif /* ROTA_MPI_WORTH_H */
