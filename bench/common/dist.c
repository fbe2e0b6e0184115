/* dist.c - block sizes as the papers draw them, S being --sizes.
 *
 * Integer and plain double arithmetic only, no libm: ranks on machines with
 * different libraries must agree on every size.
 *
 * Sources: Fan et al., "Optimizing the Bruck algorithm for non-uniform
 * all-to-all communication", HPDC 2022, sections 4.1 and 4.3; Fan et al.,
 * "Parameterized algorithms for non-uniform all-to-all", 2025, sections 5 and
 * 6.1. Where they leave a choice open, dist_help says which one was made.
 */
#include "common/dist.h"

#include "common/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const dist_help[] = {
    "uniform        each pair draws from [0, S]",
    "window:N       [(100-N)% of S, S]; N = 100 is uniform, N = 0 all S",
    "normal         mean 1000/1024 S, deviation 240/1024 S; draws beyond three",
    "               deviations or above S are repeated",
    "normal_mid     mean S/2, deviation S/6; draws beyond three deviations are",
    "               repeated",
    "powerlaw:B     S * B^k, k drawn from [0, P), 0 < B < 1: a shape that "
    "moves",
    "               with P",
    "powerlaw4096:B S * B^k, k drawn from [0, 4096), at any P",
    "fft1           FFT of ceil(25P/32) * ceil(5P/8) * 8 points: the first",
    "               ceil(5P/8) ranks send S to each of the first ceil(25P/32)",
    "               ranks, all other blocks are empty (S = 64 in the paper)",
    "fft2           FFT of ((P-1)*32 + 8) * P points: the last rank sends S/4",
    "               to every rank, all others S (S = 512 in the paper)",
    "sparse:D       a fraction D of the pairs draws from [1, S], 0 < D <= 1",
    "matrix:FILE    P x P integers, row = source: bytes, as they are without",
    "               --sizes, else scaled so that the largest becomes S",
    "recorded:FOLDER  what ROTA_RECORD wrote there, as it is; --replay FOLDER",
    "               is the same and sets the size",
    NULL,
};

typedef struct type_row {
    const char *name;
    dist_type type;
    const char *param;  /* what follows the colon, NULL if nothing may */
    double above, most; /* above < param <= most */
} type_row;

static const type_row type_table[] = {
    {"uniform", DIST_UNIFORM, NULL, 0, 0},
    {"window", DIST_WINDOW, "percentage in [0, 100]", -1, 100},
    {"normal", DIST_NORMAL, NULL, 0, 0},
    {"normal_mid", DIST_NORMAL_MID, NULL, 0, 0},
    {"powerlaw4096", DIST_POWERLAW_4096, "base between 0 and 1", 0, 1},
    {"powerlaw", DIST_POWERLAW, "base between 0 and 1", 0, 1},
    {"fft1", DIST_FFT1, NULL, 0, 0},
    {"fft2", DIST_FFT2, NULL, 0, 0},
    {"sparse", DIST_SPARSE, "density in (0, 1]", 0, 1},
    {"matrix", DIST_MATRIX, "file name", 0, 0},
    {"recorded", DIST_RECORDED, "folder", 0, 0},
    {NULL, DIST_UNIFORM, NULL, 0, 0},
};

static const type_row *find_type(const char *text, size_t length)
{
    for (const type_row *row = type_table; row->name != NULL; row++)
        if (strlen(row->name) == length &&
            strncmp(row->name, text, length) == 0)
            return row;
    return NULL;
}

static int parse_number(const type_row *row, const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || *end != '\0' || !(*value > row->above) ||
        !(*value <= row->most) || *value < 0)
        return -1;
    return (row->type == DIST_POWERLAW || row->type == DIST_POWERLAW_4096) &&
                   *value >= 1
               ? -1
               : 0;
}

int dist_parse(const char *text, dist *d, char *error, size_t errlen)
{
    const char *colon = strchr(text, ':');
    const size_t length = colon ? (size_t)(colon - text) : strlen(text);
    const type_row *row = find_type(text, length);

    *d = (dist){.text = text};
    if (row == NULL) {
        snprintf(error, errlen, "unknown distribution '%s'", text);
        return -1;
    }
    d->type = row->type;
    if (row->param == NULL && colon != NULL) {
        snprintf(error, errlen, "distribution '%s' takes no parameter",
                 row->name);
        return -1;
    }
    if (row->param == NULL)
        return 0;
    if (colon == NULL || colon[1] == '\0') {
        snprintf(error, errlen, "distribution '%s' needs a %s after a colon",
                 row->name, row->param);
        return -1;
    }
    if (row->type == DIST_MATRIX || row->type == DIST_RECORDED) {
        d->path = colon + 1;
    } else if (parse_number(row, colon + 1, &d->param) != 0) {
        snprintf(error, errlen, "distribution '%s': '%s' is not a %s",
                 row->name, colon + 1, row->param);
        return -1;
    }
    return 0;
}

/* Next integer of the file: 1 read, 0 at the end, -1 if it is none. */
static int read_entry(FILE *file, size_t *value)
{
    char word[32], *end;

    if (fscanf(file, "%31s", word) != 1)
        return 0;
    errno = 0;
    *value = (size_t)strtoull(word, &end, 10);
    return isdigit((unsigned char)word[0]) && *end == '\0' && errno == 0 ? 1
                                                                         : -1;
}

