/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals that earlier software wrote are read as that software read them: the same cluster, the same plans,
 * also after a compaction.  journal-1.sql and journal-2.sql say how they were made.
 */
#include "unit.h"

#include <jansson.h>

#include "api/describe.h"
#include "history_check.h"
#include "journal_file.h"
#include "loop/replay.h"
#include "random_journal.h"

static void load (const char *path)
{
    char *statements = calloc (1, 1 << 16);
    FILE *file = fopen (path, "r");
    assert_non_null (file);
    assert_non_null (statements);
    assert_true (fread (statements, 1, (1 << 16) - 1, file) > 10000);
    assert_true (feof (file));
    fclose (file);
    journal_sql (statements);
    free (statements);
}

/* Decide all rounds again; returns how many there are. */
static int64_t replay_all (void)
{
    struct replay replay = {.tolerance = 1e-9}; /* another machine recorded them */
    struct event event;
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_READ);
    struct source source = store_source (store);
    int rc = store_restore (store, &replay.cluster, NULL, NULL, &err);
    while (rc == 0 && (rc = source.next (source.self, &replay.cluster, &event, &err)) == 1)
        rc = replay_event (&replay, &event, &err);
    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_true (!replay.differs && !replay.waiting);
    int64_t rounds = replay.rounds;
    replay_clear (&replay);
    journal_close (store);
    return rounds;
}

/* Apply the events after the snapshot, and let the history take them.  Returns their number. */
static int64_t fold (struct store *store, struct cluster *cluster, struct history *history)
{
    struct source source = store_source (store);
    struct pollux_error err = {""};
    struct event event;
    int64_t count = 0;
    int rc = 0;
    for (; rc == 0 && (rc = source.next (source.self, cluster, &event, &err)) == 1; count++) {
        history_take (history, cluster, &event);
        rc = cluster_apply_checked (cluster, &event, &err);
    }
    if (rc < 0)
        fail_msg ("%s", err.text);
    return count;
}

static void assert_version (int version)
{
    char check[160];
    snprintf (check, sizeof (check),
              "CREATE TEMP TABLE checked (version TEXT CHECK (version = '%d'));"
              "INSERT INTO checked SELECT value FROM meta WHERE key = 'version'",
              version);
    journal_sql (check);
}

/* A reader does not migrate: the history begins with the snapshot, and live jobs have a record. */
static void read_without_a_history (int version)
{
    struct cluster cluster = {0};
    struct history history;
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_READ);
    assert_int_equal (0, store_restore (store, &cluster, NULL, &history, &err));
    for (int i = 0; i < cluster.job_count; i++)
        assert_int_equal (history_job (&history, i) != NULL, job_live (cluster.jobs[i]));
    assert_true (fold (store, &cluster, &history) > 0);
    history_fits (&cluster, &history);
    assert_true (series_count (&history.past.minutes) > 0);
    journal_close (store);
    history_clear (&history);
    cluster_clear (&cluster);
    assert_version (version);
}

/* Open it for writing, which migrates it, and compact it: the cluster stays the same. */
static void compact (const struct cluster *before, int64_t events)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_DURABLE);
    struct history history, again;
    assert_int_equal (0, store_restore (store, &cluster, NULL, &history, &err));
    assert_int_equal (events, fold (store, &cluster, &history));
    clusters_equal (before, &cluster);
    history_fits (&cluster, &history);
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
    journal_close (store);
    /* What was folded of the old events is kept. */
    struct cluster restored = {0};
    store = journal_open (STORE_READ);
    assert_int_equal (0, store_restore (store, &restored, NULL, &again, &err));
    histories_equal (&cluster, &history, &restored, &again);
    journal_close (store);
    history_clear (&again);
    history_clear (&history);
    cluster_clear (&restored);
    cluster_clear (&cluster);
    cluster = journal_cluster ();
    clusters_alike (before, &cluster);
    cluster_clear (&cluster);
    assert_version (STORE_VERSION);
}

/* That software knew no limit of the gain: jobs have none. */
static void assert_no_limit_of_the_gain (const struct cluster *cluster)
{
    for (int i = 0; i < cluster->job_count; i++)
        assert_true (cluster->jobs[i]->hints.grad.gain_max == 0);
}

