/* fuzz_hints.c - hints in MPI_Info objects and in the environment, good ones
 * and what becomes of them when bytes are changed, added and taken away.
 *
 * Good values are read; any others are read, or refused by an error that names
 * the key and lists what is valid. A key that begins with rota_ and is none is
 * refused, others are ignored.
 */
#include "base/err.h"
#include "choose/hints.h"
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hint {
    const char *key, *variable, *values[4]; /* some that are good */
} hint;

static const hint hints[] = {
    {"rota_algorithm",
     "ROTA_ALGORITHM",
     {"spread_out", "parlogna", "mpi", "two_phase_bruck"}},
    {"rota_batch", "ROTA_BATCH", {"1", "32", "1048576", "7"}},
    {"rota_radix", "ROTA_RADIX", {"2", "3", "1048576", "64"}},
    {"rota_leaders", "ROTA_LEADERS", {"1", "4", "1048576", "9"}},
    {"rota_pieces", "ROTA_PIECES", {"1", "4", "1048576", "9"}},
    {"rota_node_size", "ROTA_NODE_SIZE", {"1", "4", "1048576", "9"}},
    {"rota_metadata",
     "ROTA_METADATA",
     {"once", "fused", "two_phase", "combined"}},
    {"rota_packing", "ROTA_PACKING", {"pack", "datatype", "pack", "datatype"}},
    {"rota_intranode", "ROTA_INTRANODE", {"auto", "shm", "cma", "p2p"}},
    {"rota_copied_once_from",
     "ROTA_COPIED_ONCE_FROM",
     {"1", "1536", "1048576", "8192"}},
    {"rota_attached_from",
     "ROTA_ATTACHED_FROM",
     {"1", "32768", "1048576", "65536"}},
    {"rota_progress", "ROTA_PROGRESS", {"calls", "thread", "calls", "thread"}},
    {"rota_check", "ROTA_CHECK", {"on", "off", "on", "off"}},
};
enum { HINTS = sizeof hints / sizeof hints[0], ROOM = 2000, GIVEN = 4 };

/* One hint as it is given. */
typedef struct given {
    char key[ROOM], value[ROOM];
    const hint *of;
    bool as_is; /* neither was changed */
} given;

static void finalize(void)
{
    MPI_Finalize();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    return atexit(finalize);
}

/* Change, add or take away bytes; what is left is a string of at least one
 * byte. */
static void mutate(fuzz_bytes *b, char text[ROOM])
{
    static const char *const pieces[] = {
        "-",     "+", "0x", "e9", " ", "\n", "%s%n", "99999999999999999999",
        "rota_", ","};
    const size_t n = strlen(text), at = (size_t)fuzz_draw(b, n + 1);
    char rest[ROOM];

    strcpy(rest, text + at);
    switch (fuzz_draw(b, 5)) {
    case 0: /* cut */
        text[at] = '\0';
        break;
    case 1: /* take one away */
        strcpy(text + at, rest[0] ? rest + 1 : rest);
        break;
    case 2: /* change one */
        if (at < n)
            text[at] = (char)(1 + fuzz_draw(b, 255));
        break;
    case 3: /* put something in */
        snprintf(text + at, ROOM - at, "%s%.1000s",
                 pieces[fuzz_draw(b, sizeof pieces / sizeof pieces[0])], rest);
        break;
    default: /* a long run of one byte */
        memset(text, (int)(1 + fuzz_draw(b, 255)), ROOM - 1);
        text[fuzz_draw(b, ROOM)] = '\0';
    }
    if (!text[0])
        strcpy(text, "?");
}

static given draw_given(fuzz_bytes *b)
{
    given g = {.of = &hints[fuzz_draw(b, HINTS)], .as_is = true};

    strcpy(g.key, g.of->key);
    strcpy(g.value, g.of->values[fuzz_draw(b, 4)]);
    if (fuzz_draw(b, 2) == 0) {
        g.as_is = false;
        mutate(b, fuzz_draw(b, 4) == 0 ? g.key : g.value);
    }
    return g;
}

static void wrong(const char *what, const given g[], int n)
{
    const char *const text = rota_fail_text();

    printf("%s; the error: %s\n", what, text ? text : "none");
    for (int i = 0; i < n; i++)
        printf("    %s = \"%s\"\n", g[i].key, g[i].value);
    abort();
}

static void check_range(const rota_hints *h, const given g[], int n)
{
    enum { MOST = 1 << 20 };

    for (int i = 0; i < ROTA_N_PARAMS; i++) {
        const rota_param *const p = &rota_param_table[i];
        const int value = rota_param_value(&h->params, p);
        if (value != 0 && (value < p->least || value > MOST))
            wrong("read out of range", g, n);
    }
    if (h->node_size < 0 || h->node_size > MOST || h->copied_once_from < 0 ||
        h->copied_once_from > MOST || h->attached_from < 0 ||
        h->attached_from > MOST || h->metadata < -1 ||
        h->metadata >= ROTA_N_METADATA || h->intranode >= ROTA_N_INTRANODE)
        wrong("read out of range", g, n);
}

/* Read them; good: nothing was changed. */
static void check(MPI_Info info, const given g[], int n, bool good)
{
    rota_hints h;
    const int err = rota_hints_read(info, &h);
    const char *const text = rota_fail_text();

    if (err == MPI_SUCCESS)
        check_range(&h, g, n);
    else if (good)
        wrong("good hints are refused", g, n);
    else if (err != MPI_ERR_ARG || !text || !strstr(text, "valid: ") ||
             (!strstr(text, "rota_") && !strstr(text, "ROTA_")))
        wrong("refused without saying what is valid", g, n);
    rota_fail_clear();
}

/* MPI may refuse a key or a value itself, such as one that is too long. */
static bool put(MPI_Info info, const given *g)
{
    return MPI_Info_set(info, g->key, g->value) == MPI_SUCCESS;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    fuzz_bytes b = {bytes, n_bytes};
    const int n = (int)fuzz_draw(&b, GIVEN + 1);
    given g[GIVEN];
    bool good = true, used[HINTS] = {false};
    MPI_Info info;

    MPI_Info_create(&info);
    for (int i = 0; i < n; i++) {
        g[i] = draw_given(&b);
        const bool by_environment = fuzz_draw(&b, 2);
        bool *const again = &used[g[i].of - hints];
        if (*again) /* it would take the place of the first */
            continue;
        *again = true;
        if (by_environment)
            setenv(g[i].of->variable, g[i].value, 1);
        if (by_environment || put(info, &g[i]))
            good = good && g[i].as_is;
    }
    check(info, g, n, good);
    MPI_Info_free(&info);
    for (int i = 0; i < HINTS; i++)
        unsetenv(hints[i].variable);
    return 0;
}
