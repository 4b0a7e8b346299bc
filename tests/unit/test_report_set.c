/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports before they are journalled, the history of rounds, and the text of the metrics, read
 * by an independent parser.
 */
#include "unit.h"
#include "cluster_fixture.h"
#include "api/metrics.h"
#include "loop/report_set.h"
#include "loop/round_history.h"

#include <errno.h>

static struct report report_of (int job, double progress)
{
    struct report report = {.job = job,
                            .hints = cluster_fixture_hints (progress, 1000),
                            .batch = {.m = 64},
                            .oracle_remaining = NAN};
    report.hints.grad.gain_max = 1 + progress;
    return report;
}

static void latest_report_of_each_job (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    struct report_set reports = {0};
    struct pollux_error err;
    const struct report *collected;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf (name, sizeof (name), "j%d", i);
        cluster_fixture_submit (&cluster_fixture, name, 0, 4);
        cluster_fixture_start (&cluster_fixture, i, "0:1");
    }
    for (int round = 0; round < 3; round++)
        for (int i = 99; i >= 0; i -= 3) {
            struct report report = report_of (i, 10 * round + i);
            assert_int_equal (
                0, report_set_take (&reports, &cluster_fixture.cluster, &report, 1, &err));
        }
    assert_int_equal (reports.count, 34);
    assert_true (report_set_latest (&reports, 99)->hints.progress == 20 + 99);
    assert_null (report_set_latest (&reports, 98));
    assert_null (report_set_latest (&reports, 100000));
    /* Reports of another generation, and of a job that does not run. */
    struct report report = report_of (0, 5);
    assert_int_equal (-ESTALE,
                      report_set_take (&reports, &cluster_fixture.cluster, &report, 2, &err));
    assert_non_null (strstr (err.text, "generation 2"));
    cluster_fixture_exit (&cluster_fixture, 3, EXITED_FINISHED, "");
    report = report_of (3, 5);
    assert_int_equal (-ESTALE,
                      report_set_take (&reports, &cluster_fixture.cluster, &report, 1, &err));
    assert_int_equal (reports.stale, 2);
    /* In order of submission, without the job that ended. */
    int count = report_set_collect (&reports, &cluster_fixture.cluster, &collected);
    assert_int_equal (count, 33);
    for (int i = 1; i < count; i++)
        assert_true (collected[i - 1].job < collected[i].job);
    assert_true (report_set_latest (&reports, 99)->hints.progress == 20 + 99);
    assert_null (report_set_latest (&reports, 3));
    struct event event = {.type = EVENT_HINTS, .job = -1, .hints = {collected, count}};
    cluster_fixture_apply (&cluster_fixture, &event);
    assert_true (cluster_fixture.cluster.jobs[99]->hints.grad.gain_max == 1 + 20 + 99);
    /* One that was posted alone leaves the others: the first, the last, one that has none. */
    report_set_drop_job (&reports, collected[0].job);
    report_set_drop_job (&reports, 99);
    report_set_drop_job (&reports, 98);
    assert_null (report_set_latest (&reports, 99));
    assert_int_equal (31, report_set_collect (&reports, &cluster_fixture.cluster, &collected));
    for (int i = 0; i < 31; i++)
        assert_ptr_equal (report_set_latest (&reports, collected[i].job), &collected[i]);
    report_set_drop (&reports);
    assert_int_equal (0, report_set_collect (&reports, &cluster_fixture.cluster, &collected));
    assert_null (report_set_latest (&reports, 6));
    report_set_clear (&reports);
    cluster_fixture_clear (&cluster_fixture);
}

static void refusals_are_kept_until_the_next_valid_report (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    struct report_set reports = {0};
    cluster_fixture_init (&cluster_fixture, 1, 4);
    cluster_fixture_submit (&cluster_fixture, "a", 0, 4);
    cluster_fixture_start (&cluster_fixture, 0, "0:1");
    assert_null (report_set_refusal (&reports, 0));
    report_set_refuse (&reports, 0, "gamma: expected a number");
    report_set_refuse (&reports, 0, "sqr: expected a number");
    assert_string_equal (report_set_refusal (&reports, 0), "sqr: expected a number");
    struct report report = report_of (0, 1);
    assert_int_equal (0, report_set_take (&reports, &cluster_fixture.cluster, &report, 1, NULL));
    assert_null (report_set_refusal (&reports, 0));
    assert_int_equal (reports.refused, 2);
    assert_int_equal (reports.taken, 1);
    report_set_clear (&reports);
    cluster_fixture_clear (&cluster_fixture);
}

