#include "common/neighborhood.h"

#include "common/hash.h"
#include "common/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void allocate(neighborhood *n, int side, size_t blocks)
{
    n->first[side] = bench_calloc((size_t)n->P + 1, sizeof *n->first[side]);
    n->peer[side] = bench_calloc(blocks, sizeof *n->peer[side]);
    n->bytes[side] = bench_calloc(blocks, sizeof *n->bytes[side]);
}

void neighborhood_free(neighborhood *n)
{
    for (int side = 0; side < 2; side++) {
        free(n->first[side]);
        free(n->peer[side]);
        free(n->bytes[side]);
    }
    *n = (neighborhood){0};
}

/* ---- the halo ------------------------------------------------------------ */

enum { AROUND = 26 };

/* Three factors of P, the largest first, as near to each other as can be. */
static void divide(int P, int size[3])
{
    int least = P;

    size[0] = P;
    size[1] = size[2] = 1;
    for (int c = 1; c * c <= P / c; c++)
        for (int b = c; P % c == 0 && b <= P / c / b; b++)
            if (P / c % b == 0 && P / c / b - c < least) {
                least = P / c / b - c;
                size[0] = P / c / b;
                size[1] = b;
                size[2] = c;
            }
}

/* The rank that is so far from rank r. */
static int rank_at(const int size[3], int r, const int d[3], int sign)
{
    const int at[3] = {r / size[2] / size[1], r / size[2] % size[1],
                       r % size[2]};
    int to = 0;

    for (int k = 0; k < 3; k++)
        to = to * size[k] + (at[k] + sign * d[k] + size[k]) % size[k];
    return to;
}

static void make_halo(neighborhood *n, size_t bytes)
{
    int size[3];

    divide(n->P, size);
    for (int side = 0; side < 2; side++) {
        size_t at = 0;
        allocate(n, side, AROUND * (size_t)n->P);
        for (int r = 0; r < n->P; r++) {
            for (int i = 0; i < 27; i++) {
                const int d[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
                const int zeros = !d[0] + !d[1] + !d[2];
                if (zeros == 3)
                    continue;
                n->peer[side][at] = rank_at(size, r, d, side ? -1 : 1);
                n->bytes[side][at++] = zeros == 2   ? bytes
                                       : zeros == 1 ? bytes / 16 + 1
                                                    : 8;
            }
            n->first[side][r + 1] = at;
        }
    }
}

/* ---- at random ----------------------------------------------------------- */

/* K of the other ranks for rank r, by Floyd's way: none twice. */
static void draw_peers(int P, int r, int K, int peer[])
{
    for (int i = 0; i < K; i++) {
        const int most = P - 1 - K + i;
        const uint64_t number = (uint64_t)r * (uint64_t)K + (uint64_t)i;
        int d = 1 + (int)(hash_draw(1, number) % (uint64_t)(most + 1));
        for (int k = 0; k < i; k++)
            if (peer[k] == (r + d) % P) {
                d = 1 + most;
                break;
            }
        peer[i] = (r + d) % P;
    }
}

static void turn_round(neighborhood *n, size_t bytes)
{
    const size_t blocks = n->first[0][n->P];

    allocate(n, 1, blocks);
    for (size_t i = 0; i < blocks; i++)
        n->first[1][n->peer[0][i] + 1]++;
    for (int r = 0; r < n->P; r++)
        n->first[1][r + 1] += n->first[1][r];
    size_t *const next = bench_calloc((size_t)n->P, sizeof *next);
    memcpy(next, n->first[1], (size_t)n->P * sizeof *next);
    for (int r = 0; r < n->P; r++)
        for (size_t i = n->first[0][r]; i < n->first[0][r + 1]; i++) {
            const size_t at = next[n->peer[0][i]]++;
            n->peer[1][at] = r;
            n->bytes[1][at] = bytes;
        }
    free(next);
}

static int make_random(neighborhood *n, const char *number, size_t bytes,
                       char why[], size_t room)
{
    char *end;
    const long K = strtol(number, &end, 10);

    if (*end || end == number || K < 0 || K >= n->P) {
        snprintf(why, room, "random:%s: not a number from 0 to %d", number,
                 n->P - 1);
        return -1;
    }
    allocate(n, 0, (size_t)K * (size_t)n->P);
    for (int r = 0; r < n->P; r++) {
        n->first[0][r + 1] = n->first[0][r] + (size_t)K;
        draw_peers(n->P, r, (int)K, n->peer[0] + n->first[0][r]);
    }
    for (size_t i = 0; i < n->first[0][n->P]; i++)
        n->bytes[0][i] = bytes;
    turn_round(n, bytes);
    return 0;
}

/* ---- the graph ----------------------------------------------------------- */

/* A vertex that one rank has and another needs. */
typedef struct need {
    int from, to;
    long vertex;
} need;

typedef struct graph {
    long n; /* vertices */
    size_t n_ends, room;
    long *end; /* [n_ends] two an edge */
} graph;

static int compare(const void *a, const void *b)
{
    const need *const x = a, *const y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->vertex > y->vertex) - (x->vertex < y->vertex);
}

