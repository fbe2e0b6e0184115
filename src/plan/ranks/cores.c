/* cores.c - see cores.h.
 *
 * hwloc reads a hundred files, which takes milliseconds in each process: more than
 * all else of a first plan. Here, two and one for each processor are read.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "plan/ranks/cores.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM "/sys/devices/system/"

enum { ROOM = 64 };

/* Read the first line of a file. False: there is none, or it is longer. */
static bool read_line(const char *path, char line[ROOM])
{
    FILE *const file = fopen(path, "r");
    const bool any = file && fgets(line, ROOM, file);

    if (file)
        fclose(file);
    return any && strchr(line, '\n');
}

/* Is hwloc told anything that it does not find out itself? */
static bool is_told(void)
{
    static const char *const variable[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE",
                                           "HWLOC_FSROOT", "HWLOC_COMPONENTS",
                                           "HWLOC_THISSYSTEM"};

    for (size_t i = 0; i < sizeof variable / sizeof *variable; i++)
        if (getenv(variable[i]))
            return true;
    return false;
}

/* How many processors this process may have. Launchers bind ranks to some of them, as
 * mpiexec of Open MPI does with up to two: so this thread is bound to all for a
 * moment, of which the system leaves it those of its control group. 0: unknown. */
static int count_allowed(void)
{
    cpu_set_t bound, all;

    memset(&all, 0xff, sizeof all);
    if (sched_getaffinity(0, sizeof bound, &bound) != 0 ||
        sched_setaffinity(0, sizeof all, &all) != 0)
        return 0;
    const bool known = sched_getaffinity(0, sizeof all, &all) == 0;
    (void)sched_setaffinity(0, sizeof bound, &bound);
    return known ? CPU_COUNT(&all) : 0;
}

/* Processors, if they are 0 to n - 1 and this process may use them all; else 0. */
static int count_processors(void)
{
    char line[ROOM], end;
    int last = 0;

    if (!read_line(SYSTEM "cpu/online", line) ||
        (strcmp(line, "0\n") != 0 &&
         (sscanf(line, "0-%d%c", &last, &end) != 2 || end != '\n')))
        return 0;
    return count_allowed() == last + 1 ? last + 1 : 0;
}

/* The first of the processors that share a core with this one; -1: unknown. */
static int first_of_core(int processor)
{
    char path[2 * ROOM], line[ROOM];
    int first = -1;

    snprintf(path, sizeof path,
             SYSTEM "cpu/cpu%d/topology/thread_siblings_list", processor);
    if (!read_line(path, line) || sscanf(line, "%d", &first) != 1)
        return -1;
    return first;
}

int rota_cores_count(void)
{
    char line[ROOM];
    int cores = 0;

    if (is_told() || !read_line(SYSTEM "node/online", line) ||
        strcmp(line, "0\n") != 0)
        return 0;
    const int n = count_processors();
    for (int i = 0; i < n; i++) {
        const int first = first_of_core(i);
        if (first < 0)
            return 0;
        cores += first == i;
    }
    return cores;
}
