/* tuning.c FOLDER - tuning of a communicator: from files, texts, and where
 * nobody names one. FOLDER is empty and the test's own.
 */
#include "harness.h"

#include "plan/ranks/agree.h"
#include "plan/ranks/topo_detect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TUNING(batch)                                                          \
    "{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\", "                   \
    "\"algorithm\": \"scattered\", \"batch\": " #batch                         \
    ", \"metadata\": \"once\"}]}"

static const char *folder;

/* ---- files --------------------------------------------------------------- */

static const char *in_folder(const char *name)
{
    static char path[2][1000];
    static int next;

    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* By rank 0, before any rank goes on. */
static void write_file(const char *name, const char *text)
{
    if (test_me == 0) {
        FILE *const file = fopen(in_folder(name), "w");
        if (file) {
            fputs(text, file);
            fclose(file);
        } else {
            test_fail(__FILE__, __LINE__, "cannot write %s", in_folder(name));
        }
    }
    test_barrier();
}

static void make_folder(const char *name)
{
    if (test_me == 0)
        mkdir(in_folder(name), 0755);
    test_barrier();
}

/* ---- what a communicator has --------------------------------------------- */

/* The batch of the only row, 0 if there is no row. */
static int batch(MPI_Comm comm)
{
    char text[4000];
    size_t size = sizeof text;
    int found = 0;

    MUST(rota_tuning_export_string(comm, text, &size));
    CHECK(size <= sizeof text && size == strlen(text) + 1);
    const char *const at = strstr(text, "\"batch\":");
    if (at)
        found = atoi(at + strlen("\"batch\":"));
    return found;
}

static rota_comm *state(MPI_Comm comm)
{
    rota_comm *c = NULL;

    MUST(rota_comm_find(comm, &c));
    return c;
}

static MPI_Comm new_comm(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* ---- cases --------------------------------------------------------------- */

static void texts(void)
{
    MPI_Comm comm = new_comm();
    char small[20];
    size_t size = sizeof small;

    test_case = "texts";
    CHECK(batch(comm) == 0); /* nothing has been made on it yet */
    MUST(rota_tuning_import_string(test_me ? NULL : TUNING(5), comm));
    CHECK(batch(comm) == 5);
    MUST(rota_tuning_import_string(test_me ? "rubbish" : TUNING(6), comm));
    CHECK(batch(comm) == 6);
    MUST_FAIL(rota_tuning_import_string(test_me ? TUNING(5) : NULL, comm),
              MPI_ERR_ARG, "rank 0: text is NULL");
    MUST_FAIL(rota_tuning_import_string("{", comm), MPI_ERR_ARG,
              "rota_tuning_import_string: rank 0: line 1: not JSON");
    CHECK(batch(comm) == 6);
    MUST(rota_tuning_export_string(comm, small, &size));
    CHECK(size > sizeof small && strlen(small) == sizeof small - 1);
    size = 0;
    MUST(rota_tuning_export_string(comm, NULL, &size));
    CHECK(size > sizeof small);
    MUST_FAIL(rota_tuning_export_string(comm, NULL, &size), MPI_ERR_ARG,
              "buf is NULL");
    MUST_FAIL(rota_tuning_export_string(comm, small, NULL), MPI_ERR_ARG,
              "len is NULL");
    MUST_FAIL(rota_tuning_export_string(MPI_COMM_NULL, small, &size),
              MPI_ERR_COMM, "MPI_COMM_NULL");
    MUST(rota_tuning_forget(comm));
    CHECK(batch(comm) == 0);
    MPI_Comm_free(&comm);
}

/* Other ranks than 0 name files that are not there. */
static const char *of_rank_0(const char *name)
{
    return test_me == 0 ? in_folder(name) : "/nowhere/at/all";
}

static void files(void)
{
    MPI_Comm comm = new_comm(), other = new_comm();

    test_case = "files";
    write_file("good", TUNING(7));
    write_file("damaged", "{\"rota_tuning\": 1,\n\"rows\": [{}]}");
    write_file("empty", "");
    write_file("newer", "{\"rota_tuning\": 3, \"shape\": 1}");
    MUST(rota_tuning_import(of_rank_0("good"), comm));
    CHECK(batch(comm) == 7);
    CHECK(batch(other) == 0);
    MUST_FAIL(rota_tuning_import(of_rank_0("damaged"), comm), MPI_ERR_ARG,
              "/damaged: row 1: kind is missing");
    MUST_FAIL(rota_tuning_import(of_rank_0("empty"), comm), MPI_ERR_ARG,
              "/empty: line 1: not JSON, it ends too early");
    MUST_FAIL(rota_tuning_import(of_rank_0("newer"), comm), MPI_ERR_ARG,
              "/newer: made by a newer version");
    MUST_FAIL(rota_tuning_import(of_rank_0("missing"), comm), MPI_ERR_ARG,
              "/missing: No such file");
    MUST_FAIL(rota_tuning_import(test_me ? NULL : folder, comm), MPI_ERR_ARG,
              "it is not a regular file");
    CHECK(batch(comm) == 7); /* as it was */

    MUST(rota_tuning_export(of_rank_0("copy"), comm));
    MUST(rota_tuning_import(of_rank_0("copy"), other));
    CHECK(batch(other) == 7);
    MUST_FAIL(rota_tuning_export(of_rank_0("no/folder"), comm), MPI_ERR_ARG,
              "no/folder: No such file");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
}

/* Who may write to the folder must not choose what else is overwritten. */
static void planted_links(void)
{
    MPI_Comm comm = new_comm();
    char name[100];
    struct stat about;

    test_case = "planted links";
    MUST(rota_tuning_import_string(TUNING(13), comm));
    write_file("victim", "precious");
    snprintf(name, sizeof name, "plain.%ld", (long)getpid());
    if (test_me == 0 && symlink(in_folder("victim"), in_folder(name)) != 0)
        test_fail(__FILE__, __LINE__, "cannot make a link");
    snprintf(name, sizeof name, "plain.%ld.0", (long)getpid());
    if (test_me == 0 && symlink(in_folder("victim"), in_folder(name)) != 0)
        test_fail(__FILE__, __LINE__, "cannot make a link");
    MUST(rota_tuning_export(of_rank_0("plain"), comm));
    CHECK(test_me > 0 || (stat(in_folder("victim"), &about) == 0 &&
                          about.st_size == (off_t)strlen("precious")));
    MUST(rota_tuning_forget(comm));
    MUST(rota_tuning_import(of_rank_0("plain"), comm));
    CHECK(batch(comm) == 13);
    MPI_Comm_free(&comm);
}

/* No line of a file that is none of ours, and none that takes much memory. */
static void foreign_files(void)
{
    MPI_Comm comm = new_comm();
    char text[MPI_MAX_ERROR_STRING];
    int length;

    test_case = "foreign files";
    write_file("foreign", "root:secret:19000");
    const int code = rota_tuning_import(of_rank_0("foreign"), comm);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "line 1: not JSON") && !strstr(text, "secret"));
    if (test_me == 0 && truncate(in_folder("foreign"), (4 << 20) + 1) != 0)
        test_fail(__FILE__, __LINE__, "cannot make a large file");
    MUST_FAIL(rota_tuning_import(of_rank_0("foreign"), comm), MPI_ERR_ARG,
              "/foreign: it has more than 4 MiB");
    MPI_Comm_free(&comm);
}

