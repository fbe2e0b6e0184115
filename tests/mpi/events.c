/* events.c - prints what passes between ranks, case by case, as hashes.
 *
 * usage: events [--verbose] [--twice] [FIRST [LAST]]
 *
 * Rank 0 prints a line a case: its number and name, a hash of what making the plan
 * has posted, a hash of what its starts have, and how many events those were;
 * at the end all of them together. Two builds that print the same have done the
 * same (tests/events.sh). FIRST and LAST choose cases by number; --verbose prints
 * the streams of each rank; --twice runs some cases, each twice, and fails if
 * that makes a difference.
 *
 * Within a node only a build with ROTA_EVENTS tells what passes. That the data
 * are right is tested elsewhere.
 */
#include "events.h"
#include "algos/algo.h"
#include "harness.h"
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 3, MOST = 64 };

typedef enum kind {
    FIXED,
    IN_PLACE,
    SHARED, /* buffers of rota_mem_alloc */
    TYPED,  /* elements with gaps at the sender */
    TYPES,  /* a type for each block */
    VARYING,
    EXCHANGE,
    N_KINDS
} kind;

static const char *const kind_name[N_KINDS] = {
    "fixed", "in_place", "shared", "typed", "types", "varying", "exchange"};

typedef struct plan_case {
    const rota_algo *algo;
    kind kind;
    size_t largest; /* bytes of a block */
    const char *way;
    const char *node_size; /* NULL: as it is */
    const char *metadata;  /* NULL: by default */
    bool bounded;
} plan_case;

/* ---- blocks -------------------------------------------------------------- */

/* One in P is the largest; most others are short, if that is long. */
static size_t block_bytes(const plan_case *c, int src, int dst, int start)
{
    const size_t step = c->kind == TYPED || c->kind == TYPES ? 8 : 1;

    if (c->kind == IN_PLACE && src > dst)
        return block_bytes(c, dst, src, start);
    if (c->algo->uniform || c->largest < step)
        return c->largest;
    const uint64_t h =
        test_hash((uint64_t)((start * MOST + src) * MOST + dst) + 1000);
    if ((dst - src + test_P) % test_P == 1 % test_P)
        return c->largest / step * step;
    if (h % 5 == 0)
        return 0;
    const size_t most = c->largest > 8192 ? c->largest / 8 : c->largest;
    return (size_t)(h >> 8) % (most / step + 1) * step;
}

/* One side of a start. */
typedef struct side {
    char *memory, *other;
    bool shared;
    int count[MOST], displ[MOST];
    size_t bytes;
} side;

/* unit: bytes of an element; spread: those of its extent. */
static void count_blocks(const plan_case *c, side *s, bool sends, int start,
                         size_t unit, size_t spread)
{
    int at = 0;

    for (int q = 0; q < test_P; q++) {
        s->count[q] = (int)((sends ? block_bytes(c, test_me, q, start)
                                   : block_bytes(c, q, test_me, start)) /
                            unit);
        s->displ[q] = at;
        at += s->count[q];
    }
    s->bytes = (size_t)at * spread + 64;
}

static char *take_memory(const side *s)
{
    char *memory = NULL;

    if (s->shared)
        MUST(rota_mem_alloc(s->bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &memory));
    else
        memory = calloc(1, s->bytes);
    return memory;
}

static void open_side(side *s, bool shared)
{
    s->shared = shared;
    s->memory = take_memory(s);
    s->other = take_memory(s);
}

static void close_side(side *s)
{
    if (s->shared) {
        MUST(rota_mem_free(&s->memory));
        MUST(rota_mem_free(&s->other));
    }
    free(s->memory);
    free(s->other);
    s->memory = s->other = NULL;
}

/* ---- plans --------------------------------------------------------------- */

static MPI_Datatype gapped; /* 8 bytes in 16 */
static side out, in;
static rota_plan *plan;
static uint64_t made, ran, n_made, n_ran; /* of the current case */

static void note_made(void)
{
    made = events_take(&n_made);
}

static bool is_consensus(const plan_case *c)
{
    return strncmp(c->algo->name, "consensus", 9) == 0;
}

static MPI_Info make_info(const plan_case *c)
{
    MPI_Info info =
        test_info("rota_algorithm", c->algo->name, "rota_intranode", c->way);

    if (c->node_size)
        MPI_Info_set(info, "rota_node_size", c->node_size);
    if (c->metadata)
        MPI_Info_set(info, "rota_metadata", c->metadata);
    if (c->largest > 5000) /* else their order decides which have room */
        MPI_Info_set(info, "rota_bundle", "500");
    return info;
}

