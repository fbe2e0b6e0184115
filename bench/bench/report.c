#include "bench/report.h"

#include "common/util.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one result as JSON -------------------------------------------------- */

typedef enum field_type { TEXT, NUMBER, NUMBER_OR_NULL, TRUE_ONLY } field_type;

/* Keys of a result, in order. */
static const struct {
    const char *key;
    field_type type;
} fields[] = {
    {"algo", TEXT},
    {"params", TEXT},
    {"kind", TEXT},
    {"bound", TEXT},
    {"dist", TEXT},
    {"mem", TEXT},
    {"P", NUMBER},
    {"ranks_per_node", NUMBER},
    {"max_bytes", NUMBER},
    {"total_bytes", NUMBER},
    {"iters", NUMBER},
    {"block", NUMBER},
    {"starts", NUMBER},
    {"touch", TEXT},
    {"between", NUMBER},
    {"median_us", NUMBER},
    {"p10_us", NUMBER},
    {"p90_us", NUMBER},
    {"step_us", NUMBER_OR_NULL},
    {"init_us", NUMBER_OR_NULL},
    {"break_even_starts", NUMBER_OR_NULL},
    {"ratio_to_mpi", NUMBER_OR_NULL},
    {"ratio_to_mpi_persistent", NUMBER_OR_NULL},
    {"rounds", NUMBER_OR_NULL},
    {"messages", NUMBER_OR_NULL},
    {"scratch_bytes", NUMBER_OR_NULL},
    {"down_us", NUMBER_OR_NULL},
    {"exchange_us", NUMBER_OR_NULL},
    {"up_us", NUMBER_OR_NULL},
    {"ratio_to_bound", NUMBER_OR_NULL},
    {"voluntary_switches", NUMBER_OR_NULL},
    {"involuntary_switches", NUMBER_OR_NULL},
    {"verified", TRUE_ONLY},
};

enum { N_FIELDS = sizeof fields / sizeof *fields };

/* To a thousandth: more digits of a time would say nothing. */
static void add_number(cJSON *object, const char *key, double value)
{
    const cJSON *added =
        isfinite(value)
            ? cJSON_AddNumberToObject(object, key, round(value * 1e3) / 1e3)
            : cJSON_AddNullToObject(object, key);

    if (added == NULL)
        bench_die("out of memory");
}

static void add_fact(cJSON *object, const char *key, double value)
{
    add_number(object, key, value >= 0 ? value : NAN);
}

static void add_text(cJSON *object, const char *key, const char *value)
{
    if (cJSON_AddStringToObject(object, key, value) == NULL)
        bench_die("out of memory");
}

static cJSON *result_json(const bench_env *env, const bench_cell *cell,
                          const bench_result *result)
{
    cJSON *object = cJSON_CreateObject();

    if (object == NULL)
        bench_die("out of memory");
    add_text(object, "algo", result->spec->name);
    add_text(object, "params", result->spec->params);
    add_text(object, "kind", env->opt->kind_name);
    add_text(object, "bound", env->opt->bound_name);
    add_text(object, "dist", cell->dist->text);
    add_text(object, "mem", env->opt->mem->name);
    add_number(object, "P", env->P);
    add_number(object, "ranks_per_node", env->ranks_per_node);
    add_number(object, "max_bytes", (double)cell->max_bytes);
    add_number(object, "total_bytes", round(cell->total_bytes));
    add_number(object, "iters", cell->iters);
    add_number(object, "block", env->block);
    add_number(object, "starts", env->opt->starts);
    add_text(object, "touch", env->opt->touch_name);
    add_number(object, "between", (double)env->opt->between);
    add_number(object, "median_us", result->median_us);
    add_number(object, "p10_us", result->p10_us);
    add_number(object, "p90_us", result->p90_us);
    add_number(object, "step_us", result->step_us);
    add_number(object, "init_us", result->init_us);
    add_number(object, "break_even_starts", result->break_even_starts);
    add_number(object, "ratio_to_mpi", result->ratio_to_mpi);
    add_number(object, "ratio_to_mpi_persistent",
               result->ratio_to_mpi_persistent);
    add_fact(object, "rounds", result->facts.rounds);
    add_fact(object, "messages", result->facts.messages);
    add_fact(object, "scratch_bytes", result->facts.scratch_bytes);
    add_number(object, "down_us", result->part_us[PART_DOWN]);
    add_number(object, "exchange_us", result->part_us[PART_EXCHANGE]);
    add_number(object, "up_us", result->part_us[PART_UP]);
    add_number(object, "ratio_to_bound", result->ratio_to_bound);
    add_number(object, "voluntary_switches",
               result->switches[SWITCH_VOLUNTARY]);
    add_number(object, "involuntary_switches",
               result->switches[SWITCH_INVOLUNTARY]);
    /* A wrong byte would have ended the run before. */
    if (cJSON_AddTrueToObject(object, "verified") == NULL)
        bench_die("out of memory");
    return object;
}

