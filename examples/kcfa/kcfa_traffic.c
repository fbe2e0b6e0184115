/* kcfa_traffic.c - what kcfa would send at any numbers of ranks, found in one
 * process.
 *
 *   kcfa_traffic --ranks P,... --out FOLDER [--program WHAT] [--k K] [--keep N]
 *
 * Facts go from the owner of the address at which they are found to that of their
 * own, and both are known by a hash, whatever the number of ranks: the analysis is
 * run once, without ranks, and its exchanges are dealt out to each number of them.
 */
#include "joins.h"
#include "must.h"
#include "options.h"
#include "traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "What kcfa sends at P ranks, found in one process.\n"
    "\n"
    "  kcfa_traffic --ranks P,... --out FOLDER [OPTIONS]\n"
    "\n"
    "  --program WHAT, --k K  as of kcfa\n"
    "  --keep N          exchanges of N iterations are written (default 16): "
    "of\n"
    "                    more than twice as many, every second, fourth, ...\n"
    "\n"
    "FOLDER/P gets a file as ROTA_RECORD writes it, for rota-price --replay\n"
    "FOLDER/P.\n";

enum { MOST_RANKS = 16 };

typedef struct {
    const char *program, *ranks, *out;
    size_t k, keep;
} settings;

typedef struct {
    joins j;
    fact_set facts;
    size_t now;    /* the fact that is joined */
    u64_vec found; /* facts, one after the other */
    u64_vec *step; /* [n_steps] hashes of owners: from, to */
    size_t n_steps, n_iterations, stride;
    uint64_t n_found;
} run;

static uint32_t owner_hash(const uint64_t *fact)
{
    return (uint32_t)(address_hash(fact) >> 32);
}

/* The first fact is with rank 0, wherever it belongs. */
static uint32_t where(const run *r, size_t i)
{
    return i == 0 ? 0 : owner_hash(fact_at(&r->facts, i));
}

static int is_kept(const run *r)
{
    return r->n_iterations % r->stride == 0;
}

static void find(void *to, const uint64_t *fact)
{
    run *r = to;

    u64_vec_reserve(&r->found, r->found.n + r->j.width);
    memcpy(r->found.at + r->found.n, fact, r->j.width * sizeof fact[0]);
    r->found.n += r->j.width;
    if (is_kept(r))
        u64_vec_push(&r->step[r->n_steps],
                     pair_pack(where(r, r->now), owner_hash(fact)));
}

/* Of those kept, every second. */
static void thin_out(run *r)
{
    for (size_t i = 0; i < r->n_steps; i++) {
        if (i % 2)
            u64_vec_free(&r->step[i]);
        else
            r->step[i / 2] = r->step[i];
    }
    r->n_steps = (r->n_steps + 1) / 2;
    r->stride *= 2;
}

static void iterate(run *r, size_t *first_new, size_t keep)
{
    const size_t end = r->facts.n;

    if (r->n_steps == 2 * keep)
        thin_out(r);
    r->step[r->n_steps] = (u64_vec){0};
    r->found.n = 0;
    for (r->now = *first_new; r->now < end; r->now++)
        join_new(&r->j, r->now);
    *first_new = end;
    for (size_t i = 0; i < r->found.n; i += r->j.width)
        (void)fact_set_add(&r->facts, r->found.at + i);
    r->n_found += r->found.n / r->j.width;
    r->n_steps += (size_t)is_kept(r);
    r->n_iterations++;
}

static void analyse(run *r, const program *p, size_t keep)
{
    const uint64_t env[1] = {0};
    size_t first_new = 0;

    fact_set_make(&r->facts, analysis_width(p));
    joins_make(&r->j, p, &r->facts, find, r);
    r->stride = 1;
    r->step = must_realloc(NULL, 2 * keep + 1, sizeof *r->step);
    state_fact(p, 0, env, r->j.fresh);
    (void)fact_set_add(&r->facts, r->j.fresh);
    while (first_new < r->facts.n)
        iterate(r, &first_new, keep);
}

