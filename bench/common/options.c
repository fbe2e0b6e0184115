#include "common/options.h"

#include "common/runners.h"
#include "common/sweep.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What a setter reports to, in place of a return through every level. */
typedef struct problem {
    char *text;
    size_t length;
} problem;

static int fail(const problem *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why->text, why->length, format, args);
    va_end(args);
    return -1;
}

static char *copy_text(options *o, const char *text)
{
    free(o->storage);
    o->storage = malloc(strlen(text) + 1);
    return o->storage != NULL ? strcpy(o->storage, text) : NULL;
}

/* ---- values -------------------------------------------------------------- */

static int parse_u64(const char *text, uint64_t least, uint64_t most,
                     uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && *end == '\0' && errno == 0 &&
                   *value >= least && *value <= most
               ? 0
               : -1;
}

static int set_count(const char *text, int least, int *value,
                     const problem *why)
{
    uint64_t number;

    if (parse_u64(text, (uint64_t)least, INT_MAX, &number) != 0)
        return fail(why, "'%s' is not an integer from %d", text, least);
    *value = (int)number;
    return 0;
}

static int set_kind(options *o, const char *text, const problem *why)
{
    static const struct {
        const char *name;
        bench_kind kind;
    } kinds[] = {
        {"fixed", KIND_FIXED},
        {"varying", KIND_VARYING},
        {"exchange", KIND_EXCHANGE},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, text) != 0)
            continue;
        o->kind = kinds[i].kind;
        o->kind_name = kinds[i].name;
        return 0;
    }
    return fail(why, "'%s' is none of fixed, varying, exchange", text);
}

static int set_bound(options *o, const char *text, const problem *why)
{
    static const char *const names[] = {"known", "none"};

    for (int i = 0; i < 2; i++) {
        if (strcmp(names[i], text) != 0)
            continue;
        o->bounded = i == 0;
        o->bound_name = names[i];
        return 0;
    }
    return fail(why, "'%s' is none of known, none", text);
}

static int set_mem(options *o, const char *text, const problem *why)
{
    for (const bench_mem *mem = bench_mem_table; mem->name != NULL; mem++) {
        if (strcmp(mem->name, text) != 0)
            continue;
        if (mem->unavailable != NULL && mem->unavailable() != NULL)
            return fail(why, "'%s' is not available here: %s", text,
                        mem->unavailable());
        o->mem = mem;
        return 0;
    }
    return fail(why, "'%s' is none of malloc, heap, local, window, cuda", text);
}

static int set_touch(options *o, const char *text, const problem *why)
{
    static const struct {
        const char *name;
        bench_touch touch;
    } modes[] = {
        {"both", TOUCH_BOTH},
        {"send", TOUCH_SEND},
        {"recv", TOUCH_RECV},
        {"none", TOUCH_NONE},
    };

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, text) != 0)
            continue;
        o->touch = modes[i].touch;
        o->touch_name = modes[i].name;
        return 0;
    }
    return fail(why, "'%s' is none of both, send, recv, none", text);
}

static int parse_bytes(const char *text, size_t *bytes, const problem *why)
{
    uint64_t number;

    if (parse_u64(text, 0, INT_MAX, &number) != 0)
        return fail(why, "'%s' is not a number of bytes up to %d", text,
                    INT_MAX);
    *bytes = (size_t)number;
    return 0;
}

static int set_between(options *o, const char *text, const problem *why)
{
    return parse_bytes(text, &o->between, why);
}

static int add_size(options *o, char *text, const problem *why)
{
    return parse_bytes(text, &o->sizes[o->n_sizes++], why);
}

static int add_dist(options *o, char *text, const problem *why)
{
    if (dist_parse(text, &o->dists[o->n_dists], why->text, why->length) != 0)
        return -1;
    o->n_dists++;
    return 0;
}

/* Only the form is checked here: rota knows its own keys and values, and says
 * what is wrong with them. */
static int check_params(const char *params, const problem *why)
{
    char copy[sizeof((algo_spec *)0)->params], *rest = copy, *key, *value;

    strcpy(copy, params);
    while (spec_next_param(&rest, &key, &value))
        if (*key == '\0' || value == NULL || *value == '\0')
            return fail(why, "'%s' is not of the form key=value:key=value",
                        params);
    return 0;
}

