/* crossing.c - see crossing.h.
 *
 * Two plans that differ in nothing but rota_copied_once_from, one size above all
 * blocks and the other one byte, take turns. A turn is a few starts. Blocks are
 * written anew before each and read after it, as programs do: that their cache
 * lines have to come back from the receivers is part of what one copy costs, and
 * finding in this core's cache what came is part of what it saves. Each node
 * measures for itself.
 */
#include "tune/crossing.h"

#include "common/nodes.h"
#include "common/runners.h"
#include "common/touch.h"
#include "common/util.h"

#include <cjson/cJSON.h>
#include <string.h>

enum {
    LEAST_BYTES = 512,
    MOST_BYTES = 32768,
    TURNS = 2000, /* of each plan, at most */
    LEAST = 15,   /* of them are taken whatever time they need */
    STARTS = 10,  /* of a turn */
    WARMUP = 2    /* turns that do not count */
};

/* Turns of one size are begun for that long. */
#define ENOUGH_US 1e6
#define QUICK_US 5e4

enum { ONCE, BY_RING, N_WAYS };

typedef struct node {
    MPI_Comm comm; /* returns errors */
    bench_sync sync;
    int P;
    bool shared;       /* shared memory carries messages between its ranks */
    char *send, *recv; /* of P blocks of MOST_BYTES each */
} node;

static rota_plan *make_plan(const node *n, int bytes, const char *from)
{
    rota_plan *plan;
    MPI_Info info;

    bench_must(MPI_Info_create(&info), "MPI_Info_create");
    bench_must(MPI_Info_set(info, "rota_algorithm", "multi_pair"),
               "MPI_Info_set");
    bench_must(MPI_Info_set(info, "rota_copied_once_from", from),
               "MPI_Info_set");
    bench_must(rota_alltoall_init(n->send, bytes, MPI_BYTE, n->recv, bytes,
                                  MPI_BYTE, n->comm, info, &plan),
               "rota_alltoall_init");
    bench_must(MPI_Info_free(&info), "MPI_Info_free");
    return plan;
}

/* Does shared memory carry messages of a plan? */
static bool is_shared(const node *n)
{
    rota_plan *plan = make_plan(n, LEAST_BYTES, "1");
    cJSON *const o = plan_description(plan);
    const char *const way =
        cJSON_GetStringValue(cJSON_GetObjectItem(o, "intranode"));
    const bool shared = way != NULL && strcmp(way, "shm") == 0;
    cJSON_Delete(o);
    bench_must(rota_plan_free(&plan), "rota_plan_free");
    return shared;
}

static void node_create(const tune_env *env, node *n)
{
    const bool crowded = nodes_find(env->comm).oversubscribed;

    bench_must(MPI_Comm_split_type(env->comm, MPI_COMM_TYPE_SHARED, env->me,
                                   MPI_INFO_NULL, &n->comm),
               "MPI_Comm_split_type");
    bench_must(MPI_Comm_set_errhandler(n->comm, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
    bench_must(MPI_Comm_size(n->comm, &n->P), "MPI_Comm_size");
    sync_create(&n->sync, n->comm, crowded, true);
    const size_t bytes = (size_t)n->P * MOST_BYTES;
    bench_must(rota_tuning_forget(n->comm), "rota_tuning_forget");
    bench_must(rota_mem_alloc(bytes, n->comm, MPI_INFO_NULL, &n->send),
               "rota_mem_alloc");
    bench_must(rota_mem_alloc(bytes, n->comm, MPI_INFO_NULL, &n->recv),
               "rota_mem_alloc");
    n->shared = n->P > 1 && is_shared(n);
}

static void node_destroy(node *n)
{
    bench_must(rota_mem_free(&n->send), "rota_mem_free");
    bench_must(rota_mem_free(&n->recv), "rota_mem_free");
    sync_destroy(&n->sync);
    bench_must(MPI_Comm_free(&n->comm), "MPI_Comm_free");
}

/* Microseconds of a start, and of what is done before and after it. */
static double take_turn(node *n, rota_plan *plan, int bytes)
{
    const int all = n->P * bytes, begin = 0;
    const touch_blocks sent = {(unsigned char *)n->send, &all, &begin, 1};
    const touch_blocks received = {(unsigned char *)n->recv, &all, &begin, 1};
    const double began = sync_now_us();

    for (int i = 0; i < STARTS; i++) {
        touch_write(&sent, (uint64_t)i);
        bench_must(rota_start(plan), "rota_start");
        bench_must(rota_wait(plan), "rota_wait");
        touch_read(&received);
    }
    return (sync_now_us() - began) / STARTS;
}

/* Medians, of the slowest rank, of as many turns as there is time for. */
static void time_plans(node *n, rota_plan *const plan[N_WAYS], int bytes,
                       double most_us, double median[N_WAYS])
{
    const double stop = sync_now_us() + most_us;
    double us[N_WAYS][TURNS];
    int turns = 0;

    for (int i = -WARMUP; i < TURNS; i++) {
        if (sync_barrier(&n->sync, i >= LEAST && sync_now_us() > stop))
            break;
        for (int way = 0; way < N_WAYS; way++) {
            sync_barrier(&n->sync, false);
            const double took = take_turn(n, plan[way], bytes);
            if (i >= 0)
                us[way][i] = took;
        }
        turns = i + 1;
    }
    for (int way = 0; way < N_WAYS; way++) {
        bench_must(MPI_Allreduce(MPI_IN_PLACE, us[way], turns, MPI_DOUBLE,
                                 MPI_MAX, n->comm),
                   "MPI_Allreduce");
        median[way] = bench_median(us[way], turns);
    }
}

/* Is one copy no slower? The same on all ranks of the node. */
static bool compare(const tune_env *env, node *n, int bytes)
{
    rota_plan *plan[N_WAYS] = {make_plan(n, bytes, "1"),
                               make_plan(n, bytes, "1048576")};
    double us[N_WAYS];

    time_plans(n, plan, bytes, env->quick ? QUICK_US : ENOUGH_US, us);
    for (int way = 0; way < N_WAYS; way++)
        bench_must(rota_plan_free(&plan[way]), "rota_plan_free");
    if (env->me == 0)
        tune_progress("one copy or two: %d bytes, %.2f and %.2f us", bytes,
                      us[ONCE], us[BY_RING]);
    return us[ONCE] <= us[BY_RING];
}

/* From the largest size down: the last before one at which it is slower; 0 if
 * that is not to be found out. All nodes take the same steps. */
static int find_on_node(tune_env *env, node *n)
{
    int crossing = 2 * MOST_BYTES;
    bool no_slower = true;

    for (int bytes = MOST_BYTES; bytes >= LEAST_BYTES; bytes /= 2) {
        if (!tune_has_time(env))
            return 0;
        no_slower = n->shared && no_slower && compare(env, n, bytes);
        if (no_slower)
            crossing = bytes;
    }
    return n->shared ? crossing : 0;
}

int find_crossing(tune_env *env)
{
    node n;

    node_create(env, &n);
    int most = find_on_node(env, &n);
    node_destroy(&n);
    bench_must(
        MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, env->comm),
        "MPI_Allreduce");
    return most;
}
