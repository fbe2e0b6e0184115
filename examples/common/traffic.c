/* traffic.c - see traffic.h. */
#include "traffic.h"

#include "must.h"
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of the files (src/plan/kinds/record.h). */
#define MAGIC UINT32_C(0x524f5441)
#define PLAN UINT32_C(0xffffffff)
#define START UINT32_C(0xfffffffe)
enum { EXCHANGE = 2, ONE_FILE = 1 };

typedef struct {
    uint32_t a, b;
    uint64_t c;
} entry;

static void put(FILE *out, uint32_t a, uint32_t b, uint64_t c)
{
    const entry e = {a, b, c};

    fwrite(&e, sizeof e, 1, out);
}

/* The end of what goes from at on to the same rank. */
static size_t end_of(const u64_vec *way, size_t at)
{
    size_t end = at + 1;

    while (end < way->n && way->at[end] == way->at[at])
        end++;
    return end;
}

/* What rank src sends, from *at on, where that of the next rank begins then. */
static void write_start(FILE *out, const u64_vec *way, size_t unit,
                        uint32_t src, size_t *at)
{
    size_t end = *at;
    uint64_t n = 0;

    for (; end < way->n && pair_first(way->at[end]) == src;
         end = end_of(way, end))
        n++;
    put(out, START, 0, n);
    for (size_t i = *at; i < end; i = end_of(way, i))
        put(out, pair_second(way->at[i]), 1, (end_of(way, i) - i) * unit);
    *at = end;
}

static void write_all(const traffic *t, FILE *out)
{
    size_t *const at = must_realloc(NULL, t->n_steps + 1, sizeof *at);

    memset(at, 0, (t->n_steps + 1) * sizeof *at);
    for (uint32_t q = 0; q < (uint32_t)t->P; q++) {
        put(out, MAGIC, 1, ONE_FILE);
        put(out, PLAN, 0, 1);
        put(out, (uint32_t)t->P, q, EXCHANGE);
        for (size_t i = 0; i < t->n_steps; i++)
            write_start(out, &t->step[i], t->unit, q, &at[i]);
    }
    free(at);
}

static int refuse(const char *path)
{
    complain("%s: %s", path, strerror(errno));
    return EXIT_WRONG;
}

int traffic_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : refuse(path);
}

int traffic_save(const traffic *t, const char *folder)
{
    char path[4096];

    if (traffic_folder(folder) != 0)
        return EXIT_WRONG;
    snprintf(path, sizeof path, "%s/0.rota", folder);
    FILE *const out = fopen(path, "wb");
    if (out)
        write_all(t, out);
    return !out || ferror(out) | (fclose(out) != 0) ? refuse(path) : 0;
}
