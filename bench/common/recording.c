#include "common/recording.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C(0x524f5441)
#define PLAN UINT32_C(0xffffffff)
#define START UINT32_C(0xfffffffe)
#define AGAIN UINT32_C(0xfffffffd)

typedef struct entry {
    uint32_t a, b;
    uint64_t c;
} entry;

/* What one rank sent in starts of a plan that follow each other. */
typedef struct row {
    uint64_t key;
    int rank;
    const entry *run;
    size_t n_runs;
    uint64_t times, order;
} row;

typedef struct shape {
    uint64_t times, upto; /* starts; of all up to and with this one */
    uint32_t *row;        /* [P] of what each rank sends */
} shape;

struct recording {
    int P;
    row *row;
    size_t n_rows, row_room;
    shape *shape;
    size_t n_shapes, shape_room;
    size_t largest, busiest;
    uint64_t starts, stride;
};

static void *fail(char *error, size_t errlen, const char *what, const char *why)
{
    snprintf(error, errlen, "recording '%s': %s", what, why);
    return NULL;
}

/* ---- files --------------------------------------------------------------- */

/* Append what the file has to *data. Returns false with errno set. */
static bool append(const char *path, char **data, size_t *bytes)
{
    FILE *const file = fopen(path, "rb");
    char *grown = NULL;
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file) / (long)sizeof(entry) * (long)sizeof(entry);
    if (size >= 0)
        grown = realloc(*data, *bytes + (size_t)size + 1);
    if (grown) {
        *data = grown;
        rewind(file);
        if (fread(grown + *bytes, 1, (size_t)size, file) != (size_t)size)
            size = -1;
        else
            *bytes += (size_t)size;
    }
    if (file)
        fclose(file);
    return grown && size >= 0;
}

void *recording_load(const char *folder, size_t *bytes, char *error,
                     size_t errlen)
{
    char path[4096], *data = NULL;
    uint64_t n = 1;

    *bytes = 0;
    for (uint64_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%llu.rota", folder,
                 (unsigned long long)i);
        if (!append(path, &data, bytes)) {
            free(data);
            return fail(error, errlen, path, strerror(errno));
        }
        entry first = {0};
        if (i == 0 && *bytes >= sizeof first)
            memcpy(&first, data, sizeof first);
        if (i == 0 && (first.a != MAGIC || first.b != 1)) {
            free(data);
            return fail(error, errlen, path, "is none, or of another version");
        }
        n = i == 0 ? first.c : n;
    }
    return data;
}

/* ---- rows ---------------------------------------------------------------- */

typedef struct plan {
    uint64_t key;
    int P, rank;
    size_t last; /* 1 + its last row; 0: none */
} plan;

typedef struct reader {
    const entry *at, *end;
    plan *plan; /* [n_plans] of this file */
    size_t n_plans, room;
    recording *r; /* NULL: only the number of ranks is wanted */
    int P;
} reader;

static bool take_plan(reader *f)
{
    if (f->n_plans == f->room) {
        f->room = f->room ? 2 * f->room : 64;
        plan *const grown = realloc(f->plan, f->room * sizeof *grown);
        if (!grown)
            return false;
        f->plan = grown;
    }
    const entry *const e = f->at;
    if (f->end - e < 2)
        return true;
    f->plan[f->n_plans++] = (plan){e[0].c, (int)e[1].a, (int)e[1].b, 0};
    if (!f->r && (int)e[1].a > f->P)
        f->P = (int)e[1].a;
    f->at++; /* the other one is passed by the caller */
    return true;
}

/* Are all runs of a start there? A program may have been killed. */
static bool is_whole(const reader *f)
{
    const uint64_t n = f->at->c;

    if (n >= (uint64_t)(f->end - f->at))
        return false;
    for (uint64_t i = 1; i <= n; i++)
        if (f->at[i].a >= MAGIC)
            return false;
    return true;
}

