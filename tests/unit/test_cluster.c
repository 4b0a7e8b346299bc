/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster as a fold of events, and the loop around it with a scripted source and a backend that
 * starts every planned job.
 */
#include "unit.h"
#include "loop/loop.h"

#include <errno.h>

static const int64_t S = 1000000; /* microseconds */

static struct job_spec spec_named (const char *name, int replicas)
{
    struct job_spec spec = {.max_replicas = 64,
                            .weight = 1,
                            .preemptible = true,
                            .restart_delay_s = NAN,
                            .fixed_replicas = replicas};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    return spec;
}

static struct event node_event (const char *name, int slots)
{
    struct event event = {
        .type = EVENT_NODE, .job = -1, .node = {.slots = slots, .available = true}};
    snprintf (event.node.name, sizeof (event.node.name), "%s", name);
    return event;
}

static struct event submit_event (int64_t at_us, int job, const struct job_spec *spec)
{
    return (struct event){
        .at_us = at_us, .type = EVENT_SUBMIT, .job = job, .submit = {.spec = spec}};
}

static void life_of_a_job (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct job_spec spec = spec_named ("a", 4);
    struct event events[] = {
        node_event ("n0", 4),
        submit_event (10 * S, 0, &spec),
        {.at_us = 60 * S, .type = EVENT_ROUND, .job = -1},
        {.at_us = 60 * S,
         .type = EVENT_START,
         .start = {.generation = 1, .placement = {(struct share[]){{0, 3}}, 1}}},
        {.at_us = 120 * S, .type = EVENT_ROUND, .job = -1},
        {.at_us = 120 * S, .type = EVENT_EXIT, .exit = {.generation = 1, .kind = EXITED_STOPPED}},
        {.at_us = 120 * S,
         .type = EVENT_START,
         .start = {.generation = 2, .placement = {(struct share[]){{0, 4}}, 1}}},
        {.at_us = 130 * S, .type = EVENT_EXIT, .exit = {.generation = 2, .kind = EXITED_FAILED}},
        {.at_us = 180 * S,
         .type = EVENT_START,
         .start = {.generation = 3, .placement = {(struct share[]){{0, 1}}, 1}}},
        {.at_us = 200 * S, .type = EVENT_EXIT, .exit = {.generation = 3, .kind = EXITED_FINISHED}},
    };
    for (size_t i = 0; i < COUNT (events); i++)
        assert_int_equal (0, cluster_apply (&cluster, &events[i], NULL));
    const struct job *job = cluster.jobs[0];
    assert_int_equal (job->phase, JOB_FINISHED);
    assert_int_equal (job->end_us, 200 * S);
    assert_int_equal (job->generation, 3);
    assert_int_equal (job->restarts,
                      1); /* the first start, and one after a failure, are no restarts */
    assert_true (fabs (job->attained_s - (3 * 60 + 4 * 10 + 1 * 20)) < 1e-9);
    assert_true (fabs (job->held_s - (60 + 10 + 20)) < 1e-9);
    assert_int_equal (cluster.live.count, 0);
    assert_int_equal (cluster_find_job (&cluster, "a"), 0);
    assert_int_equal (cluster_find_job (&cluster, "b"), -1);
    cluster_clear (&cluster);
}

static void invalid_events_change_nothing (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct job_spec a = spec_named ("a", 1), b = spec_named ("b", 1);
    struct event submit = submit_event (10 * S, 0, &a);
    assert_int_equal (0, cluster_apply (&cluster, &submit, NULL));
    struct plan plan = {0};
    assert_int_equal (0, plan_reset (&plan, 2));
    struct event misfits[] = {
        submit_event (10 * S, 1, &a),                       /* name twice */
        submit_event (10 * S, 2, &b),                       /* index out of order */
        submit_event (9 * S, 1, &b),                        /* earlier than the last event */
        {.at_us = 10 * S, .type = EVENT_CANCEL, .job = 1},  /* no such job */
        {.at_us = 10 * S, .type = EVENT_CANCEL, .job = -1}, /* no job at all */
        {.at_us = 10 * S,
         .type = EVENT_EXIT,
         .exit = {.generation = 0, .kind = EXITED_STOPPED}},                /* does not run */
        {.at_us = 10 * S, .type = EVENT_START, .start = {.generation = 2}}, /* skips a generation */
        {.at_us = 10 * S, .type = EVENT_PLAN, .job = -1, .plan = &plan},    /* two jobs */
        {.at_us = 10 * S, .type = EVENT_HINTS, .hints = {&(struct report){.job = 7}, 1}},
    };
    for (size_t i = 0; i < COUNT (misfits); i++) {
        struct pollux_error err = {""}, first = {""};
        assert_int_equal (-EINVAL, cluster_check (&cluster, &misfits[i], &first));
        assert_int_equal (-EINVAL, cluster_apply (&cluster, &misfits[i], &err));
        assert_true (strlen (err.text) > 10);
        assert_string_equal (err.text, first.text);
        assert_int_equal (cluster.job_count, 1);
        assert_int_equal (cluster.live.count, 1);
        assert_int_equal (cluster.jobs[0]->phase, JOB_PENDING);
    }
    plan_clear (&plan);
    cluster_clear (&cluster);
}

