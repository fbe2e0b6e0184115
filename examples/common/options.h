/* options.h - how the applications begin and end, and their command lines:
 * --name value pairs, flags and the name of an input.
 *
 * All ranks parse the same line and come to the same verdict; only rank 0
 * speaks. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

/* Initialize MPI, which is to return errors, for this rank of P. Collective. */
void application_begin(int *argc, char ***argv, int *rank, int *P);

/* Finalize MPI; returns the exit code for err, which may be OPTIONS_HELP. */
int application_end(int err);

/* Exit codes besides 0. */
enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

typedef enum {
    OPTION_FLAG,     /* int, set to 1 */
    OPTION_WORD,     /* const char * */
    OPTION_NUMBER,   /* size_t from min to max */
    OPTION_REAL,     /* double from min to max */
    OPTION_FRACTION, /* double above min and below max */
    OPTION_SIZES     /* size_t [n], as in 64x48, each from min to max */
} option_kind;

typedef struct {
    const char *name; /* with its dashes; NULL ends a table */
    option_kind kind;
    void *to;
    double min, max;
    int n;
} option;

/* What options_parse returns where --help was asked for and has been given. */
enum { OPTIONS_HELP = -1 };

/* Fill in what the table points to; --help, of which help is the text, is in no
 * table. *rest is set to the one word that is no option, if there is one; rest
 * is NULL where none may be. Returns 0, OPTIONS_HELP, or EXIT_USAGE after saying
 * why. */
int options_parse(int argc, char **argv, const option table[], const char *help,
                  const char **rest);

/* Whether a word is in a list with commas between its words, and how many those
 * are. */
int option_lists(const char *list, const char *word);
int option_words(const char *list);

/* Say "NAME: text; try --help" on rank 0; returns EXIT_USAGE. */
int usage_error(const char *format, ...);

/* Open path, which an option named, to be written by rank 0; *file is NULL
 * there if path is, and on the other ranks. Where that goes wrong rank 0 says
 * why, and all return EXIT_WRONG, else 0. Collective. */
int options_open(const char *path, MPI_Comm comm, FILE **file);

#endif
