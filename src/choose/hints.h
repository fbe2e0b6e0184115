/* hints.h - wishes of the user, from MPI_Info and from the environment. */
#ifndef ROTA_HINTS_H
#define ROTA_HINTS_H

#include "base/alike.h"
#include "choose/tuning.h"

#include <mpi.h>

enum { ROTA_PATH = 512 }; /* bytes of a path, with terminator */

/* What moves plans on. */
typedef enum rota_progress {
    ROTA_PROGRESS_CALLS,  /* of Rota's functions alone */
    ROTA_PROGRESS_THREAD, /* the progress thread, too */
    ROTA_PROGRESS_MPI,    /* calls of MPI, too */
    ROTA_N_PROGRESS
} rota_progress;

/* The words for the values of an enumeration, in its order. */
typedef struct rota_words {
    int n;
    const char *word[5];
} rota_words;

extern const rota_words rota_metadata_words, rota_intranode_words,
    rota_progress_words, rota_device_words, rota_packing_words;

typedef struct rota_hints {
    const rota_algo *algo; /* NULL: no wish */
    rota_params params;    /* numbers alone; 0: no wish */
    int node_size;         /* 0: nodes as they are */
    int metadata;          /* rota_metadata, or -1: no wish */
    int by_datatype;       /* 0 or 1, as are check and measure */
    int check;
    rota_intranode intranode;
    int copied_once_from; /* bytes; 0: no wish */
    rota_progress progress;
    rota_device_path device;
    int measure;                 /* candidates, not only price them */
    int measure_ms;              /* for about that long */
    char tuning_file[ROTA_PATH]; /* "": the usual ones */
} rota_hints;

typedef struct rota_hint {
    const char *key, *variable; /* of MPI_Info and of the environment */
    const char *usual;          /* what counts where there is no hint */
    size_t at; /* in rota_hints, of an int but for what is said below */

    /* One of these says what is valid. */
    const rota_words *words;
    int least;        /* of a number; 0: it is none */
    const char *what; /* "an algorithm", "a path" */
} rota_hint;

extern const rota_hint rota_hint_table[]; /* the last entry's key is NULL */

/* Variables of the environment that are no hints. */
typedef struct rota_variable {
    const char *name, *meaning;
} rota_variable;

extern const rota_variable rota_variable_table[]; /* the last name is NULL */

/* Have rank 0 of the program print, once, which variables of its environment
 * look like Rota's and are not. Local. */
void rota_variables_check(void);

/* ROTA_STALL_S. tell: on standard error, if it is none. */
int rota_stall_seconds(bool tell);

int rota_hints_read(MPI_Info info, rota_hints *hints);

/* Append to a list of names, in size bytes, as long as there is room. */
void rota_append_name(char *list, size_t size, const char *name);

/* What values a hint may have, for people. */
void rota_hint_values(const rota_hint *hint, char *text, size_t size);

uint64_t rota_hints_hash(const rota_hints *hints);

/* Add each hint, by its key. */
void rota_hints_alike(const rota_hints *hints, rota_alike *alike);

#endif /* ROTA_HINTS_H */
