/* nodes.c - what plans know about nodes, and what they send between them.
 *
 * usage: nodes R0,R1,... [deal | endless]
 *
 * R0 ranks must be on the first host, R1 on the second and so on: host by host,
 * or with deal in turn. Under tools/cluster.sh hosts are known by their names.
 * Topologies are compared with that, on communicators in order and in reverse.
 * Then a plan of every algorithm is run, and what each rank sends to each node
 * between start and wait is counted. endless runs one plan for ever.
 *
 * The program stands between the library and MPI, by its profiling interface.
 */
#include "harness.h"
#include "plan/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 64, MOST_SENDS = 4096 };

/* ---- counting messages ------------------------------------------------------ */

static int sent_to[MOST_RANKS]; /* messages to each rank of MPI_COMM_WORLD */

/* Persistent sends: a handle may come back, so the last one counts. */
static struct {
    MPI_Request request;
    int peer;
} bound[MOST_SENDS];
static int n_bound;

static void bind_send(MPI_Request request, int peer)
{
    if (n_bound == MOST_SENDS) {
        fputs("nodes: too many persistent sends\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    bound[n_bound].request = request;
    bound[n_bound++].peer = peer;
}

/* A handle of a receive that once was a send's must not count. */
static void unbind(MPI_Request request)
{
    for (int i = 0; i < n_bound; i++)
        if (bound[i].request == request)
            bound[i--] = bound[--n_bound];
}

int MPI_Start(MPI_Request *request)
{
    for (int i = 0; i < n_bound; i++)
        if (bound[i].request == *request)
            sent_to[bound[i].peer]++;
    return PMPI_Start(request);
}

int MPI_Request_free(MPI_Request *request)
{
    unbind(*request);
    return PMPI_Request_free(request);
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    sent_to[peer]++;
    return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

#if MPI_VERSION >= 4

int MPI_Send_init_c(const void *data, MPI_Count count, MPI_Datatype type,
                    int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    const int err =
        PMPI_Send_init_c(data, count, type, peer, tag, comm, request);

    bind_send(*request, peer);
    return err;
}

int MPI_Isend_c(const void *data, MPI_Count count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request *request)
{
    sent_to[peer]++;
    return PMPI_Isend_c(data, count, type, peer, tag, comm, request);
}

#else

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    const int err = PMPI_Send_init(data, count, type, peer, tag, comm, request);

    bind_send(*request, peer);
    return err;
}

#endif

/* ---- plans of single ints --------------------------------------------------- */

typedef struct ints {
    rota_plan *plan;
    int send[MOST_RANKS], recv[MOST_RANKS];
} ints;

static void open_ints(ints *x, MPI_Comm comm, MPI_Info info)
{
    x->plan = NULL;
    MUST(rota_alltoall_init(x->send, 1, MPI_INT, x->recv, 1, MPI_INT, comm,
                            info, &x->plan));
    if (!x->plan)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void run_ints(ints *x)
{
    for (int q = 0; q < test_P; q++) {
        x->send[q] = 1000 * test_me + q;
        x->recv[q] = -1;
    }
    MUST(rota_start(x->plan));
    MUST(rota_wait(x->plan));
    for (int q = 0; q < test_P; q++)
        CHECK(x->recv[q] == 1000 * q + test_me);
}

/* ---- where ranks are -------------------------------------------------------- */

static int n_hosts, host[MOST_RANKS], host_size[MOST_RANKS];
static bool in_domains; /* ranks are bound to different ones */

/* Sets the above from the arguments. */
static bool place_ranks(const char *numbers, bool deal)
{
    int left[MOST_RANKS] = {0}, P = 0;

    for (const char *at = numbers; *at && n_hosts < MOST_RANKS; n_hosts++) {
        char *end;
        host_size[n_hosts] = left[n_hosts] = (int)strtol(at, &end, 10);
        P += left[n_hosts];
        at = *end == ',' ? end + 1 : end;
    }
    if (P != test_P || P > MOST_RANKS)
        return false;
    for (int q = 0, h = 0; q < P; q++) {
        while (left[h] == 0)
            h = (h + 1) % n_hosts;
        host[q] = h;
        left[h]--;
        h = deal ? (h + 1) % n_hosts : h;
    }
    return true;
}

static void check_name(void)
{
    char name[100] = "", expected[20];

    gethostname(name, sizeof name - 1);
    snprintf(expected, sizeof expected, "host%d", host[test_me]);
    if (strcmp(name, expected) != 0)
        test_fail(__FILE__, __LINE__, "on %s instead of %s", name, expected);
}

/* on[q]: the host of the communicator's rank q. */
static void check_topology(const rota_topo *t, const int on[])
{
    int node_of[MOST_RANKS], n_nodes = 0, local[MOST_RANKS] = {0};

    memset(node_of, -1, sizeof node_of);
    CHECK(t->P == test_P);
    CHECK(t->n_nodes == n_hosts);
    for (int q = 0; q < test_P; q++) {
        if (node_of[on[q]] < 0) /* numbered by lowest rank */
            node_of[on[q]] = n_nodes++;
        const int node = node_of[on[q]], position = local[on[q]]++;
        if (t->node[q] != node || t->local[q] != position)
            test_fail(__FILE__, __LINE__,
                      "rank %d is %d of node %d instead of %d of node %d", q,
                      t->local[q], t->node[q], position, node);
        else
            CHECK(t->ranks[t->first[node] + position] == q);
    }
    for (int h = 0; h < n_hosts && t->n_nodes == n_hosts; h++)
        CHECK(t->first[node_of[h] + 1] - t->first[node_of[h]] == host_size[h]);
}

static void check_topologies(void)
{
    int reversed[MOST_RANKS];
    MPI_Comm comm;
    ints x;

    test_case = "topology";
    open_ints(&x, MPI_COMM_WORLD, MPI_INFO_NULL);
    check_topology(&x.plan->comm->topo, host);
    for (int q = 0; q < test_P; q++)
        in_domains = in_domains || x.plan->comm->topo.domain[q] !=
                                       x.plan->comm->topo.domain[0];
    MUST(rota_plan_free(&x.plan));

    test_case = "topology in reverse";
    for (int q = 0; q < test_P; q++)
        reversed[q] = host[test_P - 1 - q];
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_me, &comm);
    open_ints(&x, comm, MPI_INFO_NULL);
    check_topology(&x.plan->comm->topo, reversed);
    MUST(rota_plan_free(&x.plan));
    MPI_Comm_free(&comm);
}

/* ---- messages to each node -------------------------------------------------- */

/* How many messages this rank sends to a host, by definition of the algorithm;
 * ANY for what the definition leaves open. */
enum { ANY = -1 };

/* Every block travels alone. */
static int one_a_rank(int h)
{
    return host_size[h] - (h == host[test_me]);
}

/* Logarithmic in radix 2, to the rank 2^x below or above. */
static int one_a_power(int h, int sign)
{
    int n = 0;

    for (int power = 1; power < test_P; power *= 2)
        n += host[(test_me + sign * power + test_P) % test_P] == h;
    return n;
}

static int one_a_power_down(int h)
{
    return one_a_power(h, -1);
}

static int one_a_power_up(int h)
{
    return one_a_power(h, 1);
}

/* This rank's number on its host. */
static int local_number(void)
{
    int n = 0;

    for (int q = 0; q < test_me; q++)
        n += host[q] == host[test_me];
    return n;
}

/* Columns for a host that this rank carries: those of the ranks there whose
 * number is its own, modulo the size of its own host. */
static int columns_for(int h)
{
    const int Q = host_size[host[test_me]];
    int n = 0;

    for (int local = local_number(); local < host_size[h]; local += Q)
        n++;
    return n;
}

static int one_a_column(int h)
{
    return h == host[test_me] ? ANY : columns_for(h);
}

/* Where hosts have as many ranks each, one for every power of 2 as a distance
 * between hosts. */
static int one_a_power_of_hosts(int h)
{
    const int here = host[test_me];
    const int down = (here - h + n_hosts) % n_hosts;

    for (int i = 0; i < n_hosts; i++)
        if (host_size[i] != host_size[here])
            return one_a_column(h);
    return h == here ? ANY : (down & (down - 1)) == 0;
}

/* As many blocks as there are ranks here. */
static int one_a_block(int h)
{
    const int here = host[test_me];

    return h == here ? ANY : columns_for(h) * host_size[here];
}

enum { LEADERS = 2 };

/* Offsets that leader l of L serves. */
static int offsets_of(int l, int L)
{
    int n = 0;

    for (int i = 1; i < n_hosts; i++)
        n += i % L == l;
    return n;
}

/* One message to each host at the offsets of a leader; here, every rank sends
 * the others their blocks, leaders what they serve, and is sent it by them,
 * all in one message each or one for each offset. Leaders are the first ranks
 * or, without domains, spread evenly. */
static int by_leaders(int h, int leaders, bool spread, bool each)
{
    const int here = host[test_me], Q = host_size[here];
    const int L = leaders < Q ? leaders : Q;
    int mine = L, n = Q - 1;

    for (int l = 0; l < L; l++)
        if ((spread ? l * Q / L : l) == local_number())
            mine = l;
    if (h != here)
        return (h - here + n_hosts) % n_hosts % L == mine;
    for (int l = 0; l < L; l++) {
        const int served = offsets_of(l, L);
        n += (each ? served : served > 0) * (l == mine ? Q - 1 : 1);
    }
    return n;
}

static int one_leader(int h)
{
    return by_leaders(h, 1, false, false);
}

static int some_leaders(int h)
{
    return by_leaders(h, LEADERS, false, false);
}

static int spread_leaders(int h)
{
    return in_domains ? ANY : by_leaders(h, LEADERS, true, false);
}

static int overlapped_leaders(int h)
{
    return in_domains ? ANY : by_leaders(h, LEADERS, true, true);
}

/* Rows by name: one whose algorithm is not in the library says nothing. */
static const struct {
    const char *name;
    int (*messages)(int h);
} formula[] = {
    {"linear", one_a_rank},
    {"spread_out", one_a_rank},
    {"pairwise", one_a_rank},
    {"xor", one_a_rank},
    {"scattered", one_a_rank},
    {"multi_pair", one_a_rank},
    {"consensus", one_a_rank},
    {"parlogna", one_a_power_down},
    {"two_phase_bruck", one_a_power_down},
    {"sloav", one_a_power_down},
    {"padded_bruck", one_a_power_down},
    {"bruck_basic", one_a_power_up},
    {"bruck_modified", one_a_power_down},
    {"bruck_zero_rotation", one_a_power_down},
    {"bruck_zero_copy", one_a_power_down},
    {"parlinna_coalesced", one_a_column},
    {"parlinna_staggered", one_a_block},
    {"parlinna_logarithmic", one_a_power_of_hosts},
    {"l_a2a", one_leader},
    {"mpml", some_leaders},
    {"nmpml", spread_leaders},
    {"onmpml", overlapped_leaders},
};

static int stated_messages(const rota_plan *plan)
{
    rota_counts n;

    rota_sched_count(&plan->sched, NULL, &n);
    return (int)n.messages;
}

static void check_formula(const rota_algo *algo, const int sent[],
                          bool within_by_mpi)
{
    const int rows = (int)(sizeof formula / sizeof formula[0]);
    int i = 0;

    while (i < rows && strcmp(formula[i].name, algo->name) != 0)
        i++;
    if (i == rows && test_me == 0)
        printf("%s: no formula for messages between nodes\n", algo->name);
    for (int h = 0; i < rows && h < n_hosts; h++) {
        const bool here = h == host[test_me];
        const int expected =
            here && !within_by_mpi ? 0 : formula[i].messages(h);
        if (expected != ANY && sent[h] != expected)
            test_fail(__FILE__, __LINE__, "%d messages to host %d, not %d",
                      sent[h], h, expected);
    }
}

/* Within a node messages go by MPI or, by default, through shared memory. */
static void check_messages(const rota_algo *algo, const char *intranode)
{
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    const bool within_by_mpi = strcmp(intranode, "p2p") == 0;
    int sent[MOST_RANKS] = {0}, total = 0;
    char leaders[12];
    ints x;

    snprintf(leaders, sizeof leaders, "%d", LEADERS);
    MPI_Info_set(info, "rota_leaders", leaders);
    MPI_Info_set(info, "rota_intranode", intranode);
    test_case = algo->name;
    open_ints(&x, MPI_COMM_WORLD, info);
    memset(sent_to, 0, sizeof sent_to);
    run_ints(&x);
    for (int q = 0; q < test_P; q++) {
        sent[host[q]] += sent_to[q];
        total += sent_to[q];
    }
    if (within_by_mpi && total != stated_messages(x.plan))
        test_fail(__FILE__, __LINE__, "%d messages, %d in the schedule", total,
                  stated_messages(x.plan));
    check_formula(algo, sent, within_by_mpi);
    MUST(rota_plan_free(&x.plan));
    MPI_Info_free(&info);
}

/* ---- all -------------------------------------------------------------------- */

static void run_for_ever(void)
{
    ints x;

    open_ints(&x, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (;;)
        run_ints(&x);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const char *const word = argc > 2 ? argv[2] : "";

    if (argc < 2 || !place_ranks(argv[1], strcmp(word, "deal") == 0)) {
        test_fail(__FILE__, __LINE__,
                  "usage: nodes R0,R1,... [deal | endless],"
                  " as many ranks as there are");
        return test_end();
    }
    if (strcmp(word, "endless") == 0)
        run_for_ever();
    if (getenv("CLUSTER_HOSTS"))
        check_name();
    check_topologies();
    for (int i = 0; rota_algo_table[i]; i++)
        if (!rota_algo_table[i]->native) {
            check_messages(rota_algo_table[i], "p2p");
            check_messages(rota_algo_table[i], "auto");
        }
    return test_end();
}
