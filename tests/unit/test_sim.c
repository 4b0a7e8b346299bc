/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole simulations: the published results job by job, equal results with any number of
 * threads, and invariants of every policy.
 */
#include "unit.h"
#include "sim/sim.h"
#include "sim/parallel_runs.h"

#include <errno.h>
#include <jansson.h>

#define OSDI21 TEST_DATA "osdi21/"

/* Fewer cases for slow tools (valgrind, sanitizers). */
static bool brief (void)
{
    return soak_count (1000) < 10;
}

static struct ground_truth *published_truth (void)
{
    fclose (golden_open (OSDI21 "traces/bert/placements.csv"));
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    if (ground_truth_from_traces (OSDI21 "traces", &truth, &err) < 0)
        fail_msg ("%s", err.text);
    return truth;
}

static struct workload published_workload (const struct ground_truth *truth, int number)
{
    char path[64];
    struct workload workload;
    struct pollux_error err;
    snprintf (path, sizeof (path), OSDI21 "workloads/workload-%d.csv", number);
    if (workload_read (path, truth, &workload, &err) < 0)
        fail_msg ("%s", err.text);
    return workload;
}

static const struct policy *policy_named (const char *name)
{
    const struct policy *policy = NULL;
    assert_int_equal (0, policy_find (name, &policy, NULL));
    return policy;
}

static void published_job_by_job (const char *name)
{
    struct ground_truth *truth = published_truth ();
    char path[64];
    snprintf (path, sizeof (path), OSDI21 "published/%s.json", name);
    json_t *published = json_load_file (path, 0, NULL);
    assert_non_null (published);
    struct sim_config config = sim_defaults ();
    int compared = 0, workloads = brief () ? 1 : 6;
    for (int number = 1; number <= workloads; number++) {
        struct workload workload = published_workload (truth, number);
        char key[32];
        snprintf (key, sizeof (key), "workload-%d", number);
        json_t *jct = json_object_get (json_object_get (published, "jct"), key);
        assert_int_equal (json_object_size (jct), workload.count);
        struct sim_result result;
        assert_int_equal (0,
                          sim_run (&config, &workload, policy_named (name), NULL, &result, NULL));
        for (int i = 0; i < workload.count; i++, compared++) {
            double want = json_number_value (json_object_get (jct, workload.jobs[i].name));
            if (fabs (result.jobs[i].jct_s - want) > 1e-6)
                fail_msg ("%s, %s: %g s, published %g s", key, workload.jobs[i].name,
                          result.jobs[i].jct_s, want);
        }
        assert_false (result.modelled);
        sim_result_clear (&result);
        workload_clear (&workload);
    }
    assert_int_equal (compared, 160 * workloads);
    json_decref (published);
    ground_truth_free (truth);
}

static void tiresias_as_published (void **state)
{
    (void)state;
    published_job_by_job ("tiresias");
}

static void optimus_as_published (void **state)
{
    (void)state;
    published_job_by_job ("optimus");
}

/* ---- Built-in applications ---- */

static struct workload small_workload (const struct ground_truth *truth, int count)
{
    struct workload workload = {.jobs = calloc ((size_t)count, sizeof (workload.jobs[0])),
                                .count = count};
    assert_non_null (workload.jobs);
    static const char *const apps[] = {"cifar10", "ncf", "bert", "deepspeech2"};
    for (int i = 0; i < count; i++) {
        struct workload_job *job = &workload.jobs[i];
        snprintf (job->name, sizeof (job->name), "job-%d", i);
        job->app = ground_truth_app (truth, apps[i % 4]);
        assert_non_null (job->app);
        job->submit_s = 97 * i % 1800; /* not sorted */
        job->replicas = 1 + i % 4;
        job->batch = app_limits (job->app)->init_batch;
        int64_t least = app_limits (job->app)->min_local * job->replicas;
        job->batch = job->batch > least ? job->batch : least;
    }
    return workload;
}

