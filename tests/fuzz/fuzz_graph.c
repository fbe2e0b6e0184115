/* fuzz_graph.c - the graph readers of the examples on files that were good once:
 * edge lists and Matrix Market files whose lines and bytes were changed, plain
 * or compressed.
 *
 * Whatever is in a file, it is read or refused, with a text that begins with
 * its name. What was read is a graph; of a file left as it was, with the edges
 * that were written.
 */
#define _GNU_SOURCE
#include "fuzz/fuzz.h"
#include "graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { ROOM = 1 << 16, MOST_EDGES = 40 };

typedef struct file {
    char text[ROOM], path[60];
    size_t n;
    u64_vec names; /* of the edges written, source and target in turn */
    bool matrix, compressed, as_is;
} file;

static file the_file;
static char folder[] = "/tmp/rota-fuzz-XXXXXX";

static void clean_up(void)
{
    rmdir(folder);
    u64_vec_free(&the_file.names);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!mkdtemp(folder))
        abort();
    return atexit(clean_up);
}

/* ---- writing ------------------------------------------------------------- */

static void add(file *f, const char *format, unsigned long long a,
                unsigned long long b, unsigned long long c)
{
    char line[200];
    const int n = snprintf(line, sizeof line, format, a, b, c);

    if (f->n + (size_t)n >= ROOM)
        return;
    memcpy(f->text + f->n, line, (size_t)n);
    f->n += (size_t)n;
}

static void note_edge(file *f, uint64_t u, uint64_t v)
{
    u64_vec_push(&f->names, u);
    u64_vec_push(&f->names, v);
}

static void write_list(file *f, fuzz_bytes *b, uint64_t n)
{
    static const char *const line[] = {"%llu %llu\n", "%llu\t%llu\n",
                                       "  %llu   %llu 0.5\n", "%llu %llu\r\n",
                                       "# %llu\n%llu %llu\n"};
    const uint64_t most = fuzz_draw(b, 2) ? 20 : UINT64_MAX;

    for (uint64_t i = 0; i < n; i++) {
        const uint64_t u = fuzz_draw(b, most), v = fuzz_draw(b, most);
        const uint64_t form = fuzz_draw(b, 5);
        add(f, line[form], form == 4 ? i : u, form == 4 ? u : v, v);
        note_edge(f, u, v);
    }
}

static void write_matrix(file *f, fuzz_bytes *b, uint64_t n)
{
    static const char *const field[] = {"pattern", "real", "integer"};
    static const char *const entry[] = {"%llu %llu\n", "%llu %llu -1.5e3\n",
                                        "%llu %llu 7\n"};
    const uint64_t kind = fuzz_draw(b, 3), order = 1 + fuzz_draw(b, 30);
    const bool symmetric = fuzz_draw(b, 2);

    f->n = (size_t)snprintf(f->text, ROOM,
                            "%%%%MatrixMarket matrix coordinate %s %s\n",
                            field[kind], symmetric ? "symmetric" : "general");
    add(f, "%% %llu\n%llu ", 1, order, 0);
    add(f, "%llu %llu\n", order, n, 0);
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t u = 1 + fuzz_draw(b, order), v = 1 + fuzz_draw(b, order);
        add(f, entry[kind], u, v, 0);
        note_edge(f, u, v);
        if (symmetric)
            note_edge(f, v, u);
    }
}

