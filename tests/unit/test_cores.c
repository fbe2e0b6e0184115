/* test_cores.c - the cores of a machine are counted without hwloc also where a
 * launcher has bound this rank to one of them, and it stays bound.
 */
#define _GNU_SOURCE
#include "plan/ranks/cores.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_bound_ranks_count_all(void **state)
{
    const int cores = rota_cores_count();
    cpu_set_t all, one, after;

    (void)state;
    if (cores == 0)
        skip(); /* several NUMA nodes, or not all of this machine */
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &all))
            continue;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
        assert_int_equal(rota_cores_count(), cores);
        assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
        assert_true(CPU_EQUAL(&one, &after));
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_ranks_count_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