static void version_1_is_read (void **state)
{
    (void)state;
    load ("tests/unit/journal-1.sql");
    struct cluster cluster = journal_cluster ();
    assert_int_equal (cluster.job_count, 2);
    assert_int_equal (cluster.jobs[0]->phase, JOB_FINISHED);
    assert_int_equal (cluster.jobs[1]->phase, JOB_FINISHED);
    assert_no_limit_of_the_gain (&cluster);
    assert_int_equal (replay_all (), 39);
    read_without_a_history (1);
    compact (&cluster, 125);
    cluster_clear (&cluster);
}

/* Equal, but for the last digits of numbers. */
static bool same (json_t *a, json_t *b)
{
    if (json_is_number (a) && json_is_number (b))
        return fabs (json_number_value (a) - json_number_value (b)) <=
               1e-9 * fabs (json_number_value (a));
    if (!json_is_object (a) || !json_is_object (b) || json_object_size (a) != json_object_size (b))
        return json_equal (a, b);
    const char *key;
    json_t *value;
    json_object_foreach (a, key, value)
    {
        json_t *other = json_object_get (b, key);
        if (!other || !same (value, other))
            return false;
    }
    return true;
}

/* What the old software answered of each job is what today's answers. */
static void compare_jobs (const struct cluster *cluster, const json_t *answered)
{
    struct cluster_status status;
    struct round round = {.search = POLLUX_EXACT};
    json_t *jobs = json_object_get (answered, "jobs"), *job, *value;
    int64_t now_us = json_integer_value (json_object_get (answered, "now_us"));
    size_t i;
    cluster_status_init (&status);
    struct present present = present_make (cluster, &status, &round, now_us);
    assert_int_equal (json_array_size (jobs), cluster->job_count);
    json_array_foreach (jobs, i, job)
    {
        json_t *today = describe_job (&present, (int)i);
        const char *key;
        assert_non_null (today);
        assert_true (json_object_size (job) > 30);
        json_object_foreach (job, key, value)
        {
            json_t *other = json_object_get (today, key);
            if (!other || !same (value, other))
                fail_msg ("%s: %s differs: %s", cluster->jobs[i]->spec.name, key,
                          other ? json_dumps (other, JSON_ENCODE_ANY) : "missing");
        }
        json_decref (today);
    }
    cluster_status_clear (&status);
}

/* That software knew no costs: nodes are billed from its snapshot on, to nobody. */
static void costs_begin_with_the_snapshot (const struct cluster *cluster, int64_t snapshot_us)
{
    double capacity_s = 0, jobs_s = 0;
    for (int i = 0; i < cluster->ledger.count; i++) {
        const struct ledger_row *row = &cluster->ledger.rows[i];
        *(row->capacity ? &capacity_s : &jobs_s) += row->slot_s;
        assert_true (row->cost == 0);
    }
    for (int i = 0; i < cluster->node_count; i++)
        assert_int_equal (cluster->node_power[i].state, POWER_NONE);
    double most_s = 8 * (double)(cluster->now_us - snapshot_us) * 1e-6;
    assert_true (capacity_s > 0.8 * most_s && capacity_s <= most_s);
    assert_true (jobs_s > 0 && jobs_s <= most_s);
}

/* Of version 2, or migrated to a later one by its software. */
static void read_version_2 (const char *migration, int version)
{
    json_t *answered = json_load_file ("tests/unit/journal-2.json", 0, NULL);
    assert_non_null (answered);
    load ("tests/unit/journal-2.sql");
    journal_sql (migration);
    struct cluster cluster = journal_cluster ();
    compare_jobs (&cluster, answered);
    assert_no_limit_of_the_gain (&cluster);
    assert_int_equal (replay_all (), 10);
    read_without_a_history (version);
    costs_begin_with_the_snapshot (&cluster, 1794878025721408);
    compact (&cluster, 49);
    cluster_clear (&cluster);
    json_decref (answered);
}

static void version_2_is_read (void **state)
{
    (void)state;
    read_version_2 ("", 2);
}

static void version_3_is_read (void **state)
{
    (void)state;
    read_version_2 ("CREATE TABLE history (job INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;"
                    "INSERT OR REPLACE INTO meta VALUES ('version', '3')",
                    3);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (version_1_is_read, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (version_2_is_read, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (version_3_is_read, journal_set_up, journal_tear_down),
    };
    return cmocka_run_group_tests_name ("old journals", tests, NULL, NULL);
}