/* ---- Ends of runs ---- */

/* Jobs a, b and so on, all of which run one replica on n0 since 60 s; as programs or not. */
static void running_cluster_with (struct cluster *cluster, int jobs, bool programs,
                                  double backoff_s)
{
    static char *command[] = {"train", NULL};
    const struct launch launch = {.command = command, .max_failures = 3, .backoff_s = backoff_s};
    struct event node = node_event ("n0", 8), round = {.at_us = 60 * S, .type = EVENT_ROUND};
    assert_int_equal (0, cluster_apply (cluster, &node, NULL));
    for (int i = 0; i < jobs; i++) {
        struct job_spec spec = spec_named ((char[]){(char)('a' + i), '\0'}, 1);
        struct event submit = submit_event (10 * S, i, &spec);
        submit.submit.launch = programs ? &launch : NULL;
        assert_int_equal (0, cluster_apply (cluster, &submit, NULL));
    }
    struct plan plan = {0};
    assert_int_equal (0, cluster_apply (cluster, &round, NULL));
    assert_int_equal (0, plan_reset (&plan, jobs));
    struct placement one = {(struct share[]){{0, 1}}, 1};
    for (int i = 0; i < jobs; i++)
        assert_int_equal (0, plan_place (&plan, i, one));
    struct event answer = {.at_us = 60 * S, .type = EVENT_PLAN, .job = -1, .plan = &plan};
    assert_int_equal (0, cluster_apply (cluster, &answer, NULL));
    for (int i = 0; i < jobs; i++) {
        struct event start = {.at_us = 60 * S,
                              .type = EVENT_START,
                              .job = i,
                              .start = {.generation = 1, .placement = one}};
        assert_int_equal (0, cluster_apply (cluster, &start, NULL));
    }
    plan_clear (&plan);
}

static void running_cluster (struct cluster *cluster, int jobs, bool programs)
{
    running_cluster_with (cluster, jobs, programs, 100);
}

static struct event exit_event (int64_t at_us, int job, int generation, enum exit_kind kind)
{
    return (struct event){
        .at_us = at_us, .type = EVENT_EXIT, .job = job, .exit = {generation, kind, "how", 0}};
}

/* A cancelled job that runs keeps its slots until its EXIT, of any kind; one that waits ends at
 * once. */
static void cancelled_jobs_end_with_their_run (void **state)
{
    (void)state;
    const struct {
        enum exit_kind kind;
        enum job_phase phase;
    } cases[] = {
        {EXITED_STOPPED, JOB_CANCELLED},
        {EXITED_FAILED, JOB_CANCELLED},
        {EXITED_GAVE_UP, JOB_CANCELLED},
        {EXITED_FINISHED, JOB_FINISHED}, /* it finished before it was stopped */
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct cluster cluster = {0};
        running_cluster (&cluster, 2, true);
        const struct job *job = cluster.jobs[0];
        struct event cancel = {.at_us = 70 * S, .type = EVENT_CANCEL, .job = 0};
        assert_int_equal (0, cluster_apply (&cluster, &cancel, NULL));
        assert_int_equal (job->phase, JOB_CANCELLING);
        assert_true (job_live (job) && job_runs (job));
        assert_int_equal (placement_replicas (job->placement), 1);
        assert_int_equal (job->desired.count, 0);
        assert_int_equal (
            0, cluster_apply (&cluster, &cancel, NULL)); /* a second CANCEL changes nothing */
        struct event round = {.at_us = 80 * S, .type = EVENT_ROUND, .job = -1};
        assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
        assert_int_equal (cluster.live.count, 2);
        assert_int_equal (cluster.active.count, 1); /* nothing to decide */
        assert_int_equal (cluster.active.indices[0], 1);
        struct event end = exit_event (90 * S, 0, 1, cases[i].kind);
        assert_int_equal (0, cluster_apply (&cluster, &end, NULL));
        assert_int_equal (job->phase, cases[i].phase);
        assert_int_equal (job->end_us, 90 * S);
        assert_int_equal (job->placement.count, 0);
        assert_true (fabs (job->attained_s - 30) < 1e-9);
        assert_string_equal (job->detail, "how");
        assert_int_equal (cluster.live.count, 1);
        assert_int_equal (-EINVAL, cluster_check (&cluster, &cancel, NULL));
        cluster_clear (&cluster);
    }
}

