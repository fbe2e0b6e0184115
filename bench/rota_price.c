/* rota_price.c - what a plan would cost at a number of ranks that need not be
 * here: the schedule of one rank, built, folded and placed without MPI.
 *
 * The sizes of blocks in transit are found by following the blocks. Where rank
 * p's schedule is rank 0's with all ranks shifted by p, which it is for direct
 * and for logarithmic algorithms, what rank 0 gets from rank f is what it
 * itself sends to rank -f, shifted by f: one schedule tells of all. That rank
 * 0 ends with the right block from everyone is checked; where it does not, the
 * algorithm is not of this kind and is refused.
 *
 * Expected times are had for all algorithms, with nodes, as a plan has them
 * when it chooses: blocks in transit count as the mean of all.
 */
#include "dist.h"
#include "inside.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5, MAX_LIST = 64 };

#define NO_MSG UINT32_MAX

typedef struct options {
    rota_hints algo[MAX_LIST];
    int ranks[MAX_LIST];
    int n_algos, n_ranks;
    bool candidates; /* also what a plan chooses from */
    size_t size;
    uint64_t seed;
    bool equal; /* all blocks of that size, else by dist */
    dist dist;
    const char *prices; /* a tuning file, "usual", or NULL: no times */
    int node;           /* ranks of one; 0: all */
    bool shared;        /* memory within nodes */
} options;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- following blocks ---------------------------------------------------- */

/* Where a block comes from and goes to; from < 0: not known. */
typedef struct label {
    int from, to;
} label;

typedef struct tracer {
    const rota_sched *s; /* of rank 0 */
    label *at;           /* [n_blocks] */
    uint32_t *head;      /* [P] first send to each rank not yet matched */
    uint32_t *next;      /* [n sends] the next one to the same rank */
} tracer;

static _Noreturn void not_alike(void)
{
    inside_die("this algorithm is not the same on all ranks but for a shift "
               "of ranks, and cannot be priced by one rank's schedule");
}

static void queue_sends(tracer *t)
{
    const rota_msgs *const sends = &t->s->msgs[ROTA_SEND];

    for (int p = 0; p < t->s->P; p++)
        t->head[p] = NO_MSG;
    for (uint32_t m = sends->n; m-- > 0;) {
        t->next[m] = t->head[sends->msg[m].peer];
        t->head[sends->msg[m].peer] = m;
    }
}

static void receive(tracer *t, uint32_t m)
{
    const int P = t->s->P;
    const rota_msgs *const sends = &t->s->msgs[ROTA_SEND];
    const rota_msgs *const recvs = &t->s->msgs[ROTA_RECV];
    const int peer = recvs->msg[m].peer;
    uint32_t *const head = &t->head[(P - peer) % P];
    const uint32_t sent = *head;

    if (sent == NO_MSG)
        not_alike();
    *head = t->next[sent];
    const uint32_t a = sends->msg[sent].first, b = recvs->msg[m].first;
    const uint32_t n = recvs->msg[m + 1].first - b;
    if (sends->msg[sent + 1].first - a != n)
        not_alike();
    for (uint32_t i = 0; i < n; i++) {
        const label l = t->at[sends->item[a + i]];
        if (l.from < 0)
            not_alike();
        t->at[recvs->item[b + i]] =
            (label){(l.from + peer) % P, (l.to + peer) % P};
    }
}

static void run_phase(tracer *t, const rota_phase *phase)
{
    const rota_sched *const s = t->s;

    for (uint32_t c = phase->copy; c < phase[1].copy; c++)
        t->at[s->copy[c].to] = t->at[s->copy[c].from];
    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        receive(t, m);
}

static label *trace(const rota_sched *s)
{
    const size_t n_sends = (size_t)s->msgs[ROTA_SEND].n + 1;
    tracer t = {.s = s};

    t.at = inside_must(malloc(s->n_blocks * sizeof *t.at));
    t.head = inside_must(malloc((size_t)s->P * sizeof *t.head));
    t.next = inside_must(malloc(n_sends * sizeof *t.next));
    for (rota_block b = 0; b < s->n_blocks; b++)
        t.at[b] = b < (rota_block)s->P ? (label){0, (int)b} : (label){-1, -1};
    queue_sends(&t);
    for (uint32_t p = 0; p < s->n_phases; p++)
        run_phase(&t, &s->phase[p]);
    for (int q = 0; q < s->P; q++) {
        const label l = t.at[rota_dst(s, q)];
        if (l.from != q || l.to != 0)
            not_alike();
    }
    free(t.head);
    free(t.next);
    return t.at;
}

/* ---- packing ------------------------------------------------------------- */

