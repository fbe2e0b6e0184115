/* closure_traffic.c - what transitive_closure would send at any number of ranks,
 * found in one process.
 *
 *   closure_traffic --ranks P --out FOLDER [--iterations N] {FILE | --generate WHAT}
 *
 * Runs the same semi-naive iteration with the pairs dealt out to P ranks, which are
 * not there, and writes what each would send to each, as ROTA_RECORD writes it, all
 * ranks in one file: for rota-price --replay and, with as many ranks, rota-bench.
 * No vertex is split, and what a rank has sent once it does not send again.
 */
#include "graph.h"
#include "must.h"
#include "options.h"
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "What transitive_closure sends at P ranks, found in one process.\n"
    "\n"
    "  closure_traffic --ranks P --out FOLDER [--iterations N] FILE\n"
    "  closure_traffic --ranks P --out FOLDER --generate WHAT\n"
    "\n"
    "FILE and WHAT as of transitive_closure. FOLDER gets a file as "
    "ROTA_RECORD\n"
    "writes it, for rota-price --replay FOLDER.\n";

#define ODD UINT64_C(0x9e3779b97f4a7c15)

typedef struct {
    const char *generate, *out, *file;
    size_t ranks, iterations;
} settings;

typedef struct {
    const graph *g;
    int P;
    size_t *first;        /* [n_vertices+1] edges of each vertex */
    pair_set known, sent; /* T, and what which rank has sent */
    u64_vec delta, found;
    u64_vec *step; /* [n_steps] who sends to whom */
    size_t n_steps;
} run;

static void index_edges(run *r)
{
    const graph *const g = r->g;
    size_t e = 0;

    r->first = must_realloc(NULL, (size_t)g->n_vertices + 1, sizeof *r->first);
    for (size_t v = 0; v <= g->n_vertices; v++) {
        while (e < g->edges.n && pair_first(g->edges.at[e]) < v)
            e++;
        r->first[v] = e;
    }
}

/* What the ranks find, and who sends it to whom. */
static void join(run *r, u64_vec *way)
{
    r->found.n = 0;
    for (size_t i = 0; i < r->delta.n; i++) {
        const uint32_t x = pair_first(r->delta.at[i]);
        const uint32_t y = pair_second(r->delta.at[i]);
        const uint32_t src = (uint32_t)vertex_owner(y, r->P);

        for (size_t e = r->first[y]; e < r->first[y + 1]; e++) {
            const uint32_t z = pair_second(r->g->edges.at[e]);
            const uint64_t found = pair_pack(x, z);

            if (!pair_set_add(&r->sent, mix64(found + src * ODD)))
                continue;
            u64_vec_push(way, pair_pack(src, (uint32_t)vertex_owner(z, r->P)));
            u64_vec_push(&r->found, found);
        }
    }
    u64_vec_sort(way);
}

static int iterate(run *r)
{
    if (r->delta.n == 0)
        return 0;
    r->step = must_realloc(r->step, r->n_steps + 1, sizeof *r->step);
    r->step[r->n_steps] = (u64_vec){0};
    join(r, &r->step[r->n_steps++]);
    r->delta.n = 0;
    for (size_t i = 0; i < r->found.n; i++)
        if (pair_set_add(&r->known, r->found.at[i]))
            u64_vec_push(&r->delta, r->found.at[i]);
    return 1;
}

static void close_over(run *r, size_t iterations)
{
    for (size_t e = 0; e < r->g->edges.n; e++)
        if (pair_set_add(&r->known, r->g->edges.at[e]))
            u64_vec_push(&r->delta, r->g->edges.at[e]);
    for (size_t i = 0; i < iterations && iterate(r); i++)
        ;
}

/* ---- all of it ----------------------------------------------------------- */

static void print_result(const run *r)
{
    uint64_t pairs = 0;

    for (size_t i = 0; i < r->n_steps; i++)
        pairs += r->step[i].n;
    printf("ranks        %d\niterations   %zu\nfacts        %zu\n"
           "pairs sent   %llu\n",
           r->P, r->n_steps, r->known.n, (unsigned long long)pairs);
}

static int parse(int argc, char **argv, settings *s)
{
    const option table[] = {
        {"--generate", OPTION_WORD, &s->generate, 0, 0, 0},
        {"--out", OPTION_WORD, &s->out, 0, 0, 0},
        {"--ranks", OPTION_NUMBER, &s->ranks, 1, 1 << 20, 1},
        {"--iterations", OPTION_NUMBER, &s->iterations, 1, 1e15, 1},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};

    *s = (settings){.iterations = SIZE_MAX};
    const int err = options_parse(argc, argv, table, help, &s->file);
    if (err == 0 && (!s->out || !s->ranks || !s->file == !s->generate))
        return usage_error("--ranks, --out and one graph are needed");
    return err;
}

static int find(const settings *s)
{
    char error[GRAPH_ERROR_BYTES];
    graph g;
    run r = {.g = &g, .P = (int)s->ranks};

    if (s->file ? graph_read(s->file, &g, error)
                : graph_generate(s->generate, &g, error)) {
        fprintf(stderr, "closure_traffic: %s\n", error);
        return EXIT_WRONG;
    }
    index_edges(&r);
    close_over(&r, s->iterations);
    print_result(&r);
    const traffic t = {.P = r.P,
                       .unit = sizeof(uint64_t),
                       .n_steps = r.n_steps,
                       .step = r.step};
    const int err = traffic_save(&t, s->out);
    for (size_t i = 0; i < r.n_steps; i++)
        u64_vec_free(&r.step[i]);
    free(r.step);
    free(r.first);
    pair_set_free(&r.known);
    pair_set_free(&r.sent);
    u64_vec_free(&r.delta);
    u64_vec_free(&r.found);
    graph_free(&g);
    return err;
}

int main(int argc, char **argv)
{
    int rank, P;
    settings s;

    application_begin(&argc, &argv, &rank, &P);
    int err = parse(argc, argv, &s);
    if (err == 0 && rank == 0)
        err = find(&s);
    return application_end(err);
}