/* Ranks begin a start together, so that none finds a queue still full. */
static void run_fixed(bool in_place)
{
    for (int start = 0; plan && start < STARTS; start++) {
        test_barrier();
        if (start == STARTS - 1)
            MUST(rota_plan_set_buffers(
                plan, in_place ? MPI_IN_PLACE : out.other, in.other));
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
    }
}

static void fixed_case(const plan_case *c, MPI_Info info)
{
    const bool in_place = c->kind == IN_PLACE;
    const bool typed = c->kind == TYPED;
    MPI_Datatype contiguous;

    MPI_Type_contiguous(8, MPI_BYTE, &contiguous);
    MPI_Type_commit(&contiguous);
    count_blocks(c, &out, true, 0, typed ? 8 : 1, typed ? 16 : 1);
    count_blocks(c, &in, false, 0, typed ? 8 : 1, typed ? 8 : 1);
    open_side(&out, c->kind == SHARED);
    open_side(&in, c->kind == SHARED);
    MUST(rota_alltoallv_init(in_place ? MPI_IN_PLACE : out.memory, out.count,
                             out.displ, typed ? gapped : MPI_BYTE, in.memory,
                             in.count, in.displ, typed ? contiguous : MPI_BYTE,
                             MPI_COMM_WORLD, info, &plan));
    MPI_Type_free(&contiguous);
    note_made();
    run_fixed(in_place);
}

/* Blocks to even ranks have gaps here, blocks from odd ranks there. */
static void types_case(const plan_case *c, MPI_Info info)
{
    MPI_Datatype out_type[MOST], in_type[MOST], pair;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    count_blocks(c, &out, true, 0, 8, 16);
    count_blocks(c, &in, false, 0, 8, 16);
    for (int q = 0; q < test_P; q++) {
        out_type[q] = q % 2 ? pair : gapped;
        in_type[q] = q % 2 ? gapped : pair;
        out.displ[q] *= 16;
        in.displ[q] *= 16;
    }
    open_side(&out, false);
    open_side(&in, false);
    MUST(rota_alltoallw_init(out.memory, out.count, out.displ, out_type,
                             in.memory, in.count, in.displ, in_type,
                             MPI_COMM_WORLD, info, &plan));
    MPI_Type_free(&pair);
    note_made();
    run_fixed(false);
}

static size_t bound_of(const plan_case *c)
{
    return c->bounded ? c->largest + 8 : ROTA_UNBOUNDED;
}

static void varying_case(const plan_case *c, MPI_Info info)
{
    MUST(rota_alltoallv_varying_init(bound_of(c), MPI_BYTE, MPI_COMM_WORLD,
                                     info, &plan));
    note_made();
    for (int start = 0; plan && start < STARTS; start++) {
        count_blocks(c, &out, true, start, 1, 1);
        count_blocks(c, &in, false, start, 1, 1);
        open_side(&out, false);
        open_side(&in, false);
        test_barrier();
        MUST(rota_alltoallv_start(plan, out.memory, out.count, out.displ,
                                  in.memory, in.count, in.displ));
        MUST(rota_wait(plan));
        close_side(&out);
        close_side(&in);
    }
}

static void exchange_case(const plan_case *c, MPI_Info info)
{
    MUST(
        rota_exchange_init(bound_of(c), MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    note_made();
    for (int start = 0; plan && start < STARTS; start++) {
        void *found;
        count_blocks(c, &out, true, start, 1, 1);
        open_side(&out, false);
        test_barrier();
        MUST(rota_exchange_start(plan, out.memory, out.count, out.displ));
        MUST(rota_exchange_wait(plan, &found, NULL, NULL));
        close_side(&out);
    }
}

/* ---- few partners -------------------------------------------------------- */

/* A ring with a longer step, both ways; the same rank may come twice. */
static MPI_Comm make_ring(void)
{
    const int P = test_P, step[] = {1, 2, P - 1, P - 2 + P};
    int to[4], from[4];
    MPI_Comm ring;

    for (int i = 0; i < 4; i++) {
        to[i] = (test_me + step[i]) % P;
        from[i] = (test_me + 2 * P + P - step[i]) % P;
    }
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 4, from, MPI_UNWEIGHTED,
                                        4, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &ring));
    return ring;
}

/* All blocks of an edge i have the same length. */
static void count_edges(const plan_case *c, side *s, int start)
{
    int at = 0;

    for (int i = 0; i < 4; i++) {
        s->count[i] = (int)(c->largest >> (i + start) % 4 * 2);
        s->displ[i] = at;
        at += s->count[i];
    }
    s->bytes = (size_t)at + 64;
}

