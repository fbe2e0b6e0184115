/* hints.c - wishes from MPI_Info and from the environment. */
#include "choose/hints.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---------------------------------------------------------------- */

void rota_append_name(char *list, size_t size, const char *name)
{
    const size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

static int read_algorithm(const char *key, const char *value, rota_hints *hints)
{
    char names[ROTA_ERR_TEXT - 60] = "";

    hints->algo = rota_algo_find(value);
    if (hints->algo)
        return MPI_SUCCESS;
    for (int i = 0; rota_algo_table[i]; i++)
        rota_append_name(names, sizeof names, rota_algo_table[i]->name);
    for (int i = 0; rota_neighbor_table[i]; i++)
        rota_append_name(names, sizeof names, rota_neighbor_table[i]->name);
    return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: %s", key, value, names);
}

static int read_int(const char *key, const char *value, int lowest, int *result)
{
    enum { HIGHEST = 1 << 20 };
    char *end;

    errno = 0;
    const long n = strtol(value, &end, 10);
    /* strtol skips spaces and takes a sign. */
    if (errno || !isdigit((unsigned char)*value) || *end || n < lowest ||
        n > HIGHEST)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: %d to %d", key, value,
                         lowest, HIGHEST);
    *result = (int)n;
    return MPI_SUCCESS;
}

/* One of n names. */
static int read_name(const char *key, const char *value,
                     const char *const name[], int n, int *result)
{
    char names[80] = "";

    for (int i = 0; i < n; i++) {
        if (strcmp(value, name[i]) == 0) {
            *result = i;
            return MPI_SUCCESS;
        }
        rota_append_name(names, sizeof names, name[i]);
    }
    return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: %s", key, value, names);
}

/* rota_radix, ROTA_RADIX and so on. */
static int read_param(const char *key, const char *value, rota_hints *hints)
{
    const rota_param *const p = rota_param_find(key + strlen("rota_"));

    return read_int(key, value, p->least, rota_param_of(&hints->params, p));
}

static int read_node_size(const char *key, const char *value, rota_hints *hints)
{
    return read_int(key, value, 1, &hints->node_size);
}

/* In the order of rota_metadata. */
static const char *const metadata_name[ROTA_N_METADATA] = {
    "once",
    "fused",
    "two_phase",
    "combined",
};

const char *rota_metadata_name(rota_metadata metadata)
{
    return metadata_name[metadata];
}

static int read_metadata(const char *key, const char *value, rota_hints *hints)
{
    return read_name(key, value, metadata_name, ROTA_N_METADATA,
                     &hints->metadata);
}

/* In the order of rota_intranode. */
static const char *const intranode_name[ROTA_N_INTRANODE] = {
    "auto",
    "shm",
    "cma",
    "p2p",
};

const char *rota_intranode_name(rota_intranode intranode)
{
    return intranode_name[intranode];
}

static int read_intranode(const char *key, const char *value, rota_hints *hints)
{
    int found;

    ROTA_TRY(read_name(key, value, intranode_name, ROTA_N_INTRANODE, &found));
    hints->intranode = (rota_intranode)found;
    return MPI_SUCCESS;
}

/* In the order of rota_progress. */
static const char *const progress_name[ROTA_N_PROGRESS] = {
    "calls",
    "thread",
    "mpi",
};

const char *rota_progress_name(rota_progress progress)
{
    return progress_name[progress];
}

static int read_progress(const char *key, const char *value, rota_hints *hints)
{
    int found;

    ROTA_TRY(read_name(key, value, progress_name, ROTA_N_PROGRESS, &found));
    hints->progress = (rota_progress)found;
    return MPI_SUCCESS;
}

/* What MPI is to move on alone are messages that are all posted at the start, by
 * MPI. Hints that say otherwise count. */
static void imply(rota_hints *hints)
{
    if (hints->progress != ROTA_PROGRESS_MPI)
        return;
    if (!hints->algo)
        hints->algo = &rota_algo_spread_out;
    if (hints->intranode == ROTA_INTRANODE_AUTO)
        hints->intranode = ROTA_INTRANODE_P2P;
}

/* In the order of rota_device_path. */
static const char *const device_path_name[ROTA_N_DEVICE_PATHS] = {
    "auto",
    "copy_to_cpu",
    "cuda_aware",
    "cuda_ipc",
};

const char *rota_device_path_name(rota_device_path path)
{
    return device_path_name[path];
}

static int read_device(const char *key, const char *value, rota_hints *hints)
{
    int found;

    ROTA_TRY(
        read_name(key, value, device_path_name, ROTA_N_DEVICE_PATHS, &found));
    hints->device = (rota_device_path)found;
    return MPI_SUCCESS;
}

static int read_packing(const char *key, const char *value, rota_hints *hints)
{
    hints->by_datatype = strcmp(value, "datatype") == 0;
    if (!hints->by_datatype && strcmp(value, "pack") != 0)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: pack, datatype", key,
                         value);
    return MPI_SUCCESS;
}

