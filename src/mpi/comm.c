/* comm.c - see comm.h. All decisions here are the same on all ranks of the
 * communicator (exchange.h).
 */
#include "mpi/comm.h"
#include "mpi/sync.h"

#include <pthread.h>
#include <stdlib.h>
#include <utlist.h>

/* Communicators with plans of their own, at a time. Rota duplicates each, and
 * MPICH has about 2,000 in all, which are the program's. */
enum { MOST_TAKEN = 256 };

typedef struct rota_mpi_comm rota_mpi_comm;
struct rota_mpi_comm {
    MPI_Comm comm;
    int P;
    bool foreign;                /* to Rota: an intercommunicator */
    rota_mpi_topology *topology; /* or NULL */

    /* Of blocking calls among all ranks, and among neighbours; NULL before the
     * first. */
    rota_mpi_group *group[2];
    int room; /* for persistent plans: 1, or -1: none; 0: not agreed on yet */
    rota_mpi_comm *prev, *next; /* in the list */
};

static rota_mpi_comm *list; /* of all, the last one first */
static atomic_int n_taken;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- life ---------------------------------------------------------------- */

/* The program frees the communicator. */
static int on_free(MPI_Comm comm, int key, void *value, void *extra)
{
    rota_mpi_comm *const c = value;

    (void)comm;
    (void)key;
    (void)extra;
    pthread_mutex_lock(&list_lock);
    DL_DELETE(list, c);
    pthread_mutex_unlock(&list_lock);
    n_taken -= c->room > 0;
    atomic_fetch_add(&rota_mpi_n_freed, 1);
    for (int among = 1; among >= 0; among--) /* neighbours first */
        if (c->group[among])
            rota_mpi_group_leave(c->group[among]);
    rota_mpi_topology_free(c->topology);
    free(c);
    return MPI_SUCCESS;
}

void rota_mpi_comm_begin(void)
{
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval, NULL);
}

/* NULL: nothing is known of it. */
static rota_mpi_comm *find(MPI_Comm comm)
{
    rota_mpi_comm *c = NULL;
    int found = 0;

    return PMPI_Comm_get_attr(comm, keyval, &c, &found) == MPI_SUCCESS && found
               ? c
               : NULL;
}

/* Local. NULL before MPI_Init, where there is a session instead, and for what is no
 * communicator: MPI says so. */
static rota_mpi_comm *find_or_make(MPI_Comm comm)
{
    int inter = 0, P = 0;

    if (comm == MPI_COMM_NULL || keyval == MPI_KEYVAL_INVALID)
        return NULL;
    rota_mpi_comm *c = find(comm);
    if (c || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS ||
        PMPI_Comm_size(comm, &P) != MPI_SUCCESS)
        return c;
    c = rota_mpi_alloc(1, sizeof *c);
    *c = (rota_mpi_comm){.comm = comm, .P = P, .foreign = inter};
    if (PMPI_Comm_set_attr(comm, keyval, c) != MPI_SUCCESS)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    pthread_mutex_lock(&list_lock);
    DL_PREPEND(list, c);
    pthread_mutex_unlock(&list_lock);
    return c;
}

void rota_mpi_comm_end(void)
{
    while (list)
        PMPI_Comm_delete_attr(list->comm, keyval); /* which removes it */
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
}

/* ---- agreeing ------------------------------------------------------------ */

/* Is there room for plans on this communicator? Collective the first time. */
static bool takes(rota_mpi_comm *c)
{
    if (c->room == 0) {
        const bool room = n_taken++ < MOST_TAKEN;
        c->room = rota_mpi_all(c->comm, room) ? 1 : -1;
        n_taken -= c->room < 0;
    }
    return c->room > 0;
}

/* Set the numbers of blocks. False: the communicator has no neighbours, on any
 * rank. */
static bool set_blocks(rota_mpi_comm *c, rota_mpi_args *args)
{
    if (!args->neighbors) {
        args->send.n = args->recv.n = c->P;
        return true;
    }
    if (!c->topology)
        c->topology = rota_mpi_topology_get(c->comm);
    if (!c->topology)
        return false;
    args->send.n = c->topology->n_to;
    args->send.peers = c->topology->to;
    args->recv.n = c->topology->n_from;
    args->recv.peers = c->topology->from;
    args->recv.slots = c->topology->slot[args->shape == ROTA_MPI_ONE];
    return true;
}

bool rota_mpi_comm_takes_init(rota_mpi_args *args)
{
    rota_mpi_comm *const c = find_or_make(args->comm);

    return c && !c->foreign && set_blocks(c, args) && takes(c);
}

/* ---- what a call uses ---------------------------------------------------- */

/* Alone on a communicator MPI only copies. */
bool rota_mpi_comm_takes(rota_mpi_args *args, bool *known)
{
    const rota_mpi_group *const g =
        args->neighbors ? NULL : rota_mpi_group_of(args->comm);
    rota_mpi_comm *const c = g ? NULL : find_or_make(args->comm);

    *known = g || c;
    if (g)
        args->send.n = args->recv.n = g->P;
    return g || (c && !c->foreign && set_blocks(c, args) && c->P > 1);
}

rota_mpi_group *rota_mpi_comm_blocking(const rota_mpi_args *args)
{
    rota_mpi_group *const shared =
        args->neighbors ? NULL : rota_mpi_group_of(args->comm);
    if (shared)
        return shared;
    rota_mpi_comm *const c = find(args->comm);
    rota_mpi_group **const group = c->group;
    if (!group[0])
        group[0] = rota_mpi_group_get(c->comm, c->P);
    if (args->neighbors && !group[1])
        group[1] = rota_mpi_group_with(group[0], c->comm, c->topology);
    return group[args->neighbors];
}