static void run_ring_varying(const plan_case *c)
{
    for (int start = 0; plan && start < STARTS; start++) {
        void *found;
        count_edges(c, &out, start);
        count_edges(c, &in, start);
        open_side(&out, false);
        open_side(&in, false);
        test_barrier();
        if (c->kind == VARYING) {
            MUST(rota_alltoallv_start(plan, out.memory, out.count, out.displ,
                                      in.memory, in.count, in.displ));
            MUST(rota_wait(plan));
        } else {
            MUST(rota_exchange_start(plan, out.memory, out.count, out.displ));
            MUST(rota_exchange_wait(plan, &found, NULL, NULL));
        }
        close_side(&out);
        close_side(&in);
    }
}

static void ring_case(const plan_case *c, MPI_Info info)
{
    MPI_Comm ring = make_ring();

    if (c->kind == VARYING || c->kind == EXCHANGE) {
        MUST((c->kind == VARYING ? rota_neighbor_alltoallv_varying_init
                                 : rota_neighbor_exchange_init)(
            bound_of(c), MPI_BYTE, ring, info, &plan));
        note_made();
        run_ring_varying(c);
    } else {
        count_edges(c, &out, 0);
        count_edges(c, &in, 0);
        open_side(&out, c->kind == SHARED);
        open_side(&in, c->kind == SHARED);
        MUST(rota_neighbor_alltoallv_init(
            out.memory, out.count, out.displ, MPI_BYTE, in.memory, in.count,
            in.displ, MPI_BYTE, ring, info, &plan));
        note_made();
        run_fixed(false);
    }
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&ring);
}

