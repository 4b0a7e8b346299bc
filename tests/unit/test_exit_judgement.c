/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judgement of exits as a table: every kind of exit, alone and mixed with others.
 */
#include "unit.h"

#include <signal.h>

#include "backend/exit_judgement.h"

#define EXIT(value)                                                                                \
    {                                                                                              \
        .status = {.started = true, .code = (value) }                                              \
    }
#define STOPPED(value)                                                                             \
    {                                                                                              \
        .status = {.started = true, .code = (value), .stopped = true }                             \
    }
#define SIGNAL(value, asked, late)                                                                 \
    {                                                                                              \
        .status = {.started = true, .signal = (value), .stopped = (asked), .killed = (late) }      \
    }
#define REFUSED                                                                                    \
    {                                                                                              \
        .status = {.code = 143, .stopped = true }                                                  \
    }
#define LOST                                                                                       \
    {                                                                                              \
        .status = {.started = true, .signal = SIGKILL, .why = "it died"}, .lost = true             \
    }
#define MISSING                                                                                    \
    {                                                                                              \
        .status = {.code = 127, .why = "cannot run 'x'" }                                          \
    }

static void test_verdicts (void **state)
{
    (void)state;
    static const char work[] = "work since the last checkpoint is lost: ";
    static const struct {
        struct replica_exit exits[3];
        int count, asked, failures, max_failures;
        const char *excuse;
        enum exit_kind kind;
        const char *detail; /* a part of it */
    } cases[] = {
        {{EXIT (0)}, 1, 0, 0, 3, NULL, EXITED_FINISHED, ""},
        {{EXIT (0), EXIT (0), EXIT (0)}, 3, 0, 0, 3, NULL, EXITED_FINISHED, ""},
        {{STOPPED (0), EXIT (0)}, 2, 1, 0, 3, NULL, EXITED_FINISHED, ""},
        /* Asked to stop. */
        {{STOPPED (143), STOPPED (143)}, 2, 1, 0, 0, NULL, EXITED_STOPPED, ""},
        {{STOPPED (143), REFUSED}, 2, 1, 0, 0, NULL, EXITED_STOPPED, ""},
        {{STOPPED (143), STOPPED (0)},
         2,
         1,
         0,
         0,
         0,
         EXITED_STOPPED,
         "is lost: replica 1 ended with exit code 0"},
        {{STOPPED (1)},
         1,
         1,
         0,
         0,
         NULL,
         EXITED_STOPPED,
         "is lost: replica 0 ended with exit code 1"},
        {{EXIT (1), STOPPED (143)},
         2,
         1,
         0,
         0,
         0,
         EXITED_STOPPED,
         "replica 0 ended with exit code 1"},
        {{SIGNAL (SIGTERM, true, false)},
         1,
         1,
         0,
         0,
         0,
         EXITED_STOPPED,
         "replica 0 was ended by signal 15 (Terminated)"},
        {{SIGNAL (SIGKILL, true, true)},
         1,
         1,
         0,
         0,
         0,
         EXITED_STOPPED,
         "signal 9 (Killed) after its grace"},
        {{STOPPED (143), LOST}, 2, 1, 0, 0, NULL, EXITED_STOPPED, "replica 1 is lost: it died"},
        /* A user sent SIGTERM to the supervisors: no failure. */
        {{STOPPED (143), STOPPED (143)}, 2, 0, 0, 0, NULL, EXITED_STOPPED, ""},
        {{STOPPED (2), EXIT (0)}, 2, 0, 0, 0, NULL, EXITED_STOPPED, "is lost: replica 0"},
        /* Failures. */
        {{EXIT (143)}, 1, 0, 0, 1, NULL, EXITED_FAILED, "replica 0 ended with exit code 143"},
        {{EXIT (0), EXIT (1)}, 2, 0, 0, 1, NULL, EXITED_FAILED, "replica 1 ended with exit code 1"},
        {{STOPPED (143), EXIT (2), REFUSED},
         3,
         0,
         2,
         3,
         0,
         EXITED_FAILED,
         "replica 1 ended with exit code 2"},
        {{STOPPED (143), EXIT (2)},
         2,
         0,
         3,
         3,
         0,
         EXITED_GAVE_UP,
         "gave up after 4 failures: replica 1 ended with exit code 2"},
        {{MISSING}, 1, 0, 0, 0, NULL, EXITED_GAVE_UP, "replica 0: cannot run 'x'"},
        {{SIGNAL (SIGSEGV, false, false)},
         1,
         0,
         0,
         1,
         0,
         EXITED_FAILED,
         "replica 0 was ended by signal 11 (Segmentation fault)"},
        {{SIGNAL (40, false, false)}, 1, 0, 0, 1, NULL, EXITED_FAILED, "signal 40 (unknown)"},
        {{LOST, STOPPED (143)}, 2, 0, 0, 1, NULL, EXITED_FAILED, "replica 0 is lost: it died"},
        /* An excuse counts only after a failure. */
        {{EXIT (1)}, 1, 0, 3, 3, "the port", EXITED_AGAIN, "the port"},
        {{STOPPED (143)}, 1, 1, 0, 3, "the port", EXITED_STOPPED, ""},
        {{EXIT (0)}, 1, 0, 0, 3, "the port", EXITED_FINISHED, ""},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct exit_case given = {.exits = cases[i].exits,
                                  .count = cases[i].count,
                                  .stop_asked = cases[i].asked,
                                  .failures = cases[i].failures,
                                  .max_failures = cases[i].max_failures,
                                  .excuse = cases[i].excuse};
        char detail[DETAIL_SIZE];
        memset (detail, 'x', sizeof (detail));
        enum exit_kind kind = exit_judgement (&given, detail);
        assert_non_null (memchr (detail, '\0', sizeof (detail)));
        if (kind != cases[i].kind || !strstr (detail, cases[i].detail) ||
            (!*cases[i].detail && *detail))
            fail_msg ("case %zu: %s, '%s'", i, exit_names[kind], detail);
        if (kind == EXITED_STOPPED && *detail)
            assert_memory_equal (detail, work, sizeof (work) - 1);
    }
}

