/* soak.c - plans of all kinds, made, started, waited for and freed at random,
 * many in flight, for as long as one likes.
 *
 * usage: soak [--seed S] [--seconds T] [--rounds N]
 *
 * A generation has a seed of its own, S + i, and is some dozens of rounds on
 * plans of random_plan.h. In a round some of them are started, on every rank in
 * an order of its own, and some are completed; others stay active through later
 * rounds, and while plans are freed and made. Between starts buffers give way to
 * others, or their pages to others at the same address; receives of the program's
 * own are open for messages from anybody. All data are checked. In the end all is
 * freed, and what the process holds is written down: allocations of the
 * library and of this program (by the linker's --wrap), shared memory, mappings
 * and descriptors, of which there must be as many as after the first ones; and
 * resident memory, which must not grow but for what MPI keeps.
 *
 * What is drawn is the same when a generation is run again; who is faster than
 * whom is not. An hour of it, at one number of ranks after the other:
 *
 *   for P in 1 2 3 4 5 6 7 8 9 16 33; do
 *       mpiexec -n $P build/tests/mpi/mpi_soak --seed ${P}000000 --seconds 330
 *   done
 */
#define _GNU_SOURCE
#include "base/err.h"
#include "common/quick.h"
#include "exec/memory/arena.h"
#include "random_plan.h"

#include <getopt.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SECONDS = 30,
    QUICK_SECONDS = 6,
    ROUNDS = 30,
    PLANS = 10,
    COMMS = 2,
    WARM = 10
};
enum { LEAST = 3 }; /* generations, however long they take */
enum { ROUND_SECONDS = 100, LONG_ROUND_SECONDS = 600 }; /* beside other work */

typedef struct soak {
    uint64_t seed; /* of the generation */
    uint64_t own;  /* of this rank's next draw */
    int rounds;
    unsigned patience; /* seconds for a round */
    MPI_Comm comm[COMMS];
    random_graph graph[COMMS];
    random_plan plan[PLANS]; /* no plan where args.plan is NULL */
    long made, refused, started;
    long of_kind[RANDOM_KINDS][2]; /* starts: among all ranks, neighbours */
} soak;

static soak s = {.seed = 1, .rounds = ROUNDS, .patience = ROUND_SECONDS};

/* ---- plans --------------------------------------------------------------- */

/* This rank's alone; other draws are the same on all ranks. */
static uint64_t draw_own(uint64_t bound)
{
    return mix(s.seed * 64 + (uint64_t)test_me, s.own++) % bound;
}

static void complete(random_plan *r)
{
    if (!r->active)
        return;
    if (draw_own(2))
        random_plan_wait(r);
    else
        while (!random_plan_test(r))
            ;
}

static void drop(random_plan *r)
{
    if (!r->args.plan)
        return;
    complete(r);
    random_plan_free(r);
}

/* Collective, with other plans active. Hints may be refused, by all alike. */
static void make(random_plan *r, uint64_t seed)
{
    static char text[400];
    const int i = (int)(seed % COMMS);

    random_plan_draw(r, seed, s.comm[i], &s.graph[i]);
    r->renews = true;
    random_plan_print(r, text, sizeof text);
    test_case = text;
    const int err = random_plan_init(r);
    if (err == MPI_SUCCESS) {
        s.made++;
        return;
    }
    if (r->may_refuse)
        MUST_FAIL(err, MPI_ERR_ARG, "");
    else
        MUST(err);
    s.refused++;
    random_plan_free(r);
}

/* ---- rounds -------------------------------------------------------------- */

/* One that is active must be complete first. All ranks have started it before
 * this round, so none that it waits for waits for this one. */
static void start(random_plan *r)
{
    complete(r);
    random_plan_fill(r);
    MUST(random_plan_start(r));
    s.started++;
    s.of_kind[r->kind][r->neighbors]++;
    random_plan *const other = &s.plan[draw_own(PLANS)];
    if (other->active)
        random_plan_test(other);
}

