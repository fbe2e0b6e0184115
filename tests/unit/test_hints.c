/* test_hints.c - what the table of hints says of them is so. */
#include "choose/hints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void refuse(const rota_hint *h, const char *value, const char *words)
{
    assert_int_equal(rota_hint_check(h, value), MPI_ERR_ARG);
    if (!strstr(rota_fail_text(), words))
        fail_msg("no \"%s\" in \"%s\"", words, rota_fail_text());
}

/* Paths and algorithms apart. */
static void errors_list_the_values_of_the_table(void **state)
{
    char words[200], values[100];

    (void)state;
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        rota_hint_values(h, values, sizeof values);
        snprintf(words, sizeof words, "%s = none such; valid: %s", h->variable,
                 strcmp(values, "an algorithm") == 0 ? "linear, " : values);
        if (strcmp(values, "a path") != 0)
            refuse(h, "none such", words);
    }
}

static void variables_are_named_as_keys(void **state)
{
    (void)state;
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        assert_int_equal(strlen(h->key), strlen(h->variable));
        for (const char *k = h->key, *v = h->variable; *k; k++, v++)
            assert_int_equal(*v, *k >= 'a' && *k <= 'z' ? *k - 'a' + 'A' : *k);
    }
}

/* Where it is a value, the usual one changes nothing. */
static void usual_values_are_what_nobody_asks_for(void **state)
{
    rota_hints nothing, hints;

    (void)state;
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &nothing), MPI_SUCCESS);
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        setenv(h->variable, h->usual, 1);
        if (rota_hints_read(MPI_INFO_NULL, &hints) == MPI_SUCCESS &&
            (!h->what || strcmp(h->what, "a path") != 0))
            assert_true(rota_hints_hash(&hints) == rota_hints_hash(&nothing));
        unsetenv(h->variable);
    }
}

/* A program that is not changed cannot have made one. */
static void promises_and_nonsense_have_no_effect(void **state)
{
    rota_hints nothing, hints;

    (void)state;
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &nothing), MPI_SUCCESS);
    setenv("ROTA_OWN_BLOCK", "left", 1);
    setenv("ROTA_STARTS", "partners", 1);
    setenv("ROTA_BATCH", "many", 1);
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &hints), MPI_SUCCESS);
    assert_true(rota_hints_hash(&hints) == rota_hints_hash(&nothing));
    unsetenv("ROTA_OWN_BLOCK");
    unsetenv("ROTA_STARTS");
    unsetenv("ROTA_BATCH");
}

static void sizes_of_messages_are_read(void **state)
{
    const char *const variable = "ROTA_COPIED_ONCE_FROM";
    const char *const other = "ROTA_ATTACHED_FROM";
    rota_hints nothing, hints;

    (void)state;
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &nothing), MPI_SUCCESS);
    assert_int_equal(nothing.copied_once_from, 0);
    setenv(variable, "1048576", 1);
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &hints), MPI_SUCCESS);
    assert_int_equal(hints.copied_once_from, 1 << 20);
    assert_true(rota_hints_hash(&hints) != rota_hints_hash(&nothing));
    unsetenv(variable);
    setenv(other, "65536", 1);
    assert_int_equal(rota_hints_read(MPI_INFO_NULL, &hints), MPI_SUCCESS);
    assert_int_equal(hints.attached_from, 1 << 16);
    assert_true(rota_hints_hash(&hints) != rota_hints_hash(&nothing));
    unsetenv(other);
    for (const rota_hint *h = rota_hint_table; h->key; h++) {
        if (strcmp(h->variable, variable) != 0)
            continue;
        refuse(h, "0", "ROTA_COPIED_ONCE_FROM = 0; valid: 1 to 1048576");
        refuse(h, "1048577", "= 1048577; valid: 1 to 1048576");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_list_the_values_of_the_table),
        cmocka_unit_test(variables_are_named_as_keys),
        cmocka_unit_test(usual_values_are_what_nobody_asks_for),
        cmocka_unit_test(promises_and_nonsense_have_no_effect),
        cmocka_unit_test(sizes_of_messages_are_read),
    };

    for (const rota_hint *h = rota_hint_table; h->key; h++)
        unsetenv(h->variable);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
