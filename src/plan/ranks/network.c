/* network.c - see network.h.
 *
 * Nodes are tried in pairs. The first ranks of the two exchange a short
 * message, then the longest one. Then up to four ranks of either node exchange
 * a long message with one of the other, all at once. Then they exchange short
 * messages with each of the other node's, all at once; these go to different
 * ranks, since messages to one rank may travel together. All ranks wait for
 * each other in between.
 *
 * A pair's time is the least of some rounds. Of all pairs the largest time
 * counts, since the slowest holds up an exchange. Of one short message it is
 * the smallest, since times then differ mostly by what else the processors do.
 * So all ranks have the same prices. Ranks without a partner wait for the
 * others.
 */
#include "plan/ranks/network.h"
#include "exec/exec.h"
#include "exec/run/waiting.h"
#include "plan/ranks/agree.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 8, /* bytes */
    LONG = 1 << 16,
    LONGEST = 1 << 18,
    PEERS = 4, /* ranks of a node that take part */
    ALONE = 8, /* messages, where a node has one rank */
    ROUNDS = 32,
    LONG_ROUNDS = 6
};

/* What is found, in nanoseconds each way and in this order: one short message, the
 * longest one, several long ones, many short ones. */
enum { ONE, LARGEST, SEVERAL, MANY, N_FOUND };

/* What this process has found; 0: nothing yet. */
static _Atomic double found_before[N_FOUND];

/* The number of ranks of a node that take part. */
static int members_of(const rota_topo *t, int node)
{
    const int Q = rota_topo_node_size(t, node);

    return Q < PEERS ? Q : PEERS;
}

/* The node with which this rank's node is measured, or -1. */
static int partner_of(const rota_comm *c)
{
    const rota_topo *const t = &c->topo;
    const int mine = t->node[c->me], other = mine ^ 1;

    return other < t->n_nodes && t->local[c->me] < members_of(t, mine) ? other
                                                                       : -1;
}

/* n messages of so many bytes each way at once, to the ranks of a node in turn,
 * from number first on; ns: how long that took, if it is less. */
static int exchange(const rota_comm *c, int node, int first, int n, int bytes,
                    char *area, double *ns)
{
    const rota_topo *const t = &c->topo;
    const rota_meeting m =
        rota_comm_meeting(c, "try the network",
                          rota_node_rank(t, node, first % members_of(t, node)));
    MPI_Request request[2 * ALONE];
    char *const from = area + LONGEST;

    const int64_t begin = rota_now_ns();
    for (int i = 0; i < n; i++) {
        const int peer =
            rota_node_rank(t, node, (first + i) % members_of(t, node));
        ROTA_TRY(MPI_Irecv(area + i * bytes, bytes, MPI_BYTE, peer,
                           ROTA_TAG_ADDRESS, c->dup, &request[i]));
        ROTA_TRY(MPI_Isend(from + i * bytes, bytes, MPI_BYTE, peer,
                           ROTA_TAG_ADDRESS, c->dup, &request[n + i]));
    }
    ROTA_TRY(rota_wait_requests(&m, n, 2 * n, request));
    const double took = (double)(rota_now_ns() - begin);
    *ns = *ns == 0 || took < *ns ? took : *ns;
    return MPI_SUCCESS;
}

/* Ranks of either node that have long messages for each other at once. */
static int pairs(const rota_topo *t, int a, int b)
{
    const int n = members_of(t, a), m = members_of(t, b);

    return n < m ? n : m;
}

/* How many messages "many" are; if a node has one rank, several to that one. */
static int many(const rota_comm *c, int node)
{
    const rota_topo *const t = &c->topo;
    const int here = members_of(t, t->node[c->me]);
    const int there = members_of(t, node);

    return here == 1 && there == 1 ? ALONE : there;
}

/* How many ranks of this node take part in a measurement with another node. */
static int n_parts(const rota_topo *t, int here, int there, int what)
{
    return what == MANY      ? members_of(t, here)
           : what == SEVERAL ? pairs(t, here, there)
                             : 1;
}

/* Measure one figure. The first round does not count: connections are made, and
 * a network may let the first bytes through faster. */
static int try_one(const rota_comm *c, int node, int what, char *area,
                   double *ns)
{
    static const struct {
        int bytes, rounds;
    } trial[N_FOUND] = {[ONE] = {SHORT, ROUNDS},
                        [LARGEST] = {LONGEST, LONG_ROUNDS},
                        [SEVERAL] = {LONG, LONG_ROUNDS},
                        [MANY] = {SHORT, ROUNDS}};
    const rota_topo *const t = &c->topo;
    const int local = t->local[c->me], first = what == SEVERAL ? local : 0;
    double unused = 0;

    if (local >= n_parts(t, t->node[c->me], node, what))
        return MPI_SUCCESS;
    for (int i = 0; i <= trial[what].rounds; i++)
        ROTA_TRY(exchange(c, node, first, what == MANY ? many(c, node) : 1,
                          trial[what].bytes, area, i > 0 ? ns : &unused));
    return MPI_SUCCESS;
}

