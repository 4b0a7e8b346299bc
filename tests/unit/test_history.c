/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The past of cluster and jobs: means against plain sums, merging keeps the area below a curve,
 * everything is bounded, the text gives back every bit, and a history that was kept in a snapshot
 * continues like one that was not.
 */
#include "unit.h"

#include <errno.h>
#include <malloc.h>

#include "cluster_fixture.h"
#include "history_check.h"
#include "journal_file.h"
#include "loop/job_values.h"
#include "loop/loop.h"
#include "random_journal.h"
#include "wire/history.h"

static const int64_t S = 1000000, MINUTE = 60000000, HOUR = 3600000000;

/* ---- Series ------------------------------------------------------------------------------- */

static void means_are_weighted_by_time (void **state)
{
    (void)state;
    /* Seconds from 90 s on, and the used slots meanwhile; NaN: unknown. */
    static const struct {
        double seconds, used;
    } parts[] = {{15, 4}, {30, 0}, {30, NAN}, {45, 2}, {120, 8}};
    static const struct {
        double at_s, used;
    } expected[] = {{60, 2},
                    {120, (15 * 0 + 15 * 2) / 30.},
                    {180, (30 * 2 + 30 * 8) / 60.},
                    {240, 8},
                    {300, 8}};
    struct cluster_past past = cluster_past_make ();
    int64_t at_us = 90 * S;
    for (size_t i = 0; i < COUNT (parts); i++) {
        double values[SERIES_VALUES] = {[SERIES_SLOTS] = 8, [SERIES_USED] = parts[i].used};
        int64_t until_us = at_us + (int64_t)(parts[i].seconds * 1e6);
        assert_int_equal (0, series_add (&past.minutes, at_us, until_us, values));
        at_us = until_us;
    }
    assert_int_equal (series_count (&past.minutes), (int)COUNT (expected));
    for (size_t i = 0; i < COUNT (expected); i++) {
        struct series_point point = series_get (&past.minutes, (int)i);
        assert_true (point.at_us == (int64_t)(expected[i].at_s * 1e6));
        assert_true (point.values[SERIES_SLOTS] == 8);
        if (fabs (point.values[SERIES_USED] - expected[i].used) > 1e-6)
            fail_msg ("point %zu: %g, expected %g", i, point.values[SERIES_USED], expected[i].used);
    }
    cluster_past_clear (&past);
}

/* However long the time, and also if nothing happens for years. */
static void series_are_bounded (void **state)
{
    (void)state;
    struct cluster_past past = cluster_past_make ();
    double values[SERIES_VALUES] = {1, 1, 1, 1, 1, NAN};
    int64_t at_us = 0;
    for (int i = 0; i < 20000; i++, at_us += 47 * S)
        series_add (&past.minutes, at_us, at_us + 47 * S, values);
    assert_int_equal (series_count (&past.minutes), PAST_MINUTES + 1);
    int64_t last_us = series_get (&past.minutes, PAST_MINUTES).at_us;
    assert_true (series_get (&past.minutes, 0).at_us == last_us - PAST_MINUTES * MINUTE);
    assert_true (isnan (series_get (&past.minutes, 7).values[SERIES_PRICE]));
    int64_t later_us = at_us + 100 * 366 * 24 * HOUR;
    series_add (&past.minutes, at_us, later_us, values);
    series_add (&past.hours, at_us, later_us, values);
    assert_int_equal (past.minutes.count, PAST_MINUTES);
    assert_int_equal (past.hours.count, PAST_HOURS);
    for (int i = 1; i < series_count (&past.hours); i++)
        assert_true (series_get (&past.hours, i).at_us ==
                     series_get (&past.hours, i - 1).at_us + HOUR);
    cluster_past_clear (&past);
}

/* ---- Points of a job ---------------------------------------------------------------------- */

static void put_values (float values[POINT_VALUES], double replicas, double progress)
{
    for (int i = 0; i < POINT_VALUES; i++)
        values[i] = NAN;
    values[POINT_REPLICAS] = (float)replicas;
    values[POINT_PROGRESS] = (float)progress;
}

/* The area below a value from the first point to the end. */
static double area (const struct job_past *past, int value)
{
    double sum = 0;
    for (int i = 0; i < past->point_count; i++) {
        int64_t end_us = i + 1 < past->point_count ? past->points[i + 1].at_us : past->until_us;
        sum += past->points[i].values[value] * (double)(end_us - past->points[i].at_us);
    }
    return sum;
}

