/* report.h - a table for people, JSON lines and CSV for programs. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/measure.h"

#include <stddef.h>
#include <stdio.h>

typedef struct report {
    FILE *json, *csv; /* NULL where not asked for */
    bool csv_begun;   /* its heading is written */
} report;

/* Open the files of the command line. Returns 0, or -1 with the reason in
 * error [errlen]. On one rank only, as are all functions here. */
int report_open(report *out, const options *opt, char *error, size_t errlen);

/* Likewise: an error is one of writing. */
int report_close(report *out, char *error, size_t errlen);

/* Facts of the run, above the tables. */
void report_heading(const bench_env *env);

/* The table of a cell on stdout, its results in the files. */
void report_cell(report *out, const bench_env *env, const bench_cell *cell);

/* Check that every line of a file that --json wrote is an object with exactly
 * its keys and verified, and that there is one. Returns as report_open. */
int report_check_json(const char *path, char *error, size_t errlen);

#endif
