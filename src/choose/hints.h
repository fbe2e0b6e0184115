/* hints.h - the user's hints, from MPI_Info and from the environment. */
#ifndef ROTA_HINTS_H
#define ROTA_HINTS_H

#include "base/alike.h"
#include "choose/tuning.h"

#include <mpi.h>

enum { ROTA_PATH = 512 }; /* bytes of a path, with its terminator */

/* What advances plans. */
typedef enum rota_progress {
    ROTA_PROGRESS_CALLS,  /* calls of Rota's functions only */
    ROTA_PROGRESS_THREAD, /* the progress thread as well */
    ROTA_PROGRESS_MPI,    /* calls of MPI as well */
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
    const rota_algo *algo; /* NULL: not given */
    rota_params params;    /* only numbers; 0: not given */
    int node_size;         /* 0: real nodes */
    int metadata;          /* a rota_metadata; -1: not given */
    int by_datatype;       /* 0 or 1; check and measure likewise */
    int check;
    rota_intranode intranode;
    int copied_once_from; /* bytes; 0: not given */
    int attached_from;    /* likewise */
    rota_progress progress;
    rota_device_path device;
    int partners;                /* only ranks with partners start a plan */
    int leaves_own;              /* the program moves a rank's own block */
    int largest_unit;            /* bytes; 0: the unit does not change */
    int measure;                 /* run candidates, not only price them */
    int measure_ms;              /* for about so long */
    char tuning_file[ROTA_PATH]; /* "": the usual places */
    unsigned of_environment; /* bits: algo, metadata are from there; hints.c */
} rota_hints;

typedef struct rota_hint {
    const char *key, *variable; /* in MPI_Info and in the environment */
    const char *usual;          /* the default, as text */
    size_t at; /* offset in rota_hints: of an int, except for algo and a path */

    /* One of these says which values are valid. */
    const rota_words *words;
    int least;        /* least number; 0: not a number */
    const char *what; /* else, in words: "an algorithm", "a path" */

    bool promise; /* by the program, so that its variable is ignored */
} rota_hint;

extern const rota_hint rota_hint_table[]; /* the last entry's key is NULL */

/* A variable of the environment that is no hint. */
typedef struct rota_variable {
    const char *name, *meaning;
} rota_variable;

extern const rota_variable rota_variable_table[]; /* the last name is NULL */

/* Print, once and on rank 0 of the program, which variables of its environment
 * look like Rota's but are not, or have invalid values. Local. */
void rota_variables_check(void);

/* Read ROTA_STALL_S. tell: print an error if the value is invalid. */
int rota_hints_stall_seconds(bool tell);

/* Is it a valid value of the hint's variable? The text of an error says which are. */
int rota_hint_check(const rota_hint *hint, const char *value);

int rota_hints_read(MPI_Info info, rota_hints *hints);

/* Hints of the environment are for all plans of a program, and some plans have no
 * use for them. Attempt i leaves some out; returns false if those are not from the
 * environment. */
enum { ROTA_LEAVE_OUT = 3 };
bool rota_hints_leave_out(const rota_hints *hints, int attempt,
                          rota_hints *left);

/* Print which were left out, each once, on rank 0 of the program. */
void rota_hints_tell_left_out(const rota_hints *hints, const rota_hints *left,
                              const char *why);

/* Append a name to a list of `size` bytes, as far as there is room. */
void rota_hints_append_name(char *list, size_t size, const char *name);

/* Describe the values that a hint may have. */
void rota_hint_values(const rota_hint *hint, char *text, size_t size);

uint64_t rota_hints_hash(const rota_hints *hints);

/* Add all hints, by their keys. */
void rota_hints_alike(const rota_hints *hints, rota_alike *alike);

#endif /* ROTA_HINTS_H */