static void merging_keeps_the_area (void **state)
{
    (void)state;
    struct rng rng = rng_seed (3);
    for (int changes = 1; changes < 5000; changes = changes * 3 + 1) {
        struct job_past past = {0};
        float values[POINT_VALUES];
        int64_t at_us = 5 * S;
        double sum = 0, replicas = 0;
        put_values (values, 0, 0);
        job_past_begin (&past, at_us, values);
        for (int i = 0; i < changes; i++) {
            int64_t step_us = (int64_t)rng_below (&rng, 100) * S;
            sum += replicas * (double)step_us;
            at_us += step_us;
            replicas = (double)rng_below (&rng, 9);
            put_values (values, replicas, (double)at_us / (double)S);
            assert_int_equal (0, job_past_set (&past, at_us, values));
        }
        assert_true (past.point_count <= JOB_POINTS_LIMIT && past.until_us == at_us);
        assert_true (changes < 1000 || past.point_count >= JOB_POINTS_LIMIT / 2);
        assert_true (relative (area (&past, POINT_REPLICAS), sum) < 1e-5);
        for (int i = 0; i < past.point_count; i++) { /* the progress at the beginning */
            double at_s = i == 0 ? 0 : (double)past.points[i].at_us / (double)S;
            assert_true (past.points[i].values[POINT_PROGRESS] == (float)at_s);
        }
        job_past_clear (&past);
    }
}

static void unknown_values_take_no_part (void **state)
{
    (void)state;
    struct job_past past = {.resolution_us = HOUR};
    float values[POINT_VALUES];
    put_values (values, 2, NAN);
    job_past_begin (&past, 0, values);
    values[POINT_STEP_S] = 0.5F;
    job_past_set (&past, 10 * S, values);
    values[POINT_REPLICAS] = NAN;
    values[POINT_STEP_S] = 1.5F;
    job_past_set (&past, 20 * S, values);
    job_past_set (&past, 40 * S, values);
    assert_int_equal (past.point_count, 1);
    assert_true (past.points[0].values[POINT_REPLICAS] == 2);
    assert_true (past.points[0].values[POINT_STEP_S] == 1.0F); /* the first 10 s were unknown */
    assert_true (isnan (past.points[0].values[POINT_GOODPUT]));
    job_past_clear (&past);
}

/* ---- Generations and steps ---------------------------------------------------------------- */

static void first_and_last_generations_are_kept (void **state)
{
    (void)state;
    struct job_past past = {0};
    struct share many[40];
    for (int i = 0; i < (int)COUNT (many); i++)
        many[i] = (struct share){i, 2};
    for (int i = 1; i <= 100; i++) {
        struct placement placement = {many, i < 41 ? i : 1};
        assert_int_equal (0, job_past_start (&past, i, i * MINUTE, placement));
        job_past_ready (&past, i * MINUTE + S);
        if (i != 99)
            job_past_exit (&past, i * MINUTE + 2 * S, EXITED_FAILED, i % 2 ? "why" : "");
    }
    assert_int_equal (past.generation_count, GENERATIONS_LIMIT);
    for (int i = 0; i < GENERATIONS_LIMIT; i++) {
        const struct past_generation *kept = &past.generations[i];
        int number = i < GENERATIONS_FIRST ? i + 1 : 100 - GENERATIONS_LIMIT + 1 + i;
        assert_int_equal (kept->generation, number);
        assert_true (kept->started_us == number * MINUTE);
        assert_true (kept->ready_us == number * MINUTE + S);
        assert_int_equal (kept->kind, number == 99 ? -1 : EXITED_FAILED);
        assert_true (kept->ended_us == (number == 99 ? 100 * MINUTE : number * MINUTE + 2 * S));
        assert_int_equal (kept->nodes, number < 41 ? number : 1);
        assert_int_equal (kept->replicas, 2 * kept->nodes);
        assert_true (kept->share_count <= GENERATION_SHARES_LIMIT);
        assert_int_equal (kept->detail != NULL, number % 2 && number != 99);
    }
    job_past_clear (&past);
}

static void latest_steps_are_kept (void **state)
{
    (void)state;
    struct node nodes[3] = {{.type = "a100"}, {.type = "a100"}, {.type = "t4"}};
    struct job_past past = {0};
    for (int m = 1; m <= 50; m++) {
        struct measured_step step = {
            .node = m % 3, .nodes = 1, .replicas = 2, .m = m, .at_us = m * S, .step_s = 1};
        assert_int_equal (0, job_past_measure (&past, nodes, &step));
    }
    assert_int_equal (past.measured_count, MEASURED_STEPS_LIMIT);
    assert_true (past.measured[0].m == 50 - MEASURED_STEPS_LIMIT + 1);
    /* Another node of the same type is the same configuration; another type is not. */
    struct measured_step again = {.node = 0, .nodes = 1, .replicas = 2, .m = 49, .step_s = 2};
    assert_int_equal (0, job_past_measure (&past, nodes, &again));
    assert_true (past.measured[MEASURED_STEPS_LIMIT - 1].step_s == 2);
    assert_true (past.measured[0].m == 50 - MEASURED_STEPS_LIMIT + 1);
    again.node = 2;
    assert_int_equal (0, job_past_measure (&past, nodes, &again));
    assert_true (past.measured[0].m == 50 - MEASURED_STEPS_LIMIT + 2);
    job_past_clear (&past);
}

/* ---- The fold ----------------------------------------------------------------------------- */

/* A cluster of which each event is taken by a history. */
struct folded {
    struct cluster_fixture fixture;
    struct history history;
};

static void folded_open (struct folded *folded, int nodes, int slots)
{
    cluster_fixture_init (&folded->fixture, nodes, slots);
    history_begin (&folded->history, &folded->fixture.cluster);
}

