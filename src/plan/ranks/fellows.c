/* fellows.c - see fellows.h.
 *
 * What one communicator has found out of processes serves all later ones, so
 * that a rank which dies before its first plan on another is missed there.
 * Processes are known by their ranks in MPI_COMM_WORLD, which sessions have not.
 */
#include "plan/ranks/fellows.h"
#include "base/alike.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest text that tells hosts apart. */
enum { NAME = 256 };

/* Of a system that runs, whatever its name; may be empty. */
static char boot_id[NAME];

static void read_boot_id(void)
{
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY);
    const ssize_t n = file < 0 ? 0 : read(file, boot_id, NAME - 1);

    boot_id[n > 0 ? n : 0] = '\0';
    if (file >= 0)
        close(file);
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    while (*text)
        hash = rota_scramble(hash ^ (unsigned char)*text++);
    return rota_scramble(hash);
}

/* The host name and the boot id. Containers of one system differ in the name; hosts
 * that are all called localhost differ in the boot id. If processes of one node turn
 * out to share no memory, MPI carries their messages. */
static uint64_t find_host(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char name[NAME] = "";

    pthread_once(&once, read_boot_id);
    gethostname(name, sizeof name - 1);
    return add_text(add_text(1, name), boot_id);
}

rota_process rota_process_self(void)
{
    struct stat s;
    const bool known = stat("/proc/self/ns/pid", &s) == 0;

    return (rota_process){.host = find_host(),
                          .space = known ? (uint64_t)s.st_ino : 0,
                          .pid = (int32_t)getpid()};
}

rota_roster *rota_fellows_make(int most)
{
    rota_roster *const r =
        calloc(1, sizeof *r + (size_t)most * sizeof *r->fellow);

    return r;
}

void rota_fellows_enter(rota_roster *r, const rota_topo *t, int me,
                        const rota_process all[])
{
    const int node = t->node[me], n = rota_topo_node_size(t, node);

    for (int i = 0; i < n; i++) {
        const int rank = rota_node_rank(t, node, i);
        if (rank != me && all[rank].space != 0 &&
            all[rank].space == all[me].space)
            r->fellow[r->n++] =
                (rota_fellow){.rank = rank, .pid = all[rank].pid};
    }
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

bool rota_fellows_translate(MPI_Comm a, int n, const int from[], MPI_Comm b,
                            int to[])
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
    rota_roster *const r = rota_fellows_make(known.n);
    int *const rank = malloc(2 * (size_t)known.n * sizeof *rank);
    int *const there = rank ? rank + known.n : NULL;

    for (int i = 0; rank && i < known.n; i++)
        rank[i] = known.fellow[i].rank;
    const bool ok =
        r && rank &&
        rota_fellows_translate(MPI_COMM_WORLD, known.n, rank, comm, there);
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
        rota_fellows_translate(comm, r->n, rank, MPI_COMM_WORLD, world))
        add(r, world);
    pthread_mutex_unlock(&known.lock);
    free(rank);
}
