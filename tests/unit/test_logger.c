/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the daemon's log, read from a pipe; and the clock of events.
 */
#include "unit.h"
#include "base/clock.h"
#include "daemon/logger.h"

#include <unistd.h>

/* The line of a message. */
static const char *line_of (struct logger logger, enum log_level level, const char *message,
                            const char *text, double number)
{
    static char line[8192];
    int ends[2];
    assert_int_equal (pipe (ends), 0);
    logger.fd = ends[1];
    say (&logger, level, message, LOG_TEXT ("job", text), LOG_NUMBER ("seconds", number));
    close (ends[1]);
    ssize_t length = read (ends[0], line, sizeof (line) - 1);
    close (ends[0]);
    line[length > 0 ? length : 0] = '\0';
    return line;
}

static void plain_lines (void **state)
{
    (void)state;
    struct logger logger = {.level = LOG_INFO, .format = LOG_PLAIN};
    const char *line = line_of (logger, LOG_INFO, "job started", "resnet", 0.5);
    assert_string_equal (strchr (line, ' '), " info job started job=resnet seconds=0.5\n");
    assert_int_equal (line[10], 'T');
    line = line_of (logger, LOG_ERROR, "no", "two words", 3);
    assert_string_equal (strchr (line, ' '), " error no job=\"two words\" seconds=3\n");
    assert_string_equal (line_of (logger, LOG_DEBUG, "too quiet", "x", 0), "");
}

static void untrusted_text_stays_in_its_line (void **state)
{
    (void)state;
    struct logger logger = {.level = LOG_INFO, .format = LOG_JOURNALD};
    assert_string_equal (line_of (logger, LOG_WARNING, "m", "a\nerror \"b\\", 1e6),
                         "<4>m job=\"a\\u000aerror \\\"b\\\\\" seconds=1000000\n");
    assert_string_equal (line_of (logger, LOG_INFO, "m", "", 1), "<6>m job=\"\" seconds=1\n");
    char long_text[8000];
    memset (long_text, 'x', sizeof (long_text) - 1);
    long_text[sizeof (long_text) - 1] = '\0';
    const char *line = line_of (logger, LOG_INFO, "m", long_text, 1);
    assert_true (strlen (line) <= 4096 && line[strlen (line) - 1] == '\n');
}

static void json_lines (void **state)
{
    (void)state;
    struct logger logger = {.level = LOG_INFO, .format = LOG_JSON};
    const char *line = line_of (logger, LOG_INFO, "it \"is\"", "a b", NAN);
    assert_non_null (strstr (line, "\"level\":\"info\",\"message\":\"it \\\"is\\\"\","
                                   "\"job\":\"a b\",\"seconds\":null}\n"));
    assert_int_equal (strncmp (line, "{\"time\":\"", 9), 0);
}

static void time_does_not_go_back (void **state)
{
    (void)state;
    struct clock clock = clock_start (0);
    assert_true (clock_now_us (&clock) > 1700000000000000); /* the wall clock */
    int64_t later_us = clock_now_us (&clock) + 3600000000;  /* later than the wall clock */
    clock = clock_start (later_us);
    int64_t first_us = clock_now_us (&clock), second_us = clock_now_us (&clock);
    assert_true (first_us >= later_us);
    assert_true (second_us >= first_us);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (plain_lines),
        cmocka_unit_test (untrusted_text_stays_in_its_line),
        cmocka_unit_test (json_lines),
        cmocka_unit_test (time_does_not_go_back),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