static void folded_close (struct folded *folded)
{
    history_fits (&folded->fixture.cluster, &folded->history);
    history_clear (&folded->history);
    cluster_fixture_clear (&folded->fixture);
}

static void folded_take (struct folded *folded, struct event event)
{
    event.at_us = folded->fixture.now_us;
    history_take (&folded->history, &folded->fixture.cluster, &event);
    cluster_fixture_apply (&folded->fixture, &event);
}

static void folded_submit (struct folded *folded, const char *name)
{
    struct job_spec spec = {.max_replicas = 64,
                            .weight = 1,
                            .preemptible = true,
                            .adaptive = true,
                            .restart_delay_s = NAN};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    struct event event = {.type = EVENT_SUBMIT,
                          .job = folded->fixture.cluster.job_count,
                          .submit = {.spec = &spec, .hints = hints_unknown}};
    folded_take (folded, event);
}

static void folded_start (struct folded *folded, int job, int node, int replicas)
{
    struct share share = {node, replicas};
    folded_take (
        folded,
        (struct event){.type = EVENT_START,
                       .job = job,
                       .start = {.generation = folded->fixture.cluster.jobs[job]->generation + 1,
                                 .placement = {&share, 1}}});
}

static void folded_exit (struct folded *folded, int job, enum exit_kind kind)
{
    folded_take (
        folded, (struct event){.type = EVENT_EXIT,
                               .job = job,
                               .exit = {.generation = folded->fixture.cluster.jobs[job]->generation,
                                        .kind = kind,
                                        .detail = "as told"}});
}

static void folded_report (struct folded *folded, int job, struct hints hints,
                           struct pollux_batch batch)
{
    struct report report = {.job = job, .hints = hints, .batch = batch, .oracle_remaining = NAN};
    folded_take (folded, (struct event){.type = EVENT_HINTS, .job = -1, .hints = {&report, 1}});
}

static double at (const struct history *history, int point, enum series_value value)
{
    return series_get (&history->past.minutes, point).values[value];
}

static void a_job_is_followed (void **state)
{
    (void)state;
    struct folded folded;
    folded_open (&folded, 2, 4);
    folded.fixture.now_us -= folded.fixture.now_us % MINUTE; /* begin with a minute */
    folded_submit (&folded, "a");
    folded.fixture.now_us += MINUTE;
    folded_start (&folded, 0, 1, 2);
    folded.fixture.now_us += 10 * S;
    folded_take (&folded, (struct event){.type = EVENT_STARTED, .start = {.generation = 1}});
    folded.fixture.now_us += 50 * S;
    struct hints hints = cluster_fixture_hints (100, 1000);
    struct pollux_batch batch = {128, 1};
    hints.step_s = 0.3;
    hints.rate_factor = 1.5;
    folded_report (&folded, 0, hints, batch); /* its START may be later than the report */
    folded.fixture.now_us += MINUTE;
    folded_report (&folded, 0, hints, batch);
    const struct job_past *past = history_job (&folded.history, 0);
    assert_int_equal (past->measured_count, 1);
    assert_true (past->measured[0].m == 128 && past->measured[0].step_s == 0.3);
    double predicted_s = job_predicted_s (&folded.fixture.cluster, &hints, &past->measured[0]);
    struct pollux_shape shape = {1, 2};
    assert_true (relative (predicted_s, 256 / pollux_throughput (&hints.model, shape,
                                                                 (struct pollux_batch){128, 0})) <
                 1e-12);
    folded.fixture.now_us += MINUTE;
    folded_exit (&folded, 0, EXITED_FINISHED);
    assert_int_equal (past->point_count, 4);
    static const double replicas[] = {0, 2, 2, 2};
    for (int i = 0; i < 3; i++)
        assert_true (past->points[i].values[POINT_REPLICAS] == replicas[i]);
    assert_true (past->points[0].values[POINT_GOODPUT] == 0);
    assert_true (isnan (past->points[1].values[POINT_GOODPUT])); /* no model yet */
    assert_true (past->points[3].values[POINT_BATCH] == 512);
    assert_true (past->points[3].values[POINT_STEP_S] == 0.3F);
    assert_true (past->points[3].values[POINT_RATE_FACTOR] == 1.5F);
    assert_true (past->points[3].values[POINT_PROGRESS] == 100);
    assert_true (past->present[POINT_REPLICAS] == 0 && past->present[POINT_GOODPUT] == 0);
    assert_true (past->measured[0].predicted_s == predicted_s);
    assert_int_equal (past->generation_count, 1);
    assert_int_equal (past->generations[0].kind, EXITED_FINISHED);
    assert_string_equal (past->generations[0].detail, "as told");
    assert_true (past->generations[0].ready_us == past->generations[0].started_us + 10 * S);
    /* The cluster: waiting, running without a model, then with one. */
    const struct history *history = &folded.history;
    assert_true (at (history, 0, SERIES_WAITING) == 1 && at (history, 0, SERIES_USED) == 0);
    assert_true (at (history, 1, SERIES_RUNNING) == 1 && at (history, 1, SERIES_USED) == 2);
    assert_true (at (history, 1, SERIES_GOODPUT) == 2);
    struct pollux_best alone;
    assert_int_equal (0, pollux_best_batch (&hints.model, hints.grad, &hints.limits, POLLUX_EXACT,
                                            (struct pollux_shape){1, 1}, &alone, NULL));
    double goodput = pollux_throughput (&hints.model, shape, batch) *
                     pollux_efficiency (hints.grad, 128, 512) / alone.goodput;
    assert_true (relative (at (history, 2, SERIES_GOODPUT), goodput) < 1e-5);
    assert_true (at (history, 2, SERIES_SLOTS) == 8 && isnan (at (history, 2, SERIES_PRICE)));
    folded_close (&folded);
}

