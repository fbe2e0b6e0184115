/* rota_price.c - what a plan would cost at a number of ranks that need not be
 * here: the schedule of one rank, built, folded and placed without MPI; what a plan
 * expects of a run; and what a run takes when the schedules of all ranks are
 * simulated (sim/).
 *
 * Expected times are had for all algorithms, with nodes, as a plan has them
 * when it chooses: blocks in transit count as the mean of all.
 */
#include "common/dist.h"
#include "common/inside.h"
#include "common/util.h"
#include "exec/exec.h"
#include "sim/engine.h"
#include "sim/equations.h"
#include "sim/pulled.h"
#include "sim/sparse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 5, MAX_LIST = 64 };

typedef struct options {
    rota_hints algo[MAX_LIST];
    sim_form form[MAX_LIST];
    char name[MAX_LIST][64];
    int ranks[MAX_LIST];
    int n_algos, n_ranks;
    bool candidates; /* also what a plan chooses from */
    bool chosen;     /* only what it chooses */
    bool bound;      /* also what no algorithm can go below */
    size_t size;
    uint64_t seed;
    bool equal; /* all blocks of that size, else by dist */
    dist dist;
    const char *among; /* neighbours, as in neighborhood.h, or NULL */
    neighborhood neighbors;
    sim_world world;    /* of them, on world.P ranks */
    const char *replay; /* a folder, or NULL */
    void *recorded;     /* what was read of it */
    const char *prices; /* a tuning file, "usual", or NULL: no times */
    const char *price;  /* changes to them, or NULL */
    int node;           /* ranks of one; 0: all */
    int domains;        /* of a node, as the machine has them */
    int cores;          /* that all ranks share; 0: each has its own */
    int late, asking, eager, match, noise; /* as in sim/machine.h */
    bool shared;                           /* memory within nodes */
    bool simulate, known, gaps, equations;
    rota_kind kind;
} options;

