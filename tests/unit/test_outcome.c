/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes of policies, for reports: the fold agrees with counting again after every event, with a
 * journal that is read from its file, and with a small case by hand.  Recordings and results are
 * read, or refused with the place.
 */
#include "unit.h"

#include <errno.h>

#include "recorded/outcome.h"
#include "journal_file.h"
#include "random_journal.h"

/* ---- Random journals ---- */

struct both {
    struct outcome outcome;
    struct journal store;
    int64_t events;
};

/* Count everything again. */
static void check_usage (const struct outcome *outcome)
{
    const struct cluster *cluster = &outcome->cluster;
    struct usage_change now = {0};
    for (int i = 0; i < cluster->node_count; i++)
        now.slots += cluster->nodes[i].slots;
    for (int i = 0; i < cluster->job_count; i++) {
        const struct job *job = cluster->jobs[i];
        const struct outcome_job *seen = &outcome->jobs[i];
        int replicas = placement_replicas (job->placement);
        now.used += replicas;
        now.running += job->phase == JOB_RUNNING || job->phase == JOB_CANCELLING;
        now.waiting += job->phase == JOB_PENDING;
        assert_int_equal (replicas,
                          seen->change_count ? seen->changes[seen->change_count - 1].replicas : 0);
    }
    assert_int_equal (outcome->job_count, cluster->job_count);
    assert_int_equal (outcome->now.slots, now.slots);
    assert_int_equal (outcome->now.used, now.used);
    assert_int_equal (outcome->now.running, now.running);
    assert_int_equal (outcome->now.waiting, now.waiting);
}

static int append_both (void *self, const struct cluster *cluster, const struct event *event,
                        struct pollux_error *err)
{
    struct both *both = self;
    int rc = both->store.append (both->store.self, cluster, event, err);
    if (rc == 0)
        rc = outcome_take (&both->outcome, event, err);
    both->events++;
    check_usage (&both->outcome);
    return rc;
}

static void outcomes_equal (const struct outcome *a, const struct outcome *b)
{
    assert_string_equal (a->policy, b->policy);
    assert_int_equal (a->from_us, b->from_us);
    assert_int_equal (a->until_us, b->until_us);
    assert_int_equal (a->job_count, b->job_count);
    assert_int_equal (a->usage_count, b->usage_count);
    assert_memory_equal (a->usage, b->usage, (size_t)a->usage_count * sizeof (a->usage[0]));
    assert_memory_equal (&a->numbers, &b->numbers, sizeof (a->numbers));
    for (int i = 0; i < a->job_count; i++) {
        const struct outcome_job *one = &a->jobs[i], *other = &b->jobs[i];
        assert_string_equal (one->name, other->name);
        assert_int_equal (one->phase, other->phase);
        assert_int_equal (one->end_us, other->end_us);
        assert_int_equal (one->change_count, other->change_count);
        for (int j = 0; j < one->change_count; j++) {
            assert_int_equal (one->changes[j].at_us, other->changes[j].at_us);
            assert_int_equal (one->changes[j].replicas, other->changes[j].replicas);
        }
    }
}

static void folded_and_read (void **state)
{
    (void)state;
    struct both both = {0};
    struct cluster cluster = {0};
    struct recording none = {.made_s = NAN};
    struct store *store = journal_open (STORE_RECORD);
    both.store = store_journal (store);
    struct random_journal options = {
        .policy = "pollux", .rounds = soak_count (2000), .seed = 15, .real = true, .groups = true};
    assert_int_equal (0, outcome_start (&both.outcome, "x/run.db", NULL));
    assert_int_equal (
        0, random_journal_write (&options, (struct journal){.append = append_both, .self = &both},
                                 &cluster, NULL));
    journal_close (store);
    assert_int_equal (0, outcome_finish (&both.outcome, &none, NULL));
    struct outcome read;
    struct pollux_error err;
    assert_int_equal (0, outcome_read_journal (journal_path, &read, &err));
    outcomes_equal (&both.outcome, &read);
    assert_string_equal (both.outcome.source, "run.db");
    assert_true (both.events > options.rounds && both.outcome.numbers.finished > 0);
    if (options.rounds >= 2000) /* a short run may have neither */
        assert_true (both.outcome.numbers.failed + both.outcome.numbers.cancelled > 0);
    assert_true (both.outcome.numbers.utilisation > 0 && both.outcome.numbers.utilisation <= 1);
    outcome_clear (&read);
    outcome_clear (&both.outcome);
    cluster_clear (&cluster);
}

