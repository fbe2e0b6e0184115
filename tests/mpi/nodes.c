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
#include "common/formulas.h"
#include "harness.h"
#include "plan/kinds/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RANKS = 64, MOST_SENDS = 4096 };

/* ---- counting messages --------------------------------------------------- */

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

/* ---- plans of single ints ------------------------------------------------ */

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

/* ---- where ranks are ----------------------------------------------------- */

static int n_hosts, host[MOST_RANKS], host_size[MOST_RANKS];

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

/* ---- messages to each node ----------------------------------------------- */

enum { LEADERS = 2, PIECES = 2 };

static int stated_messages(const rota_plan *plan)
{
    rota_counts n;

    rota_sched_count(&plan->built.sched, NULL, &n);
    return (int)(n.messages + n.handed);
}

/* Hosts are numbered as nodes are. */
static void check_formula(const rota_algo *algo, const rota_topo *t,
                          const int sent[], bool within_by_mpi)
{
    const rota_params params = {
        .batch = 1, .radix = 2, .leaders = LEADERS, .pieces = PIECES};

    if (!formula_is_stated(algo)) {
        test_fail(__FILE__, __LINE__, "there is no row in formulas.c");
        return;
    }
    for (int h = 0; h < n_hosts; h++) {
        const bool here = h == host[test_me];
        const int expected =
            here && !within_by_mpi
                ? 0
                : (int)formula_to_node(algo, t, &params, test_me, h);
        if (sent[h] != expected)
            test_fail(__FILE__, __LINE__, "%d messages to host %d, not %d",
                      sent[h], h, expected);
    }
}

/* Within a node messages go by MPI or, by default, through shared memory. Where
 * sizes are told at every start there are more: see sim_messages. */
static void check_messages(const rota_algo *algo, const char *intranode)
{
    if (algo->every_start)
        return;
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    const bool within_by_mpi = strcmp(intranode, "p2p") == 0;
    int sent[MOST_RANKS] = {0}, total = 0;
    char number[12];
    ints x;

    snprintf(number, sizeof number, "%d", LEADERS);
    MPI_Info_set(info, "rota_leaders", number);
    snprintf(number, sizeof number, "%d", PIECES);
    MPI_Info_set(info, "rota_pieces", number);
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
    check_formula(algo, &x.plan->comm->topo, sent, within_by_mpi);
    MUST(rota_plan_free(&x.plan));
    MPI_Info_free(&info);
}

/* ---- all ----------------------------------------------------------------- */

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
