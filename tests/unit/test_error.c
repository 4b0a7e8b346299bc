/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way to refuse: the code comes back, the sentence is written where it is wanted, and
 * a long one is cut, never overrun.
 */
#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* cmocka has a macro of the same name. */
#undef fail

static void test_code_and_sentence (void **unused)
{
    (void)unused;
    struct pollux_error err;
    assert_int_equal (fail (&err, -EDOM, "job %s: must be positive, got %g", "a", -1.5), -EDOM);
    assert_string_equal (err.text, "job a: must be positive, got -1.5");
}

static void test_nobody_listens (void **unused)
{
    (void)unused;
    assert_int_equal (fail (NULL, -EINVAL, "%d", 1), -EINVAL);
}

static void test_long_sentence_is_cut (void **unused)
{
    (void)unused;
    char name[1000];
    memset (name, 'x', sizeof (name) - 1);
    name[sizeof (name) - 1] = '\0';
    struct pollux_error err;
    assert_int_equal (fail (&err, -EINVAL, "%s", name), -EINVAL);
    assert_int_equal (strlen (err.text), sizeof (err.text) - 1);
    assert_memory_equal (err.text, name, sizeof (err.text) - 1);
}

static void test_version (void **unused)
{
    (void)unused;
    assert_string_equal (pollux_version (), POLLUX_VERSION);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_code_and_sentence),
        cmocka_unit_test (test_nobody_listens),
        cmocka_unit_test (test_long_sentence_is_cut),
        cmocka_unit_test (test_version),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
