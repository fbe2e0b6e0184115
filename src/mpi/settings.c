/* settings.c - reads the drop-in's environment variables.
 *
 * Values must be the same on all ranks. Of an invalid value rank 0 says what is
 * valid, once, and the variable counts as not set.
 */
#include "mpi/settings.h"

#include "plan/inside.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Atomic(const rota_mpi_settings *) rota_mpi_settings_known;

static rota_mpi_settings settings;

static void refuse(const char *name, const char *value, const char *valid)
{
    int initialized = 0, rank = 0;

    PMPI_Initialized(&initialized);
    if (initialized)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "rota_mpi: %s = %.30s; valid: %s (ignored)\n", name,
                value, valid);
}

static bool read_switch(const char *name)
{
    const char *const value = getenv(name);

    if (!value || !*value || strcmp(value, "on") == 0)
        return true;
    if (strcmp(value, "off") != 0)
        refuse(name, value, "on, off");
    return strcmp(value, "off") != 0;
}

static long read_after(void)
{
    const char *const name = "ROTA_MPI_AFTER", *const value = getenv(name);
    char *end;

    if (!value || !*value)
        return ROTA_MPI_BY_COST;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (!*end && !errno && n >= 0)
        return n;
    refuse(name, value, "a number from 0");
    return ROTA_MPI_BY_COST;
}

static void read_stats(rota_mpi_settings *s)
{
    const char *const value = getenv("ROTA_STATS");

    if (!value || !*value || strcmp(value, "0") == 0)
        return;
    s->stats_of_all = strcmp(value, "all") == 0;
    s->stats = s->stats_of_all || strcmp(value, "1") == 0;
    if (!s->stats)
        refuse("ROTA_STATS", value, "0, 1, all");
}

/* ROTA_MPI_ALLTOALL for MPI_Alltoall, and so on. */
static bool read_call(rota_mpi_call call, rota_mpi_kind kind)
{
    char name[64];

    snprintf(name, sizeof name, "ROTA_%s", rota_mpi_call_name(call, kind));
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return read_switch(name);
}

static void read_all(void)
{
    rota_mpi_settings *const s = &settings;
    const bool on = read_switch("ROTA_MPI");

    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        for (int kind = 0; kind < ROTA_MPI_KINDS; kind++)
            s->on[call][kind] =
                kind != ROTA_MPI_NONBLOCKING &&
                read_call((rota_mpi_call)call, (rota_mpi_kind)kind) && on;
    s->after = read_after();
    s->share = read_switch("ROTA_SHARE");
    read_stats(s);
    s->counted = s->stats || rota_record_wanted();
}

const rota_mpi_settings *rota_mpi_settings_read(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_all);
    rota_mpi_settings_known = &settings;
    return &settings;
}