/* A type that no node has is told once per job. */
static void strange_types_are_told_once (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    struct report_set reports = {0};
    cluster_fixture_init (&cluster_fixture, 1, 4);
    const struct cluster *cluster = &cluster_fixture.cluster;
    for (int job = 0; job < 2; job++) {
        cluster_fixture_submit (&cluster_fixture, job ? "b" : "a", 0, 4);
        cluster_fixture_start (&cluster_fixture, job, "0:1");
        assert_null (report_set_strange_type (&reports, cluster, job));
        struct report report = report_of (job, 1);
        assert_int_equal (0, report_set_take (&reports, cluster, &report, 1, NULL));
        assert_null (report_set_strange_type (&reports, cluster, job)); /* it reports none */
        memcpy (report.hints.type, "nosuch", 7);
        assert_int_equal (0, report_set_take (&reports, cluster, &report, 1, NULL));
        assert_string_equal (report_set_strange_type (&reports, cluster, job), "nosuch");
        assert_null (report_set_strange_type (&reports, cluster, job));
        assert_int_equal (0, report_set_take (&reports, cluster, &report, 1, NULL));
        assert_null (report_set_strange_type (&reports, cluster, job));
    }
    report_set_clear (&reports);
    cluster_fixture_clear (&cluster_fixture);
}

/* ---- Rounds ------------------------------------------------------------------------------- */

static void take_round (struct round_history *rounds, struct cluster_fixture *cluster_fixture,
                        int64_t seq, bool fill, double price)
{
    struct plan plan = {0};
    struct event round = {.at_us = cluster_fixture->now_us,
                          .type = EVENT_ROUND,
                          .job = -1,
                          .round = cluster_fixture->round};
    round.round.fill = fill;
    round_history_take (rounds, &cluster_fixture->cluster, &round, seq);
    cluster_fixture_apply (cluster_fixture, &round);
    assert_int_equal (0, plan_reset (&plan, cluster_fixture->cluster.active.count));
    plan.price = price;
    struct share share = {.node = 1, .replicas = 3};
    if (plan.job_count > 0)
        assert_int_equal (0, plan_place (&plan, 0, (struct placement){&share, 1}));
    round_history_decided (rounds, 0.25);
    struct event event = {
        .at_us = cluster_fixture->now_us, .type = EVENT_PLAN, .job = -1, .plan = &plan};
    round_history_take (rounds, &cluster_fixture->cluster, &event, seq + 1);
    cluster_fixture_apply (cluster_fixture, &event);
    plan_clear (&plan);
}

static void history_is_a_ring (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    struct round_history *rounds = calloc (1, sizeof (*rounds));
    cluster_fixture_init (&cluster_fixture, 2, 4);
    assert_null (round_history_get (rounds, 0));
    assert_null (round_history_last_full (rounds));
    cluster_fixture_submit (&cluster_fixture, "a", 0, 4);
    cluster_fixture_start (&cluster_fixture, 0, "0:2");
    take_round (rounds, &cluster_fixture, 10, false, 0.5);
    const struct round_summary *summary = round_history_get (rounds, 0);
    assert_int_equal (summary->seq, 10);
    assert_int_equal (summary->jobs, 1);
    assert_int_equal (summary->restarts, 1); /* its placement changes */
    assert_int_equal (summary->used_slots, 3);
    assert_int_equal (summary->changed, 1);
    assert_string_equal (summary->text, "1 job changed: a starts with 3");
    assert_true (summary->price == 0.5 && summary->decide_s == 0.25);
    assert_ptr_equal (round_history_last_full (rounds), summary);
    for (int i = 0; i < ROUND_HISTORY_LIMIT - 1; i++)
        take_round (rounds, &cluster_fixture, 20 + 2 * i, true, NAN);
    assert_int_equal (round_history_last_full (rounds)->seq, 10);
    assert_int_equal (round_history_get (rounds, ROUND_HISTORY_LIMIT - 1)->seq, 10);
    take_round (rounds, &cluster_fixture, 9000, true, NAN);
    assert_null (round_history_get (rounds, ROUND_HISTORY_LIMIT));
    assert_null (round_history_last_full (rounds)); /* no longer in the ring */
    assert_int_equal (round_history_get (rounds, 0)->seq, 9000);
    free (rounds);
    cluster_fixture_clear (&cluster_fixture);
}

/* ---- Metrics ------------------------------------------------------------------------------ */

static bool is_name (const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
              text[i] == '_' || text[i] == ':' || (i > 0 && text[i] >= '0' && text[i] <= '9')))
            return false;
    return length > 0;
}

