/* hints.c - reads hints from MPI_Info and from the environment. */
#include "choose/hints.h"

#include <ctype.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHEST = 1 << 20 };

/* ---- values -------------------------------------------------------------- */

void rota_hints_append_name(char *list, size_t size, const char *name)
{
    const size_t used = strlen(list);

    snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

void rota_hint_values(const rota_hint *hint, char *text, size_t size)
{
    text[0] = '\0';
    if (hint->what)
        snprintf(text, size, "%s", hint->what);
    else if (hint->words)
        for (int i = 0; i < hint->words->n; i++)
            rota_hints_append_name(text, size, hint->words->word[i]);
    else
        snprintf(text, size, "%d to %d", hint->least, HIGHEST);
}

static int *number_of(const rota_hint *hint, rota_hints *hints)
{
    return (int *)(void *)((char *)hints + hint->at);
}

/* name: of the hint as the user gave it, a key or a variable. */
static int invalid(const char *name, const char *value, const rota_hint *hint)
{
    char values[ROTA_ERR_TEXT - 60];

    rota_hint_values(hint, values, sizeof values);
    return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: %s", name, value, values);
}

/* Is value a number from least to HIGHEST? */
static bool is_number(const char *value, int least, int *result)
{
    char *end;

    errno = 0;
    const long n = strtol(value, &end, 10);
    /* strtol would skip spaces and take a sign. */
    if (errno || !isdigit((unsigned char)*value) || *end || n < least ||
        n > HIGHEST)
        return false;
    *result = (int)n;
    return true;
}

static bool is_word(const char *value, const rota_words *words, int *result)
{
    for (int i = 0; i < words->n; i++)
        if (strcmp(value, words->word[i]) == 0) {
            *result = i;
            return true;
        }
    return false;
}

static int read_algorithm(const char *name, const char *value,
                          rota_hints *hints)
{
    char names[ROTA_ERR_TEXT - 60] = "";

    hints->algo = rota_algo_find(value);
    if (hints->algo)
        return MPI_SUCCESS;
    for (int i = 0; rota_algo_table[i]; i++)
        rota_hints_append_name(names, sizeof names, rota_algo_table[i]->name);
    for (int i = 0; rota_neighbor_table[i]; i++)
        rota_hints_append_name(names, sizeof names,
                               rota_neighbor_table[i]->name);
    return rota_fail(MPI_ERR_ARG, "%s = %.30s; valid: %s", name, value, names);
}

static int read_path(const char *name, const char *value, rota_hints *hints)
{
    if (strlen(value) >= sizeof hints->tuning_file)
        return rota_fail(MPI_ERR_ARG, "%s = %.30s...; valid: up to %zu bytes",
                         name, value, sizeof hints->tuning_file - 1);
    snprintf(hints->tuning_file, sizeof hints->tuning_file, "%s", value);
    return MPI_SUCCESS;
}

static bool is_path(const rota_hint *hint)
{
    return hint->at == offsetof(rota_hints, tuning_file);
}

static int read_hint(const rota_hint *hint, const char *name, const char *value,
                     rota_hints *hints)
{
    if (hint->what)
        return is_path(hint) ? read_path(name, value, hints)
                             : read_algorithm(name, value, hints);
    int *const into = number_of(hint, hints);
    const bool good = hint->words ? is_word(value, hint->words, into)
                                  : is_number(value, hint->least, into);
    return good ? MPI_SUCCESS : invalid(name, value, hint);
}

/* MPI progresses by itself only what is posted at the start, by MPI. So
 * rota_progress=mpi implies such an algorithm, unless other hints say
 * otherwise. */
static void imply(rota_hints *hints)
{
    if (hints->progress != ROTA_PROGRESS_MPI)
        return;
    if (!hints->algo)
        hints->algo = &rota_algo_spread_out;
    if (hints->intranode == ROTA_INTRANODE_AUTO)
        hints->intranode = ROTA_INTRANODE_P2P;
}

/* ---- keys ---------------------------------------------------------------- */

const rota_words rota_metadata_words = {
    ROTA_N_METADATA, {"once", "fused", "two_phase", "combined"}};
const rota_words rota_intranode_words = {ROTA_N_INTRANODE,
                                         {"auto", "shm", "cma", "p2p"}};
const rota_words rota_progress_words = {ROTA_N_PROGRESS,
                                        {"calls", "thread", "mpi"}};
const rota_words rota_device_words = {
    ROTA_N_DEVICE_PATHS, {"auto", "copy_to_cpu", "cuda_aware", "cuda_ipc"}};
const rota_words rota_packing_words = {2, {"pack", "datatype"}};
static const rota_words check_words = {2, {"off", "on"}};
static const rota_words starts_words = {2, {"all", "partners"}};
static const rota_words own_words = {2, {"copied", "left"}};
static const rota_words choose_words = {2, {"model", "measure"}};

#define HINT(name, NAME, member, usual, ...)                                   \
    {                                                                          \
        "rota_" #name, "ROTA_" #NAME, usual, offsetof(rota_hints, member),     \
            __VA_ARGS__                                                        \
    }
#define ROTA_PARAM(name, NAME, lowest, usual)                                  \
    HINT(name, NAME, params.name, "by price", .least = lowest),

const rota_hint rota_hint_table[] = {
    HINT(algorithm, ALGORITHM, algo, "by price", .what = "an algorithm"),
#include "algos/params.h"
    HINT(node_size, NODE_SIZE, node_size, "as they are", .least = 1),
    HINT(metadata, METADATA, metadata, "as the algorithm has it",
         .words = &rota_metadata_words),
    HINT(packing, PACKING, by_datatype, "pack", .words = &rota_packing_words),
    HINT(check, CHECK, check, "on", .words = &check_words),
    HINT(intranode, INTRANODE, intranode, "auto",
         .words = &rota_intranode_words),
    HINT(copied_once_from, COPIED_ONCE_FROM, copied_once_from,
         "by tuning, else 1536", .least = 1),
    HINT(attached_from, ATTACHED_FROM, attached_from, "as runs find",
         .least = 1),
    HINT(progress, PROGRESS, progress, "calls", .words = &rota_progress_words),
    HINT(device, DEVICE, device, "auto", .words = &rota_device_words),
    HINT(starts, STARTS, partners, "all", .words = &starts_words,
         .promise = true),
    HINT(own_block, OWN_BLOCK, leaves_own, "copied", .words = &own_words,
         .promise = true),
    HINT(largest_unit, LARGEST_UNIT, largest_unit, "the unit does not change",
         .least = 1),
    HINT(choose, CHOOSE, measure, "model", .words = &choose_words),
    HINT(measure_ms, MEASURE_MS, measure_ms, "100", .least = 1),
    HINT(tuning_file, TUNING_FILE, tuning_file, "the user's, the system's",
         .what = "a path"),
    {.key = NULL},
};
#undef ROTA_PARAM
#undef HINT

_Static_assert(sizeof rota_hint_table / sizeof rota_hint_table[0] +
                       ROTA_MOST_OTHERS <=
                   ROTA_MOST_ALIKE,
               "hints that ranks compare");

/* Hints are read as ints. */
_Static_assert(sizeof(rota_intranode) == sizeof(int) &&
                   sizeof(rota_progress) == sizeof(int) &&
                   sizeof(rota_device_path) == sizeof(int),
               "enumerations in rota_hints");

/* src/mpi/settings.c reads those of librota_mpi. */
const rota_variable rota_variable_table[] = {
    {"ROTA_EXPLAIN", "1: rank 0 says of each plan what was chosen and why"},
    {"ROTA_RECORD", "a folder: the counts of all exchanges are written there"},
    {"ROTA_STALL_S", "seconds after which a wait in which nothing gets on is "
                     "told; 0: never (usually 60)"},
    {"ROTA_MPI", "librota_mpi: on, off (usually on)"},
    {"ROTA_MPI_ALLTOALL", "likewise, for that function"},
    {"ROTA_MPI_ALLTOALL_INIT", "likewise"},
    {"ROTA_MPI_ALLTOALLV", "likewise"},
    {"ROTA_MPI_ALLTOALLV_INIT", "likewise"},
    {"ROTA_MPI_ALLTOALLW", "likewise"},
    {"ROTA_MPI_ALLTOALLW_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALL", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALL_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLV", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLV_INIT", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLW", "likewise"},
    {"ROTA_MPI_NEIGHBOR_ALLTOALLW_INIT", "likewise"},
    {"ROTA_MPI_AFTER", "calls that go to MPI first (usually by cost)"},
    {"ROTA_TRACE", "a file for a time line of all runs (Perfetto, rota-draw)"},
    {"ROTA_SHARE", "off: rota-run leaves malloc to the C library"},
    {"ROTA_YIELD",
     "off, on: rota-run never, always has MPICH yield (usually if crowded)"},
    {"ROTA_STATS", "1, all: MPI_Finalize prints what was done"},
    {NULL, NULL},
};

/* Is it a variable that packagers or Rota's tests use? */
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

int rota_hint_check(const rota_hint *hint, const char *value)
{
    rota_hints unused;

    return read_hint(hint, hint->variable, value, &unused);
}

static bool is_set(const char *value)
{
    return value && *value;
}

int rota_hints_stall_seconds(bool tell)
{
    enum { USUAL = 60 };
    static const char name[] = "ROTA_STALL_S";
    const char *const value = getenv(name);
    int seconds = USUAL;

    if (is_set(value) && !is_number(value, 0, &seconds) && tell)
        fprintf(stderr, "rota: %s = %.30s; valid: 0 to %d (ignored)\n", name,
                value, HIGHEST);
    return seconds;
}

static void check_explain(void)
{
    const char *const value = getenv("ROTA_EXPLAIN");

    if (is_set(value) && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        fprintf(stderr, "rota: ROTA_EXPLAIN = %.30s; valid: 0, 1 (ignored)\n",
                value);
}

/* A path is checked where it is read. */
static void check_hint(const rota_hint *h)
{
    const char *const value = getenv(h->variable);

    if (!is_set(value) || is_path(h))
        return;
    if (h->promise)
        fprintf(stderr,
                "rota: %s is ignored: what %s promises is up to the program\n",
                h->variable, h->key);
    else if (rota_hint_check(h, value) != MPI_SUCCESS)
        fprintf(stderr, "rota: %s (ignored)\n", rota_fail_text());
    rota_fail_clear();
}

void rota_variables_check(void)
{
    static atomic_bool done;
    char name[60];
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0 || atomic_exchange(&done, true))
        return;
    rota_hints_stall_seconds(true);
    check_explain();
    for (const rota_hint *h = rota_hint_table; h->key; h++)
        check_hint(h);
    for (char **entry = environ; entry && *entry; entry++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
        if (strncmp(name, "ROTA_", 5) == 0 && !is_known(name))
            fprintf(stderr, "rota: there is no variable %s (see rota-info)\n",
                    name);
    }
}

/* The hints that not all plans have a use for, as bits of of_environment. */
enum { ALGORITHM = 1, METADATA = 2 };

static unsigned bit_of(const rota_hint *h)
{
    return h->at == offsetof(rota_hints, algo)       ? ALGORITHM
           : h->at == offsetof(rota_hints, metadata) ? METADATA
                                                     : 0;
}

/* Read all hints but promises, and the tuning file, which rank 0 looks for
 * (tuning_file.c). rota_variables_check has told of invalid values. */
static void read_environment(rota_hints *hints)
{
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        const char *const value = getenv(h->variable);
        if (!is_set(value) || is_path(h) || h->promise)
            continue;
        if (read_hint(h, h->variable, value, hints) == MPI_SUCCESS)
            hints->of_environment |= bit_of(h);
        else
            rota_fail_clear();
    }
}

static int unknown_key(const char *key)
{
    char names[ROTA_ERR_TEXT - 60] = "";

    for (const rota_hint *h = rota_hint_table; h->key; h++)
        rota_hints_append_name(names, sizeof names, h->key);
    return rota_fail(MPI_ERR_ARG, "unknown hint %.30s; valid: %s", key, names);
}

/* buffer: of MPI_MAX_INFO_VAL + 1. */
static int get_value(MPI_Info info, const char *key, char *buffer, int *found)
{
#if MPI_VERSION >= 4
    int length = MPI_MAX_INFO_VAL + 1;

    return MPI_Info_get_string(info, key, &length, buffer, found);
#else
    return MPI_Info_get(info, key, MPI_MAX_INFO_VAL, buffer, found);
#endif
}

static int read_entry(MPI_Info info, const char *key, rota_hints *hints)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        if (strcmp(key, h->key) != 0)
            continue;
        ROTA_TRY(get_value(info, key, value, &found));
        hints->of_environment &= ~bit_of(h);
        return found ? read_hint(h, key, value, hints) : MPI_SUCCESS;
    }
    return unknown_key(key);
}