static sim_machine machine_of(const options *o)
{
    sim_machine m = sim_machine_read(o->prices ? o->prices : "usual");

    if (o->price)
        sim_machine_change(&m, o->price);
    m.cores = o->cores;
    m.late = o->late;
    m.asking = o->asking;
    m.eager = o->eager;
    m.match = o->match;
    m.noise = o->noise;
    return m;
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Where a block comes from and goes to. */
typedef struct label {
    int from, to;
} label;

/* ---- neighbours ---------------------------------------------------------- */

/* Those of P ranks; NULL: it is an all-to-all. */
static const sim_world *world_of(options *o, int P)
{
    char why[300];

    if (!o->among || o->world.P == P)
        return o->among ? &o->world : NULL;
    sim_world_free(&o->world);
    neighborhood_free(&o->neighbors);
    if (neighborhood_make(&o->neighbors, o->among, P, o->size, why,
                          sizeof why) != 0)
        inside_die("--among: %s", why);
    rota_topo topo = inside_topo(P, o->node);
    sim_world_make(&o->world, &o->neighbors, &topo);
    rota_topo_free(&topo);
    return &o->world;
}

/* The schedule of rank me; all that differs is whom blocks are for. */
static void build(options *o, const rota_hints *hints, const rota_topo *topo,
                  int me, rota_sched *s, rota_choice *choice)
{
    const sim_world *const w = world_of(o, topo->P);

    if (w)
        inside_build_among(hints, topo, &w->of[me],
                           &w->crossing[topo->node[me]], me, s, choice);
    else
        inside_build_kind(hints, topo, o->kind, o->size, me, s, choice);
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
    rota_exec x = {.blocks = {.s = &k->s,
                              .types = {rota_types_bytes, rota_types_bytes,
                                        rota_types_bytes},
                              .bytes = k->bytes,
                              .offset = k->offset},
                   .fixed = true};
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

/* Of the i-th block that a rank sends, or receives. */
static size_t user_size(options *o, const rota_sched *s, int side, int i)
{
    const label sent = {s->me, i}, received = {i, s->me};

    if (s->neighbors)
        return sim_world_bytes(world_of(o, s->P), side, s->me, i);
    return size_of(o, s->P, side ? received : sent);
}

/* What passes through rank 0, of whatever rank's. */
static void find_sizes_in_transit(priced *k, const rota_hints *hints,
                                  const rota_topo *topo, options *o)
{
    sim_traffic t = {.topo = topo,
                     .dist = o->equal ? NULL : &o->dist,
                     .world = world_of(o, topo->P),
                     .largest = o->size,
                     .seed = o->seed};
    rota_choice choice;

    sim_traffic_init(&t, hints, ROTA_FIXED, &choice);
    const sim_rep *const rep = &t.rep[0];
    const rota_msgs *const l = &rep->s.msgs[ROTA_RECV];
    for (uint32_t i = 0; i < l->n_items; i++)
        k->bytes[l->item[i]] =
            sim_block(&t, rep->label[i].from, rep->label[i].to);
    for (uint32_t c = 0; c < rep->s.n_copies; c++)
        k->bytes[rep->s.copy[c].to] =
            sim_block(&t, rep->copied[c].from, rep->copied[c].to);
    sim_traffic_free(&t);
}

static void find_sizes(priced *k, const rota_hints *hints,
                       const rota_topo *topo, options *o)
{
    const rota_sched *const s = &k->s;

    if (hints->algo->sizes != ROTA_SIZES_STATED)
        find_sizes_in_transit(k, hints, topo, o);
    for (int side = 0; side < 2; side++) {
        ptrdiff_t end = 0;
        for (int i = 0; i < (side ? s->n_recv : s->n_send); i++) {
            const rota_block b = side ? rota_dst(s, i) : rota_src(s, i);
            k->bytes[b] = user_size(o, s, side, i);
            k->offset[b] = end;
            end += (ptrdiff_t)k->bytes[b];
        }
    }
    rota_sched_pad(s, o->size, k->bytes);
}

static void fold_and_place(priced *k)
{
    rota_sched_fold(&k->s, k->bytes);
    k->s.by_datatype = k->choice.params.by_datatype;
    if (rota_sched_place(&k->s, k->bytes, k->offset, &k->scratch) !=
        MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
}

/* Once with sizes, and again for the time. */
static void price(priced *k, const rota_hints *hints, const rota_topo *topo,
                  options *o)
{
    world_of(o, topo->P); /* before the clock runs */
    if (hints->algo->uniform && !o->equal)
        inside_die("%s is for blocks of one size: no --dist",
                   hints->algo->name);
    for (int i = 0; i < REPEATS; i++) {
        double begin = now_ms(), ms;
        if (i > 0)
            rota_sched_free(&k->s);
        build(o, hints, topo, 0, &k->s, &k->choice);
        ms = now_ms() - begin;
        if (i == 0) {
            const size_t n = k->s.n_blocks;
            k->bytes = inside_must(calloc(n, sizeof *k->bytes));
            k->offset = inside_must(malloc(n * sizeof *k->offset));
            find_sizes(k, hints, topo, o);
        }
        begin = now_ms();
        fold_and_place(k);
        ms += now_ms() - begin;
        k->ms = i == 0 || ms < k->ms ? ms : k->ms;
    }
    k->packing = packing(k);
}

/* ---- expected times ------------------------------------------------------ */

/* What all-to-alls of P ranks are like: over all pairs or, if there are many, a
 * sample of the senders. */
typedef struct likeness {
    double mean, density;
    double share; /* of what a rank sends, in its largest block */
} likeness;

static likeness find_likeness(options *o, int P)
{
    const sim_world *const w = world_of(o, P);
    double sum = 0, filled = 0, n = 0, share = 0, senders = 0;

    for (int src = 0; src < P; src += bench_stride(P)) {
        double sent = 0, most = 0;
        for (int i = 0; i < (w ? w->of[src].n_send : P); i++) {
            const label l = {src, i};
            const size_t bytes =
                w ? sim_world_bytes(w, 0, src, i) : size_of(o, P, l);
            sent += (double)bytes;
            most = rota_larger(most, (double)bytes);
            filled += bytes > 0;
            n++;
        }
        sum += sent;
        share += sent > 0 ? most / sent : 0;
        senders += sent > 0;
    }
    n = n > 0 ? n : 1;
    return (likeness){sum / n, filled / n, senders > 0 ? share / senders : 0};
}

/* Sizes of a rank's blocks that a plan knows; of all others the mean. */
static void expect_sizes(const rota_sched *s, options *o, double mean,
                         double bytes[])
{
    const bool known = o->kind == ROTA_FIXED;

    for (int i = 0; i < s->n_send; i++)
        bytes[rota_src(s, i)] = known ? (double)user_size(o, s, 0, i) : mean;
    for (int i = 0; i < s->n_recv; i++)
        bytes[rota_dst(s, i)] = known ? (double)user_size(o, s, 1, i) : mean;
    for (rota_block b = rota_first_tmp(s); b < s->n_blocks; b++)
        bytes[b] = s->crossing ? (double)rota_crossing_bytes(
                                     s->crossing, rota_block_slot(s, b))
                   : rota_block_is_padded(s, b) ? (double)o->size
                                                : mean;
}

static rota_choice count_rank(const rota_hints *hints, options *o,
                              const rota_topo *topo,
                              const rota_machine *machine, const likeness *like,
                              int me, rota_terms step[])
{
    rota_sched s;
    rota_choice choice;

    build(o, hints, topo, me, &s, &choice);
    double *const bytes = inside_must(malloc(s.n_blocks * sizeof *bytes));
    expect_sizes(&s, o, like->mean, bytes);
    const rota_run_kind how = {.topo = topo,
                               .network = &machine->network,
                               .native = machine->native,
                               .density = like->density,
                               .load = 1,
                               .metadata = choice.metadata,
                               .known = o->known && o->kind == ROTA_VARYING,
                               .exact = o->kind == ROTA_FIXED,
                               .leaders = rota_choice_leaders(&choice, topo),
                               .shared = o->shared};
    if (rota_cost_count(&s, bytes, &how, step) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    free(bytes);
    rota_sched_free(&s);
    return choice;
}

/* Work of every rank's beside the step that keeps ports busy the longest. */
static void add_beside(rota_cost *all, double ns)
{
    int most = 0;

    for (int i = 1; i < ROTA_STEPS; i++)
        if (all->ns[i][ROTA_PART_PORT] > all->ns[most][ROTA_PART_PORT])
            most = i;
    all->ns[most][ROTA_PART_BUSY] += ns;
}

/* Of many ranks a sample counts: all ranks of some nodes, since few of a node may
 * lead the others. Returns how far apart these nodes are, 1 for all. */
static int nodes_apart(const rota_topo *t)
{
    enum { MANY = 512 };
    const int ranks = t->P <= MANY ? t->P : BENCH_SAMPLE;
    const int nodes = ranks / rota_topo_largest_node(t);

    return (t->n_nodes - 1) / (nodes > 0 ? nodes : 1) + 1;
}

/* Does a rank of a sample count? Of a single node every so many. */
static bool is_in_sample(const rota_topo *t, int me)
{
    return t->n_nodes > 1 ? t->node[me] % nodes_apart(t) == 0
                          : me % bench_stride(t->P) == 0;
}

/* Microseconds, of a sample of the ranks if there are many; beside: nanoseconds
 * that a rank is busy while it sends between nodes, which are not in its schedule.
 */
static double expected_with(const rota_hints *hints, options *o,
                            const rota_machine *machine, int P, double beside,
                            rota_choice *choice)
{
    rota_topo topo = inside_topo(P, o->node);
    const likeness like = find_likeness(o, P);
    rota_cost all = {{{0}}};
    int n = 0;

    rota_topo_spread(&topo, o->domains);
    for (int me = 0; me < P; me++) {
        if (!is_in_sample(&topo, me))
            continue;
        rota_terms step[ROTA_STEPS];
        *choice = count_rank(hints, o, &topo, machine, &like, me, step);
        const rota_cost cost = rota_cost_of(machine, 1, step);
        rota_cost_add(&all, &cost);
        n++;
    }
    rota_topo_free(&topo);
    add_beside(&all, beside);
    return rota_cost_ns(&all, n) / 1e3;
}

static double expected_us(const rota_hints *hints, options *o,
                          const rota_machine *machine, int P,
                          rota_choice *choice)
{
    return expected_with(hints, o, machine, P, 0, choice);
}

static void print_time(const rota_choice *c, int P, double us)
{
    printf("%-20s %6d %5d %5d %7d %12.2f\n", c->algo->name, P,
           c->algo->params & ROTA_P_RADIX ? c->params.radix : 0,
           c->algo->params & ROTA_P_BATCH ? c->params.batch : 0,
           c->algo->params & ROTA_P_LEADERS ? c->params.leaders : 0, us);
}

static rota_hints hints_of(const rota_choice *c)
{
    return (rota_hints){.algo = c->algo, .metadata = -1, .params = c->params};
}

/* What a plan chooses from where nothing is said, with expected times. */
static rota_candidates find_candidates(options *o, const rota_machine *machine,
                                       int P)
{
    const rota_hints open = {.metadata = -1};
    rota_topo topo = inside_topo(P, o->node);
    const rota_plan_kind what = {.topo = &topo,
                                 .neighbors = o->among != NULL,
                                 .kind = o->kind,
                                 .max_block = o->size,
                                 .native_free = true};
    rota_candidates list;

    rota_topo_spread(&topo, o->domains);
    if (rota_candidates_find(&open, &what, &list) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    for (int i = 0; i < list.n; i++) {
        rota_choice *const c = &list.item[i].choice;
        const rota_hints hints = hints_of(c);
        list.item[i].predicted = 1e3 * expected_us(&hints, o, machine, P, c);
    }
    rota_topo_free(&topo);
    return list;
}

/* The choice first. */
static void print_candidates(options *o, const rota_machine *machine, int P)
{
    const rota_candidates list = find_candidates(o, machine, P);
    const rota_candidate *const best = rota_candidates_best(&list);

    print_time(&best->choice, P, best->predicted / 1e3);
    for (int i = 0; i < list.n; i++)
        if (&list.item[i] != best)
            print_time(&list.item[i].choice, P, list.item[i].predicted / 1e3);
}

static void print_times(options *o)
{
    const sim_machine m = machine_of(o);
    const rota_machine machine = m.prices;

    o->domains = m.net.domains;
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

/* ---- simulated times ----------------------------------------------------- */

static sim_case case_of(options *o, const rota_hints *hints, int P)
{
    return (sim_case){
        .form = {.algo = hints->algo, .cell = (int)sizeof(size_t)},
        .hints = *hints,
        .kind = o->kind,
        .P = P,
        .node = o->node,
        .shared = o->shared || hints->intranode == ROTA_INTRANODE_SHM,
        .known = o->known,
        .gaps = o->gaps,
        .dist = o->equal ? NULL : &o->dist,
        .world = world_of(o, P),
        .largest = o->size,
        .seed = o->seed};
}

/* Of a recording so many exchanges are simulated, spread over all of it; a program
 * of more is like them. */
enum { MOST_REPLAYED = 16 };

/* The mean of them. */
static sim_result replay(const sim_case *c, const sim_machine *m)
{
    const recording *const r = c->dist->recorded;
    const uint64_t starts = recording_starts(r);
    const uint64_t n = starts < MOST_REPLAYED ? starts : MOST_REPLAYED;
    sim_result all = {.us = 0};
    dist one = *c->dist;
    sim_case each = *c;

    each.dist = &one;
    for (uint64_t i = 0; i < n; i++) {
        one.first = recording_at(r, i);
        const sim_result next = sim_run(&each, m);
        all.choice = next.choice;
        all.us += next.us / (double)n;
        all.messages += next.messages / (double)n;
        all.bytes += next.bytes / (double)n;
        all.copied += next.copied / (double)n;
    }
    return all;
}

static sim_result run_case(const sim_case *c, const sim_machine *m)
{
    return c->dist && c->dist->recorded ? replay(c, m) : sim_run(c, m);
}

/* Candidates with expected and simulated times, the choice first. In the place of
 * MPI's own stands what MPICH does. */
static void simulate_candidate(options *o, const sim_machine *m,
                               const rota_candidate *k, int P)
{
    const bool native = k->choice.algo->native;
    rota_hints hints = hints_of(&k->choice);

    if (native)
        hints =
            (rota_hints){.algo = &rota_algo_mpich_scattered, .metadata = -1};
    const sim_case c = case_of(o, &hints, P);
    char name[100];
    rota_choice_name(&k->choice, name, sizeof name);
    printf("%-44s %6d %8zu %13.3f %13.3f\n", name, P, o->size,
           k->predicted / 1e3, run_case(&c, m).us);
    fflush(stdout);
}

static void simulate_candidates(options *o, const sim_machine *m, int P)
{
    const rota_candidates list = find_candidates(o, &m->prices, P);
    const rota_candidate *const best = rota_candidates_best(&list);

    printf("%-44s %6s %8s %13s %13s\n", "candidate", "P", "S", "expected, us",
           "us");
    simulate_candidate(o, m, best, P);
    for (int i = 0; i < list.n && !o->chosen; i++)
        if (&list.item[i] != best)
            simulate_candidate(o, m, &list.item[i], P);
}

/* Of a form that is no plan's schedule, with what it does beside. */
static double expected_form_us(options *o, const sim_case *c,
                               const sim_machine *m, double mean)
{
    rota_choice choice;

    if (!c->form.pulled)
        return expected_us(&c->hints, o, &m->prices, c->P, &choice);
    const sim_pulled k = sim_pulled_price(c, m, mean);
    return k.before / 1e3 +
           expected_with(&c->hints, o, &k.between, c->P, k.beside, &choice);
}

/* What the schedule's price is and what its authors expect, and of padding and
 * telling sizes which one inequality 3 has for faster. */
static void print_expected(options *o, const sim_case *c, const sim_machine *m,
                           int P)
{
    const likeness like = find_likeness(o, P);
    int number;
    const double us = sim_equation(c, m, like.mean, &number);

    printf(" %13.3f", expected_form_us(o, c, m, like.mean));
    if (number == 0) {
        printf(" %13s", "-");
        return;
    }
    printf(" %13.3f (%d)", us, number);
    if (number <= 2)
        printf(" %s", sim_padding_pays(m, P, (double)o->size) ? "padded"
                                                              : "two-phase");
}

static void simulate(options *o, const sim_machine *m, int a, int P)
{
    sim_case c = case_of(o, &o->algo[a], P);

    c.form = o->form[a];
    const sim_result r = run_case(&c, m);
    printf("%-44s %6d %8zu %13.3f %12.0f %14.0f %14.0f", o->name[a], P, o->size,
           r.us, r.messages, r.bytes, r.copied);
    if (o->equations)
        print_expected(o, &c, m, P);
    putchar('\n');
    fflush(stdout);
}

static void simulate_bound(options *o, const sim_machine *m, int P)
{
    const rota_hints none = {.metadata = -1};
    const sim_case c = case_of(o, &none, P);
    const sim_result r = sim_bound(&c, m);

    printf("%-44s %6d %8zu %13.3f %12.0f %14.0f %14.0f\n", "bound", P, o->size,
           r.us, r.messages, r.bytes, 0.0);
}

/* What the sizes are like: a line that tells them apart from others of the same
 * largest size. */
static void print_sizes(options *o, int P)
{
    const likeness like = find_likeness(o, P);

    printf("# %s, %d ranks: mean of a block as a part of S, and the largest "
           "block's part of what its sender sends: %.4f %.6f\n",
           o->among   ? o->among
           : o->equal ? "window:0"
                      : o->dist.text,
           P, o->size ? like.mean / (double)o->size : 0, like.share);
}

/* ---- sparse exchanges ---------------------------------------------------- */

static void simulate_one_sparse(options *o, const sim_machine *m, int P,
                                const char *name, sim_sparse c)
{
    c.node = o->node;
    c.among = world_of(o, P)->among;
    const sim_sparse_result r = sim_sparse_run(&c, m);
    printf("%-30s %6d %8zu %13.3f %10.0f %10.0f %10.0f %14.0f %14.0f\n", name,
           P, o->size, r.us, r.within, r.between, r.empty, r.bytes, r.copied);
    fflush(stdout);
}

static void simulate_sparse(options *o, const sim_machine *m, int a, int P)
{
    const sim_form *const f = &o->form[a];
    sim_sparse c = {.way = SIM_SPARSE_ROTA};

    if (f->algo == &rota_algo_mpich_scattered && f->by_mpi)
        c.way = SIM_SPARSE_MPI;
    else if (f->algo == &rota_algo_consensus && f->by_mpi)
        c.way = SIM_SPARSE_ALONE;
    else if (f->algo == &rota_algo_consensus_node)
        c.bundle = (size_t)o->algo[a].params.bundle;
    else if (f->algo != &rota_algo_consensus)
        inside_die("%s does no sparse exchange; these do: consensus, "
                   "consensus_node, by_hand, mpich_counts",
                   o->name[a]);
    simulate_one_sparse(o, m, P, o->name[a], c);
}

/* As rota_decide chooses. */
static void simulate_chosen_sparse(options *o, const sim_machine *m, int P)
{
    const size_t most =
        o->node > 1 && o->node < P ? rota_cost_bundle(&m->prices) : 0;
    char name[60] = "consensus";

    if (most > 0)
        snprintf(name, sizeof name, "consensus_node:bundle=%zu", most);
    simulate_one_sparse(o, m, P, name, (sim_sparse){.bundle = most});
}

static void print_sparse(options *o)
{
    const sim_machine m = machine_of(o);

    printf("%-30s %6s %8s %13s %10s %10s %10s %14s %14s\n", "algorithm", "P",
           "S", "us", "within", "between", "empty", "sent", "copied");
    for (int i = 0; i < o->n_ranks; i++) {
        for (int a = 0; a < o->n_algos; a++)
            simulate_sparse(o, &m, a, o->ranks[i]);
        if (o->candidates)
            simulate_chosen_sparse(o, &m, o->ranks[i]);
    }
}

static void print_simulated(options *o)
{
    const sim_machine m = machine_of(o);

    o->domains = m.net.domains;
    for (int i = 0; i < o->n_ranks; i++)
        print_sizes(o, o->ranks[i]);
    printf("%-44s %6s %8s %13s %12s %14s %14s%s\n", "algorithm", "P", "S", "us",
           "messages", "sent", "copied",
           o->equations ? "      priced      equation" : "");
    for (int i = 0; i < o->n_ranks; i++)
        for (int a = 0; a < o->n_algos; a++)
            simulate(o, &m, a, o->ranks[i]);
    if (o->bound && o->among)
        inside_die("--algos bound is for all-to-alls, not for --among");
    for (int i = 0; o->bound && i < o->n_ranks; i++)
        simulate_bound(o, &m, o->ranks[i]);
    for (int i = 0; o->candidates && i < o->n_ranks; i++)
        simulate_candidates(o, &m, o->ranks[i]);
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

static void print_prices(options *o)
{
    print_heading();
    for (int a = 0; a < o->n_algos; a++)
        for (int i = 0; i < o->n_ranks; i++) {
            rota_topo topo = inside_topo(o->ranks[i], o->among ? o->node : 0);
            priced k = {0};
            price(&k, &o->algo[a], &topo, o);
            print_price(&k);
            rota_sched_free(&k.s);
            free(k.bytes);
            free(k.offset);
            rota_topo_free(&topo);
        }
}

/* ---- command line -------------------------------------------------------- */

static void print_usage(void)
{
    puts(
        "usage: rota-price --algos NAME[:radix=R][:batch=B][:leaders=L]\n"
        "                      [:pieces=D][:metadata=HOW][:intranode=shm],...\n"
        "                  --ranks P,... [--size BYTES] [--dist DISTRIBUTION]\n"
        "                  [--replay FOLDER] [--among halo|random:K|FILE]\n"
        "                  [--seed N] [--node RANKS] [--shared no]\n"
        "                  [--prices FILE|usual] [--price NAME=NS,...]\n"
        "                  [--simulate] [--kind KIND]\n"
        "                  [--known no] [--gaps yes] [--equations yes]\n"
        "                  [--cores N] [--late NS] [--asking BYTES]\n"
        "                  [--eager BYTES] [--match NS] [--noise NS]\n"
        "\n"
        "Says what rank 0 has to do, send and hold in a plan for fixed\n"
        "counts, at any number of ranks, without MPI. --size is the size of\n"
        "the largest block (default 64). --dist is as in rota-bench;\n"
        "without it all blocks have that size. Columns: phases with\n"
        "messages; messages and bytes sent; bytes of scratch and of\n"
        "packing, if user buffers have no gaps; bytes of the schedule, and\n"
        "of the sizes and places beside it; milliseconds to build, fold and\n"
        "place, the best of five.\n"
        "\n"
        "With --prices: the time in microseconds that a plan expects a run\n"
        "to take, by the prices of a tuning file or the default ones\n"
        "(usual); --price changes some of them, in nanoseconds. --node ranks\n"
        "form a node and share memory. Among --algos, candidates stands for\n"
        "all that a plan chooses from by itself, its choice first; chosen is\n"
        "the first of them; bound is what no algorithm can go below: one\n"
        "message from node to node, all at once.\n"
        "\n"
        "With --among: plans for fixed counts among neighbours. halo is 27\n"
        "points in a closed grid of the ranks: faces of --size bytes, edges\n"
        "of a sixteenth and 1, corners of 8. FILE is a graph, two vertices a\n"
        "line; ranks have ranges of its vertices and get --size bytes for\n"
        "each vertex of others that has an edge to one of their own.\n"
        "random:K draws K receivers for each rank, of --size bytes each.\n"
        "\n"
        "With --replay: exchanges that ROTA_RECORD wrote to the folder,\n"
        "with --simulate the mean of 16 of them, spread over all; --ranks\n"
        "is not needed.\n"
        "\n"
        "With --simulate: the time in microseconds of an exchange in which\n"
        "the schedules of all ranks are run on a machine with these prices;\n"
        "the messages of all ranks, the bytes in them, and the bytes\n"
        "copied. The member \"network\" of the file's \"machine\" describes\n"
        "what is between nodes: shape (flat, dragonfly, fattree, torus),\n"
        "group, dims, far, taper, hop, link_byte, posted_receive, short,\n"
        "past_short, past_short_gap, ports, domains. Files for some machines\n"
        "are installed in share/rota/machines. --kind is fixed, varying or\n"
        "exchange, or sparse: with --among, sparse exchanges, by consensus,\n"
        "consensus_node, by_hand, mpich_counts or what is chosen. Columns:\n"
        "messages through memory, by MPI, and empty ones.\n"
        "--known no: send the size of a block even if its receiver knows\n"
        "the count, which plans do not do. --gaps yes: the user's blocks do\n"
        "not lie end to end. --cores N: the ranks of all nodes share N cores;\n"
        "without it each has its own. --late NS: ranks begin up to so many\n"
        "nanoseconds late. --asking BYTES: a longer message between nodes\n"
        "goes when its sender has asked and its receiver has answered.\n"
        "--eager BYTES: a message by MPI of at most so many does not wait for\n"
        "its receiver. --match NS: what MPI takes to compare a message with\n"
        "one of those that wait for it, or a receive with a message. --noise\n"
        "NS: by how much longer a rank takes to post a message, on average;\n"
        "drawn by --seed.\n"
        "--equations yes: also print the time expected\n"
        "of the schedule, and what the equations of its authors say: (1) to\n"
        "(3) of [Fan22], (6) to (10) of [Peng21].\n"
        "\n"
        "These algorithms can also be simulated as their authors run them:");
    for (const sim_form *f = sim_forms; f->name; f++)
        printf("  %-30s %s\n", f->name, f->what);
    puts("\nexample: rota-price --algos parlogna:radix=4,scattered --ranks "
         "64,1024");
}

static void parse_algos(options *o, char *list)
{
    for (char *item = strtok(list, ","); item; item = strtok(NULL, ",")) {
        if (strcmp(item, "candidates") == 0) {
            o->candidates = true;
            continue;
        }
        if (strcmp(item, "chosen") == 0) {
            o->candidates = o->chosen = true;
            continue;
        }
        if (strcmp(item, "bound") == 0) {
            o->bound = true;
            continue;
        }
        if (o->n_algos == MAX_LIST)
            inside_die("--algos: more than %d", MAX_LIST);
        snprintf(o->name[o->n_algos], sizeof o->name[0], "%s", item);
        o->form[o->n_algos] = sim_form_parse(item, &o->algo[o->n_algos]);
        o->n_algos++;
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
    if (o->dist.type == DIST_RECORDED)
        inside_die("--dist: a recording is given by --replay");
    o->equal = false;
}

/* The exchange that moved most stands for all where one is expected. */
static void load_recording(options *o)
{
    char why[300];
    size_t bytes;
    void *const data = recording_load(o->replay, &bytes, why, sizeof why);
    recording *const r =
        data ? recording_open(data, bytes, o->n_ranks ? o->ranks[0] : 0, why,
                              sizeof why)
             : NULL;

    if (!r)
        inside_die("--replay: %s", why);
    if (o->n_ranks > 1)
        inside_die("--replay: a recording is of one number of ranks");
    o->ranks[0] = recording_ranks(r);
    o->n_ranks = 1;
    o->size = recording_largest(r);
    o->equal = false;
    o->dist = (dist){.type = DIST_RECORDED,
                     .text = o->replay,
                     .recorded = r,
                     .first = recording_busiest(r),
                     .one = true};
    o->recorded = data;
    printf("# %s: %d ranks, %llu starts of %zu different exchanges\n",
           o->replay, o->ranks[0], (unsigned long long)recording_starts(r),
           recording_count(r));
}

static void parse_kind(options *o, const char *text)
{
    for (int i = 0; i < ROTA_N_KINDS; i++)
        if (strcmp(text, rota_kind_name((rota_kind)i)) == 0) {
            o->kind = (rota_kind)i;
            return;
        }
    if (strcmp(text, "sparse") != 0)
        inside_die("--kind: '%s' is none of fixed, varying, exchange, sparse",
                   text);
    o->kind = ROTA_SPARSE;
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
    else if (strcmp(name, "--replay") == 0)
        o->replay = value;
    else if (strcmp(name, "--among") == 0)
        o->among = value;
    else if (strcmp(name, "--prices") == 0)
        o->prices = value;
    else if (strcmp(name, "--price") == 0)
        o->price = value;
    else if (strcmp(name, "--node") == 0)
        o->node = inside_int(name, value, 1);
    else if (strcmp(name, "--cores") == 0)
        o->cores = inside_int(name, value, 1);
    else if (strcmp(name, "--late") == 0)
        o->late = inside_int(name, value, 0);
    else if (strcmp(name, "--asking") == 0)
        o->asking = inside_int(name, value, 1);
    else if (strcmp(name, "--eager") == 0)
        o->eager = inside_int(name, value, 0);
    else if (strcmp(name, "--match") == 0)
        o->match = inside_int(name, value, 0);
    else if (strcmp(name, "--noise") == 0)
        o->noise = inside_int(name, value, 0);
    else if (strcmp(name, "--shared") == 0)
        o->shared = strcmp(value, "no") != 0;
    else if (strcmp(name, "--known") == 0)
        o->known = strcmp(value, "no") != 0;
    else if (strcmp(name, "--equations") == 0)
        o->equations = strcmp(value, "no") != 0;
    else if (strcmp(name, "--gaps") == 0)
        o->gaps = strcmp(value, "no") != 0;
    else if (strcmp(name, "--kind") == 0)
        parse_kind(o, value);
    else
        inside_die("no option is called %s", name);
}

int main(int argc, char *argv[])
{
    options o = {.size = 64,
                 .seed = 1,
                 .domains = 1,
                 .equal = true,
                 .shared = true,
                 .known = true};

    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage();
            return EXIT_SUCCESS;
        }
        if (strcmp(argv[i], "--simulate") == 0) {
            o.simulate = true;
            i--; /* it has no value */
            continue;
        }
        parse_option(&o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
    }
    if (o.replay)
        load_recording(&o);
    if ((o.n_algos == 0 && !o.candidates && !o.bound) || o.n_ranks == 0)
        inside_die("--algos and --ranks are needed; see --help");
    if (o.candidates && !o.prices && !o.simulate)
        inside_die("--algos candidates needs --prices; see --help");
    if (o.among && (!o.equal || o.replay ||
                    (o.kind != ROTA_FIXED && o.kind != ROTA_SPARSE)))
        inside_die("--among goes with no --dist, --replay or other --kind");
    if (o.kind == ROTA_SPARSE && (!o.simulate || !o.among || o.bound))
        inside_die("--kind sparse needs --simulate and --among, and has no "
                   "bound");
    if (o.kind == ROTA_SPARSE &&
        (o.cores || o.late || o.asking || o.eager || o.match || o.noise))
        inside_die("--kind sparse has no --cores, --late, --asking, --eager, "
                   "--match or --noise");
    if (o.kind == ROTA_SPARSE)
        print_sparse(&o);
    else if (o.simulate)
        print_simulated(&o);
    else if (o.prices)
        print_times(&o);
    else
        print_prices(&o);
    sim_world_free(&o.world);
    neighborhood_free(&o.neighbors);
    return EXIT_SUCCESS;
}
