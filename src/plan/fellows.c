/* fellows.c - see fellows.h.
 *
 * What one communicator has found out of processes serves all later ones, so
 * that a rank which dies before its first plan on another is missed there.
 * Processes are known by their ranks in MPI_COMM_WORLD, which sessions have not.
 */
#include "plan/fellows.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

rota_process rota_process_self(void)
{
    struct stat s;
    const bool known = stat("/proc/self/ns/pid", &s) == 0;

    return (rota_process){.pid = (int32_t)getpid(),
                          .space = known ? (uint64_t)s.st_ino : 0};
}

static rota_roster *make(int most)
{
    rota_roster *const r =
        calloc(1, sizeof *r + (size_t)most * sizeof *r->fellow);

    return r;
}

rota_roster *rota_fellows_make(const rota_topo *t, int me,
                               const rota_process all[])
{
    const int node = t->node[me], n = rota_topo_node_size(t, node);
    rota_roster *const r = make(n);

    for (int i = 0; r && i < n; i++) {
        const int rank = rota_node_rank(t, node, i);
        if (rank != me && all[rank].space != 0 &&
            all[rank].space == all[me].space)
            r->fellow[r->n++] =
                (rota_fellow){.rank = rank, .pid = all[rank].pid};
    }
    return r;
}

/* ---- those of earlier communicators -------------------------------------- */

/* rank: in MPI_COMM_WORLD. */
static struct {
    pthread_mutex_t lock;
    rota_fellow *fellow;
    int n;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool has_world(void)
{
    int begun = 0;

    MPI_Initialized(&begun);
    return begun;
}

/* to[i]: the rank in b of rank from[i] in a, or MPI_UNDEFINED. */
static bool translate(MPI_Comm a, int n, const int from[], MPI_Comm b, int to[])
{
    MPI_Group of_a = MPI_GROUP_NULL, of_b = MPI_GROUP_NULL;
    const bool ok =
        MPI_Comm_group(a, &of_a) == MPI_SUCCESS &&
        MPI_Comm_group(b, &of_b) == MPI_SUCCESS &&
        MPI_Group_translate_ranks(of_a, n, from, of_b, to) == MPI_SUCCESS;

    if (of_a != MPI_GROUP_NULL)
        MPI_Group_free(&of_a);
    if (of_b != MPI_GROUP_NULL)
        MPI_Group_free(&of_b);
    return ok;
}

/* With the lock. */
static rota_roster *recall(MPI_Comm comm)
{
    rota_roster *const r = make(known.n);
    int *const rank = malloc(2 * (size_t)known.n * sizeof *rank);
    int *const there = rank ? rank + known.n : NULL;

    for (int i = 0; rank && i < known.n; i++)
        rank[i] = known.fellow[i].rank;
    const bool ok =
        r && rank && translate(MPI_COMM_WORLD, known.n, rank, comm, there);
    for (int i = 0; ok && i < known.n; i++)
        if (there[i] != MPI_UNDEFINED)
            r->fellow[r->n++] =
                (rota_fellow){.rank = there[i], .pid = known.fellow[i].pid};
    free(rank);
    return r;
}

rota_roster *rota_fellows_recall(MPI_Comm comm)
{
    rota_roster *r = NULL;

    pthread_mutex_lock(&known.lock);
    if (known.n > 0 && has_world())
        r = recall(comm);
    pthread_mutex_unlock(&known.lock);
    return r;
}

/* With the lock. */
static bool is_known(int rank)
{
    int i = 0;

    while (i < known.n && known.fellow[i].rank != rank)
        i++;
    return i < known.n;
}

static void add(const rota_roster *r, const int world[])
{
    rota_fellow *const more =
        realloc(known.fellow, (size_t)(known.n + r->n) * sizeof *known.fellow);

    if (!more) /* they are not recalled */
        return;
    known.fellow = more;
    for (int i = 0; i < r->n; i++)
        if (world[i] != MPI_UNDEFINED && !is_known(world[i]))
            known.fellow[known.n++] =
                (rota_fellow){.rank = world[i], .pid = r->fellow[i].pid};
}

void rota_fellows_remember(MPI_Comm comm, const rota_roster *r)
{
    int *const rank = malloc((2 * (size_t)r->n + 1) * sizeof *rank);
    int *const world = rank ? rank + r->n : NULL;

    for (int i = 0; rank && i < r->n; i++)
        rank[i] = r->fellow[i].rank;
    pthread_mutex_lock(&known.lock);
    if (rank && r->n > 0 && has_world() &&
        translate(comm, r->n, rank, MPI_COMM_WORLD, world))
        add(r, world);
    pthread_mutex_unlock(&known.lock);
    free(rank);
}