static int read_check(const char *key, const char *value, rota_hints *hints)
{
    hints->check = strcmp(value, "off") != 0;
    if (hints->check && strcmp(value, "on") != 0)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: on, off", key, value);
    return MPI_SUCCESS;
}

static int read_choose(const char *key, const char *value, rota_hints *hints)
{
    hints->measure = strcmp(value, "measure") == 0;
    if (!hints->measure && strcmp(value, "model") != 0)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: model, measure", key,
                         value);
    return MPI_SUCCESS;
}

static int read_measure_ms(const char *key, const char *value,
                           rota_hints *hints)
{
    return read_int(key, value, 1, &hints->measure_ms);
}

static int read_copied_once_from(const char *key, const char *value,
                                 rota_hints *hints)
{
    return read_int(key, value, 1, &hints->copied_once_from);
}

static int read_tuning_file(const char *key, const char *value,
                            rota_hints *hints)
{
    if (strlen(value) >= sizeof hints->tuning_file)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s...; valid: up to %zu bytes",
                         key, value, sizeof hints->tuning_file - 1);
    snprintf(hints->tuning_file, sizeof hints->tuning_file, "%s", value);
    return MPI_SUCCESS;
}

/* ---- keys ------------------------------------------------------------------ */

#define UP_TO " to 1048576"
const rota_hint rota_hint_table[] = {
    {"rota_algorithm", "ROTA_ALGORITHM", "an algorithm", "by price",
     read_algorithm},
#define ROTA_PARAM(name, NAME, least, usual)                                   \
    {"rota_" #name, "ROTA_" #NAME, #least UP_TO, "by price", read_param},
#include "algos/params.h"
#undef ROTA_PARAM
    {"rota_node_size", "ROTA_NODE_SIZE", "1" UP_TO, "as they are",
     read_node_size},
    {"rota_metadata", "ROTA_METADATA", "once, fused, two_phase, combined",
     "as the algorithm has it", read_metadata},
    {"rota_packing", "ROTA_PACKING", "pack, datatype", "pack", read_packing},
    {"rota_check", "ROTA_CHECK", "on, off", "on", read_check},
    {"rota_intranode", "ROTA_INTRANODE", "auto, shm, cma, p2p", "auto",
     read_intranode},
    {"rota_copied_once_from", "ROTA_COPIED_ONCE_FROM", "1" UP_TO,
     "by tuning, else 1536", read_copied_once_from},
    {"rota_progress", "ROTA_PROGRESS", "calls, thread, mpi", "calls",
     read_progress},
    {"rota_device", "ROTA_DEVICE", "auto, copy_to_cpu, cuda_aware, cuda_ipc",
     "auto", read_device},
    {"rota_choose", "ROTA_CHOOSE", "model, measure", "model", read_choose},
    {"rota_measure_ms", "ROTA_MEASURE_MS", "1" UP_TO, "100", read_measure_ms},
    {"rota_tuning_file", "ROTA_TUNING_FILE", "a path",
     "the user's, the system's", read_tuning_file},
    {NULL, NULL, NULL, NULL, NULL},
};
#undef UP_TO

/* Those of librota_mpi are read by src/mpi/settings.c. */
const rota_variable rota_variable_table[] = {
    {"ROTA_EXPLAIN", "1: rank 0 says of each plan what was chosen and why"},
    {"ROTA_RECORD", "a folder: the counts of all exchanges are written there"},
    {"ROTA_STALL_S", "seconds after which a wait in which nothing gets on is "
                     "told; 0: never (usually 60)"},
    {"ROTA_MPI", "librota_mpi: on, off (usually on)"},
    {"ROTA_MPI_ALLTOALL", "likewise, for that function"},
    {"ROTA_MPI_IALLTOALL", "likewise (usually off)"},
    {"ROTA_MPI_ALLTOALL_INIT", "likewise"},
    {"ROTA_MPI_ALLTOALLV", "likewise"},
    {"ROTA_MPI_IALLTOALLV", "likewise (usually off)"},
    {"ROTA_MPI_ALLTOALLV_INIT", "likewise"},
    {"ROTA_MPI_ALLTOALLW", "likewise"},
    {"ROTA_MPI_IALLTOALLW", "likewise (usually off)"},
    {"ROTA_MPI_ALLTOALLW_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALL", "likewise"},
    {"ROTA_MPI_INEIGHBOR_ALLTOALL", "likewise (usually off)"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALL_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLV", "likewise"},
    {"ROTA_MPI_INEIGHBOR_ALLTOALLV", "likewise (usually off)"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLV_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLW", "likewise"},
    {"ROTA_MPI_INEIGHBOR_ALLTOALLW", "likewise (usually off)"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLW_INIT", "likewise"},
    {"ROTA_MPI_AFTER", "calls that go to MPI first (usually by cost)"},
    {"ROTA_MPI_IN_FLIGHT", "nonblocking exchanges at a time (usually 8)"},
    {"ROTA_TRACE", "a file for a time line of all runs (Perfetto, rota-draw)"},
    {"ROTA_STATS", "1, all: MPI_Finalize prints what was done"},
    {NULL, NULL},
};

/* Others may have these: who installed Rota, and its tests. */
static bool is_of_others(const char *name)
{
    static const char *const all[] = {"ROTA_ROOT", "ROTA_DIR", "ROTA_HOME"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i]) == 0)
            return true;
    return strncmp(name, "ROTA_TEST_", strlen("ROTA_TEST_")) == 0;
}

static bool is_known(const char *name)
{
    for (const rota_hint *h = rota_hint_table; h->key; h++)
        if (strcmp(name, h->variable) == 0)
            return true;
    for (const rota_variable *v = rota_variable_table; v->name; v++)
        if (strcmp(name, v->name) == 0)
            return true;
    return is_of_others(name);
}

extern char **environ;

/* There is no call whose error a bad value could be. */
int rota_stall_seconds(bool tell)
{
    enum { USUAL = 60 };
    static const char name[] = "ROTA_STALL_S";
    const char *const value = getenv(name);
    int seconds = USUAL;

    if (!value || !*value || read_int(name, value, 0, &seconds) == MPI_SUCCESS)
        return seconds;
    if (tell)
        fprintf(stderr, "rota: %s\n", rota_fail_text());
    rota_fail_clear();
    return USUAL;
}

void rota_variables_check(void)
{
    static atomic_bool done;
    char name[60];
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0 || atomic_exchange(&done, true))
        return;
    rota_stall_seconds(true);
    for (char **entry = environ; entry && *entry; entry++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        if (strncmp(name, "ROTA_", 5) == 0 && !is_known(name))
            fprintf(stderr, "rota: there is no variable %s (see rota-info)\n",
                    name);
    }
}

/* But for the tuning file, which rank 0 looks for (tuning_file.c). */
static int read_environment(rota_hints *hints)
{
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        const char *const value = getenv(h->variable);
        if (value && *value && h->read != read_tuning_file)
            ROTA_TRY(h->read(h->variable, value, hints));
    }
    return MPI_SUCCESS;
}

