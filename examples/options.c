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

int usage_error(int rank, const char *format, ...)
{
    va_list args;

    if (rank == 0) {
        fprintf(stderr, "%s: ", program_name);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputs("; try --help\n", stderr);
    }
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
        return parse_real(o, text, o->to);
    case OPTION_FLAG:
        break;
    }
    return -1;
}

static int bad_value(int rank, const option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_SIZES:
        return usage_error(rank,
                           "%s wants %d whole numbers from %.0f to %.0f with "
                           "an x between them, not \"%s\"",
                           o->name, o->n, o->min, o->max, text);
    case OPTION_REAL:
        return usage_error(rank, "%s wants a number from %g to %g, not \"%s\"",
                           o->name, o->min, o->max, text);
    default:
        return usage_error(
            rank, "%s wants a whole number from %.0f to %.0f, not \"%s\"",
            o->name, o->min, o->max, text);
    }
}

static const option *find(const option table[], const char *word)
{
    for (const option *o = table; o->name != NULL; o++)
        if (strcmp(o->name, word) == 0)
            return o;
    return NULL;
}

int options_parse(int argc, char **argv, int rank, const option table[])
{
    for (int i = 1; i < argc; i++) {
        const option *o = find(table, argv[i]);

        if (o == NULL)
            return usage_error(rank, "unknown option: %s", argv[i]);
        if (o->kind == OPTION_FLAG) {
            *(int *)o->to = 1;
            continue;
        }
        if (i + 1 == argc)
            return usage_error(rank, "a value must follow %s", o->name);
        if (parse_value(o, argv[++i]) != 0)
            return bad_value(rank, o, argv[i]);
    }
    return 0;
}
