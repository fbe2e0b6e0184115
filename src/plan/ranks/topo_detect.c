/* topo_detect.c - nodes from the names of hosts; cores and NUMA domains from hwloc,
 * or from the system where there is one domain.
 *
 * MPI_Comm_split_type would tell the nodes as well. But it takes several
 * collectives, and waits in those keep the core from other ranks: 0.25 s for 8
 * ranks on 2 cores with MPICH 4.0.2. So ranks tell each other everything at once.
 *
 * hwloc is asked once, when the first communicator is set up: a rank is bound
 * as the thread that does so is bound at that time. If hwloc is told to
 * describe another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE), bindings mean
 * nothing there, and ranks are spread over its domains by their position in the
 * node.
 */
#include "plan/ranks/topo_detect.h"
#include "base/err.h"
#include "choose/learnt.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/cores.h"
#include "plan/ranks/fellows.h"
#include "plan/ranks/gather.h"

#include <hwloc.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

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
    const int cores = rota_cores_count();
    hwloc_topology_t topology;

    if (cores > 0) {
        machine.cores = cores;
        machine.domain = 0;
        return;
    }
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

/* ---- of all ranks -------------------------------------------------------- */

static rota_process describe_self(const rota_comm *c)
{
    const struct machine *const m = this_machine();
    rota_process self = rota_process_self();

    self.cores = m->cores;
    self.n_domains = m->n_domains;
    self.domain = m->domain;
    self.elsewhere = m->elsewhere;
    self.ready = true;
    self.tuned = c->me == 0 && rota_tuning_is_there();
    return self;
}

typedef struct place {
    uint64_t host;
    int rank;
} place;

static int by_host(const void *a, const void *b)
{
    const place *const x = a, *const y = b;

    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* lowest [P]: of the ranks on the host of rank q. places: room for P. */
static void find_lowest(const rota_process all[], int P, place places[],
                        int lowest[])
{
    for (int q = 0; q < P; q++)
        places[q] = (place){all[q].host, q};
    qsort(places, (size_t)P, sizeof *places, by_host);
    for (int i = 0, first = 0; i < P; i++) {
        if (places[i].host != places[first].host)
            first = i;
        lowest[places[i].rank] = places[first].rank;
    }
}

/* If hwloc describes another machine on any rank, ranks are spread over its
 * domains, whatever they are bound to. */
static void set_domains(rota_topo *t, const rota_process all[])
{
    bool spread = false;
    int most = 1;

    for (int q = 0; q < t->P; q++) {
        spread = spread || all[q].elsewhere;
        most = all[q].n_domains > most ? all[q].n_domains : most;
    }
    t->n_domains = most;
    if (spread)
        rota_topo_spread(t, most);
    for (int q = 0; q < t->P && !spread && most > 1; q++)
        t->domain[q] = all[q].domain;
}

/* What it takes memory for: room for P each. */
typedef struct room {
    rota_process *all; /* of rank q */
    place *places;
    rota_roster *roster;
} room;

/* From what each rank has told. Local. */
static void evaluate(rota_comm *c, const room *r)
{
    int *const lowest = c->topo.ranks; /* free until the ranks are sorted */

    find_lowest(r->all, c->P, r->places, lowest);
    rota_topo_arrange(&c->topo, lowest);
    set_domains(&c->topo, r->all);
    c->learnt.tried = !r->all[0].tuned;
    c->cores = INT_MAX;
    for (int q = 0; q < c->P; q++)
        c->cores = r->all[q].cores < c->cores ? r->all[q].cores : c->cores;
    free(c->roster);
    c->roster = r->roster;
    rota_fellows_enter(c->roster, &c->topo, c->me, r->all);
    rota_fellows_remember(c->user, c->roster);
}

/* Tell each other. A rank that has failed tells nothing; so all know that one has,
 * and then all agree on why. Collective. */
static int gather_processes(rota_comm *c, int status, rota_process all[])
{
    const rota_process mine = describe_self(c);
    bool ready = true;

    int err =
        rota_gather_addresses(c, NULL, c->P, status, &mine, all, sizeof mine);
    for (int q = 0; q < c->P && err == MPI_SUCCESS; q++)
        ready = ready && all[q].ready;
    return err == MPI_SUCCESS && ready ? MPI_SUCCESS : rota_agree(c, err, NULL);
}

int rota_topo_detect(rota_comm *c, int status)
{
    const size_t P = (size_t)c->P;
    const room r = {.all = malloc(P * sizeof *r.all),
                    .places = malloc(P * sizeof *r.places),
                    .roster = rota_fellows_make(c->P)};
    int err = status;

    if (err == MPI_SUCCESS)
        err = r.all && r.places && r.roster
                  ? rota_topo_alloc(&c->topo, c->P)
                  : rota_fail_mem("a communicator's state");
    err = gather_processes(c, err, r.all);
    if (err == MPI_SUCCESS)
        evaluate(c, &r);
    else
        free(r.roster);
    free(r.all);
    free(r.places);
    return err;
}
