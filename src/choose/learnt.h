/* learnt.h - what a communicator knows from earlier plans: tuning, its source,
 * and decisions. The same on all its ranks.
 */
#ifndef ROTA_LEARNT_H
#define ROTA_LEARNT_H

#include "choose/candidates.h"

/* All that a decision depends on, with sizes to a quarter of an octave.
 * Compared as bytes, so there is no padding. */
typedef struct rota_decision_key {
    uint64_t hints;
    int kind, how, largest, mean, density, imbalance;
} rota_decision_key;

typedef struct rota_decision {
    rota_choice choice;
    const char *why;            /* why it was chosen */
    rota_candidates candidates; /* the candidates it was chosen from */
} rota_decision;

enum { ROTA_DECISIONS = 16 };

/* Zero: nothing is known. */
typedef struct rota_learnt {
    struct {
        rota_decision_key key;
        rota_decision decision;
    } before[ROTA_DECISIONS]; /* the last decisions */
    unsigned n_before;        /* decisions made so far */
    rota_tuning tuning;
    bool tried;               /* do not look for a tuning file again */
    char *path;               /* path of the tuning's file; NULL: none */
    char note[ROTA_ERR_TEXT]; /* why a file that was found is ignored */
} rota_learnt;

/* ---- tuning_file.c ------------------------------------------------------- */

/* Is there a file that rank 0 would read if no hint names one, or may there be? On
 * rank 0. */
bool rota_tuning_is_there(void);

/* Make sure that a file's tuning is loaded. path: the same on all ranks; NULL:
 * rank 0's ROTA_TUNING_FILE or, without it, the user's file or the system's.
 * Does nothing if that file has been read already or, for NULL, if a file has
 * been looked for already. An unusable file is an error if it was asked for;
 * otherwise it is ignored, with a note. Only rank 0 reads files. Collective. */
int rota_tuning_load(rota_learnt *l, const rota_ranks *ranks, const char *path);

/* Replace the tuning by that of a file or a text. path, as above, and text
 * count on rank 0. Collective; the ranks agree on every failure. */
int rota_tuning_read(rota_learnt *l, const rota_ranks *ranks, const char *path);
int rota_tuning_take(rota_learnt *l, const rota_ranks *ranks, const char *text);

/* Write the tuning to rank 0's path; NULL: to the user's file. The file is
 * replaced at once. Collective; the ranks agree on the result. */
int rota_tuning_write(rota_learnt *l, const rota_ranks *ranks,
                      const char *path);

/* Forget everything, and look for no file. Local. */
void rota_learnt_forget(rota_learnt *l);

#endif /* ROTA_LEARNT_H */
