/* stats.c - prints in MPI_Finalize what the drop-in has done, if ROTA_STATS asks
 * for it.
 *
 * Each rank counts for itself, since a sum would need a collective, for which a
 * program may not be ready.
 */
#include "mpi/stats.h"
#include "mpi/settings.h"
#include "mpi/yield.h"
#include "plan/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 32, NAME_ROOM = 32 };

typedef atomic_llong counts[ROTA_MPI_CALLS][ROTA_MPI_KINDS];

static counts calls, by_rota;
static atomic_llong starts, bytes_sent, time_ns[2], overlaps; /* of MPI, Rota */
static atomic_bool printed;
static double begun = -1; /* MPI_Init; -1: a session */

/* Plans by algorithm. Names are added without a lock, so if two threads make plans
 * at once, one may not be counted. */
static struct {
    char name[NAME_ROOM];
    long plans;
} algorithm[NAMES];

static bool wanted(void)
{
    return rota_mpi_settings_get()->stats;
}

void rota_mpi_stats_begin(void)
{
    begun = PMPI_Wtime();
}

void rota_mpi_count_call(rota_mpi_call call, rota_mpi_kind kind, bool rota)
{
    if (!wanted())
        return;
    atomic_fetch_add_explicit(&calls[call][kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&by_rota[call][kind], rota, memory_order_relaxed);
}

void rota_mpi_count_overlap(bool overlap)
{
    overlaps += overlap;
}

void rota_mpi_count_start(size_t bytes)
{
    if (!wanted())
        return;
    atomic_fetch_add_explicit(&starts, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes_sent, (long long)bytes,
                              memory_order_relaxed);
}

void rota_mpi_time_add(double begin, bool by_rota)
{
    atomic_fetch_add_explicit(&time_ns[by_rota],
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

static void print_call(int rank, rota_mpi_call call, rota_mpi_kind kind)
{
    const long long all = calls[call][kind], ours = by_rota[call][kind];

    if (all > 0)
        fprintf(stderr,
                "rota_mpi: rank %d: %s calls=%lld by_rota=%lld "
                "passed_on=%lld\n",
                rank, rota_mpi_call_name(call, kind), all, ours, all - ours);
}

static void print_rank(int rank)
{
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        for (int kind = 0; kind < ROTA_MPI_KINDS; kind++)
            print_call(rank, (rota_mpi_call)call, (rota_mpi_kind)kind);
    if (overlaps > 0)
        fprintf(stderr,
                "rota_mpi: rank %d: passed on because blocks overlap: %lld\n",
                rank, overlaps);
    for (int i = 0; i < NAMES && algorithm[i].plans > 0; i++)
        fprintf(stderr, "rota_mpi: rank %d: algorithm %s plans=%ld\n", rank,
                algorithm[i].name, algorithm[i].plans);
    if (rota_mpi_gives_way())
        fprintf(stderr,
                "rota_mpi: rank %d: MPI gives up the core while it waits\n",
                rank);
    if (rota_malloc_most() > 0)
        fprintf(stderr, "rota_mpi: rank %d: bytes_shared=%zu\n", rank,
                rota_malloc_most());
    fprintf(stderr,
            "rota_mpi: rank %d: exchanges=%lld bytes_sent=%lld "
            "seconds=%.6f seconds_passed_on=%.6f seconds_in_all=%.6f\n",
            rank, starts, bytes_sent, (double)time_ns[true] * 1e-9,
            (double)time_ns[false] * 1e-9,
            begun >= 0 ? PMPI_Wtime() - begun : 0);
}

/* Without MPI_COMM_WORLD, use the number that the launcher gave the process. */
void rota_mpi_stats_print(bool session)
{
    const char *const number = getenv("PMI_RANK");
    int rank = number ? atoi(number) : 0, world = 0;

    PMPI_Initialized(&world);
    if (!wanted() || world == session || atomic_exchange(&printed, true))
        return;
    if (!session && PMPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS)
        return;
    if (rank > 0 && !rota_mpi_settings_get()->stats_of_all)
        return;
    if (session)
        fprintf(stderr,
                "rota_mpi: rank %d: exchanges go to MPI: there is a session, "
                "and MPI_Init was not called\n",
                rank);
    print_rank(rank);
}
