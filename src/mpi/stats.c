/* stats.c - what the drop-in has done, printed by MPI_Finalize if ROTA_STATS
 * asks for it.
 *
 * Every rank counts for itself: to add up would be a collective that a program
 * may not be ready for.
 */
#include "mpi/shim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32, NAME_ROOM = 32 };

static atomic_llong calls[ROTA_MPI_FUNCTIONS], by_rota[ROTA_MPI_FUNCTIONS];
static atomic_llong starts, bytes_sent, time_ns;
static atomic_bool by_f08, printed;

/* Plans by algorithm. Names are added by one thread at a time: making a plan
 * on two communicators at once may lose one of these. */
static struct {
    char name[NAME_ROOM];
    long plans;
} algorithm[NAMES];

static bool wanted(void)
{
    return rota_mpi_settings_get()->stats;
}

/* MPI deletes this attribute of MPI_COMM_SELF first when it is finalized, in
 * whatever language: mpi_f08 does not call MPI_Finalize. */
static int on_end(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    rota_mpi_stats_print();
    return MPI_SUCCESS;
}

static void watch_end(void)
{
    int key;

    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &key, NULL) ==
        MPI_SUCCESS) {
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        PMPI_Comm_free_keyval(&key);
    }
}

static bool has_world(void)
{
    int world = 0;

    PMPI_Initialized(&world);
    return world;
}

void rota_mpi_count_call(rota_mpi_function function, bool rota)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (wanted() && has_world())
        pthread_once(&once, watch_end);
    if (rota_mpi_in_f08())
        by_f08 = true;
    atomic_fetch_add_explicit(&calls[function], 1, memory_order_relaxed);
    if (rota)
        atomic_fetch_add_explicit(&by_rota[function], 1, memory_order_relaxed);
}

void rota_mpi_count_start(size_t bytes)
{
    atomic_fetch_add_explicit(&starts, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes_sent, (long long)bytes,
                              memory_order_relaxed);
}

double rota_mpi_time_begin(void)
{
    return wanted() ? PMPI_Wtime() : 0;
}

void rota_mpi_time_end(double begin)
{
    if (wanted())
        atomic_fetch_add_explicit(&time_ns,
                                  (long long)((PMPI_Wtime() - begin) * 1e9),
                                  memory_order_relaxed);
}

/* The line "algorithm NAME" of a plan's description. */
static bool read_algorithm(const rota_plan *plan, char name[NAME_ROOM])
{
    char text[4096];
    size_t length = sizeof text;

    if (rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, text, &length))
        return false;
    const char *const line = strstr(text, "\nalgorithm ");
    return line && sscanf(line, " algorithm %31s", name) == 1;
}

void rota_mpi_count_plan(const rota_plan *plan)
{
    char name[NAME_ROOM];

    if (!wanted() || !read_algorithm(plan, name))
        return;
    for (int i = 0; i < NAMES; i++) {
        if (algorithm[i].plans == 0)
            strcpy(algorithm[i].name, name);
        if (strcmp(algorithm[i].name, name) == 0) {
            algorithm[i].plans++;
            return;
        }
    }
}

static void print_rank(int rank)
{
    static const char *const name[ROTA_MPI_FUNCTIONS] = {
        [ROTA_MPI_INIT] = "MPI_Alltoallv_init",
        [ROTA_MPI_BLOCKING] = "MPI_Alltoallv",
        [ROTA_MPI_NONBLOCKING] = "MPI_Ialltoallv",
    };

    for (int i = 0; i < ROTA_MPI_FUNCTIONS; i++)
        fprintf(stderr,
                "rota_mpi: rank %d: %s calls=%lld by_rota=%lld "
                "passed_on=%lld\n",
                rank, name[i], calls[i], by_rota[i], calls[i] - by_rota[i]);
    if (by_f08)
        fprintf(stderr,
                "rota_mpi: rank %d: requests of mpi_f08 are MPI's: its "
                "MPI_Wait does not come by librota_mpi\n",
                rank);
    for (int i = 0; i < NAMES && algorithm[i].plans > 0; i++)
        fprintf(stderr, "rota_mpi: rank %d: algorithm %s plans=%ld\n", rank,
                algorithm[i].name, algorithm[i].plans);
    fprintf(stderr,
            "rota_mpi: rank %d: exchanges=%lld bytes_sent=%lld "
            "seconds=%.6f\n",
            rank, starts, bytes_sent, (double)time_ns * 1e-9);
}

void rota_mpi_stats_print(void)
{
    int rank;

    if (!wanted() || !has_world() || atomic_exchange(&printed, true) ||
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return;
    if (rank == 0 || rota_mpi_settings_get()->stats_of_all)
        print_rank(rank);
}

/* Without MPI_COMM_WORLD a process has the number that the launcher gave it. */
void rota_mpi_stats_print_session(void)
{
    const char *const number = getenv("PMI_RANK");

    if (!wanted() || has_world() || atomic_exchange(&printed, true))
        return;
    const int rank = number ? atoi(number) : 0;
    if (rank > 0 && !rota_mpi_settings_get()->stats_of_all)
        return;
    fprintf(stderr,
            "rota_mpi: rank %d: exchanges go to MPI: there is a session, and "
            "MPI_Init was not called\n",
            rank);
    print_rank(rank);
}
