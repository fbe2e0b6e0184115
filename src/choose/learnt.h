/* learnt.h - what is known on a communicator from before, the same on all of its
 * ranks: tuning, where it is from, and decisions.
 */
#ifndef ROTA_LEARNT_H
#define ROTA_LEARNT_H

#include "choose/candidates.h"

/* All that a decision on a communicator depends on, sizes to a quarter of an
 * octave. Compared as bytes: there is no padding in it. */
typedef struct rota_decision_key {
    uint64_t hints;
    int kind, how, largest, mean, density, imbalance;
} rota_decision_key;

typedef struct rota_decision {
    rota_choice choice;
    const char *why;            /* it was chosen */
    rota_candidates candidates; /* from which */
} rota_decision;

enum { ROTA_DECISIONS = 16 };

/* Zero: nothing. */
typedef struct rota_learnt {
    struct {
        rota_decision_key key;
        rota_decision decision;
    } before[ROTA_DECISIONS]; /* the last ones */
    unsigned n_before;        /* made so far */
    rota_tuning tuning;
    bool tried;               /* plans need not look for a file any more */
    char *path;               /* of the file it is from; NULL: of none */
    char note[ROTA_ERR_TEXT]; /* a file found was ignored, and why */
} rota_learnt;

/* ---- tuning_file.c --------------------------------------------------------- */

/* See that there is the tuning of a file. path: the same on all ranks, or NULL
 * for ROTA_TUNING_FILE of rank 0's environment or, without it, the user's file
 * or the system's. Nothing is done if the file named has been read before or,
 * without a name, if any has been looked for. A file that was asked for and
 * cannot be used is an error; another one is ignored, with a note. Only rank 0
 * touches files. Collective. */
int rota_tuning_load(rota_learnt *l, const rota_ranks *ranks, const char *path);

/* The tuning of a file or text in the place of what there is. path, as above,
 * and text are rank 0's. Collective; every failure is agreed on. */
int rota_tuning_read(rota_learnt *l, const rota_ranks *ranks, const char *path);
int rota_tuning_take(rota_learnt *l, const rota_ranks *ranks, const char *text);

/* Rank 0 writes, all at once, to its path or, if that is NULL, to the user's
 * file. Collective; the verdict is agreed on. */
int rota_tuning_write(rota_learnt *l, const rota_ranks *ranks,
                      const char *path);

/* Have nothing, and look for no file. Local. */
void rota_learnt_forget(rota_learnt *l);

#endif /* ROTA_LEARNT_H */
