/* SPDX-License-Identifier: Apache-2.0 */
/* Goals as text: each goal comes back with the same bits, and other texts are refused. */
#include "unit.h"

#include <errno.h>

#include "cluster/goal.h"

static void same (const struct goal *a, const struct goal *b)
{
    assert_int_equal (a->kind, b->kind);
    assert_memory_equal (&a->low, &b->low, sizeof (double));
    assert_memory_equal (&a->high, &b->high, sizeof (double));
    assert_memory_equal (&a->limit, &b->limit, sizeof (double));
}

static void texts_are_read (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct goal goal;
        const char *written; /* NULL: as text */
    } cases[] = {
        {"fixed", {.kind = GOAL_FIXED}, NULL},
        {"band:0.35,0.65", {.kind = GOAL_BAND, .low = 0.35, .high = 0.65}, NULL},
        {"band:.5,1", {.kind = GOAL_BAND, .low = 0.5, .high = 1}, "band:0.5,1"},
        {"budget:0", {.kind = GOAL_BUDGET}, NULL},
        {"budget:40.50", {.kind = GOAL_BUDGET, .limit = 40.5}, "budget:40.5"},
        {"cost:1", {.kind = GOAL_COST, .limit = 1}, NULL},
        {"cost:1.5e0", {.kind = GOAL_COST, .limit = 1.5}, "cost:1.5"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct goal goal;
        char text[GOAL_SIZE];
        assert_int_equal (0, goal_parse (cases[i].text, &goal, NULL));
        same (&goal, &cases[i].goal);
        goal_format (&goal, text);
        assert_string_equal (text, cases[i].written ? cases[i].written : cases[i].text);
    }
}

static void random_goals_come_back (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < soak_count (20000); i++) {
        double low = log_uniform (&rng, 1e-300, 0.99);
        struct goal goals[] = {
            {.kind = GOAL_BAND, .low = low, .high = low + (1 - low) * 0.7},
            {.kind = GOAL_BUDGET, .limit = log_uniform (&rng, 1e-150, 1e150)},
            {.kind = GOAL_COST, .limit = log_uniform (&rng, 1, 1e300)},
        };
        for (size_t j = 0; j < COUNT (goals); j++) {
            struct goal goal;
            char text[GOAL_SIZE];
            goal_format (&goals[j], text);
            if (goal_parse (text, &goal, NULL) < 0)
                fail_msg ("%s", text);
            same (&goal, &goals[j]);
        }
    }
}

static void other_texts_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "expected fixed, band:LOW,HIGH, budget:X or cost:F"},
        {"Fixed", "expected fixed"},
        {"fixed:1", "expected fixed"},
        {"band", "expected fixed"},
        {"band:", "expected band:LOW,HIGH with 0 < LOW < HIGH <= 1"},
        {"band:0.5", "expected band:LOW,HIGH"},
        {"band:0.5,", "expected band:LOW,HIGH"},
        {"band:0.5,0.6,0.7", "expected band:LOW,HIGH"},
        {"band:0,0.5", "expected band:LOW,HIGH"},
        {"band:0.5,0.5", "expected band:LOW,HIGH"},
        {"band:0.6,0.5", "expected band:LOW,HIGH"},
        {"band:0.5,1.1", "expected band:LOW,HIGH"},
        {"band:nan,1", "expected band:LOW,HIGH"},
        {"budget:-1", "expected budget:X"},
        {"budget:inf", "expected budget:X"},
        {"budget:1 ", "expected budget:X"},
        {"budget:1,2", "expected budget:X"},
        {"budget:0000000000000000000000000000000000000000000000000000000000000001",
         "expected budget:X"},
        {"cost:0.99", "expected cost:F"},
        {"cost:", "expected cost:F"},
        {"cost:0x2", "expected cost:F"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct goal goal = {.kind = GOAL_COST, .limit = 7}, before = goal;
        struct pollux_error err = {""};
        assert_int_equal (-EINVAL, goal_parse (cases[i].text, &goal, &err));
        if (!strstr (err.text, cases[i].says))
            fail_msg ("%s: expected '%s' in: %s", cases[i].text, cases[i].says, err.text);
        same (&goal, &before);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (texts_are_read),
        cmocka_unit_test (random_goals_come_back),
        cmocka_unit_test (other_texts_are_refused),
    };
    return cmocka_run_group_tests_name ("goals", tests, NULL, NULL);
}
