/* rota_tune.c - makes a tuning file for this machine.
 *
 *   mpiexec -n P rota-tune [--output FILE]
 *
 * First the prices of the machine (calibrate.c), and from which size on one copy
 * within a node is worth it (crossing.c), unless the file has some (--device: the
 * prices of a device's copies, and nothing else); then what is
 * best for all-to-alls of several kinds, distributions and sizes: the library
 * measures, the file gets a row. It is written after each case, so that a run
 * that was ended goes on where it was. Options: --help. Exit status: 0; 2 for a
 * command line or file that cannot be used; an error in an exchange aborts all
 * ranks.
 */
#include "choose/tuning.h"
#include "common/replay.h"
#include "common/runners.h"
#include "common/util.h"
#include "tune/calibrate.h"
#include "tune/crossing.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <libgen.h>
#include <rota.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

typedef struct job {
    tune_env env;
    const char *output; /* NULL: the user's file */
    int kinds;          /* bits of bench_kind */
    bool calibrate_only, device, help;
    double budget_s; /* 0: no limit */
    char command[512];
    int n_measured, n_known, n_failed;
} job;

static const struct {
    const char *name;
    bench_kind kind;
} kinds[] = {
    {"fixed", KIND_FIXED},
    {"varying", KIND_VARYING},
    {"exchange", KIND_EXCHANGE},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static void help(FILE *out)
{
    fputs(
        "usage: mpiexec -n P rota-tune [OPTION...]\n"
        "\n"
        "Measures which algorithm is fastest for which all-to-all on this\n"
        "machine, and writes a tuning file, which plans follow when they\n"
        "choose. Run it once with each number of ranks that you use.\n"
        "\n"
        "  --output FILE      the file to write; if it exists, continue it\n"
        "                     (default: ROTA_TUNING_FILE, else the user's\n"
        "                     file, ~/.config/rota/tuning.json)\n"
        "  --sizes S,...      largest blocks in bytes\n"
        "  --dist DIST,...    distributions for fixed plans, as in\n"
        "                     rota-bench (default uniform,sparse:0.1)\n"
        "  --replay FOLDER    tune for what ROTA_RECORD wrote, with as many\n"
        "                     ranks: fixed plans for the exchange that moved\n"
        "                     most, others for its largest block\n"
        "  --kinds KIND,...   fixed, varying, exchange (default all)\n"
        "  --quick            less of each: sizes, distributions, time\n"
        "  --calibrate-only   measure only the prices of the machine, and\n"
        "                     the size from which memory of rota_mem_alloc is\n"
        "                     copied once, even if the file has them\n"
        "  --device           measure only the prices of copies by CUDA\n"
        "                     devices, which the ranks take in turn\n"
        "  --runs N           runs of each plan that prices are fitted to,\n"
        "                     at most (default 100)\n"
        "  --budget SECONDS   begin nothing after this time\n"
        "  --seed N           seed of random distributions\n"
        "  --help             print this\n",
        out);
}

/* ---- command line -------------------------------------------------------- */

static bool set_kinds(job *j, const char *list)
{
    j->kinds = 0;
    while (*list) {
        const size_t n = strcspn(list, ",");
        int found = 0;
        for (int i = 0; i < N_KINDS; i++)
            if (strlen(kinds[i].name) == n &&
                strncmp(kinds[i].name, list, n) == 0)
                found = (int)kinds[i].kind;
        if (!found)
            return false;
        j->kinds |= found;
        list += n + (list[n] == ',');
    }
    return j->kinds != 0;
}

static bool set_runs(job *j, const char *text)
{
    char *end;
    const long n = strtol(text, &end, 10);

    j->env.runs = n > 0 && n <= TUNE_RUNS ? (int)n : 0;
    return end != text && *end == '\0' && j->env.runs > 0;
}

static bool set_budget(job *j, const char *text)
{
    char *end;

    j->budget_s = strtod(text, &end);
    return end != text && *end == '\0' && j->budget_s > 0;
}

/* Options of ours that take a value. Returns false if option is none, or with
 * *bad set if the value will not do. */
static bool take_value(job *j, const char *option, const char *value, bool *bad)
{
    if (strcmp(option, "--output") == 0)
        j->output = value;
    else if (strcmp(option, "--kinds") == 0)
        *bad = !set_kinds(j, value);
    else if (strcmp(option, "--runs") == 0)
        *bad = !set_runs(j, value);
    else if (strcmp(option, "--budget") == 0)
        *bad = !set_budget(j, value);
    else
        return false;
    return true;
}

static bool take_flag(job *j, const char *option)
{
    bool *const flag = strcmp(option, "--quick") == 0 ? &j->env.quick
                       : strcmp(option, "--calibrate-only") == 0
                           ? &j->calibrate_only
                       : strcmp(option, "--device") == 0 ? &j->device
                       : strcmp(option, "--help") == 0   ? &j->help
                                                         : NULL;

    if (flag)
        *flag = true;
    return flag != NULL;
}

static bool is_of_bench(const char *option)
{
    return strcmp(option, "--sizes") == 0 || strcmp(option, "--dist") == 0 ||
           strcmp(option, "--seed") == 0 || strcmp(option, "--replay") == 0;
}

/* rest: [argc] what options_parse is to be given. */
static int parse_ours(int argc, char *argv[], job *j, char *rest[], int *n,
                      char *error, size_t errlen)
{
    for (int i = 1; i < argc; i++) {
        bool bad = false;
        if (take_flag(j, argv[i]))
            continue;
        if (i + 1 < argc && take_value(j, argv[i], argv[i + 1], &bad)) {
            if (bad) {
                snprintf(error, errlen, "%s: '%s' will not do (see --help)",
                         argv[i], argv[i + 1]);
                return -1;
            }
        } else if (i + 1 < argc && is_of_bench(argv[i])) {
            rest[(*n)++] = argv[i];
            rest[(*n)++] = argv[i + 1];
        } else {
            snprintf(error, errlen,
                     "'%s' is unknown or needs a value (see --help)", argv[i]);
            return -1;
        }
        i++;
    }
    return 0;
}

/* Defaults go first: what is given again counts. */
static int parse_all(const job *j, char *program, char *given[], int n_given,
                     options *opt, char *error, size_t errlen)
{
    static char sizes[2][2][60] = {
        {"8,64,512,2048,8192,32768,262144", "8,512,8192,65536"},
        {"512,2048,8192,32768,131072,524288,2097152", "512,8192,131072"}};
    static char dists[] = "uniform,sparse:0.1", one_dist[] = "uniform";
    static char sizes_option[] = "--sizes", dist_option[] = "--dist";
    static char mem_option[] = "--mem", host[] = "malloc", device[] = "cuda";
    char *const first[] = {program,
                           sizes_option,
                           sizes[j->device][j->env.quick],
                           dist_option,
                           j->env.quick ? one_dist : dists,
                           mem_option,
                           j->device ? device : host};
    enum { N_FIRST = sizeof first / sizeof first[0] };
    char **const all = bench_calloc(N_FIRST + (size_t)n_given, sizeof *all);

    memcpy(all, first, sizeof first);
    for (int i = 0; i < n_given; i++)
        all[N_FIRST + i] = given[i];
    int status = options_parse(N_FIRST + n_given, all, 1, opt, error, errlen);
    for (int i = 0; status == 0 && i < opt->n_dists; i++)
        if (opt->dists[i].path && opt->dists[i].type != DIST_RECORDED) {
            snprintf(error, errlen, "--dist: no matrices here");
            status = -1;
        }
    free(all);
    return status;
}

static int parse(int argc, char *argv[], job *j, char *error, size_t errlen)
{
    char **const given = bench_calloc((size_t)argc, sizeof *given);
    int n_given = 0;

    j->kinds = KIND_FIXED | KIND_VARYING | KIND_EXCHANGE;
    j->output = getenv("ROTA_TUNING_FILE");
    for (int i = 0; i < argc; i++)
        snprintf(j->command + strlen(j->command),
                 sizeof j->command - strlen(j->command), "%s%s",
                 i > 0 ? " " : "", argv[i]);
    int status = parse_ours(argc, argv, j, given, &n_given, error, errlen);
    j->calibrate_only |= j->device;
    if (status == 0)
        status =
            parse_all(j, argv[0], given, n_given, &j->env.opt, error, errlen);
    free(given);
    return status;
}

/* ---- what there is already ----------------------------------------------- */

/* 0, or -1 with the text of an error code. */
static int explain(int code, char *error, size_t errlen)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &length);
    snprintf(error, errlen, "%s", text);
    return -1;
}

