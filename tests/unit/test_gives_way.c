/* test_gives_way.c - MPICH gives way by librota_yield: on or off as ROTA_YIELD says,
 * else where the launcher tells of more ranks than cores; by yields first, then naps,
 * and no longer once something has come. */
#include "mpi/yield.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

unsigned ucp_worker_progress(void *worker);

static int yields, naps;

void *__wrap_dlopen(const char *file, int mode);
int __wrap_sched_yield(void);
int __wrap_nanosleep(const struct timespec *wish, struct timespec *left);

/* UCX, which MPI has loaded, is not to be found. */
void *__wrap_dlopen(const char *file, int mode)
{
    (void)file;
    (void)mode;
    return NULL;
}

int __wrap_sched_yield(void)
{
    yields++;
    return 0;
}

int __wrap_nanosleep(const struct timespec *wish, struct timespec *left)
{
    (void)wish;
    (void)left;
    naps++;
    return 0;
}

static void poll(unsigned events, int times)
{
    yields = naps = 0;
    for (int i = 0; i < times; i++)
        assert_int_equal(ucp_worker_progress(&events), events);
}

static void test_on(void **state)
{
    (void)state;
    assert_true(rota_yield_is_on());
    poll(0, 15);
    assert_int_equal(yields, 15);
    poll(0, 15);
    assert_int_equal(yields, 5);
    assert_int_equal(naps, 10);
    poll(1, 1);
    assert_int_equal(yields + naps, 0);
    poll(0, 25);
    assert_int_equal(yields, 20);
    assert_int_equal(naps, 5);
}

static void test_off(void **state)
{
    (void)state;
    assert_false(rota_yield_is_on());
    poll(0, 100);
    assert_int_equal(yields + naps, 0);
}

/* test_gives_way WISH all|more on|off: ROTA_YIELD, as many ranks as
 * cores or one more, and what that means. */
int main(int argc, char **argv)
{
    const struct CMUnitTest on[] = {cmocka_unit_test(test_on)};
    const struct CMUnitTest off[] = {cmocka_unit_test(test_off)};
    char ranks[32];

    if (argc != 4)
        return 2;
    snprintf(ranks, sizeof ranks, "%ld",
             strcmp(argv[2], "more") == 0 ? sysconf(_SC_NPROCESSORS_ONLN) + 1
                                          : sysconf(_SC_NPROCESSORS_ONLN));
    setenv("MPI_LOCALNRANKS", ranks, 1);
    unsetenv("ROTA_YIELD");
    if (strcmp(argv[1], "unset") != 0)
        setenv("ROTA_YIELD", argv[1], 1);
    return strcmp(argv[3], "on") == 0 ? cmocka_run_group_tests(on, NULL, NULL)
                                      : cmocka_run_group_tests(off, NULL, NULL);
}