/* Hints of the generation before are no measurement of the present one. */
static void a_restart_ends_measurements (void **state)
{
    (void)state;
    struct folded folded;
    struct hints hints = cluster_fixture_hints (100, 1000);
    struct pollux_batch batch = {128, 0};
    float now[POINT_VALUES];
    hints.step_s = 0.3;
    hints.rate_factor = 1.5;
    folded_open (&folded, 2, 4);
    folded_submit (&folded, "a");
    folded_start (&folded, 0, 0, 2);
    const struct job_past *past = history_job (&folded.history, 0);
    /* Whether the value is known after a report, and again after the one that follows. */
    static const bool known[] = {false, true, true};
    for (int generation = 0; generation < 2; generation++) {
        for (size_t i = 0; i < COUNT (known); i++) {
            folded.fixture.now_us += MINUTE;
            folded_report (&folded, 0, hints, batch);
            assert_int_equal (!isnan (past->present[POINT_STEP_S]), known[i]);
            assert_int_equal (!isnan (past->present[POINT_RATE_FACTOR]), known[i]);
            history_present (&folded.history, &folded.fixture.cluster, 0,
                             &folded.fixture.cluster.jobs[0]->hints, batch, now);
            assert_int_equal (!isnan (now[POINT_STEP_S]), known[i]);
            assert_int_equal (past->measured_count, generation + known[i]);
        }
        folded.fixture.now_us += S;
        folded_exit (&folded, 0, EXITED_STOPPED);
        folded_start (&folded, 0, 1, 4);
        assert_true (isnan (past->present[POINT_STEP_S]));
        history_present (&folded.history, &folded.fixture.cluster, 0, &hints, batch, now);
        assert_true (isnan (now[POINT_STEP_S])); /* a report that may be of the one before */
    }
    folded_close (&folded);
}

/* 100,000 rounds: a job that reports and restarts all the time, in a cluster whose other jobs come
 * and go. */
static void memory_is_bounded (void **state)
{
    (void)state;
    struct folded folded;
    folded_open (&folded, 2, 4);
    folded_submit (&folded, "long");
    int rounds = soak_count (100000) > 1000 ? 100000 : 5000, half = rounds / 2;
    size_t used = 0;
    for (int i = 0; i < rounds; i++) {
        struct hints hints = cluster_fixture_hints (i, 1e9);
        folded.fixture.now_us += MINUTE;
        if (i % 10 == 0)
            folded_start (&folded, 0, i % 2, 1 + i % 3);
        hints.step_s = 0.1;
        folded_report (&folded, 0, hints, (struct pollux_batch){64 + i % 100, 8});
        if (i % 10 == 9)
            folded_exit (&folded, 0, EXITED_STOPPED);
        if (i == half)
            used = mallinfo2 ().uordblks;
    }
    const struct job_past *past = history_job (&folded.history, 0);
    assert_true (past->point_count <= JOB_POINTS_LIMIT);
    assert_int_equal (past->generation_count, GENERATIONS_LIMIT);
    assert_int_equal (past->measured_count, MEASURED_STEPS_LIMIT);
    assert_int_equal (folded.history.past.minutes.count, PAST_MINUTES);
    assert_true (folded.history.past.hours.count <= PAST_HOURS);
    /* Only the series of hours has grown meanwhile; allocators of sanitizers say 0. */
    assert_true (mallinfo2 ().uordblks <= used + 2 * sizeof (struct series_point) * PAST_HOURS);
    folded_close (&folded);
}

static void oldest_ends_are_dropped (void **state)
{
    (void)state;
    struct folded folded;
    folded_open (&folded, 1, 4);
    int more = 20, jobs = HISTORY_JOBS_LIMIT + more;
    folded_submit (&folded, "first"); /* it lives on */
    for (int i = 1; i < jobs; i++) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "j%d", i);
        folded_submit (&folded, name);
        folded.fixture.now_us += i % 2;
        if (i % 2 == 0) { /* the later one ends first */
            folded_take (&folded, (struct event){.type = EVENT_CANCEL, .job = i});
            folded_take (&folded, (struct event){.type = EVENT_CANCEL, .job = i - 1});
        }
    }
    assert_int_equal (folded.history.past_count, HISTORY_JOBS_LIMIT);
    assert_non_null (history_job (&folded.history, 0));
    for (int i = 1; i < jobs; i++)
        assert_int_equal (history_job (&folded.history, i) != NULL, i > more);
    assert_null (history_job (&folded.history, jobs));
    assert_null (history_job (&folded.history, -1));
    folded_close (&folded);
}