static void without_events (void **state)
{
    (void)state;
    struct outcome outcome;
    journal_close (journal_open (STORE_DURABLE));
    assert_int_equal (-ENODATA, outcome_read_journal (journal_path, &outcome, NULL));
}

/* A compacted journal: jobs that ended before have their completion times, others begin at the
 * snapshot. */
static void compacted (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct store *store = journal_open (STORE_DURABLE);
    struct random_journal options = {.policy = "fifo", .rounds = 60, .seed = 3, .real = true};
    assert_int_equal (0, random_journal_write (&options, store_journal (store), &cluster, NULL));
    journal_close (store);
    struct outcome before, after;
    assert_int_equal (0, outcome_read_journal (journal_path, &before, NULL));
    store = journal_open (STORE_DURABLE);
    cluster_clear (&cluster);
    cluster = (struct cluster){0};
    assert_true (journal_fold (store, &cluster, NULL) > 0);
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, NULL, NULL));
    journal_close (store);
    assert_int_equal (0, outcome_read_journal (journal_path, &after, NULL));
    assert_true (after.compacted && !before.compacted);
    assert_int_equal (after.from_us, before.until_us);
    assert_int_equal (after.numbers.finished, before.numbers.finished);
    assert_true (after.numbers.mean_jct_s == before.numbers.mean_jct_s);
    assert_true (isnan (after.numbers.slot_hours_per_job));
    json_t *json = outcomes_json (&after, 1, NULL, 0);
    assert_non_null (json);
    json_decref (json);
    outcome_clear (&before);
    outcome_clear (&after);
    cluster_clear (&cluster);
}

/* ---- By hand ---- */

static void take (struct outcome *outcome, double at_s, struct event event)
{
    event.at_us = (int64_t)(at_s * 1e6);
    assert_int_equal (0, cluster_check (&outcome->cluster, &event, NULL));
    assert_int_equal (0, outcome_take (outcome, &event, NULL));
}