/* To a few ranks, other ones at every start. */
static void sparse_case(const plan_case *c, MPI_Info info)
{
    MUST(rota_exchange_init_sparse(MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    note_made();
    for (int start = 0; plan && start < STARTS; start++) {
        void *found;
        int dest[MOST], n = 0, n_sources;
        count_blocks(c, &out, true, start, 1, 1);
        open_side(&out, false);
        for (int q = 0; q < test_P; q++)
            if ((q + test_me + start) % 3 == 0) {
                out.count[n] = out.count[q];
                out.displ[n] = out.displ[q];
                dest[n++] = q;
            }
        test_barrier();
        MUST(rota_exchange_start_sparse(plan, out.memory, n, dest, out.count,
                                        out.displ));
        MUST(rota_exchange_wait_sparse(plan, &found, &n_sources, NULL, NULL,
                                       NULL));
        close_side(&out);
    }
}

/* ---- the grid ------------------------------------------------------------ */

static int first, last, number;
static bool twice;

/* What a case has come to on this rank; then, on all. */
typedef struct outcome {
    uint64_t made, ran, events;
} outcome;

enum { WORDS = sizeof(outcome) / sizeof(uint64_t), NAME = 100 };

static outcome *outcomes;
static char (*names)[NAME];
static int n_outcomes;

static void add_outcome(const char *name, outcome o)
{
    const size_t n = (size_t)n_outcomes + 1;

    outcomes = realloc(outcomes, n * sizeof *outcomes);
    names = realloc(names, n * sizeof *names);
    if (!outcomes || !names)
        abort();
    outcomes[n_outcomes] = o;
    memcpy(names[n_outcomes++], name, NAME);
}

/* Only now: collectives would take longer than all the rest. */
static void print_outcomes(void)
{
    const int n = n_outcomes * WORDS;
    outcome *const all = malloc(((size_t)n_outcomes + 1) * sizeof *all);
    uint64_t whole = 0;

    MPI_Reduce(outcomes, all, n, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; test_me == 0 && i < n_outcomes; i++) {
        printf("%s: made %016llx ran %016llx events %llu\n", names[i],
               (unsigned long long)all[i].made, (unsigned long long)all[i].ran,
               (unsigned long long)all[i].events);
        whole = events_mix(events_mix(whole, all[i].made), all[i].ran);
    }
    if (test_me == 0)
        printf("P=%d%s: %016llx\n", test_P,
               events_have_queues() || test_P == 1 ? "" : " (MPI only)",
               (unsigned long long)whole);
    free(all);
    free(outcomes);
    free(names);
}

static void run_once(const plan_case *c)
{
    MPI_Info info = make_info(c);
    uint64_t left;

    events_take(&left);
    if (c->algo->neighbors)
        ring_case(c, info);
    else if (is_consensus(c) && c->kind == EXCHANGE && !c->bounded)
        sparse_case(c, info);
    else if (c->kind == VARYING)
        varying_case(c, info);
    else if (c->kind == EXCHANGE)
        exchange_case(c, info);
    else if (c->kind == TYPES)
        types_case(c, info);
    else
        fixed_case(c, info);
    ran = events_take(&n_ran);
    MUST(rota_plan_free(&plan));
    close_side(&out);
    close_side(&in);
    MPI_Info_free(&info);
}

static outcome run_mixed(const plan_case *c)
{
    run_once(c);
    return (outcome){events_mix(made, (uint64_t)test_me),
                     events_mix(ran, (uint64_t)test_me), n_made + n_ran};
}

/* Many ranks run some of the cases, others for each number of ranks; twice are
 * few. */
static bool is_left_out(void)
{
    const int every = twice ? 12 * test_P : test_P < 4 ? 1 : test_P < 5 ? 2 : 3;

    return first == 1 &&
           test_hash((uint64_t)(number * MOST + test_P)) % (uint64_t)every != 0;
}

static void run_case(const plan_case *c)
{
    static char name[NAME];

    if (++number < first || number > last || is_left_out())
        return;
    snprintf(name, sizeof name, "%d %s %s %zu %s node=%s%s%s%s", number,
             c->algo->name, kind_name[c->kind], c->largest, c->way,
             c->node_size ? c->node_size : "real", c->metadata ? " " : "",
             c->metadata ? c->metadata : "", c->bounded ? " bounded" : "");
    test_case = name;
    if (events_verbose)
        fprintf(stderr, "rank %d: %s\n", test_me, name);
    if (twice) /* what the communicator keeps for later plans is then there */
        run_once(c);
    const outcome o = run_mixed(c);
    add_outcome(name, o);
    if (!twice)
        return;
    const outcome again = run_mixed(c);
    CHECK(again.made == o.made);
    CHECK(again.ran == o.ran);
}

/* What the algorithm can do of this kind. */
static bool is_possible(const rota_algo *algo, kind k)
{

    if (algo->neighbors)
        return k != IN_PLACE && k != TYPED && k != TYPES;
    if (algo->uniform)
        return k != VARYING && k != EXCHANGE;
    return k != EXCHANGE || (!algo->native && algo->sizes != ROTA_SIZES_PADDED);
}

/* Each size, way and node once; forms that only some have, in turn. */
static void run_kind(const rota_algo *algo, kind k, int i)
{
    static const size_t sizes[] = {0, 8, 500, 5000, 70000, 1 << 20};
    static const char *const ways[] = {"shm", "p2p"};
    static const char *const nodes[] = {NULL, "2", "3"};
    static const char *const forms[] = {"fused", "two_phase", "combined"};
    const bool vary = k == VARYING || k == EXCHANGE;
    const bool padded = algo->sizes == ROTA_SIZES_PADDED;

    for (int s = 0; s < 6; s++)
        for (int w = 0; w < 2; w++) {
            const int turn = i + (int)k + s + w;
            if ((s >= 4 && turn % (s == 4 ? 2 : 4) != 0) ||
                (algo->uniform && s == 5))
                continue;
            run_case(&(plan_case){.algo = algo,
                                  .kind = k,
                                  .largest = sizes[s],
                                  .way = ways[w],
                                  .node_size = nodes[turn / 2 % 3],
                                  .metadata = vary ? forms[turn % 3] : NULL,
                                  .bounded = vary && (padded || turn % 4 < 2)});
        }
}

/* Lengths at which messages begin to travel in another way. */
static void run_edges(const rota_algo *algo)
{
    static const size_t edge[] = {48, 1536, 8192, 65536};
    static const kind kinds[] = {FIXED, SHARED, VARYING};

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            for (int more = -1; more <= 1; more++)
                run_case(&(plan_case){.algo = algo,
                                      .kind = kinds[k],
                                      .largest = edge[i] + (size_t)more,
                                      .way = "shm"});
}

static void run_all(const rota_algo *const table[])
{
    for (int i = 0; table[i]; i++)
        for (int k = 0; k < N_KINDS; k++)
            if (is_possible(table[i], (kind)k))
                run_kind(table[i], (kind)k, i);
}

/* What only the first plan of a program does is left out. */
static void begin(void)
{
    const plan_case c = {
        rota_algo_table[0], FIXED, 8, "shm", NULL, NULL, false};

    MUST(rota_tuning_forget(MPI_COMM_WORLD));
    run_once(&c);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gapped);
    MPI_Datatype packed = gapped;
    MPI_Type_create_resized(packed, 0, 16, &gapped);
    MPI_Type_free(&packed);
    MPI_Type_commit(&gapped);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        events_verbose = events_verbose || strcmp(argv[i], "--verbose") == 0;
        twice = twice || strcmp(argv[i], "--twice") == 0;
    }
    first = i < argc ? atoi(argv[i]) : 1;
    last = i + 1 < argc ? atoi(argv[i + 1]) : i < argc ? first : 1 << 30;
    begin();
    run_all(rota_algo_table);
    run_all(rota_neighbor_table);
    run_edges(rota_algo_find("spread_out"));
    print_outcomes();
    MPI_Type_free(&gapped);
    return test_end();
}