/* A program that fails loses its slots and is retried after a back-off that doubles. */
static void failed_jobs_wait (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    running_cluster (&cluster, 1, true);
    const struct job *job = cluster.jobs[0];
    struct placement one = {(struct share[]){{0, 1}}, 1};
    int64_t now_us = 60 * S;
    static const int waits_s[] = {100, 200, 400, 600, 600};
    for (size_t i = 0; i < COUNT (waits_s); i++) {
        struct event end = exit_event (now_us += 10 * S, 0, (int)i + 1, EXITED_FAILED);
        assert_int_equal (0, cluster_apply (&cluster, &end, NULL));
        assert_int_equal (job->phase, JOB_PENDING);
        assert_int_equal (job->failures, (int)i + 1);
        assert_int_equal (job->desired.count, 0);
        assert_int_equal (job->retry_us, now_us + waits_s[i] * S);
        struct event round = {.at_us = job->retry_us - 1, .type = EVENT_ROUND, .job = -1};
        assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
        assert_int_equal (cluster.active.count, 0);
        assert_int_equal (cluster_view (&cluster, &(struct round){0}).paused, 1);
        round.at_us = now_us = job->retry_us;
        assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
        assert_int_equal (cluster.active.count, 1);
        assert_int_equal (cluster_view (&cluster, &(struct round){0}).paused, 0);
        struct event start = {.at_us = now_us,
                              .type = EVENT_START,
                              .start = {.generation = (int)i + 2, .placement = one}};
        assert_int_equal (0, cluster_apply (&cluster, &start, NULL));
    }
    assert_int_equal (job->restarts, 0);
    struct event end = exit_event (now_us, 0, job->generation, EXITED_GAVE_UP);
    assert_int_equal (0, cluster_apply (&cluster, &end, NULL));
    assert_int_equal (job->phase, JOB_FAILED);
    cluster_clear (&cluster);
}

/* Also without a back-off the next plan decides where a job that failed starts again. */
static void failed_jobs_have_no_slots (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    running_cluster_with (&cluster, 1, true, 0);
    struct event end = exit_event (70 * S, 0, 1, EXITED_FAILED);
    assert_int_equal (0, cluster_apply (&cluster, &end, NULL));
    assert_int_equal (cluster.jobs[0]->desired.count, 0);
    assert_int_equal (cluster.jobs[0]->retry_us, 70 * S);
    cluster_clear (&cluster);
}

/* An end from outside may have a pause: until it is over the job has no slots, and takes part in no round.  This is
 * no failure.  A job that has ended has no pause. */
static void paused_jobs_wait (void **state)
{
    (void)state;
    static const struct {
        enum exit_kind kind;
        enum job_phase phase;
        int pause_s;
    } cases[] = {{EXITED_AGAIN, JOB_PENDING, 20},
                 {EXITED_STOPPED, JOB_PENDING, 20},
                 {EXITED_AGAIN, JOB_PENDING, 0},
                 {EXITED_FINISHED, JOB_FINISHED, 20}};
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct cluster cluster = {0};
        running_cluster (&cluster, 1, true);
        const struct job *job = cluster.jobs[0];
        struct event end = exit_event (70 * S, 0, 1, cases[i].kind);
        bool waits = cases[i].pause_s > 0 && cases[i].phase == JOB_PENDING;
        end.exit.pause_s = cases[i].pause_s;
        assert_int_equal (0, cluster_apply (&cluster, &end, NULL));
        assert_int_equal (job->phase, cases[i].phase);
        assert_int_equal (job->failures, 0);
        assert_int_equal (job->retry_us, waits ? 90 * S : 0);
        assert_int_equal (job->desired.count, cases[i].phase == JOB_PENDING && !waits);
        struct event round = {.at_us = 90 * S - 1, .type = EVENT_ROUND, .job = -1};
        assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
        assert_int_equal (cluster.active.count, cases[i].phase == JOB_PENDING && !waits);
        round.at_us = 90 * S;
        assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
        assert_int_equal (cluster.active.count, cases[i].phase == JOB_PENDING);
        cluster_clear (&cluster);
    }
}

