/* crossing.c - see crossing.h.
 *
 * The ranks of a node pass on their edges to each other, by doubling. Only the
 * sender's node knows which blocks have the same memory. If there are any, one
 * rank of each node tells one rank of the other, which passes it on.
 */
#include "plan/ranks/crossing.h"
#include "base/crossing.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"
#include "plan/ranks/node.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The ranks of this node; me: this rank's index. */
typedef struct members {
    const rota_comm *c;
    const rota_topo *t;
    const int *rank; /* [n] */
    int n, me, node;
} members;

static members members_of(const rota_comm *c, const rota_topo *t)
{
    const int me = c->me, node = t->node[me];

    return (members){.c = c,
                     .t = t,
                     .rank = t->ranks + t->first[node],
                     .n = rota_topo_node_size(t, node),
                     .me = t->local[me],
                     .node = node};
}

/* ---- within the node ----------------------------------------------------- */

/* Exchange lists of edges within the node. count: [n] length of each list.
 * edge: this rank's list on entry; then all lists. */
static int pass_on(const members *m, const int count[], rota_cross edge[])
{
    return rota_gather_lists(m->c, "swap edges", m->rank, m->n, m->me, count,
                             sizeof *edge, edge);
}

/* The numbers of edges that a rank sends and receives. */
typedef struct tally {
    int n[ROTA_N_DIRS];
} tally;

/* ---- what one rank knows ------------------------------------------------- */

static int list_own(const members *m, const rota_problem *problem, rota_dir dir,
                    rota_crosses *to)
{
    const rota_neighbors *const n = problem->neighbors;
    const bool sent = dir == ROTA_SEND;
    const int most = sent ? n->n_sent : n->n_received;

    to->edge = malloc(((size_t)most + 1) * sizeof *to->edge);
    if (!to->edge)
        return rota_fail_mem("the edges of a node");
    to->n = rota_cross_list(n, m->t, m->c->me, sent,
                            sent ? problem->send.bytes : problem->recv.bytes,
                            to->edge);
    return MPI_SUCCESS;
}

/* Returns the number of blocks with another one's memory, or -1 without memory.
 * Where counts vary there are none. */
static int find_same(const rota_problem *problem, rota_crossing *c)
{
    const size_t n = (size_t)problem->neighbors->n_send + 1;

    if (!problem->send.bytes)
        return 0;
    c->same_as = malloc(n * sizeof *c->same_as);
    return c->same_as ? rota_cross_find_same(&problem->send, c->out.edge,
                                             c->out.n, c->same_as)
                      : -1;
}

/* ---- between nodes ------------------------------------------------------- */

/* One rank of the sender's node tells one of the receiver's about all edges
 * between the two nodes. */
typedef struct talk {
    const members *m;
    MPI_Request *request;
    int n_requests;
} talk;

/* The number of edges, from e on, to or from the same node. */
static int count_same(const rota_crosses *c, int e)
{
    int n = 1;

    while (e + n < c->n && c->edge[e + n].there == c->edge[e].there)
        n++;
    return n;
}

/* The turn between this node and that one: it says which of its ranks a node has
 * talk, and which listen (rota_node_turn). */
static int turn_of(const members *m, rota_dir dir, int there)
{
    const int N = m->t->n_nodes;

    return (dir == ROTA_SEND ? there - m->node + N : m->node - there + N) % N;
}

static int tell_node(talk *k, rota_dir dir, int there, rota_cross edge[], int n)
{
    const int peer = rota_node_turn(k->m->t, there, turn_of(k->m, dir, there));
    const int bytes = (int)((size_t)n * sizeof *edge);
    MPI_Request *const request = &k->request[k->n_requests++];

    return dir == ROTA_SEND
               ? MPI_Isend(edge, bytes, MPI_BYTE, peer, ROTA_TAG_ADDRESS,
                           k->m->c->dup, request)
               : MPI_Irecv(edge, bytes, MPI_BYTE, peer, ROTA_TAG_ADDRESS,
                           k->m->c->dup, request);
}

/* Is this rank the one that talks or listens to that node? */
static bool is_mine(const members *m, rota_dir dir, int there)
{
    return rota_node_turn(m->t, m->node, turn_of(m, dir, there)) == m->c->me;
}

static int talk_all(talk *k, rota_dir dir, rota_crosses *c, rota_cross list[],
                    int *found)
{
    *found = 0;
    for (int e = 0, n; e < c->n; e += n) {
        n = count_same(c, e);
        if (!is_mine(k->m, dir, c->edge[e].there))
            continue;
        ROTA_TRY(tell_node(k, dir, c->edge[e].there,
                           dir == ROTA_SEND ? &c->edge[e] : &list[*found], n));
        *found += n;
    }
    return MPI_SUCCESS;
}

/* Count the edges that each rank of the node has heard about. */
static void count_heard(const members *m, const rota_crosses *in, int count[])
{
    memset(count, 0, (size_t)m->n * sizeof *count);
    for (int e = 0, n; e < in->n; e += n) {
        n = count_same(in, e);
        count[turn_of(m, ROTA_RECV, in->edge[e].there) % m->n] += n;
    }
}

/* Once sorted, the edges told have the same order as those that arrive here:
 * each tells about the edge in its place. */
static void take_alike(rota_crosses *in, rota_cross list[])
{
    rota_cross_sort(list, in->n);
    for (int e = 0; e < in->n; e++)
        in->edge[e].repeats = list[e].repeats;
}

