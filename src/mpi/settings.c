/* settings.c - reads the drop-in's environment variables.
 *
 * Values must be the same on all ranks. An unknown value ends the program, because
 * nobody would notice if it were ignored.
 */
#include "mpi/settings.h"

#include "plan/inside.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT = 8, MOST_IN_FLIGHT = 1024 };

_Atomic(const rota_mpi_settings *) rota_mpi_settings_known;

static rota_mpi_settings settings;

static void refuse(const char *name, const char *value, const char *valid)
{
    fprintf(stderr, "rota_mpi: %s = \"%s\" is not %s\n", name, value, valid);
    PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static bool read_switch(const char *name, bool usual)
{
    const char *const value = getenv(name);

    if (!value || !*value)
        return usual;
    if (strcmp(value, "on") == 0)
        return true;
    if (strcmp(value, "off") != 0)
        refuse(name, value, "on or off");
    return false;
}

static long read_number(const char *name, long usual, long least, long most)
{
    const char *const value = getenv(name);
    char valid[80], *end;

    if (!value || !*value)
        return usual;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (*end || errno || n < least || n > most) {
        snprintf(valid, sizeof valid, "a number from %ld to %ld", least, most);
        refuse(name, value, valid);
    }
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
    return read_switch(name, kind != ROTA_MPI_NONBLOCKING);
}

static void read_all(void)
{
    rota_mpi_settings *const s = &settings;
    const bool on = read_switch("ROTA_MPI", true);

    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        for (int kind = 0; kind < ROTA_MPI_KINDS; kind++)
            s->on[call][kind] =
                read_call((rota_mpi_call)call, (rota_mpi_kind)kind) && on;
    s->after = read_number("ROTA_MPI_AFTER", ROTA_MPI_BY_COST, 0, LONG_MAX);
    s->in_flight =
        (int)read_number("ROTA_MPI_IN_FLIGHT", IN_FLIGHT, 1, MOST_IN_FLIGHT);
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
