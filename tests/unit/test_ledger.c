/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: months as the C library counts them, times that include ends of months, its limit; and what the events of
 * groups charge: nodes from their order on if they come, and never less than the jobs on them.
 */
#include "cluster/costs.h"
#include "unit.h"

#include <errno.h>
#include <time.h>

#include "cluster/ledger.h"
#include "power_fixture.h"

static const int64_t S = 1000000, HOUR = (int64_t)3600 * 1000000;

/* ---- Months --------------------------------------------------------------------------------- */

static int64_t month_begin_us (int year, int month)
{
    struct tm tm = {.tm_year = year - 1900, .tm_mon = month, .tm_mday = 1};
    return (int64_t)timegm (&tm) * S;
}

static void months_are_those_of_the_calendar (void **state)
{
    (void)state;
    struct rng rng = rng_seed (3);
    for (int year = 1970; year <= 2254; year++)
        for (int month = 0; month < 12; month++) {
            int number = 12 * year + month;
            int64_t begin_us = month_begin_us (year, month);
            assert_int_equal (ledger_month_us (number), begin_us);
            assert_int_equal (ledger_month (begin_us), number);
            if (begin_us > 0)
                assert_int_equal (ledger_month (begin_us - 1), number - 1);
        }
    for (int i = 0; i < soak_count (100000); i++) {
        int64_t at_us = (int64_t)rng_below (&rng, (uint64_t)1 << 53);
        time_t at_s = (time_t)(at_us / S);
        struct tm tm;
        assert_non_null (gmtime_r (&at_s, &tm));
        assert_int_equal (ledger_month (at_us), 12 * (tm.tm_year + 1900) + tm.tm_mon);
    }
    assert_int_equal (ledger_month (0), LEDGER_FIRST_MONTH);
    assert_true (ledger_month ((int64_t)1 << 53) <= LEDGER_LAST_MONTH);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static double amount (const struct ledger *ledger, int month, const char *owner)
{
    for (int i = 0; i < ledger->count; i++)
        if (ledger->rows[i].month == month && ledger->rows[i].capacity == !owner &&
            strcmp (ledger->rows[i].owner, owner ? owner : "") == 0)
            return ledger->rows[i].slot_s;
    return NAN;
}

static void times_are_split_at_ends_of_months (void **state)
{
    (void)state;
    struct ledger ledger = {0};
    int hint = -5, month = 12 * 2028 + 1; /* February of a leap year */
    int64_t begin_us = ledger_month_us (month), end_us = ledger_month_us (month + 1);
    assert_int_equal (
        0, ledger_add (&ledger, begin_us - 10 * S, end_us + 5 * S, "ann", 2, 0.5, &hint));
    assert_int_equal (ledger.count, 3);
    assert_true (amount (&ledger, month - 1, "ann") == 20);
    assert_true (amount (&ledger, month, "ann") == 2.0 * 29 * 86400);
    assert_true (amount (&ledger, month + 1, "ann") == 10);
    assert_true (ledger.rows[1].cost == 0.5 * 29 * 86400);
    /* Nothing for no time, and another row for capacity than for an owner without a name. */
    assert_int_equal (0, ledger_add (&ledger, end_us, end_us, "bob", 2, 1, &hint));
    assert_int_equal (ledger.count, 3);
    assert_int_equal (0, ledger_add (&ledger, end_us, end_us + S, NULL, 3, 1, &hint));
    assert_int_equal (0, ledger_add (&ledger, end_us, end_us + S, "", 4, 1, &hint));
    assert_true (amount (&ledger, month + 1, NULL) == 3);
    assert_true (amount (&ledger, month + 1, "") == 4);
    ledger_clear (&ledger);
}

/* A hint of another row does no harm. */
static void hints_only_save_time (void **state)
{
    (void)state;
    struct rng rng = rng_seed (5);
    struct ledger with = {0}, without = {0};
    int hints[4] = {0}, none;
    static const char *const owners[] = {NULL, "", "ann", "bob"};
    for (int i = 0; i < 2000; i++) {
        int owner = (int)rng_below (&rng, 4);
        int64_t from_us = (int64_t)rng_below (&rng, 400) * 24 * HOUR;
        int *hint = &hints[rng_below (&rng, 4)]; /* often the wrong one */
        none = -1;
        assert_int_equal (
            0, ledger_add (&with, from_us, from_us + 40 * 24 * HOUR, owners[owner], 1, 1, hint));
        assert_int_equal (0, ledger_add (&without, from_us, from_us + 40 * 24 * HOUR, owners[owner],
                                         1, 1, &none));
    }
    assert_int_equal (with.count, without.count);
    assert_memory_equal (with.rows, without.rows, (size_t)with.count * sizeof (with.rows[0]));
    ledger_clear (&with);
    ledger_clear (&without);
}

static double total (const struct ledger *ledger, bool capacity)
{
    double sum = 0;
    for (int i = 0; i < ledger->count; i++)
        sum += ledger->rows[i].capacity == capacity ? ledger->rows[i].cost : 0;
    return sum;
}

static void old_owners_become_one (void **state)
{
    (void)state;
    struct ledger ledger = {0};
    int hint = 0, first = ledger_month (month_begin_us (2026, 0)), added = 0;
    for (int month = first; added < LEDGER_LIMIT + 500; month++) {
        int64_t at_us = ledger_month_us (month);
        assert_int_equal (0, ledger_add (&ledger, at_us, at_us + S, NULL, 1, 1, &hint));
        for (int owner = 0; owner < 300; owner++, added++) {
            char name[NAME_SIZE];
            snprintf (name, sizeof (name), "user%d", owner);
            assert_int_equal (0, ledger_add (&ledger, at_us, at_us + S, name, 1, 1, &hint));
        }
    }
    assert_true (ledger.count <= LEDGER_LIMIT);
    assert_true (total (&ledger, false) == added);
    assert_true (amount (&ledger, first, LEDGER_OTHERS) == 300);
    assert_true (isnan (amount (&ledger, first, "user7")));
    assert_true (amount (&ledger, first, NULL) == 1);
    assert_true (amount (&ledger, first + 20, "user7") == 1);
    ledger_clear (&ledger);
}

/* The longest time that there is, for several owners: it ends, and nothing is lost. */
static void all_months_have_room (void **state)
{
    (void)state;
    struct ledger ledger = {0};
    static const char *const owners[] = {NULL, "ann", "bob", "cem"};
    const double most_s = 0x1p53 * 1e-6;
    for (size_t i = 0; i < COUNT (owners); i++) {
        int hint = 0;
        assert_int_equal (0, ledger_add (&ledger, 0, (int64_t)1 << 53, owners[i], 1, 1, &hint));
    }
    assert_true (ledger.count <= LEDGER_LIMIT);
    assert_true (fabs (total (&ledger, true) - most_s) < 1e-9 * most_s);
    assert_true (fabs (total (&ledger, false) - 3 * most_s) < 1e-9 * most_s);
    ledger_clear (&ledger);
}

static void rows_are_restored_once (void **state)
{
    (void)state;
    struct ledger ledger = {0};
    struct ledger_row row = {.month = 12 * 2026, .owner = "ann", .slot_s = 1, .cost = 2};
    assert_int_equal (0, ledger_restore (&ledger, &row));
    assert_int_equal (-EINVAL, ledger_restore (&ledger, &row));
    row.month = LEDGER_FIRST_MONTH - 1;
    assert_int_equal (-EINVAL, ledger_restore (&ledger, &row));
    row.month = LEDGER_LAST_MONTH + 1;
    assert_int_equal (-EINVAL, ledger_restore (&ledger, &row));
    row.month = LEDGER_LAST_MONTH;
    assert_int_equal (0, ledger_restore (&ledger, &row));
    assert_int_equal (ledger.count, 2);
    ledger_clear (&ledger);
}

/* ---- What is billed ------------------------------------------------------------------------- */

static void round_at (struct cluster *cluster, int64_t at_us)
{
    struct event round = {.at_us = at_us, .type = EVENT_ROUND, .job = -1};
    assert_int_equal (0, cluster_apply (cluster, &round, NULL));
}

/* What happens to an order of a node for 3.6 per hour, and what it has cost at the end, in seconds. */
static void orders_are_billed_if_they_come (void **state)
{
    (void)state;
    static const struct {
        struct {
            int at_s;
            enum power_state state;
        } steps[6];
        double cost_s;
    } cases[] = {
        {{{0, POWER_STARTING},
          {100, POWER_UP},
          {500, POWER_DRAINING},
          {600, POWER_STOPPING},
          {700, POWER_OFF}},
         700},
        {{{0, POWER_STARTING}, {100, POWER_FAILED}, {200, POWER_OFF}}, 0},
        {{{0, POWER_STARTING}, {100, POWER_STOPPING}, {200, POWER_OFF}}, 0},
        {{{0, POWER_STARTING}, {100, POWER_STOPPING}, {150, POWER_UP}, {200, POWER_OFF}}, 200},
        {{{0, POWER_STARTING},
          {100, POWER_FAILED},
          {300, POWER_UP},
          {400, POWER_STOPPING},
          {500, POWER_OFF}},
         200},
        {{{0, POWER_STARTING},
          {100, POWER_FAILED},
          {200, POWER_OFF},
          {300, POWER_STARTING},
          {400, POWER_UP}},
         700},
        {{{0, POWER_UP}, {400, POWER_STOPPING}, {500, POWER_OFF}}, 500},
        {{{0, POWER_STARTING}}, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++)
        for (int rounds = 0; rounds < 2; rounds++) {
            struct cluster cluster = {0};
            struct node_group group = power_group ("spot", 2, 3.6);
            int step = 0;
            assert_int_equal (0, power_groups (&cluster, 0, &group, 1));
            for (int at_s = 0; at_s < 1000; at_s += 10) {
                int64_t at_us = at_s * S;
                for (; cases[i].steps[step].state && cases[i].steps[step].at_s == at_s; step++) {
                    enum power_state next = cases[i].steps[step].state;
                    assert_int_equal (0, next == POWER_UP
                                             ? power_node (&cluster, at_us, "spot-0", 4)
                                             : power_post (&cluster, at_us, "spot-0", next, 0));
                }
                if (rounds) /* which charge meanwhile, and change nothing */
                    round_at (&cluster, at_us);
            }
            round_at (&cluster, 1000 * S);
            double cost = total (&cluster.ledger, true) / 1e-3;
            if (fabs (cost - cases[i].cost_s) > 1e-6)
                fail_msg ("case %zu: %g s, expected %g", i, cost, cases[i].cost_s);
            assert_true (total (&cluster.ledger, false) == 0);
            cluster_clear (&cluster);
        }
}

/* What costs_ledger adds goes to rows that there are already, also without hints, as after a restart. */
static void a_copy_has_each_row_once (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 2, 4);
    struct ledger ledger;
    assert_int_equal (0, power_groups (&cluster, 0, &group, 1));
    assert_int_equal (0, power_node (&cluster, 0, "spot-0", 4));
    power_job (&cluster, 0, "ann", true, 0, 2);
    round_at (&cluster, HOUR);
    cluster.jobs[0]->account = 0;
    assert_int_equal (0, costs_ledger (&cluster, 2 * HOUR, &ledger, NULL));
    assert_int_equal (cluster.ledger.count, 2);
    assert_int_equal (ledger.count, 2);
    assert_true (fabs (total (&ledger, false) - 4) < 1e-9);
    assert_true (fabs (total (&ledger, true) - 8) < 1e-9);
    ledger_clear (&ledger);
    cluster_clear (&cluster);
}

static void prices_change_at_their_time (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 2, 4);
    assert_int_equal (0, power_groups (&cluster, 0, &group, 1));
    assert_int_equal (0, power_node (&cluster, 0, "spot-0", 4));
    power_job (&cluster, 0, "ann", true, 0, 2);
    group.price_per_node_hour = 8;
    assert_int_equal (0, power_groups (&cluster, HOUR, &group, 1));
    power_exit (&cluster, 2 * HOUR, 0);
    round_at (&cluster, 3 * HOUR);
    assert_true (fabs (cluster.jobs[0]->cost - 6) < 1e-9);
    assert_true (fabs (total (&cluster.ledger, false) - 6) < 1e-9);
    assert_true (fabs (total (&cluster.ledger, true) - 20) < 1e-9);
    /* A node with more slots than its group says: all of them cost what the node costs. */
    assert_int_equal (0, power_node (&cluster, 3 * HOUR, "spot-0", 8));
    power_job (&cluster, 3 * HOUR, "ann", true, 0, 8);
    power_exit (&cluster, 4 * HOUR, 1);
    assert_true (fabs (cluster.jobs[1]->cost - 8) < 1e-9);
    cluster_clear (&cluster);
}