/* ---- Kept in a snapshot ------------------------------------------------------------------- */

/* A journal that folds a history beside it, and compacts with it. */
struct keeper {
    struct store *store;
    struct journal journal;
    struct history history;
    const struct cluster *cluster;
    int commits, every;
    bool cold;
};

static int keeper_append (void *self, const struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    struct keeper *keeper = self;
    keeper->cluster = cluster;
    history_take (&keeper->history, cluster, event);
    return keeper->journal.append (keeper->journal.self, cluster, event, err);
}

static int keeper_commit (void *self, struct pollux_error *err)
{
    struct keeper *keeper = self;
    if (keeper->every == 0 || ++keeper->commits % keeper->every != 0)
        return keeper->journal.commit (keeper->journal.self, err);
    keeper->cold = true;
    return store_compact (keeper->store, keeper->cluster, NULL, 0, &keeper->history, err);
}

/* Read the file: what was kept, and the events after it. */
static void read_file (enum store_mode mode, struct cluster *cluster, struct history *history)
{
    struct pollux_error err = {""};
    struct store *store = journal_open (mode);
    struct source source = store_source (store);
    struct event event;
    *cluster = (struct cluster){0};
    int rc = store_restore (store, cluster, NULL, history, &err);
    while (rc == 0 && (rc = source.next (source.self, cluster, &event, &err)) == 1) {
        history_take (history, cluster, &event);
        rc = cluster_apply_checked (cluster, &event, &err);
    }
    if (rc < 0)
        fail_msg ("%s", err.text);
    journal_close (store);
}

static void restarts_change_nothing (void **state)
{
    (void)state;
    static const struct cluster empty;
    for (int every = 0; every < 100; every = every * 4 + 1) {
        struct keeper keeper = {.store = journal_open (STORE_DURABLE), .every = every};
        struct random_journal options = {.policy = "pollux",
                                         .rounds = 60,
                                         .seed = 8,
                                         .real = true,
                                         .groups = true,
                                         .cold = &keeper.cold};
        struct cluster cluster, read;
        struct history history;
        struct pollux_error err = {""};
        keeper.journal = store_journal (keeper.store);
        history_begin (&keeper.history, &empty);
        struct journal journal = {
            .append = keeper_append, .commit = keeper_commit, .self = &keeper};
        if (random_journal_write (&options, journal, &cluster, &err) < 0)
            fail_msg ("%s", err.text);
        journal_close (keeper.store);
        history_fits (&cluster, &keeper.history);
        assert_true (keeper.history.past_count == cluster.job_count && cluster.job_count > 20);
        read_file (STORE_READ, &read, &history);
        histories_equal (&cluster, &keeper.history, &read, &history);

        /* Compacted by another writer, and read again. */
        struct cluster again = {0};
        struct history kept;
        struct store *store = journal_open (STORE_DURABLE);
        struct source source = store_source (store);
        struct event event;
        int rc = store_restore (store, &again, NULL, &kept, &err);
        while (rc == 0 && (rc = source.next (source.self, &again, &event, &err)) == 1) {
            history_take (&kept, &again, &event);
            rc = cluster_apply_checked (&again, &event, &err);
        }
        assert_int_equal (0, rc);
        assert_int_equal (0, store_compact (store, &again, NULL, 0, &kept, &err));
        journal_close (store);
        history_clear (&history);
        cluster_clear (&read);
        read_file (STORE_READ, &read, &history);
        histories_equal (&cluster, &keeper.history, &read, &history);
        history_clear (&kept);
        cluster_clear (&again);
        history_clear (&history);
        cluster_clear (&read);
        history_clear (&keeper.history);
        cluster_clear (&cluster);
        journal_shell ("rm -f %s%s", journal_path, "");
    }
}

/* A fixture whose events are also in a journal. */
static void written_take (struct store *store, struct cluster *cluster, struct history *history,
                          struct event event)
{
    history_take (history, cluster, &event);
    journal_take (store, cluster, &event);
}

static const struct job_spec plain_spec = {
    .max_replicas = 64, .weight = 1, .preemptible = true, .restart_delay_s = NAN};

static void written_submit (struct store *store, struct cluster *cluster, struct history *history,
                            const char *name)
{
    struct job_spec spec = plain_spec;
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    written_take (store, cluster, history,
                  (struct event){.type = EVENT_SUBMIT,
                                 .job = cluster->job_count,
                                 .submit = {.spec = &spec, .hints = hints_unknown}});
}

