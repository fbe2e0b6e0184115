/* sim_run.c - every algorithm on simulated ranks in one process.
 *
 *     sim_run [--quick]                      the whole grid, or less of it
 *     sim_run [--quick] --shm                a grid in which shared memory
 *                                            carries what stays on a node
 *     sim_run --algo A --ranks P ... --seed  one case, as a failure prints it
 *     sim_run --events [--stir N] ...        prints what passes between ranks,
 *                                            as a hash for each case (events.h)
 *
 * --stir has ranks run in another order, and other messages come first.
 *
 * What a case is: case.h.
 */
#include "common/events.h"
#include "common/fakempi.h"
#include "common/quick.h"
#include "sim/case.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    size_t cases, points;
    size_t every; /* of the points that are left, one is run */
    bool quick, shm;
} tally;

/* ---- the grid ------------------------------------------------------------ */

/* Now and then blocks are longer than an entry of a ring, than a ring. */
static void draw_nodes(const tally *t, spec *c)
{
    enum { LONG = 2000, SELDOM = 7, FEW_RANKS = 4 };

    c->nodes = 1 + (int)(t->cases % 3);
    if (c->P <= FEW_RANKS && t->cases % SELDOM == 0)
        c->scale = LONG;
}

static bool prints_events;

static void note(int rank, bool sends, int peer, int tag, size_t bytes)
{
    events_add((events_stream){.kind = sends ? EVENTS_SENT : EVENTS_RECEIVED,
                               .rank = rank,
                               .tag = tag,
                               .peer = (uint64_t)peer},
               bytes);
}

static bool run_case(const spec *c, size_t number)
{
    uint64_t n;

    if (!sim_case_run(c))
        return false;
    const uint64_t sum = events_take(&n);
    if (prints_events)
        printf("%zu %s %d %s: %016llx %llu\n", number, c->algo->name, c->P,
               mode_name[c->mode], (unsigned long long)sum,
               (unsigned long long)n);
    return true;
}

static bool run_next(tally *t, spec c)
{
    if (t->shm)
        draw_nodes(t, &c);
    c.seed = mix(t->cases++, 7) >> 16;
    c.shape = (shape)(c.seed % N_SHAPES);
    return run_case(&c, t->cases);
}

/* A case in the plain mode, one in another, in turn, and one with other sizes
 * every run. */
static bool run_point(tally *t, spec c)
{
    const size_t n = t->cases / 3;

    if (!run_next(t, c))
        return false;
    c.seed = n;
    sim_draw_form(&c);
    c.typed = n % 3 == 1;
    c.mode = c.typed ? (mode)(n % N_MODES) : (mode)(1 + n % (N_MODES - 1));
    if (!run_next(t, c))
        return false;
    c.seed = mix(n, 1);
    sim_draw_form(&c);
    c.typed = n % 5 == 1;
    c.mode = n % 2 ? MODE_VARYING : n % 4 == 0 ? MODE_EXCHANGE : MODE_ARRAYS;
    return run_next(t, c);
}

static bool is_new(const int value[], int n)
{
    for (int i = 0; i < n; i++)
        if (value[i] == value[n])
            return false;
    return true;
}

static int near_root(int P)
{
    int r = 2;

    while (r * r < P)
        r++;
    return r;
}

/* The values of the parameter that the algorithm takes; at least one. */
static int list_values(const rota_algo *algo, int P, int value[])
{
    const int batches[] = {1, 2, 3, 5, P};
    const int radices[] = {2, 3, 4, 7, 8, near_root(P), P - 1, P};
    const bool radix = algo->params & ROTA_P_RADIX && !algo->nodes;
    int n = 0;

    if (radix && P <= 17)
        for (int r = 2; r <= P; r++)
            value[n++] = r;
    for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++) {
        value[n] = radices[i];
        n += radix && value[n] >= 2 && value[n] <= P && is_new(value, n);
    }
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        value[n] = batches[i];
        n += (algo->params & (ROTA_P_BATCH | ROTA_P_LEADERS)) &&
             is_new(value, n);
    }
    value[n] = 2;
    return n > 0 ? n : 1;
}

/* Of points of the grid above 17 ranks: one in several, more of them around the
 * multiples of 16; in a quick run at some numbers of ranks only. */
static bool skipped_above(const tally *t, int P, int n)
{
    const bool chosen = P == 23 || P == 31 || P == 32 || P == 33 || P == 64;

    if (t->quick)
        return !chosen || n % 13 != 0;
    return n % (P % 16 < 2 ? 5 : 19) != 0;
}

/* Up to 17 ranks everything. Fewer in a quick run or through shared memory, and
 * of algorithms that follow nodes, which have few cases of their own above. */
static bool skipped(const tally *t, const rota_algo *algo, int P, int pattern,
                    int value)
{
    const int n = pattern + value + P;

    if (t->shm && t->quick)
        return P > 16 || n % (P > 9 ? 61 : 29) != 0;
    if (t->shm)
        return P > 16 || n % (P > 9 ? 31 : 17) != 0;
    if (algo->nodes)
        return P > 24 || n % (t->quick ? 17 : P > 9 ? 7 : 3) != 0;
    if (P > 17)
        return skipped_above(t, P, n);
    return t->quick && n % (P > 9 ? 7 : 2) != 0;
}

