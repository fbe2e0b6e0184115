/* neighbors.c - the neighbours of a communicator, and whether both ends of each
 * edge agree. In an all-to-all there is one edge between each two ranks.
 *
 * One sum over ranks, part of the vote on a plan, tells whether all do. If not,
 * the ranks look for such an edge, by halving the range of edges. So nobody
 * waits for a message that another rank does not know of.
 */
#include "plan/args/neighbors.h"
#include "base/alike.h"
#include "plan/args/validate.h"
#include "plan/inside.h"
#include "plan/ranks/agree.h"

#include <limits.h>
#include <stdlib.h>

/* ---- lists --------------------------------------------------------------- */

static int from_graph(MPI_Comm comm, int me, rota_neighbors *n)
{
    int degree;

    ROTA_TRY(MPI_Graph_neighbors_count(comm, me, &degree));
    ROTA_TRY(rota_neighbors_alloc(n, degree, degree));
    ROTA_TRY(MPI_Graph_neighbors(comm, me, degree, n->to));
    for (int i = 0; i < degree; i++)
        n->from[i] = n->to[i];
    return MPI_SUCCESS;
}

/* MPI wants room for weights, too. */
static int from_dist_graph(MPI_Comm comm, rota_neighbors *n)
{
    int sources, destinations, weighted;

    ROTA_TRY(MPI_Dist_graph_neighbors_count(comm, &sources, &destinations,
                                            &weighted));
    ROTA_TRY(rota_neighbors_alloc(n, destinations, sources));
    const size_t most = (size_t)sources + (size_t)destinations + 1;
    int *const weight = malloc(most * sizeof *weight);
    if (!weight)
        return rota_fail_mem("neighbours");
    const int err = MPI_Dist_graph_neighbors(
        comm, sources, n->from, weight, destinations, n->to, weight + sources);
    free(weight);
    return err;
}

static int rank_or_nobody(int rank)
{
    return rank == MPI_PROC_NULL ? ROTA_NOBODY : rank;
}

static int from_grid(MPI_Comm comm, rota_neighbors *n)
{
    int dims;

    ROTA_TRY(MPI_Cartdim_get(comm, &dims));
    ROTA_TRY(rota_neighbors_alloc(n, 2 * dims, 2 * dims));
    n->crossed = true;
    for (int d = 0; d < dims; d++)
        ROTA_TRY(MPI_Cart_shift(comm, d, 1, &n->to[2 * d], &n->to[2 * d + 1]));
    for (int i = 0; i < 2 * dims; i++)
        n->from[i] = n->to[i] = rank_or_nobody(n->to[i]);
    return MPI_SUCCESS;
}

/* Of Rota's duplicate, which has the topology and returns errors. */
static int find_lists(const rota_comm *c, rota_neighbors *n)
{
    int kind;

    ROTA_TRY(MPI_Topo_test(c->dup, &kind));
    switch (kind) {
    case MPI_CART:
        return from_grid(c->dup, n);
    case MPI_GRAPH:
        return from_graph(c->dup, c->me, n);
    case MPI_DIST_GRAPH:
        return from_dist_graph(c->dup, n);
    default:
        return rota_fail(MPI_ERR_TOPOLOGY,
                         "comm has no process topology, so no neighbours");
    }
}

int rota_neighbors_of_topology(const rota_comm *c, rota_neighbors *n)
{
    ROTA_TRY(find_lists(c, n));
    return rota_neighbors_close(n, c->me);
}

int rota_neighbors_of_lists(int me, bool grid, int n_to, const int to[],
                            int n_from, const int from[], rota_neighbors *n)
{
    ROTA_TRY(rota_neighbors_alloc(n, n_to, n_from));
    for (int i = 0; i < n_to; i++)
        n->to[i] = rank_or_nobody(to[i]);
    for (int i = 0; i < n_from; i++)
        n->from[i] = rank_or_nobody(from[i]);
    n->crossed = grid;
    return rota_neighbors_close(n, me);
}

/* err: of finding n. */
static int keep(rota_comm *c, rota_neighbors *n, int err)
{
    if (err == MPI_SUCCESS)
        c->neighbors = *n;
    else
        rota_neighbors_free(n);
    c->has_neighbors = err == MPI_SUCCESS;
    return err;
}

int rota_comm_find_neighbors(rota_comm *c)
{
    rota_neighbors n = {0};

    return c->has_neighbors ? MPI_SUCCESS
                            : keep(c, &n, rota_neighbors_of_topology(c, &n));
}

int rota_comm_set_neighbors(MPI_Comm comm, bool grid, int n_to, const int to[],
                            int n_from, const int from[])
{
    rota_neighbors n = {0};
    rota_comm *c;

    ROTA_TRY(rota_comm_find(comm, &c));
    return keep(
        c, &n,
        rota_neighbors_of_lists(c->me, grid, n_to, to, n_from, from, &n));
}

/* ---- both ends ----------------------------------------------------------- */

/* A set of edges: from, to and nth range from the first value to the second. */
typedef struct box {
    int from[2], to[2], nth[2];
} box;

static bool is_in(const box *b, int src, int dst, int nth)
{
    return src >= b->from[0] && src <= b->from[1] && dst >= b->to[0] &&
           dst <= b->to[1] && nth >= b->nth[0] && nth <= b->nth[1];
}

