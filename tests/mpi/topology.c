/* topology.c - nodes as plans describe them: real ones, pretended ones, domains
 * of a machine that hwloc is told of.
 *
 * usage: topology        ranks are spread over domains
 *        topology bound  3 ranks, bound to processor 0, to 1, and to both,
 *                        which hwloc is told are domains
 *        topology domains
 *                        4 ranks, bound to real domains, if there are several
 *        topology leaders
 *                        pretended nodes of 4 ranks, 2 in each domain
 *        topology hosts  ranks that take one another for those of other hosts,
 *                        by their names
 *        topology grid   2 columns of ranks that share no communicator but those
 *                        of rows and columns
 * All ranks are expected on one node.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include "exec/memory/arena.h"
#include "harness.h"

#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 2 };

static int counts[64], displs[64];
static char from[64], to[64];

static int init(MPI_Info info, rota_plan **plan)
{
    return rota_alltoallv_init(from, counts, displs, MPI_BYTE, to, counts,
                               displs, MPI_BYTE, MPI_COMM_WORLD, info, plan);
}

static void states(const rota_plan *plan, const char *key, const char *value)
{
    char text[4000], wanted[80];
    size_t length = sizeof text;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    snprintf(wanted, sizeof wanted, "\"%s\":%s,", key, value);
    if (!strstr(text, wanted))
        test_fail(__FILE__, __LINE__, "no %s in %s", wanted, text);
}

static void states_number(const rota_plan *plan, const char *key, int value)
{
    char digits[16];

    snprintf(digits, sizeof digits, "%d", value);
    states(plan, key, digits);
}

/* Of the nodes of `size` ranks, the last one may be smaller. */
static void check_nodes(const rota_plan *plan, int size, bool pretended)
{
    const int Q = size < test_P ? size : test_P;
    const int nodes = (test_P + Q - 1) / Q;
    const int last = test_P - (nodes - 1) * Q;
    const int node = test_me / Q;
    const int here = node == nodes - 1 ? last : Q;

    states_number(plan, "nodes", nodes);
    states(plan, "nodes_pretended", pretended ? "true" : "false");
    states_number(plan, "node", node);
    states_number(plan, "ranks_on_node", here);
    states_number(plan, "ranks_per_node_min", last);
    states_number(plan, "ranks_per_node_max", Q);
    states_number(plan, "domains_per_node", DOMAINS);
    states_number(plan, "domain", test_me % Q * DOMAINS / here);
}

static void run(rota_plan *plan)
{
    for (int q = 0; q < test_P; q++)
        from[q] = (char)(test_me - q);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    for (int q = 0; q < test_P; q++)
        CHECK(to[q] == (char)(q - test_me));
}

static void real_nodes(void)
{
    rota_plan *plan = NULL;

    test_case = "real nodes";
    MUST(init(MPI_INFO_NULL, &plan));
    check_nodes(plan, test_P, false);
    run(plan);
    MUST(rota_plan_free(&plan));
}

static void pretended_nodes(void)
{
    char value[16];

    test_case = "pretended nodes";
    for (int size = 1; size <= test_P + 1; size++) {
        snprintf(value, sizeof value, "%d", size);
        MPI_Info info = test_info("rota_node_size", value, NULL, NULL);
        rota_plan *plan = NULL;
        MUST(init(info, &plan));
        check_nodes(plan, size, true);
        run(plan);
        MUST(rota_plan_free(&plan));
        MPI_Info_free(&info);
    }
    setenv("ROTA_NODE_SIZE", "1", 1);
    rota_plan *plan = NULL;
    MUST(init(MPI_INFO_NULL, &plan));
    check_nodes(plan, 1, true);
    MUST(rota_plan_free(&plan));
    unsetenv("ROTA_NODE_SIZE");
}

static void in_text(void)
{
    char text[4000];
    size_t length = sizeof text;
    MPI_Info info = test_info("rota_node_size", "1", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "text";
    MUST(init(info, &plan));
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, text, &length));
    CHECK(strstr(text, "\nranks_per_node_max 1\n"));
    CHECK(strstr(text, "\nnodes_pretended    yes\n"));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

static void wrong_size(const char *value)
{
    char words[80];
    rota_plan *plan = NULL;
    MPI_Info info = test_info("rota_node_size", value, NULL, NULL);

    snprintf(words, sizeof words, "rota_node_size = %s; valid: 1 to 1048576",
             value);
    MUST_FAIL(init(info, &plan), MPI_ERR_ARG, words);
    MPI_Info_free(&info);
}

static void mistakes(void)
{
    rota_plan *plan = NULL;

    test_case = "mistakes";
    wrong_size("0");
    wrong_size("-2");
    wrong_size("two");
    wrong_size("1048577");
    if (test_P == 1)
        return;
    MPI_Info info = test_info("rota_node_size",
                              test_me == test_P - 1 ? "1" : "2", NULL, NULL);
    MUST_FAIL(init(info, &plan), MPI_ERR_ARG, "ranks disagree");
    MPI_Info_free(&info);
}