static void threads_change_nothing (void **state)
{
    (void)state;
    enum { JOBS = 12, TASKS = 6 };
    static const char *const names[TASKS] = {"tiresias", "optimus", "fifo",
                                             "srtf",     "las",     "equal-share"};
    struct ground_truth *truth;
    assert_int_equal (0, ground_truth_from_profiles (NULL, &truth, NULL));
    struct workload workload = small_workload (truth, JOBS);
    double want[TASKS][JOBS];
    for (int threads = 1; threads <= 4; threads += 3) {
        struct sim_task *tasks = calloc (TASKS, sizeof (tasks[0]));
        assert_non_null (tasks);
        for (int i = 0; i < TASKS; i++) {
            tasks[i].config = sim_defaults ();
            tasks[i].config.nodes = 2;
            tasks[i].workload = &workload;
            tasks[i].policy = policy_named (names[i]);
        }
        assert_int_equal (0, sim_tasks_run (tasks, TASKS, threads, (struct task_watcher){0}, NULL));
        for (int i = 0; i < TASKS; i++) {
            for (int j = 0; j < JOBS; j++) {
                if (threads == 1)
                    want[i][j] = tasks[i].result.jobs[j].jct_s;
                assert_true (tasks[i].result.jobs[j].jct_s == want[i][j]);
            }
            sim_result_clear (&tasks[i].result);
        }
        free (tasks);
    }
    workload_clear (&workload);
    ground_truth_free (truth);
}

/* A journal that checks events: no slot is used twice, no unknown job runs. */
struct auditor {
    int starts, finishes, rounds;
    int models, limits; /* in reports: models, and those with a limit of the gain */
};

static void count_reports (struct auditor *auditor, const struct event *event)
{
    for (int i = 0; i < event->hints.count; i++) {
        const struct hints *hints = &event->hints.reports[i].hints;
        auditor->models += hints->has_model;
        auditor->limits += hints->has_model && hints->grad.gain_max >= 1;
        assert_true (hints->grad.gain_max == 0 || hints->grad.gain_max >= 1);
    }
}

static int audit (void *self, const struct cluster *cluster, const struct event *event,
                  struct pollux_error *error)
{
    (void)error;
    struct auditor *auditor = self;
    auditor->starts += event->type == EVENT_START;
    auditor->finishes += event->type == EVENT_EXIT && event->exit.kind == EXITED_FINISHED;
    auditor->rounds += event->type == EVENT_ROUND;
    if (event->type == EVENT_HINTS)
        count_reports (auditor, event);
    if (event->type == EVENT_PLAN) {
        int used[8] = {0};
        for (int i = 0; i < event->plan->job_count; i++) {
            struct placement placement = plan_placement (event->plan, i);
            for (int j = 0; j < placement.count; j++)
                used[placement.shares[j].node] += placement.shares[j].replicas;
        }
        for (int n = 0; n < cluster->node_count; n++)
            assert_in_range (used[n], 0, cluster->nodes[n].slots);
    }
    return 0;
}

static void run_every_policy (const struct workload *workload, enum job_agent_kind agent)
{
    int jobs = workload->count;
    for (const struct policy *const *at = policies; *at; at++) {
        struct auditor auditor = {0};
        struct sim_config config = sim_defaults ();
        config.nodes = 3;
        config.interference = 0.1;
        config.agent = agent;
        config.journal = (struct journal){.append = audit, .self = &auditor};
        struct sim_result result;
        struct pollux_error err;
        if (sim_run (&config, workload, *at, NULL, &result, &err) < 0)
            fail_msg ("%s: %s", (*at)->name, err.text);
        assert_int_equal (auditor.finishes, jobs);
        assert_int_equal (auditor.rounds, result.rounds);
        /* The real agent reports its limit; ncf, whose batch is fixed, has none. */
        bool limited = agent == JOB_AGENT_REAL && (*at)->adaptive;
        assert_int_equal (auditor.models > 0, (*at)->adaptive);
        assert_int_equal (auditor.limits > 0, limited);
        assert_true (!limited || auditor.limits < auditor.models);
        double slot_s = 0, restarts = 0, last_s = 0, first_s = INFINITY;
        for (int i = 0; i < jobs; i++) {
            assert_true (result.jobs[i].jct_s > config.restart_delay_s);
            assert_true (result.jobs[i].rho > 0);
            slot_s += result.jobs[i].slot_s;
            restarts += result.jobs[i].restarts;
            first_s = fmin (first_s, workload->jobs[i].submit_s);
            last_s = fmax (last_s, workload->jobs[i].submit_s + result.jobs[i].jct_s);
        }
        assert_int_equal (auditor.starts, jobs + (int)restarts);
        assert_true (relative (result.makespan_s, last_s - first_s) < 1e-12);
        assert_true (relative (result.utilisation, slot_s / (12 * result.makespan_s)) < 1e-12);
        assert_true (result.utilisation > 0 && result.utilisation <= 1);
        sim_result_clear (&result);
    }
}

