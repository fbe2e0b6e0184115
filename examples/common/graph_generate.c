/* graph_generate.c - generated graphs; see graph.h. */
#include "graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The splitmix64 sequence. */
static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return mix64(*state);
}

static void add_edge(u64_vec *names, uint64_t source, uint64_t target)
{
    u64_vec_push(names, source);
    u64_vec_push(names, target);
}

/* One street block in eight is closed. */
static int is_open(uint64_t *state)
{
    return next_random(state) % 8 != 0;
}

/* A row that loses its eastward block at some column leaves by the column's
 * other streets, so paths run on until all rows are closed in one place. */
static void generate_grid(uint64_t rows, uint64_t cols, uint64_t seed,
                          u64_vec *names)
{
    for (uint64_t c = 0; c < cols; c++) {
        for (uint64_t r = 0; r < rows; r++) {
            const uint64_t here = c * rows + r;

            if (c + 1 < cols && is_open(&seed))
                add_edge(names, here, here + rows);
            if (r + 1 < rows && is_open(&seed)) {
                add_edge(names, here, here + 1);
                add_edge(names, here + 1, here);
            }
        }
    }
}

/* Quadrant probabilities 0.57, 0.19, 0.19, 0.05 (Graph500), in thousandths of
 * 2^32 so that no floating point takes part. */
static void generate_rmat(uint64_t scale, uint64_t edge_factor, uint64_t seed,
                          u64_vec *names)
{
    const uint64_t unit = (UINT64_C(1) << 32) / 100;

    for (uint64_t i = 0; i < edge_factor << scale; i++) {
        uint64_t source = 0, target = 0;

        for (uint64_t bit = 0; bit < scale; bit++) {
            const uint64_t draw = next_random(&seed) >> 32;

            source = source << 1 | (draw >= 76 * unit);
            target = target << 1 | ((draw >= 57 * unit && draw < 76 * unit) ||
                                    draw >= 95 * unit);
        }
        add_edge(names, source, target);
    }
}

/* Read the digits at *at as a number and step behind them; 1 on success. */
static int take_number(const char **at, uint64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return 0;
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0;
}

static int take_char(const char **at, char c)
{
    const int found = **at == c;

    *at += found;
    return found;
}

/* "A<separator>B[:seed]"; 1 on success. */
static int parse_sizes(const char *at, char separator, uint64_t size[2],
                       uint64_t *seed)
{
    *seed = 1;
    return take_number(&at, &size[0]) && take_char(&at, separator) &&
           take_number(&at, &size[1]) &&
           (!take_char(&at, ':') || take_number(&at, seed)) && *at == '\0';
}

static int generate(const char *spec, u64_vec *names)
{
    uint64_t size[2], seed;

    if (strncmp(spec, "grid:", 5) == 0) {
        if (!parse_sizes(spec + 5, 'x', size, &seed) || size[0] < 1 ||
            size[1] < 1 || size[0] > PAIR_MAX_VERTICES / size[1])
            return -1;
        generate_grid(size[0], size[1], seed, names);
        return 0;
    }
    if (strncmp(spec, "rmat:", 5) == 0) {
        if (!parse_sizes(spec + 5, ':', size, &seed) || size[0] < 1 ||
            size[0] > 31 || size[1] < 1 || size[1] > 65536)
            return -1;
        generate_rmat(size[0], size[1], seed, names);
        return 0;
    }
    return -1;
}

int graph_generate(const char *spec, graph *g, char error[GRAPH_ERROR_BYTES])
{
    u64_vec names = {0};
    int err;

    *g = (graph){0};
    if (generate(spec, &names) != 0) {
        snprintf(error, GRAPH_ERROR_BYTES,
                 "cannot generate \"%.100s\": expected grid:ROWSxCOLS[:seed] "
                 "with at most %llu vertices, or rmat:SCALE:EDGEFACTOR[:seed] "
                 "with SCALE in 1..31 and EDGEFACTOR in 1..65536",
                 spec, (unsigned long long)PAIR_MAX_VERTICES);
        return -1;
    }
    err = graph_from_names(&names, spec, g, error);
    u64_vec_free(&names);
    return err;
}