/* 0, or the errno of why no file can be made beside path, as saving it will. */
static int why_not_written(const char *path)
{
    char *const copy = bench_calloc(strlen(path) + 1, 1);

    strcpy(copy, path);
    const int why = access(dirname(copy), W_OK | X_OK) == 0 ? 0 : errno;
    free(copy);
    return why;
}

/* Rank 0 sees whether the file is there, and whether it can be written: better
 * now than after minutes of measuring. */
static int begin_with(const job *j, char *error, size_t errlen)
{
    int there = j->output == NULL || access(j->output, F_OK) == 0;
    int why = j->output == NULL ? 0 : why_not_written(j->output);

    bench_must(MPI_Bcast(&there, 1, MPI_INT, 0, j->env.comm), "MPI_Bcast");
    bench_must(MPI_Bcast(&why, 1, MPI_INT, 0, j->env.comm), "MPI_Bcast");
    if (why != 0) {
        snprintf(error, errlen, "cannot write %s: %s", j->output,
                 strerror(why));
        return -1;
    }
    return explain(there ? rota_tuning_import(j->output, j->env.comm)
                         : rota_tuning_forget(j->env.comm),
                   error, errlen);
}

static int save(const job *j, char *error, size_t errlen)
{
    return explain(rota_tuning_export(j->output, j->env.comm), error, errlen);
}