static bool run_ranks(tally *t, const rota_algo *algo, int P)
{
    int value[64];
    const int n = list_values(algo, P, value);

    for (int p = 0; p < N_PATTERNS; p++)
        for (int i = 0; i < n; i++) {
            const spec c = {.algo = algo,
                            .P = P,
                            .params = {.batch = value[i],
                                       .radix = value[i] > 1 ? value[i] : 2,
                                       .leaders = value[i],
                                       .pieces = 1 + (P + value[i]) % 4},
                            .pattern = (pattern)p};
            if (!skipped(t, algo, P, p, i) && t->points++ % t->every == 0 &&
                !run_point(t, c))
                return false;
        }
    return true;
}

static int run_grid(bool quick, bool shm)
{
    enum { SLOW = 4 };
    tally t = {.every = quick && !shm && test_is_slow() ? SLOW : 1,
               .quick = quick,
               .shm = shm};

    for (int i = 0; rota_algo_table[i]; i++) {
        for (int P = 1; P <= 64; P++)
            if (!run_ranks(&t, rota_algo_table[i], P))
                return EXIT_FAILURE;
        if (!prints_events)
            printf("%s: well, %zu cases so far\n", rota_algo_table[i]->name,
                   t.cases);
    }
    return EXIT_SUCCESS;
}

/* ---- arguments ----------------------------------------------------------- */

static int index_of(const char *const name[], int n, const char *wanted)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name[i], wanted) == 0)
            return i;
    fprintf(stderr, "sim_run: unknown name %s\n", wanted);
    exit(EXIT_FAILURE);
}

static void set_option(spec *c, int option, const char *value)
{
    switch (option) {
    case 'a':
        c->algo = rota_algo_find(value);
        break;
    case 'P':
        c->P = atoi(value);
        break;
    case 'S':
        c->shape = (shape)index_of(shape_name, N_SHAPES, value);
        break;
    case 'L':
        c->params.leaders = atoi(value);
        break;
    case 'D':
        c->params.pieces = atoi(value);
        break;
    case 'p':
        c->pattern = (pattern)index_of(pattern_name, N_PATTERNS, value);
        break;
    case 'm':
        c->mode = (mode)index_of(mode_name, N_MODES, value);
        break;
    case 't':
        c->typed = atoi(value) != 0;
        break;
    case 'o':
        c->parts = atoi(value) != 0;
        break;
    case 'b':
        c->params.batch = atoi(value);
        break;
    case 'r':
        c->params.radix = atoi(value);
        break;
    case 'M':
        c->metadata =
            (rota_metadata)index_of(metadata_name, ROTA_N_METADATA, value);
        break;
    case 'B':
        c->bound = (bound)index_of(bound_name, N_BOUNDS, value);
        break;
    case 'l':
        c->lies = atoi(value) != 0;
        break;
    case 'd':
        c->params.by_datatype = atoi(value) != 0;
        break;
    case 'n':
        c->nodes = atoi(value);
        break;
    case 'x':
        c->scale = atoi(value);
        break;
    case 's':
        c->seed = strtoull(value, NULL, 10);
        break;
    default:
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char *argv[])
{
    static const struct option options[] = {
        {"quick", no_argument, NULL, 'q'},
        {"shm", no_argument, NULL, 'h'},
        {"events", no_argument, NULL, 'e'},
        {"stir", required_argument, NULL, 'i'},
        {"algo", required_argument, NULL, 'a'},
        {"ranks", required_argument, NULL, 'P'},
        {"shape", required_argument, NULL, 'S'},
        {"leaders", required_argument, NULL, 'L'},
        {"pieces", required_argument, NULL, 'D'},
        {"pattern", required_argument, NULL, 'p'},
        {"mode", required_argument, NULL, 'm'},
        {"typed", required_argument, NULL, 't'},
        {"parts", required_argument, NULL, 'o'},
        {"batch", required_argument, NULL, 'b'},
        {"radix", required_argument, NULL, 'r'},
        {"metadata", required_argument, NULL, 'M'},
        {"bound", required_argument, NULL, 'B'},
        {"lies", required_argument, NULL, 'l'},
        {"datatype", required_argument, NULL, 'd'},
        {"nodes", required_argument, NULL, 'n'},
        {"scale", required_argument, NULL, 'x'},
        {"seed", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0},
    };
    bool quick = test_is_quick(), shm = false;
    spec c = {.P = 4, .params = {.batch = 2, .radix = 2, .leaders = 2}};

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'q')
            quick = true;
        else if (o == 'h')
            shm = true;
        else if (o == 'e')
            prints_events = true;
        else if (o == 'i')
            sim_stir = strtoull(optarg, NULL, 10);
        else
            set_option(&c, o, optarg);
    }
    if (prints_events)
        fakempi_listen(note);
    if (!c.algo)
        return run_grid(quick || (test_is_slow() && !shm), shm);
    return run_case(&c, 0) ? EXIT_SUCCESS : EXIT_FAILURE;
}