/* What counts of all that ranks found; 0: nothing. */
static int combine(const rota_comm *c, double found[N_FOUND])
{
    const rota_ranks ranks = rota_comm_ranks(c);

    if (found[ONE] > 0) /* the most a second takes the least time */
        found[ONE] = 1e9 / found[ONE];
    ROTA_TRY(ranks.agree_times(c, N_FOUND, found));
    found[ONE] = 1e9 / found[ONE];
    return MPI_SUCCESS;
}

static int try_all(const rota_comm *c, double found[N_FOUND])
{
    const int node = partner_of(c);
    char *const area = node < 0 ? NULL : malloc(2 * LONGEST);
    int err = node < 0 || area ? MPI_SUCCESS
                               : rota_fail_mem("a trial of the network");

    if (area)
        memset(area, 0, 2 * LONGEST);
    err = rota_agree(c, err, NULL);
    if (err != MPI_SUCCESS) {
        free(area);
        return err;
    }
    for (int what = 0; what < N_FOUND && err == MPI_SUCCESS; what++) {
        if (area)
            err = try_one(c, node, what, area, &found[what]);
        err = rota_agree(c, err, NULL);
    }
    ROTA_TRY(err); /* messages may be on their way from and to the area */
    free(area);
    return combine(c, found);
}

/* Do all ranks know the times? Then take the maxima. */
static int recall(const rota_comm *c, double found[N_FOUND], bool *known)
{
    rota_vote vote = {0};

    for (int i = 0; i < N_FOUND; i++)
        found[i] = found_before[i];
    vote.smallest = found[ONE] > 0;
    ROTA_TRY(rota_agree(c, MPI_SUCCESS, &vote));
    *known = vote.smallest > 0;
    return *known ? combine(c, found) : MPI_SUCCESS;
}

/* The time of a byte on a node's port: that of a rank which sends alone or, if
 * it is less, of n ranks which send at once. */
static double per_byte(const double found[N_FOUND], int n)
{
    const double alone = (found[LARGEST] - found[ONE]) / LONGEST;
    const double at_once = (found[SEVERAL] - found[ONE]) / (n * LONG);

    return rota_larger(alone < at_once ? alone : at_once, 1.0 / LONGEST);
}

/* The time that each long message takes of the node's port beyond that of its
 * bytes. */
static double per_long_message(const double found[N_FOUND], int n, double byte)
{
    return rota_larger(found[SEVERAL] - found[ONE] - n * byte * LONG, 0) / n;
}

/* To post a message takes at least this part of its latency, as on fast networks. The
 * times alone may say less: where ranks share cores, one message may by chance take
 * as long as many. */
enum { LEAST_POSTED = 32 };

/* Bytes that a message takes on the wire beside its own: headers, and those of
 * acknowledgements that travel the other way. */
enum { ENVELOPE = 128 };

/* Posting takes half of sending and half of receiving a message. */
static void put_in(const rota_comm *c, const double found[N_FOUND], double ns[])
{
    const int Q = rota_topo_largest_node(&c->topo);
    const int n = Q == 1 ? ALONE : Q < PEERS ? Q : PEERS;
    const double byte = per_byte(found, Q < PEERS ? Q : PEERS);
    const double posted = rota_larger((found[MANY] - found[ONE]) / (2 * n),
                                      found[ONE] / LEAST_POSTED);
    const double more = per_long_message(found, Q < PEERS ? Q : PEERS, byte);

    ns[ROTA_TERM_POSTED] = posted;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_MESSAGE)] += ENVELOPE * byte;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_LONG_MESSAGE)] +=
        ENVELOPE * byte + more;
    ns[rota_term(ROTA_LINK_NATIVE_NET, ROTA_PER_MESSAGE)] =
        2 * posted + ENVELOPE * byte;
    ns[rota_term(ROTA_LINK_NATIVE_NET, ROTA_PER_LONG_MESSAGE)] =
        2 * posted + ENVELOPE * byte + more;
    for (int native = 0; native < 2; native++) {
        const rota_link link = native ? ROTA_LINK_NATIVE_NET : ROTA_LINK_NET;
        ns[rota_term(link, ROTA_PER_PHASE)] = found[ONE];
        ns[rota_term(link, ROTA_PER_BYTE)] = byte;
        ns[rota_term(link, ROTA_PER_LONG_BYTE)] = byte;
    }
}

int rota_network_try(const void *comm, rota_machine *machine)
{
    const rota_comm *const c = comm;
    double found[N_FOUND] = {0};
    bool known = false;

    if (c->topo.n_nodes == 1)
        return MPI_SUCCESS;
    ROTA_TRY(recall(c, found, &known));
    if (!known) {
        memset(found, 0, sizeof found);
        ROTA_TRY(try_all(c, found));
        for (int i = 0; i < N_FOUND; i++)
            found_before[i] = found[i];
    }
    put_in(c, found, machine->ns);
    return MPI_SUCCESS;
}
