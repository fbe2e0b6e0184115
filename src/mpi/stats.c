/* stats.c - what the drop-in has done, printed by MPI_Finalize if ROTA_STATS
 * asks for it.
 *
 * Every rank counts for itself: to add up would be a collective that a program
 * may not be ready for.
 */
#include "mpi/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32, NAME_ROOM = 32 };

static atomic_llong calls[ROTA_MPI_FUNCTIONS], by_rota[ROTA_MPI_FUNCTIONS];
static atomic_llong starts, bytes_sent, time_ns;

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

void rota_mpi_count_call(rota_mpi_function function, bool rota)
{
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

    if (!wanted() || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return;
    if (rank == 0 || rota_mpi_settings_get()->stats_of_all)
        print_rank(rank);
}
