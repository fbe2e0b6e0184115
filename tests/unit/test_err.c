/* test_err.c - the text that belongs to a failing status. */
#include "base/err.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int forget(void **state)
{
    (void)state;
    rota_fail_clear();
    return 0;
}

static void has_no_text_at_first(void **state)
{
    (void)state;
    assert_null(rota_fail_text());
}

static void keeps_the_last_text(void **state)
{
    (void)state;
    assert_int_equal(rota_fail(MPI_ERR_ARG, "count %d of rank %s", -1, "two"),
                     MPI_ERR_ARG);
    assert_string_equal(rota_fail_text(), "count -1 of rank two");
    assert_int_equal(rota_fail(MPI_ERR_COUNT, "another"), MPI_ERR_COUNT);
    assert_string_equal(rota_fail_text(), "another");
    rota_fail_clear();
    assert_null(rota_fail_text());
}

static void names_what_lacks_memory(void **state)
{
    (void)state;
    assert_int_equal(rota_fail_mem("a schedule"), MPI_ERR_NO_MEM);
    assert_string_equal(rota_fail_text(), "no memory for a schedule");
}

static void cuts_long_texts(void **state)
{
    char text[3 * ROTA_ERR_TEXT];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rota_fail(MPI_ERR_OTHER, "%s", text);
    assert_int_equal(strlen(rota_fail_text()), ROTA_ERR_TEXT - 1);
}

static void names_a_rank_once(void **state)
{
    char text[2 * ROTA_ERR_TEXT];

    (void)state;
    rota_fail_at(3); /* nothing failed */
    assert_null(rota_fail_text());
    rota_fail(MPI_ERR_ARG, "rank 1 sends too much");
    rota_fail_at(3);
    assert_string_equal(rota_fail_text(), "rank 3: rank 1 sends too much");
    rota_fail_at(2);
    assert_string_equal(rota_fail_text(), "rank 3: rank 1 sends too much");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    rota_fail(MPI_ERR_OTHER, "%s", text);
    rota_fail_at(2147483647);
    assert_int_equal(strlen(rota_fail_text()), ROTA_ERR_TEXT - 1);
    assert_memory_equal(rota_fail_text(), "rank 2147483647: xx", 19);
}

static int tries(int status, bool *reached)
{
    ROTA_TRY(status);
    *reached = true;
    return MPI_ERR_OTHER;
}

static void tries_return_early(void **state)
{
    bool reached = false;

    (void)state;
    assert_int_equal(tries(MPI_ERR_COMM, &reached), MPI_ERR_COMM);
    assert_false(reached);
    assert_int_equal(tries(MPI_SUCCESS, &reached), MPI_ERR_OTHER);
    assert_true(reached);
}

static void *fail_here(void *arg)
{
    bool *const clean = arg;

    *clean = rota_fail_text() == NULL;
    rota_fail(MPI_ERR_OTHER, "the other thread's");
    return NULL;
}

static void belongs_to_a_thread(void **state)
{
    pthread_t thread;
    bool clean = false;

    (void)state;
    rota_fail(MPI_ERR_OTHER, "this thread's");
    assert_int_equal(pthread_create(&thread, NULL, fail_here, &clean), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clean);
    assert_string_equal(rota_fail_text(), "this thread's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(has_no_text_at_first, forget),
        cmocka_unit_test_setup(keeps_the_last_text, forget),
        cmocka_unit_test_setup(names_what_lacks_memory, forget),
        cmocka_unit_test_setup(cuts_long_texts, forget),
        cmocka_unit_test_setup(names_a_rank_once, forget),
        cmocka_unit_test_setup(tries_return_early, forget),
        cmocka_unit_test_setup(belongs_to_a_thread, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