/* To be freed by rota_tuning_free. */
static rota_tuning current(const job *j)
{
    rota_tuning t;
    size_t length = 0;

    bench_must(rota_tuning_export_string(j->env.comm, NULL, &length),
               "rota_tuning_export_string");
    char *const text = bench_calloc(length, 1);
    bench_must(rota_tuning_export_string(j->env.comm, text, &length),
               "rota_tuning_export_string");
    if (rota_tuning_parse(text, &t) != MPI_SUCCESS)
        bench_die("a tuning that cannot be read: %s", rota_fail_text());
    free(text);
    return t;
}

static void set_current(const job *j, const rota_tuning *t)
{
    char *const text = rota_tuning_print(t);

    if (text == NULL)
        bench_die("out of memory for the tuning");
    bench_must(rota_tuning_import_string(text, j->env.comm),
               "rota_tuning_import_string");
    free(text);
}

/* ---- prices -------------------------------------------------------------- */

static void replace_text(char **text, const char *by)
{
    free(*text);
    *text = bench_calloc(strlen(by) + 1, 1);
    strcpy(*text, by);
}

static void set_origin(const job *j, rota_provenance *from)
{
    const time_t now = time(NULL);
    struct utsname name;
    char date[16] = "", machine[300] = "";
    struct tm utc;

    if (uname(&name) == 0)
        snprintf(machine, sizeof machine, "%s, %d ranks", name.nodename,
                 j->env.P);
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%d", &utc);
    replace_text(&from->machine, machine);
    replace_text(&from->date, date);
    replace_text(&from->command, j->command);
}

static int make_prices(job *j, char *error, size_t errlen)
{
    rota_tuning t = current(j);
    rota_machine machine;
    int status = 0;

    if ((!t.has_machine || j->calibrate_only) &&
        calibrate(&j->env, t.has_machine ? &t.machine : &rota_machine_usual,
                  &machine)) {
        t.has_machine = true;
        t.machine = machine;
        const int crossing = j->device ? 0 : find_crossing(&j->env);
        if (crossing > 0)
            t.copied_once_from = crossing;
        set_origin(j, &t.machine_from);
        set_current(j, &t);
        status = save(j, error, errlen);
    }
    rota_tuning_free(&t);
    return status;
}

/* ---- rows ---------------------------------------------------------------- */

typedef struct tune_case {
    bench_kind kind;
    const char *kind_name;
    const dist *dist;
    size_t size; /* ROTA_UNBOUNDED: not known to plans whose counts vary */
} tune_case;

enum { WORDS = 200 };

/* What a plan turned out to be. */
typedef struct outcome {
    bool made;
    char algorithm[WORDS]; /* or what is wrong */
    char chosen[WORDS];    /* and why */
} outcome;

static void take_description(const runner *r, outcome *made)
{
    cJSON *const o = runner_description(r);

    snprintf(made->chosen, WORDS, "%s",
             cJSON_GetStringValue(cJSON_GetObjectItem(o, "chosen")));
    snprintf(made->algorithm, WORDS, "%s",
             cJSON_GetStringValue(cJSON_GetObjectItem(o, "algorithm")));
    cJSON_Delete(o);
}

static outcome make_plan(job *j, const tune_case *c, const algo_spec *how)
{
    outcome made = {.made = false};
    exchange_form form = options_form(&j->env.opt);
    exchange x;
    runner r;

    form.kind = c->kind;
    form.bounded = c->size != ROTA_UNBOUNDED;
    exchange_create(&x, j->env.comm, &form, c->dist,
                    c->size == ROTA_UNBOUNDED ? 8 : c->size, 1);
    runner_create(&r, how, c->kind, j->env.opt.mem);
    made.made = explain(r.ops->init(&r, &x), made.algorithm,
                        sizeof made.algorithm) == 0;
    if (made.made) {
        take_description(&r, &made);
        runner_destroy(&r);
    } else {
        runner_abandon(&r);
    }
    exchange_destroy(&x);
    return made;
}

static void report_case(const job *j, const tune_case *c, const outcome *made)
{
    char size[40] = "no largest block";

    if (c->size != ROTA_UNBOUNDED)
        snprintf(size, sizeof size, "%zu bytes", c->size);
    if (j->env.me == 0)
        tune_progress(
            "%d measured, %d known: %s, %s%s%s: %s", j->n_measured, j->n_known,
            c->kind_name, size, c->kind == KIND_FIXED ? ", " : "",
            c->kind == KIND_FIXED ? c->dist->text : "", made->algorithm);
}

