/* topo_detect.c - nodes from MPI, cores from hwloc. */
#include "plan/plan.h"

#include <hwloc.h>
#include <limits.h>
#include <stdlib.h>

/* Cores that this process's node offers, or INT_MAX where hwloc cannot tell.
 * Asked once: loading a topology takes milliseconds. */
static int count_cores(void)
{
    static int cores;
    hwloc_topology_t topology;

    if (cores > 0)
        return cores;
    cores = INT_MAX;
    if (hwloc_topology_init(&topology) < 0)
        return cores;
    if (hwloc_topology_load(topology) == 0) {
        const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        cores = n > 0 ? n : cores;
    }
    hwloc_topology_destroy(topology);
    return cores;
}

/* leader[q]: the lowest rank on q's node. */
static int gather_leaders(MPI_Comm comm, int P, int me, int leader[])
{
    MPI_Comm node;
    int lowest = me;

    ROTA_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                 &node));
    int err = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    if (err == MPI_SUCCESS)
        err = MPI_Allgather(&lowest, 1, MPI_INT, leader, 1, MPI_INT, comm);
    (void)P;
    return err;
}

/* Number the nodes by their lowest rank and sort the ranks into them. */
static void arrange(rota_topo *t, const int leader[])
{
    for (int q = 0; q < t->P; q++) {
        if (leader[q] == q)
            t->node[q] = t->n_nodes++;
        t->node[q] = t->node[leader[q]];
        t->local[q] = t->first[t->node[q]]++;
    }
    for (int n = 0, begin = 0; n <= t->n_nodes; n++) {
        const int size = t->first[n];
        t->first[n] = begin;
        begin += size;
    }
    for (int q = 0; q < t->P; q++)
        t->ranks[t->first[t->node[q]] + t->local[q]] = q;
}

int rota_topo_detect(MPI_Comm comm, rota_topo *topo)
{
    int P, me;

    ROTA_TRY(MPI_Comm_size(comm, &P));
    ROTA_TRY(MPI_Comm_rank(comm, &me));
    rota_topo t = {.P = P, .n_cores = count_cores()};
    const size_t n = (size_t)P;
    int *const leader = malloc(n * sizeof *leader);
    t.node = malloc(n * sizeof *t.node);
    t.local = malloc(n * sizeof *t.local);
    t.ranks = malloc(n * sizeof *t.ranks);
    t.first = calloc(n + 1, sizeof *t.first);
    int err = leader && t.node && t.local && t.ranks && t.first
                  ? MPI_SUCCESS
                  : rota_fail_mem("the topology");
    if (err == MPI_SUCCESS)
        err = gather_leaders(comm, P, me, leader);
    if (err == MPI_SUCCESS) {
        arrange(&t, leader);
        const int mine = t.node[me];
        t.crowded = t.first[mine + 1] - t.first[mine] > t.n_cores;
        *topo = t;
    } else {
        rota_topo_free(&t);
    }
    free(leader);
    return err;
}

void rota_topo_free(rota_topo *topo)
{
    free(topo->node);
    free(topo->local);
    free(topo->ranks);
    free(topo->first);
    *topo = (rota_topo){0};
}
