/* flavour.c - is the MPI that runs the one that Rota was built for?
 *
 * Handles of MPICH and Open MPI differ, so nothing works between them, not even an
 * error handler. MPI_Get_library_version is the same in both.
 */
#include "plan/inside.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
static const char built_for[] = "Open MPI";
#elif defined(MPICH_VERSION)
static const char built_for[] = "MPICH";
#else
static const char built_for[] = ""; /* takes any */
#endif

enum { TEXT_BYTES = 8192 }; /* MPICH's, the longest */
_Static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= TEXT_BYTES,
               "a longer text of MPI's version");

/* "": neither of the two. */
static const char *running(void)
{
    char text[TEXT_BYTES] = "";
    int length;

    MPI_Get_library_version(text, &length);
    if (strstr(text, "Open MPI"))
        return "Open MPI";
    return strstr(text, "MPICH") ? "MPICH" : "";
}

void rota_flavour_check(const char *library)
{
    static atomic_bool checked;

    if (checked)
        return;
    const char *const runs = running();
    if (*built_for && *runs && strcmp(runs, built_for) != 0) {
        fprintf(stderr, "%s was built for %s, and this program runs under %s\n",
                library, built_for, runs);
        exit(EXIT_FAILURE);
    }
    checked = true;
}
