/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When rounds begin: full ones at fixed intervals, prompt ones on request, and at most a tenth
 * of the time is spent on deciding.
 */
#include "unit.h"
#include "daemon/round_schedule.h"

static const int64_t S = 1000000;

static void full_rounds_keep_their_interval (void **state)
{
    (void)state;
    struct round_schedule schedule = round_schedule_start (60, 0, 1000 * S);
    assert_int_equal (round_schedule_due (&schedule, 1000 * S), ROUND_FULL);
    round_schedule_begin (&schedule, ROUND_FULL, 1000 * S);
    assert_int_equal (round_schedule_due (&schedule, 1001 * S), ROUND_NONE);
    assert_int_equal (round_schedule_due_us (&schedule), 1060 * S);
    round_schedule_begin (&schedule, ROUND_FULL,
                          1063 * S); /* late: the next one is at the regular time */
    assert_int_equal (round_schedule_due_us (&schedule), 1120 * S);
    round_schedule_begin (&schedule, ROUND_FULL,
                          1500 * S); /* very late: missed rounds are not held */
    assert_int_equal (round_schedule_due_us (&schedule), 1560 * S);
}

static void a_restart_continues_the_schedule (void **state)
{
    (void)state;
    struct round_schedule schedule = round_schedule_start (60, 990 * S, 1000 * S);
    assert_int_equal (round_schedule_due (&schedule, 1000 * S), ROUND_PROMPT);
    round_schedule_begin (&schedule, ROUND_PROMPT, 1000 * S);
    assert_int_equal (round_schedule_due_us (&schedule), 1050 * S);
    schedule = round_schedule_start (60, 999 * S, 1000 * S);
    round_schedule_change (&schedule, 10, 1000 * S);
    round_schedule_begin (&schedule, ROUND_PROMPT, 1000 * S);
    assert_int_equal (round_schedule_due_us (&schedule), 1010 * S);
}

static void the_earliest_request_counts (void **state)
{
    (void)state;
    struct round_schedule schedule = round_schedule_start (60, 1000 * S, 1000 * S);
    round_schedule_begin (&schedule, ROUND_PROMPT, 1000 * S);
    round_schedule_request (&schedule, 1020 * S);
    round_schedule_request (&schedule, 1010 * S);
    round_schedule_request (&schedule, 1030 * S);
    assert_int_equal (round_schedule_due (&schedule, 1009 * S), ROUND_NONE);
    assert_int_equal (round_schedule_due (&schedule, 1010 * S), ROUND_PROMPT);
    round_schedule_begin (&schedule, ROUND_PROMPT, 1010 * S);
    assert_int_equal (round_schedule_due_us (&schedule), 1060 * S);
}

static void deciding_takes_a_tenth_at_most (void **state)
{
    (void)state;
    struct round_schedule schedule = round_schedule_start (60, 1000 * S, 1000 * S);
    int64_t now_us = 1000 * S, decided_us = 0;
    while (now_us < 1050 * S) {
        round_schedule_request (&schedule, now_us); /* requests all the time */
        if (round_schedule_due (&schedule, now_us) == ROUND_PROMPT) {
            round_schedule_begin (&schedule, ROUND_PROMPT, now_us);
            now_us += S / 2;
            decided_us += S / 2;
            round_schedule_end (&schedule, now_us, 0.5);
            round_schedule_request (&schedule, now_us);
        }
        now_us =
            round_schedule_due_us (&schedule) > now_us ? round_schedule_due_us (&schedule) : now_us;
    }
    assert_true (decided_us <= 5 * S + S / 2);
    assert_true (decided_us >= 4 * S);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (full_rounds_keep_their_interval),
        cmocka_unit_test (a_restart_continues_the_schedule),
        cmocka_unit_test (the_earliest_request_counts),
        cmocka_unit_test (deciding_takes_a_tenth_at_most),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