/* Bind this rank to processors first to last. */
static bool bind_to(size_t first, size_t last)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (size_t i = first; i <= last; i++)
        CPU_SET(i, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* The domain that the arena was bound to, or -1. */
static int arena_domain = -1;

/* Are bindings real? Then this is what was bound. */
static bool binds;
static const void *bound_memory;

int __real_hwloc_set_area_membind(hwloc_topology_t topology, const void *memory,
                                  size_t bytes, hwloc_const_bitmap_t set,
                                  hwloc_membind_policy_t policy, int flags);

int __wrap_hwloc_set_area_membind(hwloc_topology_t topology, const void *memory,
                                  size_t bytes, hwloc_const_bitmap_t set,
                                  hwloc_membind_policy_t policy, int flags);

int __wrap_hwloc_set_area_membind(hwloc_topology_t topology, const void *memory,
                                  size_t bytes, hwloc_const_bitmap_t set,
                                  hwloc_membind_policy_t policy, int flags)
{
    rota_place at;

    bound_memory = memory;
    if (binds)
        return __real_hwloc_set_area_membind(topology, memory, bytes, set,
                                             policy, flags);
    CHECK(rota_arena_find(memory, bytes, &at));
    CHECK(policy == HWLOC_MEMBIND_BIND && flags & HWLOC_MEMBIND_BYNODESET);
    CHECK(hwloc_bitmap_weight(set) == 1);
    arena_domain = hwloc_bitmap_first(set);
    return -1; /* the machine has no such domain */
}

static void bound(void)
{
    static const int domain[] = {0, 1, -1};
    rota_plan *plan = NULL;

    test_case = "bound";
    setenv("HWLOC_THISSYSTEM", "1", 1);
    if (!bind_to(test_me == 1, test_me > 0)) {
        puts("skipped: ranks cannot be bound to processors 0 and 1");
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 77);
    }
    MUST(init(MPI_INFO_NULL, &plan));
    states_number(plan, "domains_per_node", DOMAINS);
    states_number(plan, "domain", domain[test_me]);
    CHECK(arena_domain == domain[test_me]);
    MUST(rota_plan_free(&plan));
}

static void skip(const char *why)
{
    if (test_me == 0)
        printf("skipped: %s\n", why);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 77);
}

/* Is the page there, and on that domain alone? */
static bool lies_on(hwloc_topology_t topology, const void *memory,
                    hwloc_const_nodeset_t nodes)
{
    hwloc_bitmap_t at = hwloc_bitmap_alloc();
    const bool good =
        hwloc_get_area_memlocation(topology, memory, 1, at,
                                   HWLOC_MEMBIND_BYNODESET) == 0 &&
        !hwloc_bitmap_iszero(at) && hwloc_bitmap_isincluded(at, nodes);

    hwloc_bitmap_free(at);
    return good;
}

/* Ranks take turns at the domains; pools and what leaders lend lie there. */
static void real_domains(void)
{
    hwloc_topology_t topology;
    MPI_Info info =
        test_info("rota_algorithm", "shared_leaders", "rota_node_size", "2");
    rota_plan *plan = NULL;

    test_case = "real domains";
    CHECK(hwloc_topology_init(&topology) == 0 &&
          hwloc_topology_load(topology) == 0);
    const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    if (n < 2)
        skip("this machine has one NUMA domain");
    const hwloc_obj_t mine = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE,
                                                   (unsigned)(test_me % n));
    if (hwloc_set_cpubind(topology, mine->cpuset, HWLOC_CPUBIND_THREAD) != 0)
        skip("ranks cannot be bound to domains");
    binds = true;
    MUST(init(info, &plan));
    states_number(plan, "domain", test_me % n);
    run(plan);
    CHECK(bound_memory && lies_on(topology, bound_memory, mine->nodeset));
    MUST(rota_plan_free(&plan));
    hwloc_topology_destroy(topology);
    MPI_Info_free(&info);
}

/* ---- leaders ------------------------------------------------------------- */

