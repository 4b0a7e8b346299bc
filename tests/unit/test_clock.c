/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of events: it starts no earlier than the last event, and a wrong wall clock is limited. */
#include "unit.h"

#include "base/clock.h"

static void test_sensible (void **state)
{
    (void)state;
    assert_int_equal (clock_sensible_us (-1), 0);
    assert_int_equal (clock_sensible_us (INT64_MIN), 0);
    assert_int_equal (clock_sensible_us (1731705000000000), 1731705000000000);
    assert_int_equal (clock_sensible_us (INT64_MAX), CLOCK_WALL_LIMIT_US);
    assert_true ((double)CLOCK_WALL_LIMIT_US < 0x1p53);
}

static void test_start (void **state)
{
    (void)state;
    int64_t wall_us = clock_wall_us (), last_us = wall_us + 3600 * INT64_C (1000000);
    struct clock clock = clock_start (0);
    assert_true (clock_now_us (&clock) >= wall_us);
    clock = clock_start (last_us);
    assert_true (clock_now_us (&clock) >= last_us);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_sensible),
        cmocka_unit_test (test_start),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