/* A plan may come some time after its round: it does not apply to a, which has finished, b, which is
 * cancelled, c, which has failed, and e, which is new; it applies to d. */
static void late_plan (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    running_cluster (&cluster, 4, true);
    struct job_spec e = spec_named ("e", 1);
    struct event events[] = {
        {.at_us = 120 * S, .type = EVENT_ROUND, .job = -1},
        exit_event (121 * S, 0, 1, EXITED_FINISHED),
        {.at_us = 121 * S, .type = EVENT_CANCEL, .job = 1},
        exit_event (121 * S, 2, 1, EXITED_FAILED),
        submit_event (121 * S, 4, &e),
    };
    for (size_t i = 0; i < COUNT (events); i++)
        assert_int_equal (0, cluster_apply (&cluster, &events[i], NULL));
    struct plan plan = {0};
    assert_int_equal (0, plan_reset (&plan, 4));
    for (int i = 0; i < 4; i++)
        assert_int_equal (0,
                          plan_place (&plan, i, (struct placement){(struct share[]){{0, 2}}, 1}));
    struct event answer = {.at_us = 122 * S, .type = EVENT_PLAN, .job = -1, .plan = &plan};
    assert_int_equal (0, cluster_apply (&cluster, &answer, NULL));
    static const int desired[] = {0, 0, 0, 2, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal (placement_replicas (cluster.jobs[i]->desired), desired[i]);
    plan_clear (&plan);
    cluster_clear (&cluster);
}

/* It also does not apply to a job that an earlier plan started since the round: the job would be moved
 * without need, or although it must not be moved. */
static void late_plan_of_a_started_job (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct job_spec spec = spec_named ("a", 1);
    struct plan plan = {0};
    struct event events[] = {
        node_event ("n0", 4),
        node_event ("n1", 4),
        submit_event (S, 0, &spec),
        {.at_us = 2 * S, .type = EVENT_ROUND, .job = -1},
        {.at_us = 2 * S, .type = EVENT_PLAN, .job = -1, .plan = &plan},
        {.at_us = 3 * S, .type = EVENT_ROUND, .job = -1},
        {.at_us = 4 * S,
         .type = EVENT_START,
         .start = {.generation = 1, .placement = {(struct share[]){{0, 1}}, 1}}},
    };
    assert_int_equal (0, plan_reset (&plan, 1));
    assert_int_equal (0, plan_place (&plan, 0, (struct placement){(struct share[]){{0, 1}}, 1}));
    for (size_t i = 0; i < COUNT (events); i++)
        assert_int_equal (0, cluster_apply (&cluster, &events[i], NULL));
    struct event late = {.at_us = 5 * S, .type = EVENT_PLAN, .job = -1, .plan = &plan};
    assert_int_equal (0, plan_place (&plan, 0, (struct placement){(struct share[]){{1, 1}}, 1}));
    assert_int_equal (0, cluster_apply (&cluster, &late, NULL));
    assert_true (placement_equal (cluster.jobs[0]->desired, cluster.jobs[0]->placement));
    struct event round = {.at_us = 6 * S, .type = EVENT_ROUND, .job = -1};
    late.at_us = 7 * S; /* the next one may move it again */
    assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
    assert_int_equal (0, cluster_apply (&cluster, &late, NULL));
    assert_int_equal (cluster.jobs[0]->desired.shares[0].node, 1);
    plan_clear (&plan);
    cluster_clear (&cluster);
}

/* Young jobs have at least least_age_s, and the delay of a start is measured. */
static void ages_and_delays (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    running_cluster (&cluster, 1, true);
    const struct job *job = cluster.jobs[0];
    assert_true (isnan (job->delay_s));
    struct event round = {.at_us = 61 * S, .type = EVENT_ROUND, .round = {.least_age_s = 300}};
    struct event started = {.at_us = 65 * S, .type = EVENT_STARTED, .start = {.generation = 1}};
    assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
    assert_true (job->age_s == 300);
    assert_int_equal (0, cluster_apply (&cluster, &started, NULL));
    assert_true (fabs (job->delay_s - 5) < 1e-9);
    round.at_us = 410 * S;
    assert_int_equal (0, cluster_apply (&cluster, &round, NULL));
    assert_true (fabs (job->age_s - 400) < 1e-9);
    cluster_clear (&cluster);
}

static void many_jobs_are_found (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    char name[NAME_SIZE];
    for (int i = 0; i < 1000; i++) {
        snprintf (name, sizeof (name), "job-%d", i);
        struct job_spec spec = spec_named (name, 1);
        struct event submit = submit_event (i, i, &spec);
        assert_int_equal (0, cluster_apply (&cluster, &submit, NULL));
    }
    for (int i = 0; i < 1000; i += 2) {
        struct event cancel = {.at_us = 1000, .type = EVENT_CANCEL, .job = i};
        assert_int_equal (0, cluster_apply (&cluster, &cancel, NULL));
    }
    assert_int_equal (cluster.live.count, 500);
    for (int i = 0; i < 1000; i++) {
        snprintf (name, sizeof (name), "job-%d", i);
        assert_int_equal (cluster_find_job (&cluster, name), i);
    }
    for (int i = 0; i < 500; i++)
        assert_int_equal (cluster.live.indices[i], 2 * i + 1);
    cluster_clear (&cluster);
}

static void many_nodes_are_found (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    char name[NAME_SIZE];
    for (int i = 0; i < NODES_LIMIT; i++) {
        snprintf (name, sizeof (name), "node-%d", i);
        struct event node = node_event (name, 4);
        assert_int_equal (0, cluster_apply (&cluster, &node, NULL));
    }
    for (int i = 0; i < NODES_LIMIT; i++) {
        snprintf (name, sizeof (name), "node-%d", i);
        assert_int_equal (cluster_find_node (&cluster, name), i);
    }
    assert_int_equal (cluster_find_node (&cluster, "node-"), -1);
    struct event change = node_event ("node-7", 2), beyond = node_event ("one more", 4);
    assert_int_equal (0, cluster_apply (&cluster, &change, NULL));
    assert_int_equal (cluster.nodes[7].slots, 2);
    assert_int_equal (-EINVAL, cluster_apply (&cluster, &beyond, NULL));
    assert_int_equal (cluster.node_count, NODES_LIMIT);
    cluster_clear (&cluster);
}

static void limits_of_a_job (void **state)
{
    (void)state;
    const struct {
        struct allowed allowed;
        int min, max, profiled;
        int64_t max_batch, min_local;
        int most;
        const char *allows; /* for 0..9 */
    } cases[] = {
        {{.kind = ALLOWED_ANY}, 0, 6, -1, 0, 0, 6, "1111111000"},
        {{.kind = ALLOWED_ANY}, 3, 8, -1, 0, 0, 8, "1001111110"},
        {{.kind = ALLOWED_POW2}, 0, 9, -1, 0, 0, 9, "1110100010"},
        {{.kind = ALLOWED_MULTIPLE, .multiple = 3}, 0, 9, -1, 0, 0, 9, "1001001001"},
        {{.kind = ALLOWED_LIST, .list = {2, 5}, .count = 2}, 0, 9, -1, 0, 0, 9, "1010010000"},
        {{.kind = ALLOWED_ANY}, 0, 9, 0, 0, 0, 1, "1111111111"},
        {{.kind = ALLOWED_ANY}, 0, 9, 3, 0, 0, 6, "1111111111"},
        {{.kind = ALLOWED_ANY}, 0, 9, 3, 100, 20, 5, "1111111111"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct job job = {.spec = {.min_replicas = cases[i].min,
                                   .max_replicas = cases[i].max,
                                   .allowed = cases[i].allowed},
                          .hints = {.max_profiled_replicas = cases[i].profiled,
                                    .limits = {.init_batch = cases[i].max_batch,
                                               .max_batch = cases[i].max_batch,
                                               .min_local = cases[i].min_local,
                                               .max_local = cases[i].min_local}}};
        assert_int_equal (job_most_replicas (&job), cases[i].most);
        for (int k = 0; k < 10; k++)
            assert_int_equal (job_allows (&job, k), cases[i].allows[k] == '1');
    }
}

/* ---- The loop ---- */

struct script {
    const struct event *events;
    int count, next;
    int appended, commits, acts;
};

static int script_next (void *self, const struct cluster *cluster, struct event *ret,
                        struct pollux_error *err)
{
    (void)cluster;
    (void)err;
    struct script *script = self;
    if (script->next == script->count)
        return 0;
    *ret = script->events[script->next++];
    return 1;
}

static int script_append (void *self, const struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    (void)event;
    (void)err;
    struct script *script = self;
    assert_true (event->at_us >= cluster->now_us); /* appended before it is applied */
    script->appended++;
    return 0;
}

static int script_commit (void *self, struct pollux_error *err)
{
    (void)err;
    struct script *script = self;
    script->commits++;
    return 0;
}

static int script_act (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    (void)cluster;
    (void)err;
    struct script *script = self;
    assert_int_equal (script->commits, ++script->acts); /* committed before acting */
    return 0;
}

/* Start what is planned and does not run yet. */
static int carry_out (void *self, struct loop *loop, struct pollux_error *err)
{
    (void)self;
    for (int i = 0; i < loop->cluster.active.count; i++) {
        const struct job *job = loop->cluster.active.jobs[i];
        struct event start = {
            .at_us = loop->cluster.now_us,
            .type = EVENT_START,
            .job = loop->cluster.active.indices[i],
            .start = {.generation = job->generation + 1, .placement = job->desired}};
        if (start.start.placement.count > 0 && job->phase == JOB_PENDING) {
            int rc = loop_post (loop, &start, err);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static void loop_appends_applies_acts (void **state)
{
    (void)state;
    struct job_spec a = spec_named ("a", 3), b = spec_named ("b", 2), c = spec_named ("c", 1);
    const struct event events[] = {
        node_event ("n0", 2),
        node_event ("n1", 2),
        submit_event (10 * S, 0, &a),
        submit_event (20 * S, 1, &b),
        submit_event (30 * S, 2, &c),
        {.at_us = 60 * S, .type = EVENT_ROUND, .job = -1},
        {.at_us = 90 * S,
         .type = EVENT_EXIT,
         .job = 0,
         .exit = {.generation = 1, .kind = EXITED_FINISHED}},
        {.at_us = 120 * S, .type = EVENT_ROUND, .job = -1},
    };
    struct script script = {.events = events, .count = (int)COUNT (events)};
    struct loop loop = {
        .source = {script_next, &script},
        .journal = {.append = script_append, .commit = script_commit, .self = &script},
        .backend = {.reconcile = carry_out, .act = script_act, .self = &script},
    };
    assert_int_equal (0, policy_find ("fifo", &loop.policy, NULL));
    assert_int_equal (0, loop_run (&loop, NULL));
    /* First only a, because b does not fit beside it and c is after b; then b and c. */
    assert_int_equal (loop.cluster.jobs[0]->phase, JOB_FINISHED);
    assert_int_equal (placement_replicas (loop.cluster.jobs[1]->placement), 2);
    assert_int_equal (placement_replicas (loop.cluster.jobs[2]->placement), 1);
    assert_int_equal (script.appended, (int)COUNT (events) + 2 + 3); /* two PLAN, three START */
    assert_int_equal (script.acts, 2);
    /* An event that does not fit is not appended. */
    struct event misfit = {.at_us = 120 * S, .type = EVENT_CANCEL, .job = 0};
    assert_int_equal (-EINVAL, loop_take (&loop, &misfit, NULL));
    assert_int_equal (script.appended, (int)COUNT (events) + 2 + 3);
    loop_clear (&loop);
}

static void unknown_policy_lists_the_known (void **state)
{
    (void)state;
    const struct policy *policy = NULL;
    struct pollux_error err;
    assert_int_equal (-ENOENT, policy_find ("best", &policy, &err));
    assert_non_null (strstr (err.text, "fifo"));
    assert_null (policy);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (life_of_a_job),
        cmocka_unit_test (invalid_events_change_nothing),
        cmocka_unit_test (cancelled_jobs_end_with_their_run),
        cmocka_unit_test (failed_jobs_wait),
        cmocka_unit_test (failed_jobs_have_no_slots),
        cmocka_unit_test (paused_jobs_wait),
        cmocka_unit_test (late_plan),
        cmocka_unit_test (late_plan_of_a_started_job),
        cmocka_unit_test (ages_and_delays),
        cmocka_unit_test (many_jobs_are_found),
        cmocka_unit_test (many_nodes_are_found),
        cmocka_unit_test (limits_of_a_job),
        cmocka_unit_test (loop_appends_applies_acts),
        cmocka_unit_test (unknown_policy_lists_the_known),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
