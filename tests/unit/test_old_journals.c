/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals that earlier software wrote are read as that software read them: the same cluster, the same plans,
 * also after a compaction.  journal-1.sql and journal-2.sql say how they were made.
 */
#include "unit.h"

#include <jansson.h>

#include "api/describe.h"
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
    int rc = store_restore (store, &replay.cluster, NULL, &err);
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

/* Open it for writing, which migrates it, and compact it: the cluster stays the same. */
static void compact (const struct cluster *before, int64_t events)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_DURABLE);
    assert_int_equal (0, store_restore (store, &cluster, NULL, &err));
    assert_int_equal (events, journal_fold (store, &cluster, &err));
    clusters_equal (before, &cluster);
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &err));
    journal_close (store);
    cluster_clear (&cluster);
    cluster = journal_cluster ();
    clusters_alike (before, &cluster);
    cluster_clear (&cluster);
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

static void version_2_is_read (void **state)
{
    (void)state;
    json_t *answered = json_load_file ("tests/unit/journal-2.json", 0, NULL);
    assert_non_null (answered);
    load ("tests/unit/journal-2.sql");
    struct cluster cluster = journal_cluster ();
    compare_jobs (&cluster, answered);
    assert_no_limit_of_the_gain (&cluster);
    assert_int_equal (replay_all (), 10);
    compact (&cluster, 49);
    cluster_clear (&cluster);
    json_decref (answered);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (version_1_is_read, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (version_2_is_read, journal_set_up, journal_tear_down),
    };
    return cmocka_run_group_tests_name ("old journals", tests, NULL, NULL);
}