static void add_end(graph *g, long vertex)
{
    if (g->n_ends == g->room) {
        long *const more = bench_calloc(2 * g->room + 1024, sizeof *more);
        if (g->n_ends > 0)
            memcpy(more, g->end, g->n_ends * sizeof *more);
        free(g->end);
        g->end = more;
        g->room = 2 * g->room + 1024;
    }
    g->end[g->n_ends++] = vertex;
    g->n = vertex >= g->n ? vertex + 1 : g->n;
}

static int read_graph(graph *g, const char *path, char why[], size_t room)
{
    FILE *const file = fopen(path, "r");
    char line[200];
    long u, v;

    if (!file) {
        snprintf(why, room, "%s cannot be read", path);
        return -1;
    }
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#' || line[0] == '%' ||
            sscanf(line, "%ld %ld", &u, &v) != 2 || u < 0 || v < 0)
            continue;
        add_end(g, u);
        add_end(g, v);
    }
    fclose(file);
    if (g->n_ends > 0)
        return 0;
    snprintf(why, room, "%s has no edges", path);
    return -1;
}

/* Those of both directions of all edges, each once. Returns how many. */
static size_t find_needs(const graph *g, int P, need list[])
{
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < g->n_ends; i++) {
        const long u = g->end[i], v = g->end[i ^ 1];
        const int from = (int)(u * P / g->n), to = (int)(v * P / g->n);
        if (from != to)
            list[n++] = (need){from, to, u};
    }
    if (n > 0)
        qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare(&list[i], &list[kept - 1]) != 0)
            list[kept++] = list[i];
    return kept;
}

static bool begins_block(const need list[], size_t i)
{
    return i == 0 || list[i].from != list[i - 1].from ||
           list[i].to != list[i - 1].to;
}

/* One side; the other one is sorted alike, since sources ascend. */
static void fill(neighborhood *n, int side, const need list[], size_t n_needs,
                 size_t bytes)
{
    size_t blocks = 0;
    size_t *next = bench_calloc((size_t)n->P + 1, sizeof *next);

    for (size_t i = 0; i < n_needs; i++)
        blocks += begins_block(list, i);
    allocate(n, side, blocks);
    for (size_t i = 0; i < n_needs; i++)
        if (begins_block(list, i))
            n->first[side][(side ? list[i].to : list[i].from) + 1]++;
    for (int r = 0; r < n->P; r++)
        next[r + 1] = n->first[side][r + 1] += n->first[side][r];
    for (size_t i = 0; i < n_needs; i++) {
        const int r = side ? list[i].to : list[i].from;
        next[r] += begins_block(list, i);
        n->peer[side][next[r] - 1] = side ? list[i].from : list[i].to;
        n->bytes[side][next[r] - 1] += bytes;
    }
    free(next);
}

static int make_graph(neighborhood *n, const char *path, size_t bytes,
                      char why[], size_t room)
{
    graph g = {0};
    const int err = read_graph(&g, path, why, room);

    if (err == 0) {
        need *const list = bench_calloc(g.n_ends, sizeof *list);
        const size_t n_needs = find_needs(&g, n->P, list);
        for (int side = 0; side < 2; side++)
            fill(n, side, list, n_needs, bytes);
        free(list);
    }
    free(g.end);
    return err;
}

int neighborhood_make(neighborhood *n, const char *what, int P, size_t bytes,
                      char why[], size_t room)
{
    static const char random[] = "random:";

    *n = (neighborhood){.P = P};
    if (strncmp(what, random, strlen(random)) == 0)
        return make_random(n, what + strlen(random), bytes, why, room);
    if (strcmp(what, "halo") != 0)
        return make_graph(n, what, bytes, why, room);
    make_halo(n, bytes);
    return 0;
}