/* Default of the milliseconds that measuring may take. */
enum { USUAL_MEASURE_MS = 100 };

int rota_hints_read(MPI_Info info, rota_hints *hints)
{
    char key[MPI_MAX_INFO_KEY + 1];
    int n = 0;

    *hints = (rota_hints){
        .metadata = -1, .check = 1, .measure_ms = USUAL_MEASURE_MS};
    read_environment(hints);
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

bool rota_hints_leave_out(const rota_hints *hints, int attempt,
                          rota_hints *left)
{
    const unsigned bits = (unsigned)attempt + 1;

    if ((hints->of_environment & bits) != bits)
        return false;
    *left = *hints;
    left->of_environment &= ~bits;
    if (bits & ALGORITHM)
        left->algo = NULL;
    if (bits & METADATA)
        left->metadata = -1;
    return true;
}

void rota_hints_tell_left_out(const rota_hints *hints, const rota_hints *left,
                              const char *why)
{
    static atomic_uint told; /* bits, as of_environment */
    const unsigned out = hints->of_environment & ~left->of_environment;
    const unsigned bits = out & ~atomic_fetch_or(&told, out);
    const bool both = bits == (ALGORITHM | METADATA);
    int rank = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0 || bits == 0)
        return;
    fprintf(stderr, "rota: %s%s%s: ignored for plans that %s not for: %s\n",
            bits & ALGORITHM ? "ROTA_ALGORITHM" : "", both ? ", " : "",
            bits & METADATA ? "ROTA_METADATA" : "", both ? "they are" : "it is",
            why);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = rota_mix(hash, (uint64_t)*text);
    return rota_mix(hash, 0);
}

void rota_hints_alike(const rota_hints *hints, rota_alike *alike)
{
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        int number;
        memcpy(&number, (const char *)hints + h->at, sizeof number);
        uint64_t value = (uint64_t)number;
        if (h->what)
            value = mix_text(0, is_path(h)    ? hints->tuning_file
                                : hints->algo ? hints->algo->name
                                              : "");
        if (hints->of_environment & bit_of(h)) /* ranks may leave it out */
            value = ~value;
        rota_alike_add(alike, h->key, value);
    }
}

uint64_t rota_hints_hash(const rota_hints *hints)
{
    rota_alike alike = {0};

    rota_hints_alike(hints, &alike);
    return rota_alike_hash(&alike);
}
