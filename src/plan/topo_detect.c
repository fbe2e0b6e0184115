/* topo_detect.c - nodes from MPI, cores from hwloc. */
#include "plan/plan.h"

#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

static int cores = INT_MAX; /* where hwloc cannot tell */

static void count_cores(void)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) < 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        cores = n > 0 ? n : cores;
    }
    hwloc_topology_destroy(topology);
}

int rota_topo_cores(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, count_cores); /* loading takes milliseconds */
    return cores;
}

int rota_topo_alloc(rota_topo *topo, int P)
{
    const size_t n = (size_t)P;

    *topo = (rota_topo){.P = P};
    topo->node = malloc(n * sizeof *topo->node);
    topo->local = malloc(n * sizeof *topo->local);
    topo->ranks = malloc(n * sizeof *topo->ranks);
    topo->first = calloc(n + 1, sizeof *topo->first);
    return topo->node && topo->local && topo->ranks && topo->first
               ? MPI_SUCCESS
               : rota_fail_mem("the topology");
}

/* leader[q]: the lowest rank on q's node. */
static int gather_leaders(MPI_Comm comm, int me, int leader[])
{
    MPI_Comm node;
    int lowest = me;

    ROTA_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                 &node));
    int err = MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    if (err == MPI_SUCCESS)
        err = MPI_Allgather(&lowest, 1, MPI_INT, leader, 1, MPI_INT, comm);
    return err;
}

/* Number the nodes by their lowest rank and sort the ranks into them. */
static void arrange(rota_topo *t, const int leader[])
{
    for (int q = 0; q < t->P; q++) {
        t->node[q] = leader[q] == q ? t->n_nodes++ : t->node[leader[q]];
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

int rota_topo_detect(MPI_Comm comm, int me, rota_topo *topo)
{
    int *const leader = topo->ranks; /* until the ranks are sorted */

    ROTA_TRY(gather_leaders(comm, me, leader));
    arrange(topo, leader);
    return MPI_SUCCESS;
}

void rota_topo_free(rota_topo *topo)
{
    free(topo->node);
    free(topo->local);
    free(topo->ranks);
    free(topo->first);
    *topo = (rota_topo){0};
}