typedef struct algo_context {
    options *o;
    const char *name;
    const problem *why;
} algo_context;

static int add_spec(void *context, const char *params)
{
    const algo_context *c = context;
    algo_spec *spec = &c->o->algos[c->o->n_algos];

    if (c->o->n_algos == OPTIONS_MAX_LIST)
        return fail(c->why, "more than %d entries", OPTIONS_MAX_LIST);
    strcpy(spec->name, c->name);
    strcpy(spec->params, params);
    c->o->n_algos++;
    return 0;
}

static int add_algo(options *o, char *text, const problem *why)
{
    algo_context context = {o, text, why};
    char *params = strchr(text, ':');

    if (params != NULL)
        *params++ = '\0';
    else
        params = "";
    if (*text == '\0' || strlen(text) >= sizeof o->algos->name ||
        strlen(params) >= sizeof o->algos->params)
        return fail(why, "an algorithm's name is empty or too long");
    if (check_params(params, why) != 0)
        return -1;
    return sweep_each(params, o->P, add_spec, &context, why->text, why->length);
}

typedef int (*add_fn)(options *o, char *item, const problem *why);

/* Call add for each comma-separated item of list, which is overwritten. */
static int for_each_item(options *o, char *list, add_fn add, const problem *why)
{
    int n = 0;

    for (char *item = list; item != NULL; n++) {
        char *comma = strchr(item, ',');

        if (n == OPTIONS_MAX_LIST)
            return fail(why, "more than %d entries", OPTIONS_MAX_LIST);
        if (comma != NULL)
            *comma++ = '\0';
        if (add(o, item, why) != 0)
            return -1;
        item = comma;
    }
    return 0;
}

static int set_list(options *o, const char *text, add_fn add,
                    const problem *why)
{
    char *copy = malloc(strlen(text) + 1);
    int status;

    if (copy == NULL)
        return fail(why, "out of memory");
    status = for_each_item(o, strcpy(copy, text), add, why);
    free(copy);
    return status;
}

static int set_sizes(options *o, const char *text, const problem *why)
{
    o->n_sizes = 0;
    o->sizes_given = true;
    return set_list(o, text, add_size, why);
}

/* Distributions keep pointers to their text. */
static int set_dists(options *o, const char *text, const problem *why)
{
    char *copy = copy_text(o, text);

    o->n_dists = 0;
    if (copy == NULL)
        return fail(why, "out of memory");
    return for_each_item(o, copy, add_dist, why);
}

static int set_replay(options *o, const char *text, const problem *why)
{
    char name[4096];

    if (snprintf(name, sizeof name, "recorded:%s", text) >= (int)sizeof name)
        return fail(why, "the folder's name is too long");
    return set_dists(o, name, why);
}

static int set_algos(options *o, const char *text, const problem *why)
{
    o->n_algos = 0;
    return set_list(o, text, add_algo, why);
}

static int set_iters(options *o, const char *text, const problem *why)
{
    return set_count(text, 1, &o->iters, why);
}

static int set_warmup(options *o, const char *text, const problem *why)
{
    return set_count(text, 0, &o->warmup, why);
}

static int set_inits(options *o, const char *text, const problem *why)
{
    return set_count(text, 1, &o->inits, why);
}

static int set_block(options *o, const char *text, const problem *why)
{
    return set_count(text, 1, &o->block, why);
}

static int set_starts(options *o, const char *text, const problem *why)
{
    return set_count(text, 1, &o->starts, why);
}

static int set_seed(options *o, const char *text, const problem *why)
{
    if (parse_u64(text, 0, UINT64_MAX, &o->seed) != 0)
        return fail(why, "'%s' is not an integer from 0", text);
    return 0;
}

static int set_time_limit(options *o, const char *text, const problem *why)
{
    char *end;

    o->time_limit = strtod(text, &end);
    if (end == text || *end != '\0' || !(o->time_limit > 0))
        return fail(why, "'%s' is not a positive number of seconds", text);
    return 0;
}