/* Root may read everything, so that only others can be refused. */
static void unreadable(void)
{
    MPI_Comm comm = new_comm();

    test_case = "unreadable";
    write_file("secret", TUNING(9));
    if (test_me == 0)
        chmod(in_folder("secret"), 0);
    test_barrier();
    if (geteuid() == 0 && seteuid(65534) != 0)
        test_fail(__FILE__, __LINE__, "cannot give up the rights of root");
    const int refused = rota_tuning_import(of_rank_0("secret"), comm);
    if (getuid() == 0 && seteuid(0) != 0)
        test_fail(__FILE__, __LINE__, "cannot take back the rights of root");
    MUST_FAIL(refused, MPI_ERR_ARG, "/secret: Permission denied");
    MPI_Comm_free(&comm);
}

/* ---- files that nobody names --------------------------------------------- */

static void clear_environment(void)
{
    unsetenv("ROTA_TUNING_FILE");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", in_folder("none"), 1);
}

/* On rank 0 alone: the others are told. */
static void set_on_rank_0(const char *variable, const char *name)
{
    clear_environment();
    if (test_me == 0)
        setenv(variable, in_folder(name), 1);
}

static void found(int expected, const char *note)
{
    MPI_Comm comm = new_comm();

    MUST(rota_tuning_import(NULL, comm));
    CHECK(batch(comm) == expected);
    CHECK(strstr(state(comm)->learnt.note, note));
    CHECK((state(comm)->learnt.note[0] == '\0') == (note[0] == '\0'));
    MPI_Comm_free(&comm);
}