/* How often the term occurs on this rank, by a plan's description. */
static double term(const char *json, const char *name)
{
    char key[80];

    snprintf(key, sizeof key, "\"%s\":", name);
    const char *const terms = strstr(json, "\"terms\":");
    const char *const at = terms ? strstr(terms, key) : NULL;
    return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Each domain of a node has one of the two ranks that send to other nodes. */
static void check_leaders(bool leads)
{
    int mine[DOMAINS] = {0}, sum[DOMAINS];
    MPI_Comm node;

    mine[test_me % 4 / 2] = leads;
    MPI_Comm_split(MPI_COMM_WORLD, test_me / 4, 0, &node);
    MPI_Allreduce(mine, sum, DOMAINS, MPI_INT, MPI_SUM, node);
    MPI_Comm_free(&node);
    for (int i = 0; i < DOMAINS; i++)
        CHECK(sum[i] == 1);
}

/* A leader serves the 4 ranks of one other node. A rank copies 4 blocks to the
 * leader of the other domain, takes 4 from there, each at the price of half of
 * its bytes, and sends one to each of the 2 ranks there, receiving as many. Out of
 * a message it copies where it waits for those. A node's ranks share cores. */
static void leaders(void)
{
    enum { BLOCK = 1, TO_LEADER = 4 * BLOCK / 2, DIRECT = 2 * BLOCK };
    char text[8000];
    size_t length = sizeof text;
    rota_plan *plan = NULL;
    MPI_Info info =
        test_info("rota_algorithm", "shared_leaders", "rota_leaders", "2");

    test_case = "leaders";
    CHECK(test_P == 12);
    setenv("ROTA_NODE_SIZE", "4", 1);
    MUST(init(info, &plan));
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    check_leaders(term(text, "net_per_message") > 0);
    const double load = term(text, "start");
    CHECK(load >= 1);
    CHECK(term(text, "node_per_byte") ==
          load * (TO_LEADER + DIRECT + TO_LEADER));
    run(plan);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    unsetenv("ROTA_NODE_SIZE");
}

/* What waits follow. */
static rota_yields *shared;

void __wrap_rota_wait_share(rota_yields *yields);

void __wrap_rota_wait_share(rota_yields *yields)
{
    shared = yields;
}

/* Of the process in whose memory those are that this rank follows; 0: none. */
static uint64_t cookie_of_shared(void)
{
    return shared ? ((rota_arena_head *)(void *)((char *)shared -
                                                 offsetof(rota_arena_head,
                                                          yields)))
                        ->cookie
                  : 0;
}

/* The same of all ranks. Returns this one's. */
static uint64_t gather_cookies(uint64_t cookie[])
{
    const uint64_t mine = cookie_of_shared();

    MPI_Allgather(&mine, 1, MPI_UINT64_T, cookie, 1, MPI_UINT64_T,
                  MPI_COMM_WORLD);
    return mine;
}

/* The communicator of those of one colour, with a plan; its node lasts as long
 * as it does. */
static MPI_Comm part(int color)
{
    MPI_Comm comm;
    rota_plan *plan = NULL;

    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &comm);
    MUST(rota_alltoallv_init(from, counts, displs, MPI_BYTE, to, counts, displs,
                             MPI_BYTE, comm, MPI_INFO_NULL, &plan));
    MUST(rota_plan_free(&plan));
    return comm;
}

/* All ranks follow the same, though rows have nothing to do with each other and
 * columns neither. */
static void grid(void)
{
    uint64_t cookie[64], mine;

    test_case = "grid";
    MPI_Comm row = part(test_me / 2);
    mine = gather_cookies(cookie);
    CHECK(mine != 0 && mine == cookie[test_me / 2 * 2]);
    CHECK(test_me < 2 || mine != cookie[0]);
    MPI_Comm column = part(test_me % 2);
    mine = gather_cookies(cookie);
    CHECK(mine != 0);
    for (int q = 0; q < test_P; q++)
        CHECK(cookie[q] == mine);
    MPI_Comm_free(&row);
    CHECK(cookie_of_shared() == mine);
    MPI_Comm_free(&column);
    CHECK(!shared);
}

/* ---- hosts --------------------------------------------------------------- */

static int n_hosts = 1; /* that ranks take turns at */

int __wrap_gethostname(char *name, size_t n);

int __wrap_gethostname(char *name, size_t n)
{
    snprintf(name, n, "host%d", test_me % n_hosts);
    return 0;
}

/* Ranks take turns at hosts, so nodes are not ranges of ranks. */
static void check_hosts(int hosts)
{
    rota_plan *plan = NULL;
    MPI_Comm comm; /* a new one, whose hosts are looked for */

    n_hosts = hosts;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MUST(rota_alltoallv_init(from, counts, displs, MPI_BYTE, to, counts, displs,
                             MPI_BYTE, comm, MPI_INFO_NULL, &plan));
    states_number(plan, "nodes", hosts);
    states_number(plan, "node", test_me % hosts);
    states_number(plan, "ranks_on_node",
                  (test_P - test_me % hosts + hosts - 1) / hosts);
    run(plan);
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&comm);
}

static void hosts(void)
{
    test_case = "hosts";
    for (int n = test_P; n >= 1; n--)
        check_hosts(n);
}

/* After MPI_Init, which may ask hwloc too, and before the first plan. */
int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        displs[q] = q;
    }
    if (argc > 1 && strcmp(argv[1], "domains") == 0) {
        real_domains();
        return test_end();
    }
    setenv("HWLOC_SYNTHETIC", "numa:2 core:1 pu:1", 1);
    if (argc > 1 && strcmp(argv[1], "bound") == 0) {
        bound();
        return test_end();
    }
    if (argc > 1) {
        if (strcmp(argv[1], "leaders") == 0)
            leaders();
        else if (strcmp(argv[1], "hosts") == 0)
            hosts();
        else
            grid();
        return test_end();
    }
    real_nodes();
    pretended_nodes();
    in_text();
    mistakes();
    return test_end();
}