static int unknown_key(const char *key)
{
    char names[ROTA_ERR_TEXT - 60] = "";

    for (const rota_hint *h = rota_hint_table; h->key; h++)
        rota_append_name(names, sizeof names, h->key);
    return rota_fail(MPI_ERR_ARG, "unknown hint %.30s; valid: %s", key, names);
}

static int read_entry(MPI_Info info, const char *key, rota_hints *hints)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        if (strcmp(key, h->key) != 0)
            continue;
        ROTA_TRY(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        return found ? h->read(key, value, hints) : MPI_SUCCESS;
    }
    return unknown_key(key);
}

/* Milliseconds that measuring candidates may take. */
enum { USUAL_MEASURE_MS = 100 };

int rota_hints_read(MPI_Info info, rota_hints *hints)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int n = 0;

    *hints = (rota_hints){
        .metadata = -1, .check = true, .measure_ms = USUAL_MEASURE_MS};
    ROTA_TRY(read_environment(hints));
    if (info != MPI_INFO_NULL)
        ROTA_TRY(MPI_Info_get_nkeys(info, &n));
    for (int i = 0; i < n; i++) {
        ROTA_TRY(MPI_Info_get_nthkey(info, i, key));
        if (strncmp(key, "rota_", 5) == 0)
            ROTA_TRY(read_entry(info, key, hints));
    }
    imply(hints);
    return MPI_SUCCESS;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = rota_mix(hash, (uint64_t)*text);
    return rota_mix(hash, 0);
}

void rota_hints_alike(const rota_hints *hints, rota_alike *alike)
{
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {
        {"rota_algorithm", mix_text(0, hints->algo ? hints->algo->name : "")},
        {"rota_node_size", (uint64_t)hints->node_size},
        {"rota_metadata", (uint64_t)hints->metadata},
        {"rota_packing", hints->by_datatype},
        {"rota_check", hints->check},
        {"rota_intranode", hints->intranode},
        {"rota_copied_once_from", (uint64_t)hints->copied_once_from},
        {"rota_progress", hints->progress},
        {"rota_device", hints->device},
        {"rota_choose", hints->measure},
        {"rota_measure_ms", (uint64_t)hints->measure_ms},
        {"rota_tuning_file", mix_text(0, hints->tuning_file)},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        rota_alike_add(alike, all[i].key, all[i].value);
    /* They follow rota_algorithm in the table. */
    for (int i = 0; i < ROTA_N_PARAMS; i++)
        rota_alike_add(
            alike, rota_hint_table[1 + i].key,
            (uint64_t)rota_param_value(&hints->params, &rota_param_table[i]));
}

uint64_t rota_hints_hash(const rota_hints *hints)
{
    rota_alike alike = {0};

    rota_hints_alike(hints, &alike);
    return rota_alike_hash(&alike);
}