static void submit (struct outcome *outcome, double at_s, const char *name, int job)
{
    struct job_spec spec = {
        .max_replicas = 4, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    take (outcome, at_s,
          (struct event){
              .type = EVENT_SUBMIT, .job = job, .submit = {.spec = &spec, .hints = hints_unknown}});
}

static void start (struct outcome *outcome, double at_s, int job, int generation, int replicas)
{
    struct share share = {.node = 0, .replicas = replicas};
    take (outcome, at_s,
          (struct event){.type = EVENT_START,
                         .job = job,
                         .start = {.generation = generation, .placement = {&share, 1}}});
}

static void end (struct outcome *outcome, double at_s, int job, int generation, enum exit_kind kind)
{
    take (outcome, at_s,
          (struct event){
              .type = EVENT_EXIT, .job = job, .exit = {.generation = generation, .kind = kind}});
}

static void by_hand (void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct recording recording = {.made_s = 5, .workload = "w"};
    recording.rhos = calloc (2, sizeof (recording.rhos[0]));
    recording.rhos[0] = (struct recorded_rho){"b", 1.5};
    recording.rhos[1] = (struct recorded_rho){"a", 0.5};
    recording.rho_count = 2;
    assert_int_equal (0, outcome_start (&outcome, "", NULL));
    take (&outcome, 0,
          (struct event){.type = EVENT_NODE,
                         .job = -1,
                         .node = {.name = "n0", .slots = 4, .available = true}});
    submit (&outcome, 10, "a", 0);
    submit (&outcome, 10, "b", 1);
    start (&outcome, 20, 0, 1, 2);
    start (&outcome, 20, 1, 1, 2);
    end (&outcome, 30, 1, 1, EXITED_STOPPED);
    start (&outcome, 40, 1, 2, 1);
    end (&outcome, 60, 0, 1, EXITED_FINISHED);
    end (&outcome, 100, 1, 2, EXITED_FINISHED);
    assert_int_equal (0, outcome_finish (&outcome, &recording, NULL));
    const struct outcome_numbers *numbers = &outcome.numbers;
    assert_true (numbers->mean_jct_s == 70 && numbers->median_jct_s == 70);
    assert_true (numbers->makespan_s == 90);
    assert_true (relative (numbers->utilisation, (2 * 40 + 2 * 10 + 60) / (4. * 90)) < 1e-12);
    assert_true (numbers->restarts_per_job == 0.5 && numbers->worst_rho == 1.5);
    assert_true (numbers->unfair == 0.5 && numbers->finished == 2 && numbers->live == 0);
    json_t *json = outcomes_json (&outcome, 1, "pollux report x", 7);
    char *text = json_dumps (json, JSON_COMPACT | JSON_REAL_PRECISION (16));
    assert_non_null (strstr (text, "\"changes\":[[10,2,50,0],[10,2,20,0,30,1,90,0]]"));
    assert_non_null (strstr (text, "\"rho\":[0.5,1.5]"));
    assert_non_null (strstr (text, "\"submit\":[10,10],\"end\":[60,100]"));
    free (text);
    json_decref (json);
    outcome_clear (&outcome);
}

/* ---- Text ---- */

/* Of very many changes a part is kept, with the first and the last, and the number of such jobs is
 * told. */
static void thinned (void **state)
{
    (void)state;
    struct replica_change changes[1000];
    for (int i = 0; i < 1000; i++)
        changes[i] =
            (struct replica_change){.at_us = i * INT64_C (1000000), .replicas = (i + 1) % 2};
    struct outcome_job job = {.name = "a", .changes = changes, .change_count = 1000};
    struct outcome outcome = {
        .recording = {.made_s = NAN}, .has_events = true, .jobs = &job, .job_count = 1};
    json_t *json = outcomes_json (&outcome, 1, NULL, 0);
    json_t *first = json_array_get (json_object_get (json, "outcomes"), 0);
    json_t *list = json_array_get (json_object_get (json_object_get (first, "jobs"), "changes"), 0);
    size_t count = json_array_size (list);
    assert_int_equal (1, json_integer_value (json_object_get (first, "thinned")));
    assert_true (count >= 400 && count <= 802 && count % 2 == 0);
    assert_int_equal (0, json_integer_value (json_array_get (list, 0)));
    assert_int_equal (999, json_integer_value (json_array_get (list, count - 2)));
    assert_int_equal (0, json_integer_value (json_array_get (list, count - 1)));
    json_decref (json);
}

static void escaped (void **state)
{
    (void)state;
    static const char name[] = "</script><!--";
    struct outcome outcome = {.recording = {.made_s = NAN}};
    memcpy (outcome.source, name, sizeof (name));
    char *text = outcomes_text (&outcome, 1, NULL, 0);
    assert_null (strchr (text, '<'));
    json_t *json = json_loads (text, 0, NULL);
    json_t *first = json_array_get (json_object_get (json, "outcomes"), 0);
    assert_string_equal (json_string_value (json_object_get (first, "source")), name);
    json_decref (json);
    free (text);
}

static void recordings (void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } refused[] = {
        {"[]", "expected an object"},
        {"{}", "version"},
        {"{\"version\": 2}", "version"},
        {"{\"version\": 1, \"command\": 3}", "command: expected"},
        {"{\"version\": 1, \"workload\": \"\"}", "workload: expected"},
        {"{\"version\": 1, \"made_at\": -1}", "made_at: expected"},
        {"{\"version\": 1, \"rho\": []}", "rho: expected an object"},
        {"{\"version\": 1, \"rho\": {\"a\": 0}}", "rho.a: expected a positive number"},
        {"{\"version\": 1, \"rho\": {\"\": 1}}", "expected the name of a job"},
        {"{\"version\": 1, \"rho\": {\"a\": \"b\"}}", "rho.a: expected a number"},
    };
    struct recording recording;
    struct pollux_error err;
    for (size_t i = 0; i < COUNT (refused); i++) {
        assert_true (wire_recording_decode (refused[i].text, strlen (refused[i].text), "x",
                                            &recording, &err) < 0);
        assert_non_null (strstr (err.text, refused[i].says));
    }
    static const char least[] = "{\"version\": 1}";
    assert_int_equal (0, wire_recording_decode (least, strlen (least), "x", &recording, &err));
    assert_true (!recording.command && isnan (recording.made_s) && recording.rho_count == 0);
    recording_clear (&recording);

    struct recorded_rho rhos[] = {{"a", 1. / 3}, {"b", 2}};
    struct recording full = {.command = (char[]){"pollux sim 'a b'"},
                             .made_s = 1.25,
                             .workload = "day",
                             .rhos = rhos,
                             .rho_count = 2};
    struct wire_text_buffer text = {0};
    assert_int_equal (0, wire_recording_encode (&full, &text, &err));
    assert_int_equal (0, wire_recording_decode (text.text, text.length, "x", &recording, &err));
    assert_string_equal (recording.command, full.command);
    assert_string_equal (recording.workload, "day");
    assert_true (recording.made_s == 1.25 && recording.rho_count == 2);
    assert_true (recording.rhos[0].rho == rhos[0].rho && recording.rhos[1].rho == 2);
    recording_clear (&recording);
    rhos[1].rho = NAN;
    assert_int_equal (-EINVAL, wire_recording_encode (&full, &text, &err));
    wire_text_buffer_clear (&text);
}

