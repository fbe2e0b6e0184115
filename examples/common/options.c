/* options.c - see options.h. */
#include "options.h"

#include "must.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void application_begin(int *argc, char ***argv, int *rank, int *P)
{
    must_name((*argv)[0]);
    MUST(MPI_Init(argc, argv));
    MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, rank));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, P));
}

int application_end(int err)
{
    MUST(MPI_Finalize());
    return err == OPTIONS_HELP ? 0 : err;
}

int option_lists(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, length) == 0 &&
            (at[length] == ',' || at[length] == '\0'))
            return 1;
    }
    return 0;
}

int option_words(const char *list)
{
    int n = 1;

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

int usage_error(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    complain("%s; try --help", text);
    return EXIT_USAGE;
}

/* Whole numbers at text, n of them with an x between any two. */
static int parse_sizes(const option *o, const char *text, size_t *to, int n)
{
    for (int i = 0; i < n; i++) {
        char *end;
        unsigned long long value;

        if (!isdigit((unsigned char)*text))
            return -1;
        errno = 0;
        value = strtoull(text, &end, 10);
        if (errno != 0 || (double)value < o->min || (double)value > o->max ||
            *end != (i < n - 1 ? 'x' : '\0'))
            return -1;
        to[i] = (size_t)value;
        text = end + 1;
    }
    return 0;
}

static int parse_real(const option *o, const char *text, double *to)
{
    char *end;

    *to = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*to) || *to < o->min ||
        *to > o->max)
        return -1;
    if (o->kind == OPTION_FRACTION && (*to == o->min || *to == o->max))
        return -1;
    return 0;
}

static int parse_value(const option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_WORD:
        *(const char **)o->to = text;
        return 0;
    case OPTION_NUMBER:
        return parse_sizes(o, text, o->to, 1);
    case OPTION_SIZES:
        return parse_sizes(o, text, o->to, o->n);
    case OPTION_REAL:
    case OPTION_FRACTION:
        return parse_real(o, text, o->to);
    case OPTION_FLAG:
        break;
    }
    return -1;
}

static int bad_value(const option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_SIZES:
        return usage_error("%s wants %d whole numbers from %.0f to %.0f with "
                           "an x between them, not \"%s\"",
                           o->name, o->n, o->min, o->max, text);
    case OPTION_REAL:
        return usage_error("%s wants a number from %g to %g, not \"%s\"",
                           o->name, o->min, o->max, text);
    case OPTION_FRACTION:
        return usage_error(
            "%s wants a number above %g and below %g, not \"%s\"", o->name,
            o->min, o->max, text);
    default:
        return usage_error(
            "%s wants a whole number from %.0f to %.0f, not \"%s\"", o->name,
            o->min, o->max, text);
    }
}

static const option *find(const option table[], const char *word)
{
    for (const option *o = table; o->name != NULL; o++)
        if (strcmp(o->name, word) == 0)
            return o;
    return NULL;
}

/* A word that is no option. */
static int take_rest(const char *word, const char **rest)
{
    if (rest == NULL || word[0] == '-')
        return usage_error("unknown option: %s", word);
    if (*rest != NULL)
        return usage_error("more than one input: %s", word);
    *rest = word;
    return 0;
}

static void print_help(const char *help)
{
    int me;

    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    if (me == 0)
        fputs(help, stdout);
}

int options_parse(int argc, char **argv, const option table[], const char *help,
                  const char **rest)
{
    int err = 0, wants_help = 0;

    for (int i = 1; i < argc && err == 0; i++) {
        const option *o = find(table, argv[i]);

        if (strcmp(argv[i], "--help") == 0)
            wants_help = 1;
        else if (o == NULL)
            err = take_rest(argv[i], rest);
        else if (o->kind == OPTION_FLAG)
            *(int *)o->to = 1;
        else if (i + 1 == argc)
            err = usage_error("a value must follow %s", o->name);
        else if (parse_value(o, argv[++i]) != 0)
            err = bad_value(o, argv[i]);
    }
    if (err != 0 || !wants_help)
        return err;
    print_help(help);
    return OPTIONS_HELP;
}

int options_open(const char *path, MPI_Comm comm, FILE **file)
{
    int me, err = 0;

    *file = NULL;
    MUST(MPI_Comm_rank(comm, &me));
    if (me == 0 && path != NULL && (*file = fopen(path, "wb")) == NULL) {
        complain("%s: %s", path, strerror(errno));
        err = EXIT_WRONG;
    }
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, comm));
    return err;
}