static int read_entries(dist *d, FILE *file, int P, char *error, size_t errlen)
{
    const size_t cells = (size_t)P * (size_t)P;
    size_t surplus;

    for (size_t i = 0; i < cells; i++) {
        if (read_entry(file, &d->matrix[i]) != 1) {
            snprintf(error, errlen,
                     "matrix '%s': entry %zu of the %d x %d integers that %d "
                     "ranks need is missing or not a number of bytes",
                     d->path, i + 1, P, P, P);
            return -1;
        }
        if (d->matrix[i] > d->matrix_max)
            d->matrix_max = d->matrix[i];
    }
    if (read_entry(file, &surplus) != 0) {
        snprintf(error, errlen,
                 "matrix '%s': more than the %d x %d integers of %d ranks",
                 d->path, P, P, P);
        return -1;
    }
    return 0;
}

int dist_read_matrix(dist *d, int P, char *error, size_t errlen)
{
    FILE *file = fopen(d->path, "r");
    int status = -1;

    if (file == NULL) {
        snprintf(error, errlen, "matrix '%s': %s", d->path, strerror(errno));
        return -1;
    }
    d->matrix_max = 0;
    d->matrix = calloc((size_t)P * (size_t)P, sizeof *d->matrix);
    if (d->matrix != NULL)
        status = read_entries(d, file, P, error, errlen);
    else
        snprintf(error, errlen, "matrix '%s': out of memory", d->path);
    if (status != 0) {
        free(d->matrix);
        d->matrix = NULL;
    }
    fclose(file);
    return status;
}

/* Bias of the remainder: below (high - low) / 2^64. */
static size_t draw_range(uint64_t random, size_t low, size_t high)
{
    return low + (size_t)(random % ((uint64_t)(high - low) + 1));
}

static double draw_unit(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53; /* [0, 1) */
}

/* The sum of twelve uniform numbers has variance 1 and, within three
 * deviations, differs from the normal density by under 0.01 everywhere. */
static size_t draw_normal(uint64_t key, double mean, double deviation,
                          size_t max)
{
    for (uint64_t attempt = 0;; attempt++) {
        double z = -6, size;

        for (uint64_t i = 0; i < 12; i++)
            z += draw_unit(hash_draw(key, attempt * 12 + i));
        size = (double)max * (mean + deviation * z) / 1024;
        if (z >= -3 && z <= 3 && size <= (double)max)
            return (size_t)size;
    }
}

static size_t draw_powerlaw(uint64_t random, double base, size_t max, int P)
{
    double factor = 1;

    for (size_t k = draw_range(random, 0, (size_t)P - 1); k > 0; k >>= 1) {
        if (k & 1)
            factor *= base;
        base *= base;
    }
    return (size_t)((double)max * factor);
}

static size_t draw_sparse(uint64_t key, double density, size_t max)
{
    if (max == 0 || draw_unit(hash_draw(key, 0)) >= density)
        return 0;
    return draw_range(hash_draw(key, 1), 1, max);
}

/* ceil(P * numerator / 32) */
static int ceil_32nds(int P, int numerator)
{
    return (int)(((int64_t)P * numerator + 31) / 32);
}

static size_t matrix_bytes(const dist *d, size_t max, int P, int src, int dst)
{
    const size_t entry = d->matrix[(size_t)src * (size_t)P + (size_t)dst];

    if (max == d->matrix_max || d->matrix_max == 0)
        return entry;
    return (size_t)((double)entry / (double)d->matrix_max * (double)max);
}

static int shift(int rank, int P, uint64_t step)
{
    return (int)(((uint64_t)rank + step) % (uint64_t)P);
}

size_t dist_bytes(const dist *d, size_t max, int P, uint64_t seed, int src,
                  int dst, uint64_t step)
{
    const uint64_t key = hash_pair(seed, src, dst, step);
    const int row = shift(src, P, step), column = shift(dst, P, step);

    switch (d->type) {
    case DIST_UNIFORM:
        return draw_range(hash_draw(key, 0), 0, max);
    case DIST_WINDOW:
        return draw_range(hash_draw(key, 0),
                          (size_t)((double)max * (100 - d->param) / 100), max);
    case DIST_NORMAL:
        return draw_normal(key, 1000, 240, max);
    case DIST_NORMAL_MID:
        return draw_normal(key, 512, 512.0 / 3, max);
    case DIST_POWERLAW:
        return draw_powerlaw(hash_draw(key, 0), d->param, max, P);
    case DIST_POWERLAW_4096:
        return draw_powerlaw(hash_draw(key, 0), d->param, max, 4096);
    case DIST_FFT1:
        return row < ceil_32nds(P, 20) && column < ceil_32nds(P, 25) ? max : 0;
    case DIST_FFT2:
        return row < P - 1 ? max : max / 4;
    case DIST_SPARSE:
        return draw_sparse(key, d->param, max);
    case DIST_MATRIX:
        return matrix_bytes(d, max, P, row, column);
    case DIST_RECORDED:
        return recording_bytes(
            d->recorded, d->one ? d->first : recording_at(d->recorded, step),
            src, dst);
    }
    return 0;
}