static void every_policy_finishes_every_job (void **state)
{
    (void)state;
    struct ground_truth *truth;
    assert_int_equal (0, ground_truth_from_profiles (NULL, &truth, NULL));
    struct workload workload = small_workload (truth, brief () ? 2 : 10);
    run_every_policy (&workload, JOB_AGENT_PUBLISHED);
    run_every_policy (&workload, JOB_AGENT_REAL);
    workload_clear (&workload);
    ground_truth_free (truth);
}

/* rho of a job alone in the cluster is exactly 1. */
static void isolated_run_is_fair (void **state)
{
    (void)state;
    struct ground_truth *truth;
    assert_int_equal (0, ground_truth_from_profiles (NULL, &truth, NULL));
    struct workload workload = small_workload (truth, 1);
    workload.jobs[0].replicas = 4;
    workload.jobs[0].batch = app_limits (workload.jobs[0].app)->min_local * 4;
    struct sim_config config = sim_defaults ();
    config.nodes = 1;
    struct sim_result result;
    assert_int_equal (0, sim_run (&config, &workload, policy_named ("fifo"), NULL, &result, NULL));
    assert_true (fabs (result.jobs[0].rho - 1) < 1e-9);
    assert_true (result.unfair == 0 || result.jobs[0].rho > 1);
    sim_result_clear (&result);
    workload_clear (&workload);
    ground_truth_free (truth);
}

static void misconfiguration_is_named (void **state)
{
    (void)state;
    struct ground_truth *truth;
    assert_int_equal (0, ground_truth_from_profiles (NULL, &truth, NULL));
    struct workload workload = small_workload (truth, 4);
    const struct {
        struct sim_config config;
        const char *word;
    } cases[] = {
        {{.nodes = 0, .slots_per_node = 4, .interval_s = 60, .max_replicas = 64}, "nodes"},
        {{.nodes = 1, .slots_per_node = 0, .interval_s = 60, .max_replicas = 64}, "GPUs"},
        {{.nodes = 1, .slots_per_node = 4, .interval_s = NAN, .max_replicas = 64}, "interval"},
        {{.nodes = 1, .slots_per_node = 4, .interval_s = 60, .max_replicas = 0}, "replicas"},
        {{.nodes = 1, .slots_per_node = 4, .interval_s = 60, .max_replicas = 64, .p = 2}, "p:"},
        {{.nodes = 1, .slots_per_node = 2, .interval_s = 60, .max_replicas = 64}, "job-2"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct sim_result result;
        struct pollux_error err = {""};
        assert_int_equal (-EINVAL, sim_run (&cases[i].config, &workload, policy_named ("fifo"),
                                            NULL, &result, &err));
        if (!strstr (err.text, cases[i].word))
            fail_msg ("'%s' does not name %s", err.text, cases[i].word);
    }
    workload_clear (&workload);
    ground_truth_free (truth);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (tiresias_as_published),
        cmocka_unit_test (optimus_as_published),
        cmocka_unit_test (threads_change_nothing),
        cmocka_unit_test (every_policy_finishes_every_job),
        cmocka_unit_test (isolated_run_is_fair),
        cmocka_unit_test (misconfiguration_is_named),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
