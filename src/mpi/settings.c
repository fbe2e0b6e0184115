/* settings.c - what the environment asks of the drop-in.
 *
 * Values must be the same on all ranks. One that is not understood ends the
 * program: to go on without what was asked for would not be noticed.
 */
#include "mpi/shim.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where all ranks have a core of their own, the first plan on a communicator
 * costs what some hundred small exchanges of MPI's cost, and a small exchange
 * saves a third (rota-bench --kind varying --sizes 8 --algos auto,mpi). A
 * program that has made this many is about to make more. */
enum { AFTER = 64 };

enum { IN_FLIGHT = 8, MOST_IN_FLIGHT = 1024 };

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

static void read_all(void)
{
    rota_mpi_settings *const s = &settings;
    const bool on = read_switch("ROTA_MPI", true);

    s->on[ROTA_MPI_INIT] = read_switch("ROTA_MPI_ALLTOALLV_INIT", true) && on;
    s->on[ROTA_MPI_BLOCKING] = read_switch("ROTA_MPI_ALLTOALLV", true) && on;
    s->on[ROTA_MPI_NONBLOCKING] =
        read_switch("ROTA_MPI_IALLTOALLV", false) && on;
    s->after = read_number("ROTA_MPI_AFTER", AFTER, 0, LONG_MAX);
    s->in_flight =
        (int)read_number("ROTA_MPI_IN_FLIGHT", IN_FLIGHT, 1, MOST_IN_FLIGHT);
    read_stats(s);
}

const rota_mpi_settings *rota_mpi_settings_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_all);
    return &settings;
}
