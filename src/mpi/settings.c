/* settings.c - reads the drop-in's environment variables.
 *
 * Values must be the same on all ranks. An unknown value ends the program, because
 * nobody would notice if it were ignored.
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
    fprintf(stderr, "rota_mpi: %s = \"%s\" is not %s\n", name, value, valid);
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static bool read_switch(const char *name)
{
    const char *const value = getenv(name);

    if (!value || !*value || strcmp(value, "on") == 0)
        return true;
    if (strcmp(value, "off") != 0)
        refuse(name, value, "on or off");
    return false;
}

static long read_after(void)
{
    const char *const name = "ROTA_MPI_AFTER", *const value = getenv(name);
    char *end;

    if (!value || !*value)
        return ROTA_MPI_BY_COST;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (*end || errno || n < 0)
        refuse(name, value, "a number from 0");
    return n;
}

static void read_stats(rota_mpi_settings *s)
{
    const char *const value = getenv("ROTA_STATS");

    if (!value || !*value || strcmp(value, "0") == 0)
        return;
    s->stats = true;
    s->stats_of_all = strcmp(value, "all") == 0;
    if (!s->stats_of_all && strcmp(value, "1") != 0)
        refuse("ROTA_STATS", value, "0, 1 or all");
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