/* {name="value",...}: where it ends; NULL if it is malformed. */
static const char *skip_labels (const char *at)
{
    if (*at != '{')
        return at;
    do {
        at++;
        size_t name = strcspn (at, "=");
        if (!is_name (at, name) || at[name + 1] != '"')
            return NULL;
        at += name + 2;
        for (; *at && *at != '"' && *at != '\n'; at++)
            if (*at == '\\' && !strchr ("\\\"n", *++at))
                return NULL;
        if (*at++ != '"')
            return NULL;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

/* A sample's value, NaN if it is not there; the whole text must be well-formed: every sample of a
 * family behind its TYPE, and no family twice. */
static double parse_metrics (const char *text, const char *wanted)
{
    double found = NAN;
    char family[128] = "", seen[8192] = " ", type[32] = "";
    while (*text) {
        size_t length = strcspn (text, "\n");
        assert_true (text[length] == '\n');
        if (strncmp (text, "# TYPE ", 7) == 0) {
            char padded[140];
            assert_int_equal (2, sscanf (text, "# TYPE %127s %31s", family, type));
            snprintf (padded, sizeof (padded), " %s ", family);
            assert_null (strstr (seen, padded));
            strncat (seen, padded + 1, sizeof (seen) - strlen (seen) - 1);
            assert_non_null (strstr ("counter gauge histogram", type));
        } else if (strncmp (text, "# HELP ", 7) != 0) {
            size_t name = strcspn (text, "{ \n");
            assert_true (is_name (text, name));
            assert_memory_equal (text, family, strlen (family));
            bool suffix = name > strlen (family);
            assert_true (!suffix || strcmp (type, "histogram") == 0);
            const char *value = skip_labels (text + name);
            assert_non_null (value);
            assert_true (*value == ' ');
            char *end;
            double number = strtod (value + 1, &end);
            assert_true (*end == '\n' && end > value + 1);
            if (strlen (wanted) == (size_t)(value - text) &&
                strncmp (wanted, text, strlen (wanted)) == 0)
                found = number;
        }
        text += length + 1;
    }
    return found;
}

static void metrics_are_well_formed (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    struct metrics *metrics = calloc (1, sizeof (*metrics));
    struct cluster_status *status = calloc (1, sizeof (*status));
    status->reports.taken = 7;
    struct http_counts http = {.answers = {0, 0, 5, 0, 2, 1}, .connections = 3};
    struct metrics_sources sources = {.cluster = &cluster_fixture.cluster,
                                      .status = status,
                                      .http = &http,
                                      .journal_bytes = 4096,
                                      .journal_events = 12,
                                      .uptime_s = 1.5,
                                      .resident_bytes = 1 << 20};
    cluster_fixture_init (&cluster_fixture, 2, 4);
    cluster_fixture_submit (&cluster_fixture, "a", 0, 4);
    cluster_fixture_submit (&cluster_fixture, "b", 0, 4);
    cluster_fixture_start (&cluster_fixture, 0, "0:2 1:1");
    strcpy (cluster_fixture.cluster.nodes[0].type, "a\"\\b");
    cluster_fixture_drain (&cluster_fixture, 1);
    status->history.goodput = 2500000; /* millionths */
    take_round (&status->rounds, &cluster_fixture, 3, false, 0.125);
    struct event exit = {.type = EVENT_EXIT, .exit = {.generation = 1, .kind = EXITED_FAILED}};
    event_counts_add (&status->counts, &cluster_fixture.cluster, &exit);
    histogram_add (&status->decide_s, 0.002);
    histogram_add (&status->decide_s, 100);
    static const char route[] = "/v1/jobs/{name}";
    for (int i = 0; i < 3; i++)
        metrics_answer (metrics, "GET", route, i == 2 ? 404 : 200, 1e-5);
    size_t length = 0;
    char *text = metrics_text (metrics, &sources, &length);
    assert_int_equal (length, strlen (text));
    static const struct {
        const char *name;
        double value;
    } wanted[] = {
        {"pollux_jobs{phase=\"pending\"}", 1},
        {"pollux_jobs{phase=\"running\"}", 1},
        {"pollux_slots{available=\"true\"}", 4},
        {"pollux_slots{available=\"false\"}", 4},
        {"pollux_slots_used", 3},
        {"pollux_type_slots{type=\"a\\\"\\\\b\"}", 4},
        {"pollux_type_slots{type=\"\"}", 4},
        {"pollux_type_slots_used{type=\"a\\\"\\\\b\"}", 2},
        {"pollux_type_slots_used{type=\"\"}", 1},
        {"pollux_goodput", 2.5},
        {"pollux_failures_total", 1},
        {"pollux_slot_price", 0.125},
        {"pollux_reports_total{result=\"taken\"}", 7},
        {"pollux_decide_seconds_bucket{le=\"0.00064\"}", 0},
        {"pollux_decide_seconds_bucket{le=\"0.00256\"}", 1},
        {"pollux_decide_seconds_bucket{le=\"41.94304\"}", 1},
        {"pollux_decide_seconds_bucket{le=\"+Inf\"}", 2},
        {"pollux_decide_seconds_count", 2},
        {"pollux_journal_bytes", 4096},
        {"pollux_http_requests_total{method=\"GET\",route=\"/v1/jobs/{name}\",code=\"200\"}", 2},
        {"pollux_http_requests_total{method=\"GET\",route=\"/v1/jobs/{name}\",code=\"404\"}", 1},
        {"pollux_http_answers_total{class=\"4xx\"}", 2},
    };
    for (size_t i = 0; i < COUNT (wanted); i++)
        if (parse_metrics (text, wanted[i].name) != wanted[i].value)
            fail_msg ("%s: got %g, want %g", wanted[i].name, parse_metrics (text, wanted[i].name),
                      wanted[i].value);
    free (text);
    free (metrics);
    free (status);
    cluster_fixture_clear (&cluster_fixture);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (latest_report_of_each_job),
        cmocka_unit_test (refusals_are_kept_until_the_next_valid_report),
        cmocka_unit_test (strange_types_are_told_once),
        cmocka_unit_test (history_is_a_ring),
        cmocka_unit_test (metrics_are_well_formed),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