/* A digest of an edge, so that a sum of many tells them all apart. Two sizes of
 * one edge never have the same, and an edge without bytes differs from no
 * edge. */
static uint64_t digest(int src, int dst, int nth, size_t bytes)
{
    const uint64_t pair = (uint64_t)src << 32 | (uint32_t)dst;

    return rota_scramble(
        rota_scramble(rota_scramble(pair + 1) + (uint64_t)nth) ^ bytes);
}

/* The edges of a rank, and whether their sizes count. */
typedef struct edges {
    const rota_comm *comm;
    const rota_problem *problem;
    bool checked;
} edges;

/* The blocks of one side, as edges. */
typedef struct edge_list {
    int n;
    const rota_edge *edge; /* [n]; NULL: block i goes to or comes from rank i */
    const size_t *bytes;   /* of blocks, if they count; else NULL */
} edge_list;

static edge_list list_edges(const edges *e, bool sent)
{
    const rota_problem *const p = e->problem;
    const rota_neighbors *const n = p->neighbors;
    const size_t *const bytes = sent ? rota_problem_sent(p) : p->recv.bytes;

    return (edge_list){.n = !n     ? e->comm->P
                            : sent ? n->n_sent
                                   : n->n_received,
                       .edge = !n     ? NULL
                               : sent ? n->sent
                                      : n->received,
                       .bytes = e->checked ? bytes : NULL};
}

static uint64_t digest_side(const edges *e, const box *b, bool sent)
{
    const edge_list l = list_edges(e, sent);
    const int me = e->comm->me;
    uint64_t sum = 0;

    for (int i = 0; i < l.n; i++) {
        const rota_edge edge = l.edge ? l.edge[i] : (rota_edge){i, 0, i};
        const int src = sent ? me : edge.peer, dst = sent ? edge.peer : me;
        if (is_in(b, src, dst, edge.nth))
            sum +=
                digest(src, dst, edge.nth, l.bytes ? l.bytes[edge.block] : 0);
    }
    return sum;
}

static uint64_t digest_edges(const edges *e, const box *b)
{
    return digest_side(e, b, true) - digest_side(e, b, false);
}

uint64_t rota_edges_unmatched(const rota_comm *c, const rota_problem *problem,
                              bool checked)
{
    const edges e = {c, problem, checked};
    const box all = {{0, INT_MAX}, {0, INT_MAX}, {0, INT_MAX}};

    return problem->neighbors || (checked && problem->recv.bytes)
               ? digest_edges(&e, &all)
               : 0;
}

/* Narrow a range of the box to one number, by halving. */
static int narrow(const edges *e, box *b, int range[2])
{
    while (range[0] < range[1]) {
        const int end = range[1], middle = range[0] + (end - range[0]) / 2;
        range[1] = middle;
        rota_vote vote = {.unmatched = digest_edges(e, b)};
        ROTA_TRY(rota_agree(e->comm, MPI_SUCCESS, &vote));
        if (vote.unmatched == 0) {
            range[0] = middle + 1;
            range[1] = end;
        }
    }
    return MPI_SUCCESS;
}

/* What this rank has of the edge in b: 1 + its bytes, or 0 if it has none. */
static uint64_t size_in(const edges *e, const box *b, bool sent)
{
    const edge_list l = list_edges(e, sent);
    const int peer = sent ? b->to[0] : b->from[0];
    int block = peer;

    if ((sent ? b->from[0] : b->to[0]) != e->comm->me)
        return 0;
    if (l.edge)
        block = rota_edge_find(l.edge, l.n, peer, b->nth[0]);
    if (block < 0)
        return 0;
    return 1 + (uint64_t)(l.bytes ? l.bytes[block] : 0);
}

int rota_edges_tell_mismatch(const rota_comm *c, const rota_problem *problem,
                             bool checked)
{
    const edges e = {c, problem, checked};
    const int last = problem->neighbors ? INT_MAX : 0;
    box b = {{0, c->P - 1}, {0, c->P - 1}, {0, last}};

    ROTA_TRY(narrow(&e, &b, b.from));
    ROTA_TRY(narrow(&e, &b, b.to));
    ROTA_TRY(narrow(&e, &b, b.nth));
    rota_vote vote = {.total = size_in(&e, &b, true),
                      .filled = size_in(&e, &b, false)};
    ROTA_TRY(rota_agree(c, MPI_SUCCESS, &vote));
    if (vote.total > 0 && vote.filled > 0) {
        const int err =
            rota_fail_mismatch(b.from[0], b.to[0], (size_t)vote.total - 1,
                               (size_t)vote.filled - 1);
        if (!problem->neighbors)
            rota_fail_at(b.to[0]);
        return err;
    }
    if (vote.total > 0)
        return rota_fail(MPI_ERR_TOPOLOGY,
                         "rank %d has rank %d as a destination more often than "
                         "that has it as a source",
                         b.from[0], b.to[0]);
    return rota_fail(MPI_ERR_TOPOLOGY,
                     "rank %d has rank %d as a source more often than that has "
                     "it as a destination",
                     b.to[0], b.from[0]);
}