/* The detail names the first failure in time; a long one is truncated between characters. */
static void test_blame (void **state)
{
    (void)state;
    struct replica_exit exits[] = {EXIT (1), EXIT (2), EXIT (3)};
    struct exit_case given = {.exits = exits, .count = 3, .max_failures = 9};
    char detail[DETAIL_SIZE];
    exits[0].status.at_us = 30;
    exits[1].status.at_us = 10;
    exits[2].status.at_us = 20;
    assert_int_equal (exit_judgement (&given, detail), EXITED_FAILED);
    assert_string_equal (detail, "replica 1 ended with exit code 2");
    for (int shift = 0; shift < 4; shift++) {
        char *why = exits[1].status.why;
        memset (why, 'a', (size_t)shift);
        for (int i = shift; i + 2 < RUN_WHY_SIZE; i += 2)
            memcpy (why + i, "\xc3\xa9", 2);
        exit_judgement (&given, detail);
        size_t length = strlen (detail);
        assert_true (length >= DETAIL_SIZE - 2);
        assert_true ((unsigned char)detail[length - 1] != 0xc3);
    }
}

static void test_gone (void **state)
{
    (void)state;
    static const struct replica_exit stopped[] = {STOPPED (143), STOPPED (1)}, whole[] = {EXIT (0)};
    char detail[DETAIL_SIZE];
    struct exit_case given = {.exits = stopped, .count = 2, .gone = "node a-1", .failures = 3};
    assert_int_equal (exit_judgement (&given, detail), EXITED_AGAIN);
    assert_string_equal (detail, "node a-1 is gone");
    given.exits = whole;
    given.count = 1;
    assert_int_equal (exit_judgement (&given, detail), EXITED_FINISHED);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_verdicts),
        cmocka_unit_test (test_gone),
        cmocka_unit_test (test_blame),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