static int count_rows(const job *j)
{
    rota_tuning t = current(j);
    const int n = t.n_rows;

    rota_tuning_free(&t);
    return n;
}

/* Nothing is to be done if there is a row. Hints in the environment make plans
 * that say nothing of what is best without them, and no rows. */
static int run_case(job *j, const tune_case *c, char *error, size_t errlen)
{
    static const algo_spec as_it_is = {"auto", ""};
    static const algo_spec thorough = {"auto", "choose=measure:measure_ms=200"};
    static const algo_spec quick = {"auto", "choose=measure:measure_ms=20"};
    const int before = count_rows(j);
    outcome made = make_plan(j, c, &as_it_is);

    if (strstr(made.chosen, "row of the tuning")) {
        j->n_known++;
        return 0;
    }
    made = make_plan(j, c, j->env.quick ? &quick : &thorough);
    if (made.made && count_rows(j) == before) {
        snprintf(made.algorithm, WORDS,
                 "no row: are there hints in the "
                 "environment?");
        made.made = false;
    }
    j->n_measured += made.made;
    j->n_failed += !made.made;
    report_case(j, c, &made);
    return made.made ? save(j, error, errlen) : 0;
}

/* Counts that vary are not known when a plan is made, so that their
 * distribution does not matter there. */
static int sweep_kind(job *j, int kind, char *error, size_t errlen)
{
    const bool fixed = kinds[kind].kind == KIND_FIXED;
    const options *const opt = &j->env.opt;

    for (int d = 0; d < (fixed ? opt->n_dists : 1); d++)
        for (int s = 0; s < opt->n_sizes + !fixed; s++) {
            const tune_case c = {.kind = kinds[kind].kind,
                                 .kind_name = kinds[kind].name,
                                 .dist = &opt->dists[d],
                                 .size = s < opt->n_sizes ? opt->sizes[s]
                                                          : ROTA_UNBOUNDED};
            if (!tune_has_time(&j->env))
                return 0;
            if (run_case(j, &c, error, errlen) != 0)
                return -1;
        }
    return 0;
}

static int sweep(job *j, char *error, size_t errlen)
{
    for (int kind = 0; kind < N_KINDS; kind++)
        if (j->kinds & (int)kinds[kind].kind &&
            sweep_kind(j, kind, error, errlen) != 0)
            return -1;
    if (j->env.me == 0) {
        tune_progress("rows: %d measured, %d were there, %d failed",
                      j->n_measured, j->n_known, j->n_failed);
        if (isatty(STDERR_FILENO))
            fputc('\n', stderr);
    }
    return 0;
}

/* A recording says what sizes there are, once prices are known. */
static int load_replay(job *j, char *error, size_t errlen)
{
    options *const opt = &j->env.opt;

    for (int i = 0; i < opt->n_dists; i++) {
        dist *const d = &opt->dists[i];
        if (d->type != DIST_RECORDED)
            continue;
        if (replay_load(d, j->env.comm, true, &opt->recorded[i], error,
                        errlen) != 0)
            return -1;
    }
    return 0;
}

static void take_sizes(options *opt)
{
    for (int i = 0; i < opt->n_dists; i++)
        if (opt->dists[i].recorded) {
            opt->sizes[0] = opt->dists[i].matrix_max;
            opt->n_sizes = 1;
        }
}

/* ---- all of it ----------------------------------------------------------- */

static int tune(job *j, char *error, size_t errlen)
{
    tune_env_create(&j->env, j->budget_s);
    int status = load_replay(j, error, errlen);
    if (status == 0)
        status = begin_with(j, error, errlen);
    if (status == 0)
        status = make_prices(j, error, errlen);
    take_sizes(&j->env.opt);
    if (status == 0 && !j->calibrate_only)
        status = sweep(j, error, errlen);
    tune_env_destroy(&j->env);
    return status;
}

int main(int argc, char *argv[])
{
    char error[1024] = "";
    job j = {.env = {.runs = TUNE_RUNS}};
    int rank, status;

    bench_program = "rota-tune";
    if (bench_only_help(argc, argv)) {
        help(stdout);
        return EXIT_SUCCESS;
    }
    bench_must(MPI_Init(&argc, &argv), "MPI_Init");
    bench_must(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    status = parse(argc, argv, &j, error, sizeof error);
    if (status == 0 && j.help && rank == 0)
        help(stdout);
    if (status == 0 && !j.help)
        status = tune(&j, error, sizeof error);
    if (status != 0 && rank == 0)
        fprintf(stderr, "rota-tune: %s\n", error);
    options_free(&j.env.opt);
    bench_must(MPI_Finalize(), "MPI_Finalize");
    return status == 0 ? EXIT_SUCCESS : EXIT_USAGE;
}