static void defaults(void)
{
    MPI_Comm comm = new_comm();

    test_case = "defaults";
    clear_environment();
    found(0, "");
    make_folder("xdg");
    make_folder("xdg/rota");
    write_file("xdg/rota/tuning.json", TUNING(11));
    set_on_rank_0("XDG_CONFIG_HOME", "xdg");
    found(11, "");
    set_on_rank_0("XDG_CONFIG_HOME", "elsewhere");
    found(0, "");

    set_on_rank_0("HOME", "home");
    MUST(rota_tuning_import_string(TUNING(12), comm));
    make_folder("home");
    MUST(rota_tuning_export(NULL, comm));
    CHECK(test_me > 0 ||
          access(in_folder("home/.config/rota/tuning.json"), R_OK) == 0);
    found(12, "");
    write_file("home/.config/rota/tuning.json", "[]");
    found(0, "tuning.json: not a tuning of Rota");
    MPI_Comm_free(&comm);
}

/* As the C library has it in a program with more rights than its caller. */
static bool privileged;
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
    return privileged ? NULL : __real_secure_getenv(name);
}

static void more_rights(void)
{
    MPI_Comm comm = new_comm();

    test_case = "more rights";
    write_file("good", TUNING(7));
    make_folder("xdg");
    make_folder("xdg/rota");
    write_file("xdg/rota/tuning.json", TUNING(11));
    privileged = true;
    set_on_rank_0("ROTA_TUNING_FILE", "good");
    found(0, "");
    set_on_rank_0("XDG_CONFIG_HOME", "xdg");
    found(0, "");
    MUST_FAIL(rota_tuning_export(NULL, comm), MPI_ERR_ARG, "no path");
    privileged = false;
    clear_environment();
    MPI_Comm_free(&comm);
}

static void asked_by_environment(void)
{
    MPI_Comm comm = new_comm();

    test_case = "ROTA_TUNING_FILE";
    write_file("good", TUNING(7));
    set_on_rank_0("ROTA_TUNING_FILE", "good");
    found(7, "");
    set_on_rank_0("ROTA_TUNING_FILE", "missing");
    MUST_FAIL(rota_tuning_import(NULL, comm), MPI_ERR_ARG,
              "/missing: No such file");
    clear_environment();
    MPI_Comm_free(&comm);
}

/* As plans do it: once for each name, and once without. */
static void loading(void)
{
    MPI_Comm comm = new_comm();
    char good[1000], second[1000];

    test_case = "loading";
    clear_environment();
    snprintf(good, sizeof good, "%s", in_folder("good"));
    snprintf(second, sizeof second, "%s", in_folder("second"));
    write_file("good", TUNING(13));
    write_file("second", TUNING(14));
    MUST(rota_tuning_import(NULL, comm));
    rota_comm *const c = state(comm);
    const rota_ranks ranks = rota_comm_ranks(c);
    MUST(rota_tuning_load(&c->learnt, &ranks, good));
    CHECK(batch(comm) == 13);
    write_file("good", TUNING(15));
    MUST(rota_tuning_load(&c->learnt, &ranks, good));
    MUST(rota_tuning_load(&c->learnt, &ranks, NULL));
    CHECK(batch(comm) == 13);
    CHECK(strcmp(c->learnt.path, good) == 0);
    MUST(rota_tuning_load(&c->learnt, &ranks, second));
    CHECK(batch(comm) == 14);
    MUST(rota_tuning_load(&c->learnt, &ranks, good));
    CHECK(batch(comm) == 15);
    MUST(rota_tuning_forget(comm));
    MUST(rota_tuning_load(&c->learnt, &ranks, NULL));
    CHECK(batch(comm) == 0);
    MPI_Comm_free(&comm);
}

/* ---- plans --------------------------------------------------------------- */

static int counts[64], displs[64];
static char sent[64 * 8], received[64 * 8];

static int make_plan(MPI_Comm comm, MPI_Info info, rota_plan **plan)
{
    return rota_alltoallv_init(sent, counts, displs, MPI_BYTE, received, counts,
                               displs, MPI_BYTE, comm, info, plan);
}

/* A plan made now is described with these words. */
static void describes(MPI_Comm comm, const char *key, const char *value,
                      const char *words)
{
    MPI_Info info = test_info("other", "key", key, value);
    char text[20000] = "";
    size_t size = sizeof text;
    rota_plan *plan = NULL;

    MUST(make_plan(comm, info, &plan));
    MPI_Info_free(&info);
    if (!plan)
        return;
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &size));
    if (!strstr(text, words))
        test_fail(__FILE__, __LINE__, "no %s in %s", words, text);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    MUST(rota_plan_free(&plan));
}

