/* options.h - command lines of --name value pairs and flags. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>

/* Exit codes besides 0. */
enum { EXIT_WRONG = 1, EXIT_USAGE = 2 };

typedef enum {
    OPTION_FLAG,   /* int, set to 1 */
    OPTION_WORD,   /* const char * */
    OPTION_NUMBER, /* size_t between min and max */
    OPTION_REAL,   /* double between min and max */
    OPTION_SIZES   /* size_t [n], as in 64x48, each between min and max */
} option_kind;

typedef struct {
    const char *name; /* with its dashes; NULL ends a table */
    option_kind kind;
    void *to;
    double min, max;
    int n;
} option;

/* Fill in what the table points to. 0, or EXIT_USAGE after rank 0 has said what
 * is wrong: the command line is the same on all ranks, so they agree. */
int options_parse(int argc, char **argv, int rank, const option table[]);

/* Rank 0 says "PROGRAM: text; try --help"; returns EXIT_USAGE. */
int usage_error(int rank, const char *format, ...);

#endif