/* What an agent may report, however strange, is read again after a compaction. */
static void strange_reports_are_read_again (void **state)
{
    (void)state;
    struct cluster cluster = {0}, read;
    struct history history, kept;
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_DURABLE);
    struct share share = {0, 2};
    history_begin (&history, &cluster);
    written_take (store, &cluster, &history,
                  (struct event){.type = EVENT_NODE,
                                 .job = -1,
                                 .node = {.name = "n", .slots = 4, .available = true}});
    written_submit (store, &cluster, &history, "a");
    written_take (
        store, &cluster, &history,
        (struct event){.type = EVENT_START, .start = {.generation = 1, .placement = {&share, 1}}});
    static const struct {
        struct pollux_grad grad;
        double time_s, progress, step_s;
    } cases[] = {
        {{.sqr = 1e-40, .var = 1}, 0.1, 1, 1},    {{.sqr = 1, .var = 1e300}, 0.1, 1, 1},
        {{.sqr = 0, .var = 0}, 1e-300, 1e18, 1},  {{.sqr = 1, .var = 1}, 1e-40, 1, 1e-300},
        {{.sqr = 1, .var = 1}, 1e12, 1e18, 1e12}, {{.sqr = 1e300, .var = 1e-300}, 1e-40, 0, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct hints hints = cluster_fixture_hints (cases[i].progress, 1e18);
        hints.grad = cases[i].grad;
        hints.model.alpha_grad = hints.model.beta_grad = cases[i].time_s;
        hints.step_s = hints.rate_factor = cases[i].step_s;
        struct report report = {.hints = hints, .batch = {64, 3}, .oracle_remaining = NAN};
        written_take (store, &cluster, &history,
                      (struct event){.at_us = (int64_t)(i + 1) * MINUTE,
                                     .type = EVENT_HINTS,
                                     .job = -1,
                                     .hints = {&report, 1}});
        assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
        journal_close (store);
        read_file (STORE_READ, &read, &kept);
        assert_int_equal (kept.lost_rows, 0);
        histories_equal (&cluster, &history, &read, &kept);
        history_clear (&kept);
        cluster_clear (&read);
        store = journal_open (STORE_DURABLE);
        cluster_clear (&cluster);
        history_clear (&history);
        assert_int_equal (0, store_restore (store, &cluster, NULL, &history, &err));
    }
    journal_close (store);
    history_clear (&history);
    cluster_clear (&cluster);
}

/* More live jobs than pasts: those without one get none after a restart, and no row is lost. */
static void more_live_jobs_than_records (void **state)
{
    (void)state;
    struct cluster cluster = {0}, read;
    struct history history, kept;
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_DURABLE);
    history_begin (&history, &cluster);
    for (int i = 0; i < HISTORY_JOBS_LIMIT + 3; i++) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "j%d", i);
        written_submit (store, &cluster, &history, name);
    }
    assert_null (history_job (&history, HISTORY_JOBS_LIMIT));
    written_take (store, &cluster, &history, (struct event){.type = EVENT_CANCEL, .job = 0});
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
    journal_close (store);
    read_file (STORE_READ, &read, &kept);
    assert_int_equal (kept.lost_rows, 0);
    histories_equal (&cluster, &history, &read, &kept);
    history_clear (&kept);
    cluster_clear (&read);
    history_clear (&history);
    cluster_clear (&cluster);
}

/* A damaged row loses a chart, never the journal. */
static void damaged_rows_are_left_out (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
        int lost;
        bool has_b; /* job b, which lives, has a past: a new one */
        int minutes;
    } cases[] = {
        {"", "", 0, true, 1},
        {"UPDATE history SET body = 'x' WHERE job = 1", "history 1", 1, true, 1},
        {"UPDATE history SET body = '{}' WHERE job >= 0", "version", 2, true, 1},
        {"UPDATE history SET body = '{}' WHERE job = -1", "history -1", 1, true, 0},
        {"INSERT INTO history VALUES (7, '{}')", "no such job", 1, true, 1},
        {"INSERT INTO history VALUES (-9, '{}')", "no such job", 1, true, 1},
        {"UPDATE history SET body = 'a' || char (0) || 'b' WHERE job = 0", "no text", 1, true, 1},
        {"DELETE FROM history WHERE job = 1", "", 0, false, 1},
        {"DELETE FROM history", "", 0, true, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct cluster cluster = {0};
        struct history history;
        struct pollux_error err = {""};
        struct store *store = journal_open (STORE_DURABLE);
        history_begin (&history, &cluster);
        written_submit (store, &cluster, &history, "a");
        written_submit (store, &cluster, &history, "b");
        written_take (store, &cluster, &history,
                      (struct event){.at_us = S, .type = EVENT_CANCEL, .job = 0});
        assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
        journal_close (store);
        history_clear (&history);
        cluster_clear (&cluster);
        journal_sql (cases[i].sql);
        read_file (STORE_READ, &cluster, &history);
        assert_int_equal (history.lost_rows, cases[i].lost);
        if (!strstr (history.lost_why.text, cases[i].says))
            fail_msg ("case %zu: %s", i, history.lost_why.text);
        assert_int_equal (history_job (&history, 1) != NULL, cases[i].has_b);
        assert_int_equal (series_count (&history.past.minutes), cases[i].minutes);
        history_fits (&cluster, &history);
        history_clear (&history);
        cluster_clear (&cluster);
        journal_shell ("rm -f %s%s", journal_path, "");
    }
}