static void plans_by_rows(void)
{
    MPI_Comm comm = new_comm();

    test_case = "plans by rows";
    MUST(rota_tuning_import_string(TUNING(6), comm));
    describes(comm, NULL, NULL, "\"algorithm\":\"scattered\"");
    describes(comm, NULL, NULL, "\"batch\":6");
    MUST(rota_tuning_import_string(TUNING(7), comm));
    describes(comm, NULL, NULL, "\"batch\":7");
    describes(comm, NULL, NULL, "a row of the tuning");
    describes(comm, "rota_algorithm", "linear", "\"linear\"");
    MUST(rota_tuning_forget(comm));
    describes(comm, NULL, NULL, "usual prices");
    MUST(rota_tuning_import_string(
        "{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"start\": 3}}}", comm));
    describes(comm, NULL, NULL, "this machine's prices");
    MPI_Comm_free(&comm);
}

static void plans_by_files(void)
{
    MPI_Comm comm = new_comm();
    rota_plan *plan = NULL;

    test_case = "plans by files";
    clear_environment();
    write_file("good", TUNING(8));
    write_file("damaged", "{");
    describes(comm, "rota_tuning_file", in_folder("good"), "\"batch\":8");
    describes(comm, NULL, NULL, "\"batch\":8");
    MPI_Info damaged =
        test_info("rota_tuning_file", in_folder("damaged"), NULL, NULL);
    MPI_Info mine =
        test_info("rota_tuning_file", test_me ? "a" : "b", NULL, NULL);
    MUST_FAIL(make_plan(comm, damaged, &plan), MPI_ERR_ARG,
              "rank 0: tuning file");
    MUST_FAIL(make_plan(comm, mine, &plan), MPI_ERR_ARG,
              test_P > 1 ? "ranks disagree" : "cannot read tuning file b");
    describes(comm, NULL, NULL, "\"batch\":8");
    MPI_Info_free(&damaged);
    MPI_Info_free(&mine);
    MPI_Comm_free(&comm);
}

/* What is measured becomes a row, for plans like that one. */
static void plans_by_measurement(void)
{
    MPI_Comm comm = new_comm();
    char text[4000];
    size_t size = sizeof text;

    test_case = "plans by measurement";
    clear_environment();
    MUST(rota_tuning_forget(comm));
    describes(comm, "rota_choose", "measure", "of those measured");
    MUST(rota_tuning_export_string(comm, text, &size));
    CHECK(strstr(text, "\"fixed\"") && strstr(text, "\"us\""));
    describes(comm, NULL, NULL, "a row of the tuning");
    MPI_Comm_free(&comm);
}

/* A hint, else the tuning, else what is usual. */
static void copied_once(void)
{
    static const char tuning[] = "{\"rota_tuning\": 1, \"machine\": "
                                 "{\"ns\": {}, \"copied_once_from\": 3000}}";
    MPI_Comm comm = new_comm(), crowded = new_comm();
    const char *const key = "rota_copied_once_from";
    const char *const usual = "\"copied_once_from\":8192";

    test_case = "copied once";
    clear_environment();
    describes(comm, NULL, NULL, usual);
    MUST(rota_tuning_import_string(tuning, comm));
    describes(comm, NULL, NULL, "\"copied_once_from\":3000");
    describes(comm, key, "777", "\"copied_once_from\":777");
    setenv("ROTA_COPIED_ONCE_FROM", "778", 1);
    describes(comm, NULL, NULL, "\"copied_once_from\":778");
    describes(comm, key, "777", "\"copied_once_from\":777");
    unsetenv("ROTA_COPIED_ONCE_FROM");
    MUST(rota_tuning_forget(comm));
    describes(comm, key, "777", "\"copied_once_from\":777");
    describes(comm, NULL, NULL, usual);

    setenv("MPI_LOCALNRANKS", "100000", 1); /* a large program's */
    describes(crowded, NULL, NULL, usual);
    MUST(rota_tuning_import_string(tuning, crowded));
    describes(crowded, NULL, NULL, "\"copied_once_from\":3000");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&crowded);
}

/* It is the same for all ranks. */
static void copied_once_alike(void)
{
    MPI_Comm comm = new_comm();
    MPI_Info info =
        test_info("rota_copied_once_from", test_me ? "1" : "2", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "copied once alike";
    MUST_FAIL(make_plan(comm, info, &plan), MPI_ERR_ARG, "ranks disagree");
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

static void set_counts(void)
{
    for (int i = 0; i < test_P; i++) {
        counts[i] = 8;
        displs[i] = 8 * i;
    }
}

int main(int argc, char *argv[])
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    folder = argc > 1 ? argv[1] : ".";
    texts();
    files();
    planted_links();
    foreign_files();
    unreadable();
    defaults();
    asked_by_environment();
    more_rights();
    loading();
    set_counts();
    plans_by_rows();
    plans_by_files();
    plans_by_measurement();
    if (test_P > 1) {
        copied_once_alike();
        copied_once();
    }
    return test_end();
}