static bool take_start(reader *f)
{
    recording *const r = f->r;
    plan *const p = &f->plan[f->at->b];

    if (!r || p->P != r->P)
        return true;
    if (r->n_rows == r->row_room) {
        r->row_room = r->row_room ? 2 * r->row_room : 1024;
        row *const grown = realloc(r->row, r->row_room * sizeof *grown);
        if (!grown)
            return false;
        r->row = grown;
    }
    r->row[r->n_rows] =
        (row){p->key, p->rank, f->at + 1, f->at->c, 1, r->n_rows};
    p->last = ++r->n_rows;
    for (uint64_t i = 1; i <= f->at->c; i++)
        if (f->at[i].c > r->largest)
            r->largest = f->at[i].c;
    return true;
}

/* Returns false for want of memory. What makes no sense ends a file. */
static bool take_entries(reader *f)
{
    for (; f->at < f->end; f->at++) {
        const bool known = f->at->b < f->n_plans;
        if (f->at->a == MAGIC) {
            f->n_plans = 0;
        } else if (f->at->a == PLAN) {
            if (!take_plan(f))
                return false;
        } else if (f->at->a == START && known && is_whole(f)) {
            if (!take_start(f))
                return false;
            f->at += f->at->c;
        } else if (f->at->a == AGAIN && known && f->r &&
                   f->plan[f->at->b].last > 0) {
            f->r->row[f->plan[f->at->b].last - 1].times += f->at->c;
        }
    }
    return true;
}

static bool read_rows(const void *data, size_t bytes, recording *r, int *P)
{
    const entry *const all = data;
    reader f = {.at = all, .end = all + bytes / sizeof(entry), .r = r};
    const bool good = take_entries(&f);

    free(f.plan);
    *P = f.P;
    return good;
}

/* ---- exchanges ----------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const row *const x = a, *const y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static bool add_shape(recording *r, const uint32_t at[], uint64_t times)
{
    if (r->n_shapes == r->shape_room) {
        r->shape_room = r->shape_room ? 2 * r->shape_room : 256;
        shape *const grown = realloc(r->shape, r->shape_room * sizeof *grown);
        if (!grown)
            return false;
        r->shape = grown;
    }
    const size_t bytes = (size_t)r->P * sizeof(uint32_t);
    uint32_t *const rows = malloc(bytes);
    if (!rows)
        return false;
    memcpy(rows, at, bytes);
    r->starts += times;
    r->shape[r->n_shapes++] = (shape){times, r->starts, rows};
    return true;
}

/* Rows begin to end are of one plan: as long as all its ranks have one, their next
 * ones are an exchange. */
static bool join(recording *r, size_t begin, size_t end, uint32_t at[],
                 uint64_t left[])
{
    int ranks = 0;

    for (size_t i = begin; i < end; i++)
        if (i == begin || r->row[i].rank != r->row[i - 1].rank) {
            if (r->row[i].rank != ranks)
                return true; /* one has none */
            at[ranks] = (uint32_t)i;
            left[ranks++] = r->row[i].times;
        }
    while (ranks == r->P) {
        uint64_t times = left[0];
        for (int q = 0; q < r->P; q++)
            times = left[q] < times ? left[q] : times;
        if (!add_shape(r, at, times))
            return false;
        for (int q = 0; q < r->P; q++) {
            left[q] -= times;
            if (left[q] > 0)
                continue;
            if (++at[q] >= end || r->row[at[q]].rank != q)
                return true;
            left[q] = r->row[at[q]].times;
        }
    }
    return true;
}

static bool join_all(recording *r)
{
    uint32_t *const at = malloc((size_t)r->P * sizeof *at);
    uint64_t *const left = malloc((size_t)r->P * sizeof *left);
    bool good = at && left;

    qsort(r->row, r->n_rows, sizeof *r->row, compare_rows);
    for (size_t i = 0, end; good && i < r->n_rows; i = end) {
        for (end = i + 1; end < r->n_rows && r->row[end].key == r->row[i].key;)
            end++;
        good = join(r, i, end, at, left);
    }
    free(at);
    free(left);
    return good;
}