/* ---- files --------------------------------------------------------------- */

static int open_one(const char *path, FILE **file, char *error, size_t errlen)
{
    if (path == NULL)
        return 0;
    *file = fopen(path, "w");
    if (*file != NULL)
        return 0;
    snprintf(error, errlen, "cannot write '%s': %s", path, strerror(errno));
    return -1;
}

int report_open(report *out, const options *opt, char *error, size_t errlen)
{
    *out = (report){0};
    if (open_one(opt->json, &out->json, error, errlen) != 0)
        return -1;
    return open_one(opt->csv, &out->csv, error, errlen);
}

static int close_one(FILE *file, const char *what, char *error, size_t errlen)
{
    const bool failed = file != NULL && ferror(file);

    if ((file == NULL || fclose(file) == 0) && !failed)
        return 0;
    snprintf(error, errlen, "cannot write the %s file", what);
    return -1;
}

int report_close(report *out, char *error, size_t errlen)
{
    const int json = close_one(out->json, "JSON", error, errlen);
    const int csv = close_one(out->csv, "CSV", error, errlen);

    *out = (report){0};
    return json != 0 ? json : csv;
}

static char *print_item(const cJSON *item)
{
    char *text = cJSON_PrintUnformatted(item);

    if (text == NULL)
        bench_die("out of memory");
    return text;
}

static void write_json(FILE *file, const cJSON *object)
{
    char *line = print_item(object);

    fprintf(file, "%s\n", line);
    fflush(file); /* what is measured survives an aborted run */
    cJSON_free(line);
}

static void write_csv_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void write_csv_value(FILE *file, const cJSON *item)
{
    if (cJSON_IsString(item)) {
        write_csv_text(file, item->valuestring);
    } else if (!cJSON_IsNull(item)) {
        char *text = print_item(item);

        fputs(text, file);
        cJSON_free(text);
    }
}

static void write_csv(report *out, const cJSON *object)
{
    const cJSON *item;

    if (!out->csv_begun)
        cJSON_ArrayForEach(item, object) fprintf(
            out->csv, "%s%s", item->string, item->next != NULL ? "," : "\n");
    out->csv_begun = true;
    cJSON_ArrayForEach(item, object)
    {
        write_csv_value(out->csv, item);
        fputs(item->next != NULL ? "," : "\n", out->csv);
    }
    fflush(out->csv);
}

/* ---- tables -------------------------------------------------------------- */

