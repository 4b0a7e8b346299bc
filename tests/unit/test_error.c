/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fail(): it returns the code, writes the message if err is not NULL, and truncates a long one.
 */
#include "base/error.h"
#include "base/excerpt.h"
#include "base/utf8.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* cmocka has a macro of the same name. */
#undef fail

static void test_code_and_message (void **unused)
{
    (void)unused;
    struct pollux_error err;
    assert_int_equal (fail (&err, -EDOM, "job %s: must be positive, got %g", "a", -1.5), -EDOM);
    assert_string_equal (err.text, "job a: must be positive, got -1.5");
}

static void test_without_err (void **unused)
{
    (void)unused;
    assert_int_equal (fail (NULL, -EINVAL, "%d", 1), -EINVAL);
}

static void test_long_message_is_truncated (void **unused)
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

/* Untrusted text is shown as UTF-8 without control characters. */
static void test_untrusted_text_is_escaped (void **unused)
{
    (void)unused;
    static const struct {
        const char *said, *shown;
    } cases[] = {
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"a\nb\x1b[31m\x7f", "a?b?[31m?"},
        {"\xc2\x9b"
         "31m \xc2\xa0",
         "??31m \xc2\xa0"},
        {"\xff\xfe x \xe2\x82", "?? x ??"},
        {"\xc0\x80 \xed\xa0\x80", "?? ???"},
    };
    struct pollux_error err;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        fail (&err, -EINVAL, "%s", cases[i].said);
        assert_string_equal (err.text, cases[i].shown);
    }
    /* Truncated anywhere, also within a character. */
    char name[400];
    for (size_t shift = 0; shift < 4; shift++) {
        memset (name, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof (name); i += 4)
            memcpy (name + i, "\xf0\x9f\x98\x80", 5);
        fail (&err, -EINVAL, "%s", name);
        size_t length = strlen (err.text);
        assert_in_range (length, sizeof (err.text) - 8, sizeof (err.text) - 1);
        assert_memory_equal (err.text, name, length);
        assert_int_equal (utf8_valid (err.text, length), length);
    }
}

/* Every quotation ends with a quote. */
static void test_excerpts (void **unused)
{
    (void)unused;
    char text[300];
    for (int byte = 1; byte < 256; byte++)
        for (size_t length = 0; length < sizeof (text); length += 23) {
            memset (text, byte, sizeof (text));
            struct excerpt shown = excerpt (text, length);
            size_t end = strlen (shown.text);
            assert_true (end >= 2 && shown.text[0] == '\'' && shown.text[end - 1] == '\'');
        }
}

static void test_version (void **unused)
{
    (void)unused;
    assert_string_equal (pollux_version (), POLLUX_VERSION);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_code_and_message),
        cmocka_unit_test (test_without_err),
        cmocka_unit_test (test_long_message_is_truncated),
        cmocka_unit_test (test_untrusted_text_is_escaped),
        cmocka_unit_test (test_excerpts),
        cmocka_unit_test (test_version),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
