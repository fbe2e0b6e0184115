/* graph.c - see graph.h. */
#include "plan/args/graph.h"
#include "plan/args/neighbors.h"
#include "plan/ranks/agree.h"

#include <stdlib.h>

static int check_list(const rota_comm *c, const char *degree, int n,
                      const char *name, const int list[])
{
    if (n < 0)
        return rota_fail(MPI_ERR_COUNT, "%s = %d is negative", degree, n);
    if (n > 0 && !list)
        return rota_fail(MPI_ERR_ARG, "%s is NULL", name);
    for (int i = 0; i < n; i++)
        if (list[i] != MPI_PROC_NULL && (list[i] < 0 || list[i] >= c->P))
            return rota_fail(MPI_ERR_ARG,
                             "%s[%d] = %d is neither a rank, 0 to %d, nor "
                             "MPI_PROC_NULL",
                             name, i, list[i], c->P - 1);
    return MPI_SUCCESS;
}

/* May fail on one rank alone. */
static int fill(rota_graph *g, const rota_graph_args *args)
{
    if (!args)
        return rota_neighbors_of_topology(g->comm, &g->lists);
    ROTA_TRY(
        check_list(g->comm, "indegree", args->n_from, "sources", args->from));
    ROTA_TRY(
        check_list(g->comm, "outdegree", args->n_to, "destinations", args->to));
    return rota_neighbors_of_lists(g->comm->me, false, args->n_to, args->to,
                                   args->n_from, args->from, &g->lists);
}

/* The ranks must have been called for the same, and both ends of each edge must
 * know of it. A rank without memory for the graph brings no edges: its failure
 * comes first. */
static int agree_on_edges(rota_comm *c, const rota_graph *g,
                          const rota_hints *hints, int status)
{
    const rota_neighbors none = {0};
    const rota_problem problem = {.neighbors = g ? &g->lists : &none};
    rota_alike alike = {0};
    rota_vote vote = {.alike = &alike,
                      .unmatched = rota_edges_unmatched(c, &problem, false)};

    rota_alike_add(&alike, "kind of call", UINT64_MAX); /* of no plan */
    rota_hints_alike(hints, &alike);
    ROTA_TRY(rota_agree(c, status, &vote));
    return vote.unmatched ? rota_edges_tell_mismatch(c, &problem, false)
                          : MPI_SUCCESS;
}

static rota_graph *new_graph(rota_comm *c)
{
    rota_graph *const g = calloc(1, sizeof *g);

    if (!g)
        return NULL;
    g->comm = c;
    g->refs = 1;
    rota_comm_retain(c);
    return g;
}

int rota_graph_reverse(rota_comm *c, const rota_neighbors *lists,
                       rota_graph **graph)
{
    rota_graph *const g = new_graph(c);
    const int err = g ? rota_neighbors_of_lists(
                            c->me, lists->crossed, lists->n_recv, lists->from,
                            lists->n_send, lists->to, &g->lists)
                      : rota_fail_mem("a graph");

    if (err == MPI_SUCCESS)
        *graph = g;
    else
        rota_graph_release(g);
    return err;
}

int rota_graph_make(rota_comm *c, const rota_graph_args *args,
                    const rota_hints *hints, int status, rota_graph **graph)
{
    rota_graph *const g = new_graph(c);

    if (status == MPI_SUCCESS)
        status = g ? fill(g, args) : rota_fail_mem("a graph");
    status = agree_on_edges(c, g, hints, status);
    if (status == MPI_SUCCESS)
        *graph = g;
    else
        rota_graph_release(g);
    return status;
}

void rota_graph_retain(rota_graph *graph)
{
    atomic_fetch_add(&graph->refs, 1);
}

void rota_graph_release(rota_graph *graph)
{
    if (!graph || atomic_fetch_sub(&graph->refs, 1) > 1)
        return;
    rota_neighbors_free(&graph->lists);
    rota_comm_release(graph->comm);
    free(graph);
}
