/* launched.c - see launched.h. */
#include "base/launched.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int rota_ranks_launched(void)
{
    static const char *const variables[] = {"MPI_LOCALNRANKS",
                                            "OMPI_COMM_WORLD_LOCAL_SIZE"};
    int most = 0;

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *const value = getenv(variables[i]);
        const int n = value ? atoi(value) : 0;
        most = n > most ? n : most;
    }
    return most;
}

/* The number of processors is read from a file, once. */
double rota_ranks_per_core(void)
{
    static _Atomic long processors;

    if (processors == 0)
        processors = sysconf(_SC_NPROCESSORS_ONLN);
    const double load = rota_ranks_launched() / (double)processors;
    return load > 1 ? load : 1;
}
