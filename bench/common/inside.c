#include "common/inside.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void inside_die(const char *format, ...)
{
    va_list args;

    fflush(stdout);
    fputs("error: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void *inside_must(void *p)
{
    if (!p)
        inside_die("out of memory");
    return p;
}

int inside_int(const char *name, const char *text, int least)
{
    char *end;

    errno = 0;
    const long n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < least || n > INT_MAX / 4)
        inside_die("%s: '%s' is not a number from %d", name, text, least);
    return (int)n;
}

static void list_algorithms(void)
{
    fputs("algorithms:", stderr);
    for (int i = 0; rota_algo_table[i]; i++)
        fprintf(stderr, " %s", rota_algo_table[i]->name);
    fputc('\n', stderr);
}

static int metadata_named(const char *name)
{
    for (int i = 0; i < ROTA_N_METADATA; i++)
        if (strcmp(name, rota_metadata_words.word[i]) == 0)
            return i;
    inside_die("metadata: '%s' is none of once, fused, two_phase, combined",
               name);
}

rota_hints inside_parse(char *text)
{
    char *const colon = strchr(text, ':');

    if (colon)
        *colon = '\0';
    const rota_algo *const algo = rota_algo_find(text);
    if (!algo) {
        list_algorithms();
        inside_die("no algorithm is called '%s'", text);
    }
    if (colon)
        *colon = ':';
    return inside_parse_as(algo, text);
}

/* "radix=3", if item is of that kind. */
static bool take_param(const char *item, rota_params *params)
{
    for (int i = 0; i < ROTA_N_PARAMS; i++) {
        const rota_param *const p = &rota_param_table[i];
        const size_t n = strlen(p->name);
        if (strncmp(item, p->name, n) != 0 || item[n] != '=')
            continue;
        *rota_param_of(params, p) = inside_int(p->name, item + n + 1, p->least);
        return true;
    }
    return false;
}

rota_hints inside_parse_as(const rota_algo *algo, char *text)
{
    rota_hints hints = {.algo = algo, .metadata = -1};
    char *next = strchr(text, ':');

    if (next)
        *next++ = '\0';
    while (next) {
        char *const item = next;
        next = strchr(item, ':');
        if (next)
            *next++ = '\0';
        if (take_param(item, &hints.params))
            continue;
        if (strncmp(item, "metadata=", 9) == 0)
            hints.metadata = metadata_named(item + 9);
        else if (strcmp(item, "intranode=shm") == 0)
            hints.intranode = ROTA_INTRANODE_SHM;
        else
            inside_die("'%s' is none of radix=R, batch=B, leaders=L, "
                       "pieces=D, metadata=HOW, intranode=shm",
                       item);
    }
    return hints;
}

rota_topo inside_topo(int P, int node_size)
{
    rota_topo t;

    if (rota_topo_make(&t, P, node_size > 0 ? node_size : P, 1) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    return t;
}

void inside_build(const rota_hints *hints, const rota_topo *topo, int me,
                  rota_sched *s, rota_choice *choice)
{
    inside_build_kind(hints, topo, ROTA_FIXED, SIZE_MAX, me, s, choice);
}

static void build(const rota_hints *hints, const rota_plan_kind *what,
                  rota_sched *s, rota_choice *choice)
{
    if (rota_choose(hints, what, choice) != MPI_SUCCESS ||
        choice->algo->build(what->topo, &choice->params, s) != MPI_SUCCESS)
        inside_die("%s, %d ranks: %s", hints->algo->name, what->topo->P,
                   rota_fail_text() ? rota_fail_text() : "build failed");
}

void inside_build_kind(const rota_hints *hints, const rota_topo *topo,
                       rota_kind kind, size_t max_block, int me, rota_sched *s,
                       rota_choice *choice)
{
    const rota_plan_kind what = {
        .topo = topo, .kind = kind, .max_block = max_block};

    if (rota_sched_init(s, topo->P, me) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    build(hints, &what, s, choice);
}

void inside_build_among(const rota_hints *hints, const rota_topo *topo,
                        const rota_neighbors *neighbors,
                        const rota_crossing *crossing, int me, rota_sched *s,
                        rota_choice *choice)
{
    const rota_plan_kind what = {.topo = topo,
                                 .neighbors = true,
                                 .kind = ROTA_FIXED,
                                 .max_block = SIZE_MAX};

    if (rota_sched_init_among(s, topo->P, me, neighbors) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
    rota_sched_set_crossing(s, crossing, ROTA_META_ONCE);
    build(hints, &what, s, choice);
}