static void results (void **state)
{
    (void)state;
    static const char *const refused[] = {
        "3",
        "{}",
        "{\"policies\": []}",
        "{\"policies\": {}}",
        "{\"policies\": {\"p\": {}}}",
        "{\"policies\": {\"p\": {\"workloads\": {\"w\": {}}}}}",
        "{\"policies\": {\"p\": {\"workloads\": {\"w\": {\"jct\": {\"a\": -1}}}}}}",
        "{\"policies\": {\"\": {\"workloads\": {\"w\": {\"jct\": {}}}}}}",
    };
    struct outcome *outcomes;
    struct pollux_error err;
    int count;
    for (size_t i = 0; i < COUNT (refused); i++)
        assert_true (outcome_parse_result ("x", refused[i], strlen (refused[i]), &outcomes, &count,
                                           &err) < 0);
    static const char text[] = "{\"policies\": {\"p\": {\"workloads\": {\"w\": {\"avg_jct\": 2,"
                               " \"jct\": {\"a\": 1, \"b\": 3}}, \"v\": {\"jct\": {}}}}}}";
    assert_int_equal (
        0, outcome_parse_result ("x/r.json", text, strlen (text), &outcomes, &count, &err));
    assert_int_equal (2, count);
    assert_string_equal (outcomes[0].policy, "p");
    assert_string_equal (outcomes[0].source, "r.json");
    assert_string_equal (outcomes[1].recording.workload, "v");
    assert_true (outcomes[0].numbers.mean_jct_s == 2 && isnan (outcomes[0].numbers.p99_jct_s));
    assert_true (outcomes[0].job_count == 2 && outcomes[0].jobs[1].jct_s == 3);
    for (int i = 0; i < count; i++)
        outcome_clear (&outcomes[i]);
    free (outcomes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (folded_and_read, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (without_events, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (compacted, journal_set_up, journal_tear_down),
        cmocka_unit_test (by_hand),
        cmocka_unit_test (thinned),
        cmocka_unit_test (escaped),
        cmocka_unit_test (recordings),
        cmocka_unit_test (results),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
