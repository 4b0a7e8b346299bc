/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When rounds are held: on the beat, at once when somebody comes, and never so often that
 * deciding is all that is done.
 */
#include "unit.h"
#include "daemon/round_schedule.h"

static const int64_t S = 1000000;

static void full_rounds_keep_the_beat (void **state)
{
    (void)state;
    struct round_schedule table = round_schedule_start (60, 0, 1000 * S);
    assert_int_equal (round_schedule_due (&table, 1000 * S), ROUND_FULL);
    round_schedule_begin (&table, ROUND_FULL, 1000 * S);
    assert_int_equal (round_schedule_due (&table, 1001 * S), ROUND_NONE);
    assert_int_equal (round_schedule_due_us (&table), 1060 * S);
    round_schedule_begin (&table, ROUND_FULL, 1063 * S); /* late: the next is on the beat */
    assert_int_equal (round_schedule_due_us (&table), 1120 * S);
    round_schedule_begin (&table, ROUND_FULL,
                          1500 * S); /* asleep: beats that were missed are gone */
    assert_int_equal (round_schedule_due_us (&table), 1560 * S);
}

static void a_start_goes_on_where_the_last_one_ended (void **state)
{
    (void)state;
    struct round_schedule table = round_schedule_start (60, 990 * S, 1000 * S);
    assert_int_equal (round_schedule_due (&table, 1000 * S), ROUND_PROMPT);
    round_schedule_begin (&table, ROUND_PROMPT, 1000 * S);
    assert_int_equal (round_schedule_due_us (&table), 1050 * S);
    table = round_schedule_start (60, 999 * S, 1000 * S);
    round_schedule_change (&table, 10, 1000 * S);
    round_schedule_begin (&table, ROUND_PROMPT, 1000 * S);
    assert_int_equal (round_schedule_due_us (&table), 1010 * S);
}

static void the_earliest_wish_counts (void **state)
{
    (void)state;
    struct round_schedule table = round_schedule_start (60, 1000 * S, 1000 * S);
    round_schedule_begin (&table, ROUND_PROMPT, 1000 * S);
    round_schedule_request (&table, 1020 * S);
    round_schedule_request (&table, 1010 * S);
    round_schedule_request (&table, 1030 * S);
    assert_int_equal (round_schedule_due (&table, 1009 * S), ROUND_NONE);
    assert_int_equal (round_schedule_due (&table, 1010 * S), ROUND_PROMPT);
    round_schedule_begin (&table, ROUND_PROMPT, 1010 * S);
    assert_int_equal (round_schedule_due_us (&table), 1060 * S);
}

static void deciding_takes_a_tenth_at_most (void **state)
{
    (void)state;
    struct round_schedule table = round_schedule_start (60, 1000 * S, 1000 * S);
    int64_t now_us = 1000 * S, decided_us = 0;
    while (now_us < 1050 * S) {
        round_schedule_request (&table, now_us); /* somebody comes all the time */
        if (round_schedule_due (&table, now_us) == ROUND_PROMPT) {
            round_schedule_begin (&table, ROUND_PROMPT, now_us);
            now_us += S / 2;
            decided_us += S / 2;
            round_schedule_end (&table, now_us, 0.5);
            round_schedule_request (&table, now_us);
        }
        now_us = round_schedule_due_us (&table) > now_us ? round_schedule_due_us (&table) : now_us;
    }
    assert_true (decided_us <= 5 * S + S / 2);
    assert_true (decided_us >= 4 * S);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (full_rounds_keep_the_beat),
        cmocka_unit_test (a_start_goes_on_where_the_last_one_ended),
        cmocka_unit_test (the_earliest_wish_counts),
        cmocka_unit_test (deciding_takes_a_tenth_at_most),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