static void print_library(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    bench_must(MPI_Get_library_version(text, &length),
               "MPI_Get_library_version");
    text[strcspn(text, "\n")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    printf("# MPI      %s (MPI %d.%d)\n", text, MPI_VERSION, MPI_SUBVERSION);
}

static void print_cadence(const bench_env *env)
{
    printf("# cadence  %d iterations after %d not timed, with an untimed "
           "barrier (%s) before\n"
           "#          each; ",
           env->opt->iters, env->opt->warmup,
           sync_sleeps(&env->sync) ? "yielding, then sleeping" : "yielding");
    if (env->opt->starts > 1)
        printf("%d exchanges an iteration, figures of one of them;\n"
               "#          ",
               env->opt->starts);
    printf("block %d: ", env->block);
    if (env->block == 1)
        printf("one iteration of every algorithm in turn, in random order\n");
    else
        printf("%d of one algorithm in a row, the first not\n"
               "#          counted, then the next algorithm, in random order\n",
               env->block);
}

static void print_touch(const options *opt)
{
    static const char *const what[] = {
        [TOUCH_NONE] = "send buffers are not written, receive buffers not read",
        [TOUCH_SEND] = "what is sent next is written after each exchange",
        [TOUCH_RECV] = "what came is read after each exchange",
        [TOUCH_BOTH] = ("what came is read, and what is sent next is written, "
                        "after\n#          each exchange"),
    };

    printf("# touch    %s: %s\n", opt->touch_name, what[opt->touch]);
    if (opt->touch != TOUCH_NONE)
        printf("#          step: exchange and touching, less the touching by "
               "itself\n");
    if (opt->between > 0)
        printf("#          between two exchanges %zu bytes of other memory are "
               "written\n",
               opt->between);
}

void report_heading(const bench_env *env)
{
    const options *opt = env->opt;
    const int version = rota_version();

    printf("# rota     %d.%d.%d, kind %s%s%s, mem %s, seed %llu\n",
           version >> 16, version >> 8 & 0xff, version & 0xff, opt->kind_name,
           opt->kind != KIND_FIXED ? ", bound " : "", opt->bound_name,
           opt->mem->name, (unsigned long long)opt->seed);
    printf("# machine  P = %d, nodes %d, ranks per node %d, cores per node "
           "%d%s\n",
           env->P, env->nodes, env->ranks_per_node, env->cores,
           env->oversubscribed ? " (more ranks than cores)" : "");
    if (env->load >= 0)
        printf("# load     %.2f runnable processes before this run\n",
               env->load);
    print_library();
    print_cadence(env);
    print_touch(opt);
    printf("# figures  of the maximum over ranks of each iteration; x mpi, "
           "x pers.: median of\n"
           "#          mpi, of mpi_persistent, over this median; init: init "
           "and free\n");
    if (opt->mem->copy != NULL)
        printf("#          down, exch., up: until what is sent was at the "
               "host, until the last\n"
               "#          message was there, until all was on the device; x "
               "bound: down and up\n"
               "#          of stage_bound, over these; of the last run in each "
               "turn\n");
    fflush(stdout);
}

static void print_number(double value, int width, int decimals)
{
    if (isfinite(value) && value >= 0)
        printf(" %*.*f", width, decimals, value);
    else
        printf(" %*s", width, "-");
}

static int name_width(const bench_env *env)
{
    int width = (int)strlen("algorithm");

    for (int a = 0; a < env->opt->n_algos; a++) {
        const algo_spec *spec = &env->opt->algos[a];
        const int length = (int)(strlen(spec->name) + strlen(spec->params)) +
                           (spec->params[0] != '\0');

        width = length > width ? length : width;
    }
    return width;
}

static void print_parts(const bench_result *result)
{
    for (int i = 0; i < N_PARTS; i++)
        print_number(result->part_us[i], 10, 2);
    print_number(result->ratio_to_bound, 8, 2);
}

static void print_result(const bench_env *env, const bench_result *result,
                         int width)
{
    const algo_spec *spec = result->spec;
    char name[sizeof spec->name + sizeof spec->params];

    snprintf(name, sizeof name, "%s%s%s", spec->name,
             spec->params[0] != '\0' ? ":" : "", spec->params);
    printf("%-*s", width, name);
    print_number(result->median_us, 10, 2);
    print_number(result->p10_us, 10, 2);
    print_number(result->p90_us, 10, 2);
    print_number(result->step_us, 10, 2);
    print_number(result->init_us, 9, 1);
    print_number(result->break_even_starts, 10, 0);
    print_number(result->ratio_to_mpi, 8, 2);
    print_number(result->ratio_to_mpi_persistent, 8, 2);
    print_number(result->facts.rounds, 6, 0);
    print_number(result->facts.messages, 8, 0);
    print_number(result->facts.scratch_bytes, 10, 0);
    if (env->opt->mem->copy != NULL)
        print_parts(result);
    printf("\n");
}

static void print_table(const bench_env *env, const bench_cell *cell)
{
    const int width = name_width(env);

    printf("\n%s, S = %zu B, %.0f B an exchange, %d iterations\n",
           cell->dist->text, cell->max_bytes, cell->total_bytes, cell->iters);
    printf("%-*s %10s %10s %10s %10s %9s %10s %8s %8s %6s %8s %10s", width,
           "algorithm", "median us", "p10 us", "p90 us", "step us", "init us",
           "break-even", "x mpi", "x pers.", "rounds", "messages", "scratch B");
    if (env->opt->mem->copy != NULL)
        printf(" %10s %10s %10s %8s", "down us", "exch. us", "up us",
               "x bound");
    printf("\n");
    for (int a = 0; a < env->opt->n_algos; a++)
        print_result(env, &cell->results[a], width);
    fflush(stdout);
}

void report_cell(report *out, const bench_env *env, const bench_cell *cell)
{
    print_table(env, cell);
    for (int a = 0; a < env->opt->n_algos; a++) {
        cJSON *object = result_json(env, cell, &cell->results[a]);

        if (out->json != NULL)
            write_json(out->json, object);
        if (out->csv != NULL)
            write_csv(out, object);
        cJSON_Delete(object);
    }
}

/* ---- checking ------------------------------------------------------------ */

static bool has_type(const cJSON *item, field_type type)
{
    switch (type) {
    case TEXT:
        return cJSON_IsString(item);
    case NUMBER:
        return cJSON_IsNumber(item);
    case NUMBER_OR_NULL:
        return cJSON_IsNumber(item) || cJSON_IsNull(item);
    case TRUE_ONLY:
        return cJSON_IsTrue(item);
    }
    return false;
}

static int check_object(const cJSON *object, char *error, size_t errlen)
{
    if (!cJSON_IsObject(object)) {
        snprintf(error, errlen, "not a JSON object");
        return -1;
    }
    for (int i = 0; i < N_FIELDS; i++) {
        const cJSON *item =
            cJSON_GetObjectItemCaseSensitive(object, fields[i].key);

        if (item == NULL || !has_type(item, fields[i].type)) {
            snprintf(error, errlen, "'%s' is missing or wrong", fields[i].key);
            return -1;
        }
    }
    if (cJSON_GetArraySize(object) != N_FIELDS) {
        snprintf(error, errlen, "a key that is not of a result");
        return -1;
    }
    return 0;
}

/* All lines of file; returns how many, -1 if one is wrong. */
static int check_lines(FILE *file, char *error, size_t errlen)
{
    char line[4096], reason[128];
    int n = 0;

    while (fgets(line, sizeof line, file) != NULL) {
        cJSON *object = cJSON_Parse(line);
        const int status = check_object(object, reason, sizeof reason);

        n++;
        cJSON_Delete(object);
        if (status != 0) {
            snprintf(error, errlen, "line %d: %s", n, reason);
            return -1;
        }
    }
    return n;
}

int report_check_json(const char *path, char *error, size_t errlen)
{
    FILE *file = fopen(path, "r");
    int n;

    if (file == NULL) {
        snprintf(error, errlen, "cannot read '%s': %s", path, strerror(errno));
        return -1;
    }
    n = check_lines(file, error, errlen);
    fclose(file);
    if (n == 0)
        snprintf(error, errlen, "'%s' has no result", path);
    if (n > 0)
        printf("%s: %d results, all verified\n", path, n);
    return n > 0 ? 0 : -1;
}