static void shuffle(int order[PLANS])
{
    for (int i = 0; i < PLANS; i++) {
        const int j = (int)draw_own((uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void run_round(uint64_t round)
{
    const uint64_t chosen = mix(s.seed, round * 8 + 1);
    int order[PLANS];

    shuffle(order);
    for (int i = 0; i < PLANS; i++)
        if (s.plan[order[i]].args.plan && chosen >> order[i] & 1)
            start(&s.plan[order[i]]);
    shuffle(order);
    for (int i = 0; i < PLANS; i++)
        if (draw_own(4) > 0)
            complete(&s.plan[order[i]]);
}

/* ---- other messages ------------------------------------------------------ */

/* The program's own receives, from anybody, on the communicators that plans are of:
 * no message of a plan may come to them. */
typedef struct own_message {
    MPI_Request request;
    int token;
} own_message;

static own_message own[COMMS];

static void expect_own(int i)
{
    own[i].token = -1;
    MUST(MPI_Irecv(&own[i].token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                   s.comm[i], &own[i].request));
}

static void look_for_strangers(int i)
{
    int flag;

    MUST(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, s.comm[i], &flag,
                    MPI_STATUS_IGNORE));
    CHECK(!flag);
    CHECK(own[i].token == -1);
}

static void send_own(int i)
{
    const int to = (test_me + 1) % test_P,
              from = (test_me + test_P - 1) % test_P;
    MPI_Status status;

    test_barrier(); /* before one of them can be seen by a look */
    MUST(MPI_Send(&test_me, 1, MPI_INT, to, i, s.comm[i]));
    for (int done = 0; !done; sched_yield())
        MUST(MPI_Test(&own[i].request, &done, &status));
    CHECK(own[i].token == from && status.MPI_SOURCE == from &&
          status.MPI_TAG == i);
}

/* A communicator, and the graph of neighbours on it. */
static void make_comm(int i)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &s.comm[i]);
    random_graph_make(&s.graph[i], mix(s.seed, 1000 + (uint64_t)i), s.comm[i]);
}

static void free_comm(int i)
{
    MPI_Comm_free(&s.comm[i]);
    MUST(rota_graph_free(&s.graph[i].graph));
    MPI_Comm_free(&s.graph[i].comm);
}

/* MPI does not move plans: none may be active on this rank when it waits in
 * MPI. */
static void renew_comm(int i)
{
    for (int k = 0; k < PLANS; k++)
        complete(&s.plan[k]);
    send_own(i);
    free_comm(i); /* its plans live on */
    make_comm(i);
    expect_own(i);
}

static void run_generation(void)
{
    for (int i = 0; i < COMMS; i++)
        expect_own(i);
    for (int i = 0; i < PLANS; i++)
        make(&s.plan[i], mix(s.seed, (uint64_t)i) >> 8);
    for (int round = 0; round < s.rounds; round++) {
        char again[80];
        const uint64_t chance = mix(s.seed, (uint64_t)round * 8 + 2);
        random_plan *const r = &s.plan[chance % PLANS];
        snprintf(again, sizeof again, "--seed %llu --seconds 0 --rounds %d",
                 (unsigned long long)s.seed, s.rounds);
        test_watch(again, s.patience);
        run_round((uint64_t)round);
        for (int i = 0; i < COMMS; i++)
            look_for_strangers(i);
        if (chance / 16 % 4 > 0) {
            drop(r);
            make(r, chance >> 8);
        }
        if (chance / 64 % 16 == 0)
            renew_comm((int)(chance / 1024 % COMMS));
    }
    for (int i = 0; i < PLANS; i++)
        drop(&s.plan[i]);
    for (int i = 0; i < COMMS; i++)
        send_own(i);
}

/* ---- memory -------------------------------------------------------------- */

static long live; /* allocations */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

static void *count_new(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return count_new(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return count_new(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    return old ? __real_realloc(old, size) : count_new(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return count_new(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

/* What must stay as it is, and resident memory, in KiB. */
typedef struct sample {
    long live, shared_blocks, mappings, descriptor;
    long resident;
    long plans; /* made so far */
} sample;

/* Memory of this process alone, without what the heap has free. */
static long resident(void)
{
    FILE *const f = fopen("/proc/self/statm", "r");
    long size, pages = 0, shared = 0;

    malloc_trim(0);
    if (f && fscanf(f, "%ld %ld %ld", &size, &pages, &shared) != 3)
        pages = shared = 0;
    if (f)
        fclose(f);
    return (pages - shared) * (sysconf(_SC_PAGESIZE) / 1024);
}

static long count_mappings(void)
{
    FILE *const f = fopen("/proc/self/maps", "r");
    char line[400];
    long n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:rota") != NULL;
    if (f)
        fclose(f);
    return n;
}

/* All have read all; what was kept for them is given back by the next plan. */
static void settle(void)
{
    rota_plan *plan = NULL;

    test_barrier();
    for (int i = 0; i < COMMS; i++) {
        MUST(rota_exchange_init(1, MPI_BYTE, s.comm[i], MPI_INFO_NULL, &plan));
        MUST(rota_plan_free(&plan));
    }
    test_barrier();
}

static sample take_sample(void)
{
    rota_arena_address address;
    const int err = rota_arena_open(&address);
    sample now = {.descriptor = dup(0), /* the lowest that is free */
                  .mappings = count_mappings(),
                  .live = live,
                  .resident = resident(),
                  .plans = s.made};
    struct stat state;

    close((int)now.descriptor);
    if (err == MPI_SUCCESS && fstat((int)address.fd, &state) == 0)
        now.shared_blocks = (long)state.st_blocks;
    rota_fail_clear();
    return now;
}

static void print_sample(const sample *x)
{
    fprintf(stderr,
            "rank %d: after %ld plans: %ld allocations, %ld blocks of shared "
            "memory, %ld mappings, descriptor %ld, resident %ld KiB\n",
            test_me, x->plans, x->live, x->shared_blocks, x->mappings,
            x->descriptor, x->resident);
}

/* What lies between what is used of shared memory has records, few and not
 * always as many, and some of it is kept for other plans. A process's grows by
 * segments, each as long as half of all before: twelve are a hundredfold. */
static void check_same(const sample *first, const sample *now)
{
    enum { RECORDS = 64, KEPT_BLOCKS = (8 << 20) / 512, SEGMENTS = 12 };

    if (now->live <= first->live + RECORDS &&
        now->shared_blocks <= first->shared_blocks + KEPT_BLOCKS &&
        now->mappings <= first->mappings + SEGMENTS * test_P &&
        now->descriptor == first->descriptor)
        return;
    print_sample(first);
    print_sample(now);
    test_fail(__FILE__, __LINE__, "not as much as before");
}

/* MPICH 4.0 keeps 64 bytes of every duplicate of a datatype, of which a plan
 * makes two, and its pools still grow a little. */
static void check_resident(const sample *warm, const sample *last)
{
    enum { SLACK = 2048, FOR_A_PLAN = 512 };
    const long more = (last->plans - warm->plans) * FOR_A_PLAN / 1024;

    print_sample(warm);
    print_sample(last);
    CHECK(last->resident <= warm->resident + more + SLACK);
}

static void print_counts(int generations)
{
    printf("%d generations, to seed %llu, %ld plans made, %ld refused, %ld "
           "starts",
           generations, (unsigned long long)s.seed - 1, s.made, s.refused,
           s.started);
    for (int k = 0; k < RANDOM_KINDS; k++)
        printf(", %s %ld + %ld", random_kind_name[k], s.of_kind[k][0],
               s.of_kind[k][1]);
    printf(" (all ranks + neighbours)\n");
}

/* ---- all of it ----------------------------------------------------------- */

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 't'},
        {"rounds", required_argument, NULL, 'r'},
        {NULL, 0, NULL, 0},
    };
    sample first = {0}, warm = {0}, now = {0};
    time_t seconds = test_is_quick() ? QUICK_SECONDS : SECONDS;
    int n = 0;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (o == 's')
            s.seed = strtoull(optarg, NULL, 10);
        else if (o == 't')
            seconds = atol(optarg);
        else if (o == 'r')
            s.rounds = atoi(optarg);
        else
            MPI_Abort(MPI_COMM_WORLD, 2); /* getopt has said why */
    if (seconds > SECONDS)
        s.patience = LONG_ROUND_SECONDS;
    const time_t begin = time(NULL);
    do {
        for (int i = 0; i < COMMS; i++)
            make_comm(i);
        run_generation();
        settle();
        for (int i = 0; i < COMMS; i++)
            free_comm(i);
        now = take_sample();
        if (n == 0)
            first = now;
        check_same(&first, &now);
        if (n++ <= WARM)
            warm = now;
        s.seed++;
    } while (test_max(test_failures()) == 0 &&
             test_max(n < LEAST || time(NULL) - begin < seconds));
    test_watch_end();
    check_resident(&warm, &now);
    if (test_me == 0)
        print_counts(n);
    return test_end();
}