/* A past that was dropped leaves the file, and a final row is not written again. */
static void rows_follow_the_records (void **state)
{
    (void)state;
    struct folded folded;
    struct pollux_error err = {""};
    folded_open (&folded, 1, 4);
    folded_submit (&folded, "a");
    folded_submit (&folded, "b");
    folded_take (&folded, (struct event){.type = EVENT_CANCEL, .job = 0});
    struct store *store = journal_open (STORE_DURABLE);
    struct journal journal = store_journal (store);
    struct cluster written = {0};
    struct event node = {.type = EVENT_NODE, .job = -1, .node = folded.fixture.cluster.nodes[0]};
    assert_int_equal (0, journal.append (journal.self, &written, &node, &err));
    assert_int_equal (0, cluster_apply (&written, &node, &err));
    for (int i = 0; i < 2; i++) {
        struct event submit = {.at_us = folded.fixture.now_us,
                               .type = EVENT_SUBMIT,
                               .job = i,
                               .submit = {.spec = &folded.fixture.cluster.jobs[i]->spec,
                                          .hints = folded.fixture.cluster.jobs[i]->hints}};
        if (journal.append (journal.self, &written, &submit, &err) < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (0, cluster_apply (&written, &submit, &err));
    }
    struct event cancel = {.at_us = folded.fixture.now_us, .type = EVENT_CANCEL, .job = 0};
    assert_int_equal (0, journal.append (journal.self, &written, &cancel, &err));
    assert_int_equal (0, cluster_apply (&written, &cancel, &err));
    assert_int_equal (0, store_compact (store, &written, NULL, 0, &folded.history, &err));
    journal_close (store);
    journal_sql ("UPDATE history SET body = replace (body, '\"version\":1', '\"version\": 1')");

    struct cluster cluster = {0};
    struct history history;
    store = journal_open (STORE_DURABLE);
    assert_int_equal (0, store_restore (store, &cluster, NULL, &history, &err));
    histories_equal (&written, &folded.history, &cluster, &history);
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
    journal_close (store);
    /* Only the row of the ended job is as it was. */
    journal_sql (
        "CREATE TEMP TABLE expected AS SELECT CASE WHEN (SELECT group_concat (job, ' ') FROM "
        "(SELECT job"
        " FROM history WHERE body LIKE '{\"version\": 1%' ORDER BY job)) = '0' THEN 1 END AS one;"
        "CREATE TEMP TABLE checked (one INTEGER NOT NULL);"
        "INSERT INTO checked SELECT one FROM expected");
    /* Without its past the row goes. */
    struct job_past *past = history.jobs[0].past;
    history.jobs[0].past = NULL;
    store = journal_open (STORE_DURABLE);
    struct cluster third = {0};
    assert_int_equal (0, store_restore (store, &third, NULL, NULL, &err));
    assert_int_equal (0, store_compact (store, &third, NULL, 0, &history, &err));
    journal_close (store);
    journal_sql ("CREATE TEMP TABLE checked (count INTEGER CHECK (count = 2));"
                 "INSERT INTO checked SELECT count (*) FROM history");
    history.jobs[0].past = past;
    history_clear (&history);
    cluster_clear (&third);
    cluster_clear (&cluster);
    cluster_clear (&written);
    folded_close (&folded);
}

/* ---- Text --------------------------------------------------------------------------------- */

#define JOB(points, rest)                                                                          \
    "{\"version\":1,\"until_us\":1000,\"present\":\"" ZERO8 "\",\"points\":" points "," rest "}"
#define ZERO8 "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
#define COLUMNS(at, value)                                                                         \
    "{\"at\":\"" at "\",\"replicas\":\"" value "\",\"nodes\":\"" value "\",\"batch\":\"" value     \
    "\",\"rate_factor\":\"" value "\",\"noise_scale\":\"" value "\",\"throughput\":\"" value       \
    "\",\"efficiency\":\"" value "\",\"goodput\":\"" value "\",\"progress\":\"" value              \
    "\",\"step_s\":\"" value "\"}"
#define NONE COLUMNS ("", "")
#define LISTS "\"generations\":[],\"measured\":[]"
#define GENERATION "{\"generation\":1,\"started_us\":5,\"replicas\":2,\"nodes\":1,"

static void nonsense_is_refused (void **state)
{
    (void)state;
    static const struct {
        const char *text, *says; /* NULL: accepted */
    } cases[] = {
        {JOB (NONE, LISTS), NULL},
        {JOB (COLUMNS ("0000000000000005", "3f800000"), LISTS), NULL},
        {JOB (NONE, "\"generations\":[" GENERATION "\"placement\":{\"n0\":2}}],\"measured\":[]"),
         NULL},
        {"{}", "version"},
        {"{\"version\":2}", "version"},
        {JOB (NONE, "\"generations\":[]"), "measured"},
        {JOB (COLUMNS ("00000000000003e8", "3f800000"), LISTS), "ascending times"},
        {JOB (COLUMNS ("f000000000000005", "3f800000"), LISTS), "ascending times"},
        {JOB (COLUMNS ("0000000000000005", "3F800000"), LISTS), "digits from 0 to f"},
        {JOB (COLUMNS ("0000000000000005", "7f800000"), LISTS), "finite"},
        {JOB (COLUMNS ("0000000000000005", ""), LISTS), "expected 1 numbers"},
        {JOB (COLUMNS ("05", ""), LISTS), "numbers of 16 digits"},
        {JOB (NONE, "\"generations\":[" GENERATION "\"placement\":{\"n7\":2}}],\"measured\":[]"),
         "n7"},
        {JOB (NONE, "\"generations\":[" GENERATION "\"placement\":{}}],\"measured\":[]"), "nodes"},
        {JOB (NONE, "\"generations\":[" GENERATION
                    "\"kind\":\"bored\",\"placement\":{\"n0\":2}}],\"measured\":[]"),
         "kind"},
        {JOB (NONE, "\"generations\":[" GENERATION "\"placement\":{\"n0\":2}}," GENERATION
                    "\"placement\":{\"n0\":2}}],\"measured\":[]"),
         "only the last one"},
        {JOB (NONE, "\"generations\":[],\"measured\":[{\"node\":\"n9\",\"nodes\":1,\"replicas\":1,"
                    "\"m\":1,\"at_us\":1,\"step_s\":1}]"),
         "a node of the cluster"},
        {JOB (NONE, "\"generations\":[],\"measured\":[{\"node\":\"n0\",\"nodes\":1,\"replicas\":1,"
                    "\"m\":0,\"at_us\":1,\"step_s\":1}]"),
         "m: expected"},
    };
    struct cluster_fixture fixture;
    cluster_fixture_init (&fixture, 2, 4);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct job_past past;
        struct pollux_error err = {""};
        int code = wire_job_past_decode (cases[i].text, strlen (cases[i].text), "row",
                                         &fixture.cluster, &past, &err);
        if ((code == 0) != !cases[i].says || (code < 0 && !strstr (err.text, cases[i].says)))
            fail_msg ("case %zu: %d and %s", i, code, err.text);
        if (code == 0)
            job_past_clear (&past);
    }
    cluster_fixture_clear (&fixture);
}