/* Nodes come and go, prices change, jobs of up to 4 replicas on a node hold slots, also of nodes that are off. */
static void idle_capacity_is_never_negative (void **state)
{
    (void)state;
    for (int i = 0; i < soak_count (2000); i++) {
        struct rng rng = rng_seed ((uint64_t)i);
        struct cluster cluster = {0};
        struct node_group groups[] = {power_group ("a", 3, 1), power_group ("b", 3, 7)};
        int on[6] = {-1, -1, -1, -1, -1, -1}; /* the job on each node */
        int64_t at_us = month_begin_us (2026, 1) - 10 * HOUR;
        assert_int_equal (0, power_groups (&cluster, at_us, groups, 2));
        for (int step = 0; step < 200; step++) {
            int what = (int)rng_below (&rng, 10), node = (int)rng_below (&rng, 6);
            char name[NAME_SIZE];
            at_us += (int64_t)rng_below (&rng, (uint64_t)HOUR);
            node_group_node (&groups[node / 3], node % 3, name);
            int index = cluster_find_node (&cluster, name);
            if (what == 0) {
                groups[node / 3].price_per_node_hour = rng_uniform (&rng);
                assert_int_equal (0, power_groups (&cluster, at_us, groups, 2));
            } else if (what < 3) {
                assert_int_equal (0,
                                  power_node (&cluster, at_us, name, rng_below (&rng, 4) ? 4 : 0));
            } else if (what < 7) { /* most are refused */
                power_post (&cluster, at_us, name, (enum power_state)rng_below (&rng, POWER_STATES),
                            0);
            } else if (what == 7) {
                round_at (&cluster, at_us);
            } else if (index >= 0 && on[node] < 0) {
                on[node] = cluster.job_count;
                power_job (&cluster, at_us, what == 8 ? "ann" : "bob", true, index,
                           1 + (int)rng_below (&rng, 4));
            } else if (on[node] >= 0) {
                power_exit (&cluster, at_us, on[node]);
                on[node] = -1;
            }
        }
        round_at (&cluster, at_us);
        double jobs = 0;
        for (int j = 0; j < cluster.job_count; j++)
            jobs += cluster.jobs[j]->cost;
        double held = total (&cluster.ledger, false), all = total (&cluster.ledger, true);
        assert_true (fabs (jobs - held) <= 1e-9 * (1 + all));
        for (int row = 0; row < cluster.ledger.count; row++) {
            const struct ledger_row *capacity = &cluster.ledger.rows[row];
            double idle = capacity->cost;
            for (int j = 0; capacity->capacity && j < cluster.ledger.count; j++)
                if (!cluster.ledger.rows[j].capacity &&
                    cluster.ledger.rows[j].month == capacity->month)
                    idle -= cluster.ledger.rows[j].cost;
            assert_true (idle >= -1e-9 * (1 + capacity->cost));
        }
        cluster_clear (&cluster);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (months_are_those_of_the_calendar),
        cmocka_unit_test (times_are_split_at_ends_of_months),
        cmocka_unit_test (hints_only_save_time),
        cmocka_unit_test (old_owners_become_one),
        cmocka_unit_test (all_months_have_room),
        cmocka_unit_test (rows_are_restored_once),
        cmocka_unit_test (orders_are_billed_if_they_come),
        cmocka_unit_test (a_copy_has_each_row_once),
        cmocka_unit_test (prices_change_at_their_time),
        cmocka_unit_test (idle_capacity_is_never_negative),
    };
    return cmocka_run_group_tests_name ("the ledger", tests, NULL, NULL);
}