/* Tell other nodes which edges have the same memory, and hear it. list: room
 * for all of in; request: for each edge; count: [n]. Collective. */
static int share_alike(const members *m, rota_crossing *c, rota_cross list[],
                       int count[], MPI_Request request[])
{
    talk k = {.m = m, .request = request};
    int told, heard;

    ROTA_TRY(talk_all(&k, ROTA_RECV, &c->in, list, &heard));
    const int n_recvs = k.n_requests;
    ROTA_TRY(talk_all(&k, ROTA_SEND, &c->out, NULL, &told));
    const rota_meeting now = rota_comm_meeting(m->c, "swap edges", -1);
    ROTA_TRY(rota_wait_requests(&now, n_recvs, k.n_requests, request));
    count_heard(m, &c->in, count);
    ROTA_TRY(pass_on(m, count, list));
    take_alike(&c->in, list);
    return MPI_SUCCESS;
}

static int find_senders_alike(const members *m, rota_crossing *c)
{
    const size_t edges = (size_t)c->in.n + (size_t)c->out.n + 1;
    rota_cross *const list = malloc(((size_t)c->in.n + 1) * sizeof *list);
    int *const count = malloc((size_t)m->n * sizeof *count);
    MPI_Request *const request = malloc(edges * sizeof *request);
    int err = list && count && request ? MPI_SUCCESS
                                       : rota_fail_mem("the edges of a node");

    err = rota_agree(m->c, err, NULL);
    if (err == MPI_SUCCESS)
        err = share_alike(m, c, list, count, request);
    free(list);
    free(count);
    free(request);
    return err;
}

/* ---- all of it ----------------------------------------------------------- */

/* Make room for the edges of all ranks of the node. all: [n] how many each has;
 * count: [n] receives those of a direction. */
static int gather(const members *m, const tally all[], rota_dir dir,
                  rota_crosses *to, int count[])
{
    size_t n = 0;

    for (int i = 0; i < m->n; i++) {
        count[i] = all[i].n[dir];
        n += (size_t)count[i];
    }
    rota_cross *const more = n > INT_MAX / sizeof *more
                                 ? NULL
                                 : realloc(to->edge, (n + 1) * sizeof *more);
    if (!more)
        return rota_fail_mem("the edges of a node");
    to->edge = more;
    to->n = (int)n;
    return MPI_SUCCESS;
}

/* May fail on one rank alone. */
static int make_room(const members *m, const tally all[], int *count[],
                     rota_crossing *c)
{
    ROTA_TRY(gather(m, all, ROTA_SEND, &c->out, count[ROTA_SEND]));
    return gather(m, all, ROTA_RECV, &c->in, count[ROTA_RECV]);
}

static int find_own(const members *m, const rota_problem *problem,
                    rota_crossing *c, tally *mine, int *repeats)
{
    ROTA_TRY(list_own(m, problem, ROTA_SEND, &c->out));
    ROTA_TRY(list_own(m, problem, ROTA_RECV, &c->in));
    mine->n[ROTA_SEND] = c->out.n;
    mine->n[ROTA_RECV] = c->in.n;
    *repeats = find_same(problem, c);
    return *repeats < 0 ? rota_fail_mem("the edges of a node") : MPI_SUCCESS;
}

static int put_in_order(rota_crossing *c, const members *m)
{
    ROTA_TRY(rota_crosses_close(&c->out, m->t, m->node, true));
    return rota_crosses_close(&c->in, m->t, m->node, false);
}

/* all: [n], counts: [n] for each direction. */
static int find_all(const members *m, int status, tally all[], int *count[],
                    const rota_problem *problem, rota_crossing *c)
{
    tally mine = {{0}};
    int repeats = 0;

    if (status == MPI_SUCCESS)
        status = find_own(m, problem, c, &mine, &repeats);
    status = rota_gather_addresses(m->c, m->rank, m->n, status, &mine, all,
                                   sizeof mine);
    if (status == MPI_SUCCESS)
        status = make_room(m, all, count, c);
    rota_vote vote = {.largest = (uint64_t)repeats};
    ROTA_TRY(rota_agree(m->c, status, &vote));
    ROTA_TRY(pass_on(m, count[ROTA_SEND], c->out.edge));
    ROTA_TRY(pass_on(m, count[ROTA_RECV], c->in.edge));
    ROTA_TRY(rota_agree(m->c, put_in_order(c, m), NULL));
    if (vote.largest > 0)
        return find_senders_alike(m, c);
    free(c->same_as); /* no two blocks have the same memory */
    c->same_as = NULL;
    return MPI_SUCCESS;
}

int rota_crossing_find(const rota_comm *c, const rota_topo *topo,
                       rota_problem *problem, rota_crossing *crossing)
{
    const members m = members_of(c, topo);
    const size_t n = (size_t)m.n;
    tally *const all = calloc(n, sizeof *all);
    int *const counts = calloc(2 * n, sizeof *counts);
    int *count[ROTA_N_DIRS] = {counts, counts ? counts + n : NULL};
    int err =
        all && counts ? MPI_SUCCESS : rota_fail_mem("the edges of a node");

    err = find_all(&m, err, all, count, problem, crossing);
    free(all);
    free(counts);
    if (err == MPI_SUCCESS)
        problem->crossing = crossing;
    else
        rota_crossing_free(crossing);
    return err;
}