typedef struct priced {
    rota_sched s;
    rota_choice choice;
    size_t *bytes;     /* [n_blocks] */
    ptrdiff_t *offset; /* [n_blocks] user buffers without gaps */
    rota_scratch scratch;
    size_t packing;
    double ms;
} priced;

/* As the executor decides when it binds the schedule. */
static size_t packing(const priced *k)
{
    const rota_type plain = {MPI_BYTE, 1, 1};
    rota_exec x = {.s = &k->s,
                   .type = {plain, plain, plain},
                   .bytes = k->bytes,
                   .offset = k->offset,
                   .fixed = true,
                   .by_datatype = k->choice.params.by_datatype};
    size_t room;

    if (rota_exec_packing(&x, &room) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    return room;
}

/* ---- pricing ------------------------------------------------------------- */

static size_t size_of(const options *o, int P, label l)
{
    if (l.from < 0)
        return 0; /* never used */
    return o->equal
               ? o->size
               : dist_bytes(&o->dist, o->size, P, o->seed, l.from, l.to, 0);
}

static void find_sizes(priced *k, const options *o)
{
    const int P = k->s.P;
    label *const at = trace(&k->s);

    for (rota_block b = 0; b < k->s.n_blocks; b++)
        k->bytes[b] = size_of(o, P, at[b]);
    rota_sched_pad(&k->s, o->size, k->bytes);

    for (int side = 0; side < 2; side++) {
        ptrdiff_t end = 0;
        for (int q = 0; q < P; q++) {
            k->offset[side * P + q] = end;
            end += (ptrdiff_t)k->bytes[side * P + q];
        }
    }
    free(at);
}

static void fold_and_place(priced *k)
{
    rota_sched_fold(&k->s, k->bytes);
    if (rota_sched_place(&k->s, k->choice.params.by_datatype, k->bytes,
                         k->offset, &k->scratch) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
}

/* Once with sizes, and again for the time. */
static void price(priced *k, const rota_hints *hints, const rota_topo *topo,
                  const options *o)
{
    if (hints->algo->uniform && !o->equal)
        inside_die("%s is for blocks of one size: no --dist",
                   hints->algo->name);
    for (int i = 0; i < REPEATS; i++) {
        double begin = now_ms(), ms;
        if (i > 0)
            rota_sched_free(&k->s);
        inside_build(hints, topo, 0, &k->s, &k->choice);
        ms = now_ms() - begin;
        if (i == 0) {
            const size_t n = k->s.n_blocks;
            k->bytes = inside_must(malloc(n * sizeof *k->bytes));
            k->offset = inside_must(malloc(n * sizeof *k->offset));
            find_sizes(k, o);
        }
        begin = now_ms();
        fold_and_place(k);
        ms += now_ms() - begin;
        k->ms = i == 0 || ms < k->ms ? ms : k->ms;
    }
    k->packing = packing(k);
}

/* ---- expected times ------------------------------------------------------ */

static rota_machine read_prices(const char *path)
{
    rota_tuning t;
    FILE *const file = strcmp(path, "usual") == 0 ? NULL : fopen(path, "r");
    enum { MOST = 1 << 24 };

    if (strcmp(path, "usual") == 0)
        return rota_machine_usual;
    if (!file)
        inside_die("--prices: cannot read %s", path);
    char *const text = inside_must(malloc(MOST));
    text[fread(text, 1, MOST - 1, file)] = '\0';
    fclose(file);
    if (rota_tuning_parse(text, &t) != MPI_SUCCESS)
        inside_die("--prices: %s: %s", path, rota_fail_text());
    free(text);
    if (!t.has_machine)
        inside_die("--prices: %s has no prices", path);
    const rota_machine machine = t.machine;
    rota_tuning_free(&t);
    return machine;
}

/* What all-to-alls of P ranks are like: over all pairs or, if there are many, a
 * sample of the senders. */
typedef struct likeness {
    double mean, density;
} likeness;

static likeness find_likeness(const options *o, int P)
{
    double sum = 0, filled = 0, n = 0;

    for (int src = 0; src < P; src += bench_stride(P))
        for (int dst = 0; dst < P; dst++) {
            const label l = {src, dst};
            const size_t bytes = size_of(o, P, l);
            sum += (double)bytes;
            filled += bytes > 0;
            n++;
        }
    return (likeness){sum / n, filled / n};
}

/* Sizes of a rank's blocks; of those in transit the mean. */
static void expect_sizes(const rota_sched *s, const options *o, double mean,
                         double bytes[])
{
    for (int q = 0; q < s->P; q++) {
        const label sent = {s->me, q}, received = {q, s->me};
        bytes[rota_src(s, q)] = (double)size_of(o, s->P, sent);
        bytes[rota_dst(s, q)] = (double)size_of(o, s->P, received);
    }
    for (rota_block b = 2 * (rota_block)s->P; b < s->n_blocks; b++)
        bytes[b] = rota_block_is_padded(s, b) ? (double)o->size : mean;
}

static rota_choice count_rank(const rota_hints *hints, const options *o,
                              const rota_topo *topo, const likeness *like,
                              int me, rota_terms step[])
{
    rota_sched s;
    rota_choice choice;

    inside_build(hints, topo, me, &s, &choice);
    double *const bytes = inside_must(malloc(s.n_blocks * sizeof *bytes));
    expect_sizes(&s, o, like->mean, bytes);
    const rota_run_kind how = {.topo = topo,
                               .density = like->density,
                               .load = 1,
                               .metadata = choice.metadata,
                               .shared = o->shared};
    if (rota_cost_count(&s, bytes, &how, step) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    free(bytes);
    rota_sched_free(&s);
    return choice;
}

/* Microseconds, of a sample of the ranks if there are many. */
static double expected_us(const rota_hints *hints, const options *o,
                          const rota_machine *machine, int P,
                          rota_choice *choice)
{
    rota_topo topo = inside_topo(P, o->node);
    const likeness like = find_likeness(o, P);
    rota_cost all = {{{0}}};
    int n = 0, me = 0;

    do {
        rota_terms step[ROTA_STEPS];
        *choice = count_rank(hints, o, &topo, &like, me, step);
        const rota_cost cost = rota_cost_of(machine, step);
        rota_cost_add(&all, &cost);
        n++;
        me += bench_stride(P);
    } while (me < P);
    rota_topo_free(&topo);
    return rota_cost_ns(&all, n) / 1e3;
}

static void print_time(const rota_choice *c, int P, double us)
{
    printf("%-20s %6d %5d %5d %7d %12.2f\n", c->algo->name, P,
           c->algo->params & ROTA_P_RADIX ? c->params.radix : 0,
           c->algo->params & ROTA_P_BATCH ? c->params.batch : 0,
           c->algo->params & ROTA_P_LEADERS ? c->params.leaders : 0, us);
}

/* What a plan chooses from where nothing is said, its choice first. */
static void print_candidates(const options *o, const rota_machine *machine,
                             int P)
{
    const rota_hints open = {.metadata = -1};
    rota_topo topo = inside_topo(P, o->node);
    const rota_plan_kind what = {.topo = &topo,
                                 .kind = ROTA_FIXED,
                                 .max_block = o->size,
                                 .native_free = true};
    rota_candidates list;

    if (rota_candidates_find(&open, &what, &list) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    for (int i = 0; i < list.n; i++) {
        rota_choice *const c = &list.item[i].choice;
        const rota_hints hints = {.algo = c->algo,
                                  .metadata = -1,
                                  .radix = c->params.radix,
                                  .batch = c->params.batch,
                                  .leaders = c->params.leaders};
        list.item[i].predicted = 1e3 * expected_us(&hints, o, machine, P, c);
    }
    rota_topo_free(&topo);
    const rota_candidate *const best = rota_candidates_best(&list);
    print_time(&best->choice, P, best->predicted / 1e3);
    for (int i = 0; i < list.n; i++)
        if (&list.item[i] != best)
            print_time(&list.item[i].choice, P, list.item[i].predicted / 1e3);
}

static void print_times(const options *o)
{
    const rota_machine machine = read_prices(o->prices);

    printf("%-20s %6s %5s %5s %7s %12s\n", "algorithm", "P", "radix", "batch",
           "leaders", "us");
    for (int a = 0; a < o->n_algos; a++)
        for (int i = 0; i < o->n_ranks; i++) {
            rota_choice c;
            const double us =
                expected_us(&o->algo[a], o, &machine, o->ranks[i], &c);
            print_time(&c, o->ranks[i], us);
        }
    for (int i = 0; o->candidates && i < o->n_ranks; i++)
        print_candidates(o, &machine, o->ranks[i]);
}

/* ---- what it takes ------------------------------------------------------- */

static void print_heading(void)
{
    printf("%-16s %6s %5s %6s %8s %10s %10s %10s %10s %10s %8s\n", "algorithm",
           "P", "radix", "phases", "messages", "sent", "scratch", "packing",
           "schedule", "cells", "ms");
}

static void print_price(const priced *k)
{
    const rota_choice *const c = &k->choice;
    char radix[16] = "-";
    rota_counts n;

    rota_sched_count(&k->s, k->bytes, &n);
    if (c->algo->params & ROTA_P_RADIX)
        snprintf(radix, sizeof radix, "%d", c->params.radix);
    printf("%-16s %6d %5s %6zu %8zu %10zu %10zu %10zu %10zu %10zu %8.3f\n",
           c->algo->name, k->s.P, radix, n.rounds, n.messages, n.bytes,
           k->scratch.bytes, k->packing, rota_sched_memory(&k->s),
           k->s.n_blocks * (sizeof *k->bytes + sizeof *k->offset), k->ms);
}

/* ---- command line -------------------------------------------------------- */

static void print_usage(void)
{
    puts(
        "usage: rota-price --algos NAME[:radix=R][:batch=B],... --ranks P,...\n"
        "                  [--size BYTES] [--dist DISTRIBUTION] [--seed N]\n"
        "                  [--prices FILE|usual [--node RANKS] [--shared "
        "no]]\n"
        "\n"
        "What rank 0 has to do, send and hold in a plan for fixed counts, at\n"
        "any number of ranks, without MPI. --size is the size of the largest\n"
        "block (64), --dist as in rota-bench; without it all are that large.\n"
        "Columns: phases with messages; messages and bytes sent; bytes of\n"
        "scratch and of packing, if user buffers have no gaps; bytes of the\n"
        "schedule and of the sizes and places beside it; milliseconds to\n"
        "build, fold and place, the best of five.\n"
        "With --prices: the time that a plan expects of a run, in\n"
        "microseconds, by the prices of a tuning file or the usual ones, with\n"
        "--node ranks a node that share memory; candidates among --algos are\n"
        "all that a plan chooses from where nothing is said, its choice "
        "first.");
}

static void parse_algos(options *o, char *list)
{
    for (char *item = strtok(list, ","); item; item = strtok(NULL, ",")) {
        if (strcmp(item, "candidates") == 0) {
            o->candidates = true;
            continue;
        }
        if (o->n_algos == MAX_LIST)
            inside_die("--algos: more than %d", MAX_LIST);
        o->algo[o->n_algos++] = inside_parse(item);
    }
}

static void parse_ranks(options *o, char *list)
{
    for (char *item = strtok(list, ","); item; item = strtok(NULL, ",")) {
        if (o->n_ranks == MAX_LIST)
            inside_die("--ranks: more than %d", MAX_LIST);
        o->ranks[o->n_ranks++] = inside_int("--ranks", item, 1);
    }
}

static void parse_dist(options *o, const char *text)
{
    char why[200];

    if (dist_parse(text, &o->dist, why, sizeof why) != 0)
        inside_die("--dist: %s", why);
    if (o->dist.type == DIST_MATRIX)
        inside_die("--dist: a matrix is of one P; not here");
    o->equal = false;
}

static void parse_option(options *o, const char *name, char *value)
{
    if (!value)
        inside_die("%s: no such option, or its value is missing", name);
    if (strcmp(name, "--algos") == 0)
        parse_algos(o, value);
    else if (strcmp(name, "--ranks") == 0)
        parse_ranks(o, value);
    else if (strcmp(name, "--size") == 0)
        o->size = (size_t)inside_int(name, value, 0);
    else if (strcmp(name, "--seed") == 0)
        o->seed = (uint64_t)inside_int(name, value, 0);
    else if (strcmp(name, "--dist") == 0)
        parse_dist(o, value);
    else if (strcmp(name, "--prices") == 0)
        o->prices = value;
    else if (strcmp(name, "--node") == 0)
        o->node = inside_int(name, value, 1);
    else if (strcmp(name, "--shared") == 0)
        o->shared = strcmp(value, "no") != 0;
    else
        inside_die("no option is called %s", name);
}

int main(int argc, char *argv[])
{
    options o = {.size = 64, .seed = 1, .equal = true, .shared = true};

    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage();
            return EXIT_SUCCESS;
        }
        parse_option(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
    }
    if ((o.n_algos == 0 && !o.candidates) || o.n_ranks == 0)
        inside_die("--algos and --ranks are needed; see --help");
    if (o.candidates && !o.prices)
        inside_die("--algos candidates needs --prices; see --help");
    if (o.prices) {
        print_times(&o);
        return EXIT_SUCCESS;
    }
    print_heading();
    for (int a = 0; a < o.n_algos; a++)
        for (int i = 0; i < o.n_ranks; i++) {
            rota_topo topo = inside_topo(o.ranks[i], 0);
            priced k = {0};
            price(&k, &o.algo[a], &topo, &o);
            print_price(&k);
            rota_sched_free(&k.s);
            free(k.bytes);
            free(k.offset);
            rota_topo_free(&topo);
        }
    return EXIT_SUCCESS;
}