static int set_path(const char **path, const char *text, const problem *why)
{
    *path = text;
    return *text != '\0' ? 0 : fail(why, "the file name is empty");
}

static int set_json(options *o, const char *text, const problem *why)
{
    return set_path(&o->json, text, why);
}

static int set_csv(options *o, const char *text, const problem *why)
{
    return set_path(&o->csv, text, why);
}

static int set_check_json(options *o, const char *text, const problem *why)
{
    return set_path(&o->check_json, text, why);
}

static int set_switches(options *o, const char *text, const problem *why)
{
    (void)text;
    (void)why;
    o->switches = true;
    return 0;
}

static int set_help(options *o, const char *text, const problem *why)
{
    (void)text;
    (void)why;
    o->help = true;
    return 0;
}

/* ---- the table ----------------------------------------------------------- */

static const struct option_row {
    const char *name;
    const char *value; /* NULL if it takes none */
    const char *help;
    int (*set)(options *o, const char *text, const problem *why);
} option_table[] = {
    {"--kind", "KIND", "fixed (default), varying or exchange", set_kind},
    {"--sizes", "S,...", "largest block in bytes (default 8,512,65536)",
     set_sizes},
    {"--dist", "DIST,...", "distributions of block sizes (default uniform)",
     set_dists},
    {"--replay", "FOLDER",
     "exchanges that ROTA_RECORD wrote with as many ranks; with\n"
     "                         --kind fixed only the one that moved most",
     set_replay},
    {"--algos", "ALGO,...", "what to compare (default auto,mpi,mpi_persistent)",
     set_algos},
    {"--bound", "BOUND",
     "known (default): varying plans and exchanges know the largest\n"
     "                         block; none: they do not",
     set_bound},
    {"--mem", "MEM",
     "the user's buffers: malloc (default), heap (rota_mem_alloc), local\n"
     "                         (rota_malloc, with librota_heap preloaded), "
     "window\n"
     "                         (shared by a node) or cuda",
     set_mem},
    {"--touch", "TOUCH",
     "both (default): after each exchange a rank reads what it\n"
     "                         received and writes what it sends; recv, send: "
     "one\n"
     "                         of them; none. With --mem cuda always none",
     set_touch},
    {"--between", "BYTES",
     "other memory that a rank writes after each exchange, as\n"
     "                         programs do between exchanges (default 0); not "
     "with\n"
     "                         --touch none",
     set_between},
    {"--iters", "N", "timed iterations (default 200)", set_iters},
    {"--warmup", "N", "untimed iterations before them (default 10)",
     set_warmup},
    {"--inits", "N", "timed pairs of init and free (default 5)", set_inits},
    {"--block", "N",
     "iterations of an algorithm before the next takes its turn;\n"
     "                         if there are several, the first is not counted\n"
     "                         (default 1, or 50 with more ranks than cores)",
     set_block},
    {"--starts", "N",
     "exchanges per iteration, without a barrier between them;\n"
     "                         figures are per exchange (default 1)",
     set_starts},
    {"--switches", NULL,
     "also count how often a rank sleeps in an exchange, and how\n"
     "                         often it gives up its core otherwise (to JSON "
     "and CSV)",
     set_switches},
    {"--seed", "N",
     "seed for sizes and for the order of algorithms (default 1)", set_seed},
    {"--time-limit", "SECONDS",
     "end a table after this time, with what was measured", set_time_limit},
    {"--json", "FILE", "write one JSON object per line and result", set_json},
    {"--csv", "FILE", "write the same as comma-separated values", set_csv},
    {"--check-json", "FILE",
     "measure nothing; check that FILE has verified results", set_check_json},
    {"--help", NULL, "print this", set_help},
};

enum { N_OPTIONS = sizeof option_table / sizeof *option_table };

static const struct option_row *find_option(const char *argument, size_t length)
{
    for (int i = 0; i < N_OPTIONS; i++)
        if (strlen(option_table[i].name) == length &&
            strncmp(option_table[i].name, argument, length) == 0)
            return &option_table[i];
    return NULL;
}

