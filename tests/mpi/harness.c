/* harness.c - see harness.h. */
#include "harness.h"

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int test_P, test_me;
const char *test_case = "";

static int failures;

void test_begin(int *argc, char ***argv, int thread_level)
{
    int provided;

    MPI_Init_thread(argc, argv, thread_level, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &test_P);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_me);
    if (provided < thread_level) {
        if (test_me == 0)
            printf("skipped: MPI gives thread level %d only\n", provided);
        MPI_Finalize();
        exit(77);
    }
}

/* ---- watching ------------------------------------------------------------ */

static char watched[200]; /* what is printed */
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};
enum { DEADLY = sizeof deadly / sizeof deadly[0] };
static struct sigaction before[DEADLY];

static void tell_again(void)
{
    (void)!write(STDERR_FILENO, watched, strlen(watched));
}

/* Then what was to be done before, such as a sanitizer's report. */
static void die(int number)
{
    tell_again();
    for (int i = 0; i < DEADLY; i++)
        if (deadly[i] == number)
            sigaction(number, &before[i], NULL);
    raise(number);
}

static void set_handlers(void)
{
    const struct sigaction ours = {.sa_handler = die, .sa_flags = SA_NODEFER};

    for (int i = 0; i < DEADLY; i++)
        sigaction(deadly[i], &ours, &before[i]);
}

void test_watch(const char *again, unsigned seconds)
{
    if (!watched[0])
        set_handlers();
    snprintf(watched, sizeof watched, "rank %d of %d: again: %s\n", test_me,
             test_P, again);
    alarm(seconds);
}

void test_watch_end(void)
{
    alarm(0);
    for (int i = 0; i < DEADLY && watched[0]; i++)
        sigaction(deadly[i], &before[i], NULL);
    watched[0] = '\0';
}

/* ---- checking ------------------------------------------------------------ */

void test_fail(const char *file, int line, const char *format, ...)
{
    enum { PRINTED = 5 };
    va_list args;

    if (failures++ >= PRINTED)
        return;
    va_start(args, format);
    fprintf(stderr, "%s:%d: rank %d of %d: [%s] ", file, line, test_me, test_P,
            test_case);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    tell_again();
}

int test_must(int code, const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return code;
    MPI_Error_string(code, text, &length);
    test_fail(file, line, "%s: %s", call, text);
    return code;
}

void test_must_fail(int code, int errorclass, const char *words,
                    const char *call, const char *file, int line)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, found;

    if (code == MPI_SUCCESS) {
        test_fail(file, line, "%s succeeds", call);
        return;
    }
    rota_error_class(code, &found);
    MPI_Error_string(code, text, &length);
    if (found != errorclass)
        test_fail(file, line, "%s: class %d instead of %d: %s", call, found,
                  errorclass, text);
    else if (!strstr(text, words))
        test_fail(file, line, "%s: no \"%s\" in \"%s\"", call, words, text);
}

MPI_Info test_info(const char *key, const char *value, const char *key2,
                   const char *value2)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    if (key2)
        MPI_Info_set(info, key2, value2);
    return info;
}

static void exchange(int *mine, int *theirs, int distance)
{
    const int to = (test_me + distance) % test_P;
    const int from = (test_me + test_P - distance) % test_P;
    MPI_Request request[2];
    MPI_Status status[2];

    MPI_Irecv(theirs, 1, MPI_INT, from, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(mine, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &request[1]);
    for (int done = 0; !done; sched_yield())
        MPI_Testall(2, request, &done, status);
}

void test_stand_still(long us)
{
    const struct timespec nap = {.tv_sec = us / 1000000,
                                 .tv_nsec = us % 1000000 * 1000};

    nanosleep(&nap, NULL);
}

void test_barrier(void)
{
    for (int distance = 1; distance < test_P; distance *= 2) {
        int mine = 0, theirs;
        exchange(&mine, &theirs, distance);
    }
}

int test_failures(void)
{
    return failures;
}

int test_max(int value)
{
    for (int distance = 1; distance < test_P; distance *= 2) {
        int theirs;
        exchange(&value, &theirs, distance);
        value = theirs > value ? theirs : value;
    }
    return value;
}

long test_stated(const rota_plan *plan, const char *key)
{
    char text[8192], quoted[40];
    size_t length = sizeof text;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *const at = strstr(text, quoted);
    return at ? strtol(at + strlen(quoted), NULL, 10) : -1;
}

int test_end(void)
{
    const int worst = test_max(failures);

    if (test_me == 0 && worst > 0)
        printf("failures: at least %d\n", worst);
    MPI_Finalize();
    return worst > 0;
}