static void find_busiest(recording *r)
{
    double most = -1;

    for (size_t k = 0; k < r->n_shapes; k++) {
        const double bytes = recording_total(r, k) * (double)r->shape[k].times;
        if (bytes > most) {
            most = bytes;
            r->busiest = k;
        }
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A step of some 0.62 of all, which has no divisor in common with their number.
 */
static void find_stride(recording *r)
{
    r->stride = (uint64_t)((double)r->starts * 0.6180339887) + 1;
    while (common_divisor(r->stride, r->starts) > 1)
        r->stride++;
}

recording *recording_open(const void *data, size_t bytes, int P, char *error,
                          size_t errlen)
{
    recording *const r = calloc(1, sizeof *r);
    int most = 0, ignored;

    if (!r || !read_rows(data, bytes, NULL, &most))
        goto no_memory;
    r->P = P > 0 ? P : most;
    if (!read_rows(data, bytes, r, &ignored) || (r->n_rows > 0 && !join_all(r)))
        goto no_memory;
    if (r->n_shapes == 0) {
        snprintf(error, errlen,
                 "the recording has no exchange of %d ranks; the most that one "
                 "of its plans has is %d",
                 r->P, most);
        recording_close(r);
        return NULL;
    }
    find_busiest(r);
    find_stride(r);
    return r;
no_memory:
    recording_close(r);
    return fail(error, errlen, "", "out of memory");
}

void recording_close(recording *r)
{
    if (!r)
        return;
    for (size_t k = 0; k < r->n_shapes; k++)
        free(r->shape[k].row);
    free(r->shape);
    free(r->row);
    free(r);
}

/* ---- reading ------------------------------------------------------------- */

int recording_ranks(const recording *r)
{
    return r->P;
}

size_t recording_largest(const recording *r)
{
    return r->largest;
}

uint64_t recording_starts(const recording *r)
{
    return r->starts;
}

size_t recording_count(const recording *r)
{
    return r->n_shapes;
}

uint64_t recording_times(const recording *r, size_t k)
{
    return r->shape[k].times;
}

size_t recording_busiest(const recording *r)
{
    return r->busiest;
}

size_t recording_at(const recording *r, uint64_t step)
{
    const uint64_t start = step % r->starts * r->stride % r->starts;
    size_t begin = 0, end = r->n_shapes - 1;

    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (r->shape[middle].upto > start)
            end = middle;
        else
            begin = middle + 1;
    }
    return begin;
}

size_t recording_bytes(const recording *r, size_t k, int src, int dst)
{
    const row *const w = &r->row[r->shape[k].row[src]];
    size_t begin = 0, end = w->n_runs;

    /* The last run that begins no later than dst. */
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (w->run[middle].a <= (uint32_t)dst)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == 0)
        return 0;
    const entry *const e = &w->run[begin - 1];
    return (uint32_t)dst - e->a < e->b ? (size_t)e->c : 0;
}

double recording_total(const recording *r, size_t k)
{
    double bytes = 0;

    for (int q = 0; q < r->P; q++) {
        const row *const w = &r->row[r->shape[k].row[q]];
        for (size_t i = 0; i < w->n_runs; i++)
            bytes += (double)w->run[i].b * (double)w->run[i].c;
    }
    return bytes;
}

void recording_row(const recording *r, size_t k, int src, size_t bytes[])
{
    const row *const w = &r->row[r->shape[k].row[src]];

    memset(bytes, 0, (size_t)r->P * sizeof *bytes);
    for (size_t i = 0; i < w->n_runs; i++)
        for (uint64_t n = 0; n < w->run[i].b; n++)
            if (w->run[i].a + n < (uint64_t)r->P)
                bytes[w->run[i].a + n] = (size_t)w->run[i].c;
}