/* Both "--name value" and "--name=value". Returns the arguments used, or -1. */
static int parse_one(char *argv[], options *o, const problem *why)
{
    const char *argument = argv[0], *equals = strchr(argument, '=');
    const size_t length =
        equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    const struct option_row *row = find_option(argument, length);
    const char *value = equals != NULL ? equals + 1 : NULL;
    char reason[512] = "";
    int used = 1;

    if (row == NULL)
        return fail(why, "unknown argument '%s' (see --help)", argument);
    if (row->value == NULL && value != NULL)
        return fail(why, "%s takes no value", row->name);
    if (row->value != NULL && value == NULL) {
        value = argv[used++];
        if (value == NULL)
            return fail(why, "%s needs a value (%s)", row->name, row->value);
    }
    if (row->set(o, value, &(problem){reason, sizeof reason}) != 0)
        return fail(why, "%s: %s", row->name, reason);
    return used;
}

/* Defaults that depend on other options. */
static int complete(options *o, const problem *why)
{
    if (o->bound_name != NULL && o->kind == KIND_FIXED)
        return fail(why, "--bound: not for --kind fixed");
    if (o->mem->copy != NULL && set_touch(o, "none", why) != 0)
        return -1;
    if (o->between > 0 && o->touch == TOUCH_NONE)
        return fail(why, "--between: not with --touch none");
    if (o->bound_name == NULL)
        o->bound_name = o->kind != KIND_FIXED ? "known" : "";
    if (o->n_dists == 0 && set_dists(o, "uniform", why) != 0)
        return -1;
    if (o->n_algos == 0 && set_algos(o, runners_default(o->kind), why) != 0)
        return -1;
    return o->sizes_given ? 0 : set_list(o, "8,512,65536", add_size, why);
}

static int check_runners(const options *o, const problem *why)
{
    for (int i = 0; i < o->n_algos; i++)
        if (runners_find(&o->algos[i], o->kind, o->mem, why->text,
                         why->length) == NULL)
            return -1;
    return 0;
}

int options_parse(int argc, char *argv[], int P, options *o, char *error,
                  size_t errlen)
{
    const problem why = {error, errlen};

    *o = (options){.P = P,
                   .kind = KIND_FIXED,
                   .kind_name = "fixed",
                   .bounded = true,
                   .mem = &bench_mem_table[0],
                   .touch = TOUCH_BOTH,
                   .touch_name = "both",
                   .iters = 200,
                   .warmup = 10,
                   .inits = 5,
                   .starts = 1,
                   .seed = 1};
    for (int i = 1; i < argc;) {
        const int used = parse_one(&argv[i], o, &why);

        if (used < 0)
            return -1;
        i += used;
    }
    if (complete(o, &why) != 0)
        return -1;
    return check_runners(o, &why);
}

void options_free(options *o)
{
    for (int i = 0; i < o->n_dists; i++) {
        free(o->dists[i].matrix);
        o->dists[i].matrix = NULL;
        recording_close(o->dists[i].recorded);
        free(o->recorded[i]);
        o->dists[i].recorded = NULL;
        o->recorded[i] = NULL;
    }
    free(o->storage);
    o->storage = NULL;
}

void options_help(FILE *out)
{
    fprintf(out, "usage: mpiexec -n P rota-bench [options]\n\n"
                 "Times all-to-all exchanges side by side. Every algorithm's "
                 "results are verified\nbefore and after it is timed.\n\n");
    for (int i = 0; i < N_OPTIONS; i++) {
        const struct option_row *row = &option_table[i];

        fprintf(out, "  %-12s %-9s %s\n", row->name,
                row->value != NULL ? row->value : "", row->help);
    }
    fprintf(out, "\nALGO is a name or name:key=value:key=value. A key may have "
                 "several values,\neach of which makes an entry: radix=2+8 "
                 "or radix=2..8+P, where P is the\nnumber of ranks\n");
    runners_help(out);
    fprintf(out,
            "\nDIST, with S from --sizes. With --kind varying and exchange "
            "sizes are drawn\nanew in every iteration (matrices and FFT "
            "shapes are shifted along the\ndiagonal instead)\n");
    for (int i = 0; dist_help[i] != NULL; i++)
        fprintf(out, "  %s\n", dist_help[i]);
}
