/* topo_detect.c - nodes from MPI, cores and NUMA domains from hwloc.
 *
 * hwloc is asked once, when the first communicator is set up: a rank is bound
 * as the thread that does so is bound at that time. If hwloc is told to
 * describe another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE), bindings mean
 * nothing there, and ranks are spread over its domains by their position in the
 * node.
 */
#include "plan/topo_detect.h"
#include "base/err.h"

#include <hwloc.h>
#include <limits.h>
#include <pthread.h>

enum { UNBOUND = -1 };

/* What hwloc tells this process. */
static struct machine {
    int cores; /* INT_MAX: unknown */
    int n_domains;
    int domain;                /* to which this thread is bound, or UNBOUND */
    bool elsewhere;            /* it describes another machine */
    hwloc_topology_t topology; /* if there are several domains and this */
    hwloc_const_nodeset_t nodeset; /* thread is bound to one; else NULL */
} machine = {.cores = INT_MAX, .n_domains = 1, .domain = UNBOUND};

/* Memories close to the same cores are one domain; memory close to no core is
 * none. */
static bool begins_domain(hwloc_obj_t numa)
{
    hwloc_obj_t before = numa->prev_cousin;

    while (before && !hwloc_bitmap_isequal(before->cpuset, numa->cpuset))
        before = before->prev_cousin;
    return !before && !hwloc_bitmap_iszero(numa->cpuset);
}

/* Count the domains; the one that has all of bound is this rank's. */
static void look_at_domains(hwloc_topology_t topology,
                            hwloc_const_cpuset_t bound)
{
    hwloc_obj_t numa = NULL;
    int n = 0;

    while ((numa = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE,
                                              numa))) {
        if (!begins_domain(numa))
            continue;
        if (hwloc_bitmap_isincluded(bound, numa->cpuset)) {
            machine.domain = n;
            machine.nodeset = numa->nodeset;
        }
        n++;
    }
    machine.n_domains = n > 1 ? n : 1;
    if (machine.n_domains == 1) {
        machine.domain = 0;
        machine.nodeset = NULL;
    }
}

static void look_at(hwloc_topology_t topology)
{
    const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    hwloc_cpuset_t bound = hwloc_bitmap_alloc();

    machine.cores = cores > 0 ? cores : INT_MAX;
    machine.elsewhere = !hwloc_topology_is_thissystem(topology);
    if (!bound)
        return;
    if (machine.elsewhere ||
        hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_THREAD) < 0)
        hwloc_bitmap_fill(bound);
    look_at_domains(topology, bound);
    hwloc_bitmap_free(bound);
}

/* Load only what is needed, and do not move this thread to each processor:
 * where another rank is busy, each move takes a turn of the scheduler's. */
static void ask_for_little(hwloc_topology_t topology)
{
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE,
                                   HWLOC_TYPE_FILTER_KEEP_ALL);
#if HWLOC_API_VERSION >= 0x00020500
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
#endif
}

static void load(void)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) < 0)
        return;
    ask_for_little(topology);
    if (hwloc_topology_load(topology) == 0)
        look_at(topology);
    if (machine.nodeset)
        machine.topology = topology;
    else
        hwloc_topology_destroy(topology);
}

static const struct machine *this_machine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load); /* loading takes milliseconds */
    return &machine;
}

int rota_topo_cores(void)
{
    return this_machine()->cores;
}

int rota_topo_domains(void)
{
    return this_machine()->n_domains;
}

bool rota_topo_is_elsewhere(void)
{
    return this_machine()->elsewhere;
}

/* If the system cannot do this, pages come from where the thread runs that
 * first touches them. */
void rota_topo_bind_memory(void *memory, size_t bytes)
{
    const struct machine *const m = this_machine();

    if (m->topology)
        (void)hwloc_set_area_membind(m->topology, memory, bytes, m->nodeset,
                                     HWLOC_MEMBIND_BIND,
                                     HWLOC_MEMBIND_BYNODESET);
}

/* all[q]: of rank q. */
static int gather_processes(MPI_Comm comm, int me, rota_process all[])
{
    rota_process mine = rota_process_self();
    MPI_Comm node;

    mine.lowest = me;

    ROTA_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                 &node));
    int err = MPI_Bcast(&mine.lowest, 1, MPI_INT32_T, 0, node);
    MPI_Comm_free(&node);
    if (err == MPI_SUCCESS)
        err = MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine,
                            MPI_BYTE, comm);
    return err;
}

int rota_topo_detect(MPI_Comm comm, int me, int n_domains, bool spread,
                     rota_topo *topo, rota_process processes[])
{
    int *const lowest = topo->ranks; /* free until the ranks are sorted */

    ROTA_TRY(gather_processes(comm, me, processes));
    for (int q = 0; q < topo->P; q++)
        lowest[q] = processes[q].lowest;
    rota_topo_arrange(topo, lowest);
    topo->n_domains = n_domains;
    if (spread)
        rota_topo_spread(topo, n_domains);
    if (spread || n_domains == 1)
        return MPI_SUCCESS;
    return MPI_Allgather(&this_machine()->domain, 1, MPI_INT, topo->domain, 1,
                         MPI_INT, comm);
}