static void mutate(file *f, fuzz_bytes *b)
{
    static const char piece[][24] = {"-1",
                                     "99999999999999999999",
                                     "\n",
                                     "nan",
                                     "%%MatrixMarket",
                                     "0",
                                     "\n\n#",
                                     " "};
    const size_t at = (size_t)fuzz_draw(b, f->n + 1);
    const size_t rest = f->n - at;

    f->as_is = false;
    switch (fuzz_draw(b, 4)) {
    case 0: /* cut */
        f->n = at;
        break;
    case 1: /* any byte, of those that are no text as well */
        if (rest > 0)
            f->text[at] = (char)fuzz_draw(b, 256);
        break;
    case 2: { /* take some away */
        const size_t gone = (size_t)fuzz_draw(b, rest + 1);
        memmove(f->text + at, f->text + at + gone, rest - gone);
        f->n -= gone;
        break;
    }
    default: { /* put something in, now and then a line without end */
        const char *const p = piece[fuzz_draw(b, 8)];
        const size_t times = fuzz_draw(b, 8) == 0 ? 600 : 1;
        for (size_t i = 0; i < times && f->n + strlen(p) < ROOM; i++) {
            memmove(f->text + at + strlen(p), f->text + at, f->n - at);
            memcpy(f->text + at, p, strlen(p));
            f->n += strlen(p);
        }
    }
    }
}

static void draw_file(file *f, fuzz_bytes *b)
{
    const uint64_t n = 1 + fuzz_draw(b, MOST_EDGES);

    f->n = 0;
    f->names.n = 0;
    f->as_is = true;
    f->matrix = fuzz_draw(b, 2);
    f->compressed = fuzz_draw(b, 4) == 0;
    if (f->matrix)
        write_matrix(f, b, n);
    else
        write_list(f, b, n);
    for (uint64_t i = fuzz_draw(b, 4); i > 0; i--)
        mutate(f, b);
    snprintf(f->path, sizeof f->path, "%s/graph%s%s", folder,
             f->matrix ? ".mtx" : ".txt", f->compressed ? ".gz" : "");
}

/* Now and then a compressed file is cut short. */
static void save(file *f, fuzz_bytes *b)
{
    gzFile out = gzopen(f->path, f->compressed ? "wb" : "wbT");

    if (!out || (f->n > 0 && gzwrite(out, f->text, (unsigned)f->n) <= 0) ||
        gzclose(out) != Z_OK)
        abort();
    if (!f->compressed || fuzz_draw(b, 2) == 0)
        return;
    f->as_is = false;
    if (truncate(f->path, (off_t)fuzz_draw(b, f->n / 2 + 1)) != 0)
        abort();
}

/* ---- reading ------------------------------------------------------------- */

static void wrong(const char *what, const file *f)
{
    printf("%s: %s, %zu bytes:\n%.*s\n", what, f->path, f->n,
           (int)(f->n < 2000 ? f->n : 2000), f->text);
    abort();
}

static void check_graph(const graph *g, const file *f)
{
    if (g->n_vertices == 0 || g->edges.n == 0)
        wrong("read a graph without edges", f);
    for (size_t i = 0; i < g->edges.n; i++) {
        if (i > 0 && g->edges.at[i] <= g->edges.at[i - 1])
            wrong("edges are not sorted or not distinct", f);
        if (pair_first(g->edges.at[i]) >= g->n_vertices ||
            pair_second(g->edges.at[i]) >= g->n_vertices)
            wrong("an edge has no vertex", f);
    }
}

static void check_edges(const graph *g, const file *f)
{
    char error[GRAPH_ERROR_BYTES];
    graph wanted;

    if (graph_from_names(&f->names, f->path, &wanted, error) != 0)
        wrong(error, f);
    if (g->n_vertices != wanted.n_vertices || g->edges.n != wanted.edges.n ||
        memcmp(g->edges.at, wanted.edges.at,
               wanted.edges.n * sizeof wanted.edges.at[0]) != 0)
        wrong("read other edges than were written", f);
    graph_free(&wanted);
}

static void check_read(const graph *g, const file *f)
{
    check_graph(g, f);
    if (f->as_is)
        check_edges(g, f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    file *const f = &the_file;
    fuzz_bytes b = {bytes, n};
    char error[GRAPH_ERROR_BYTES] = "";
    graph g;

    draw_file(f, &b);
    save(f, &b);
    if (graph_read(f->path, &g, error) == 0)
        check_read(&g, f);
    else if (f->as_is)
        wrong(error, f);
    else if (strncmp(error, f->path, strlen(f->path)) != 0)
        wrong("an error without the file's name", f);
    graph_free(&g);
    unlink(f->path);
    return 0;
}