/* The exchanges as P ranks make them. */
static int deal(const run *r, int P, const char *out)
{
    const uint32_t n = (uint32_t)P;
    u64_vec *const step = must_realloc(NULL, r->n_steps + 1, sizeof *step);
    char folder[4096];

    for (size_t i = 0; i < r->n_steps; i++) {
        const u64_vec *const from = &r->step[i];
        step[i] = (u64_vec){0};
        u64_vec_reserve(&step[i], from->n);
        for (size_t k = 0; k < from->n; k++)
            u64_vec_push(&step[i], pair_pack(pair_first(from->at[k]) % n,
                                             pair_second(from->at[k]) % n));
        u64_vec_sort(&step[i]);
    }
    const traffic t = {.P = P,
                       .unit = r->j.width * sizeof(uint64_t),
                       .n_steps = r->n_steps,
                       .step = step};
    snprintf(folder, sizeof folder, "%s/%d", out, P);
    const int err = traffic_save(&t, folder);
    for (size_t i = 0; i < r->n_steps; i++)
        u64_vec_free(&step[i]);
    free(step);
    return err;
}

static int deal_all(const run *r, const int P[], int n, const char *out)
{
    int err = traffic_folder(out);

    for (int i = 0; i < n && err == 0; i++)
        err = deal(r, P[i], out);
    return err;
}

static void print_result(const run *r)
{
    printf("fact         %zu bytes\niterations   %zu\nwritten      %zu\n"
           "facts        %zu\nfacts sent   %llu\nmemory       %llu MiB\n",
           r->j.width * sizeof(uint64_t), r->n_iterations, r->n_steps,
           r->facts.n, (unsigned long long)r->n_found,
           (unsigned long long)memory_peak());
}

/* Numbers with commas between them; how many, 0 if text is not that. */
static int parse_ranks(const char *text, int P[MOST_RANKS])
{
    int n = 0;

    for (char *end; n < MOST_RANKS; text = end + 1) {
        const long value = strtol(text, &end, 10);
        if (end == text || value < 1 || value > 1 << 20)
            return 0;
        P[n++] = (int)value;
        if (*end == '\0')
            return n;
        if (*end != ',')
            return 0;
    }
    return 0;
}

static int parse(int argc, char **argv, settings *s)
{
    const option table[] = {{"--program", OPTION_WORD, &s->program, 0, 0, 0},
                            {"--k", OPTION_NUMBER, &s->k, 0, PROGRAM_MAX_K, 1},
                            {"--out", OPTION_WORD, &s->out, 0, 0, 0},
                            {"--ranks", OPTION_WORD, &s->ranks, 0, 0, 0},
                            {"--keep", OPTION_NUMBER, &s->keep, 1, 1e6, 1},
                            {NULL, OPTION_FLAG, NULL, 0, 0, 0}};

    *s = (settings){.program = "worst:4:8", .k = 4, .keep = 16};
    const int err = options_parse(argc, argv, table, help, NULL);
    if (err == 0 && (!s->out || !s->ranks))
        return usage_error("--ranks and --out are needed");
    return err;
}

static int run_all(const settings *s)
{
    char error[PROGRAM_ERROR_BYTES] = "";
    int P[MOST_RANKS];
    const int n = parse_ranks(s->ranks, P);
    program p;
    run r = {.n_steps = 0};

    if (n == 0)
        return usage_error("--ranks: '%s' is no list of at most %d numbers "
                           "from 1 to %d",
                           s->ranks, MOST_RANKS, 1 << 20);
    memory_limit(0);
    int err = program_generate(s->program, (int)s->k, &p, error);
    if (err != 0) {
        complain("%s", error);
        err = EXIT_WRONG;
    } else {
        analyse(&r, &p, s->keep);
        print_result(&r);
        err = deal_all(&r, P, n, s->out);
        joins_free(&r.j);
        fact_set_free(&r.facts);
    }
    for (size_t i = 0; i < r.n_steps; i++)
        u64_vec_free(&r.step[i]);
    free(r.step);
    u64_vec_free(&r.found);
    program_free(&p);
    return err;
}

int main(int argc, char **argv)
{
    settings s;
    int rank, P;

    application_begin(&argc, &argv, &rank, &P);
    int err = parse(argc, argv, &s);
    if (err == 0 && rank == 0)
        err = run_all(&s);
    return application_end(err);
}