static void nonsense_of_the_cluster_is_refused (void **state)
{
    (void)state;
    struct cluster_past past = cluster_past_make (), back;
    struct wire_text_buffer buffer = {0};
    struct pollux_error err = {""};
    double values[SERIES_VALUES] = {1, 2, 3, 4, 5, NAN};
    series_add (&past.minutes, 0, 3 * MINUTE + S, values);
    series_add (&past.hours, 0, 3 * MINUTE + S, values);
    past.until_us = 3 * MINUTE + S;
    assert_int_equal (0, wire_cluster_past_encode (&past, &buffer, &err));
    static const struct {
        const char *word, *in_place, *says;
    } cases[] = {
        {"\"version\":1", "\"version\":9", "version"},
        {"00000000039387", "00000000039388", "ascending multiples"}, /* 1 minute: 0x3938700 */
        {"\"open_us\":180000000", "\"open_us\":180000001", "a later multiple"},
        {"\"open_us\":180000000", "\"open_us\":120000000", "a later multiple"},
        {"\"used\":\"4", "\"used\":\"g", "digits"},
        {"\"known\":\"3ff", "\"known\":\"7ff", "one period"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char *text = buffer_text (&buffer), *place = strstr (text, cases[i].word);
        assert_non_null (place);
        memcpy (place, cases[i].in_place, strlen (cases[i].in_place));
        int code = wire_cluster_past_decode (text, strlen (text), "row", &back, &err);
        if (code >= 0 || !strstr (err.text, cases[i].says))
            fail_msg ("case %zu: %d and %s", i, code, err.text);
        free (text);
    }
    assert_int_equal (0, wire_cluster_past_decode (buffer.text, buffer.length, "row", &back, &err));
    assert_int_equal (back.minutes.count, 3);
    cluster_past_clear (&back);
    cluster_past_clear (&past);
    wire_text_buffer_clear (&buffer);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (means_are_weighted_by_time),
        cmocka_unit_test (series_are_bounded),
        cmocka_unit_test (merging_keeps_the_area),
        cmocka_unit_test (unknown_values_take_no_part),
        cmocka_unit_test (first_and_last_generations_are_kept),
        cmocka_unit_test (latest_steps_are_kept),
        cmocka_unit_test (a_job_is_followed),
        cmocka_unit_test (a_restart_ends_measurements),
        cmocka_unit_test (memory_is_bounded),
        cmocka_unit_test (oldest_ends_are_dropped),
        cmocka_unit_test_setup_teardown (restarts_change_nothing, journal_set_up,
                                         journal_tear_down),
        cmocka_unit_test_setup_teardown (strange_reports_are_read_again, journal_set_up,
                                         journal_tear_down),
        cmocka_unit_test_setup_teardown (more_live_jobs_than_records, journal_set_up,
                                         journal_tear_down),
        cmocka_unit_test_setup_teardown (damaged_rows_are_left_out, journal_set_up,
                                         journal_tear_down),
        cmocka_unit_test_setup_teardown (rows_follow_the_records, journal_set_up,
                                         journal_tear_down),
        cmocka_unit_test (nonsense_is_refused),
        cmocka_unit_test (nonsense_of_the_cluster_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
