/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and applies the events of cluster_fixture.h.
 */
#include "unit.h"
#include "cluster_fixture.h"

static const int64_t cluster_fixture_begins_us = (int64_t)1767225600 * 1000000;

void cluster_fixture_apply (struct cluster_fixture *fixture, struct event *event)
{
    struct pollux_error err = {""};
    event->at_us = fixture->now_us;
    if (cluster_apply (&fixture->cluster, event, &err) < 0)
        fail_msg ("%s: %s", event_names[event->type], err.text);
}

void cluster_fixture_init (struct cluster_fixture *fixture, int nodes, int slots)
{
    *fixture = (struct cluster_fixture){.now_us = cluster_fixture_begins_us,
                                        .round = {.policy = "pollux",
                                                  .interval_s = 60,
                                                  .restart_delay_s = 30,
                                                  .p = -1,
                                                  .least_age_s = 60}};
    for (int i = 0; i < nodes; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = slots, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "n%d", i);
        cluster_fixture_apply (fixture, &event);
    }
}

void cluster_fixture_clear (struct cluster_fixture *fixture)
{
    cluster_clear (&fixture->cluster);
}

int cluster_fixture_submit (struct cluster_fixture *fixture, const char *name, int min, int max)
{
    char *command[] = {"sh", "-c", "true", NULL}, *environment[] = {"SECRET=x", NULL};
    struct job_spec spec = {.min_replicas = min,
                            .max_replicas = max,
                            .weight = 1,
                            .preemptible = true,
                            .restart_delay_s = NAN};
    struct launch launch = {.owner = "ann",
                            .command = command,
                            .environment = environment,
                            .directory = "/tmp",
                            .stop_signal = 15,
                            .grace_s = 30,
                            .max_failures = 3,
                            .backoff_s = 10};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    struct event event = {.type = EVENT_SUBMIT,
                          .job = fixture->cluster.job_count,
                          .submit = {.spec = &spec, .hints = hints_unknown, .launch = &launch}};
    cluster_fixture_apply (fixture, &event);
    return event.job;
}

struct hints cluster_fixture_hints (double progress, double total)
{
    return (struct hints){
        .has_model = true,
        .model = {.alpha_grad = 0.05,
                  .beta_grad = 0.001,
                  .alpha_node = 0.05,
                  .beta_node = 0.001,
                  .alpha_local = 0.02,
                  .beta_local = 0.001,
                  .gamma = 2},
        .grad = {.sqr = 0.01, .var = 0.2},
        .limits = {.init_batch = 128, .max_batch = 8192, .min_local = 16, .max_local = 512},
        .max_profiled_replicas = 8,
        .progress = progress,
        .total = total,
        .step_s = NAN,
        .rate_factor = NAN};
}

void cluster_fixture_report (struct cluster_fixture *fixture, int job, struct hints hints,
                             struct pollux_batch batch)
{
    struct report report = {.job = job, .hints = hints, .batch = batch, .oracle_remaining = NAN};
    struct event event = {.type = EVENT_HINTS, .job = -1, .hints = {&report, 1}};
    cluster_fixture_apply (fixture, &event);
}

/* "0:2 1:1" */
static struct placement parse (const char *text, struct share *shares)
{
    struct placement placement = {.shares = shares};
    int used = 0;
    while (sscanf (text, "%d:%d %n", &shares[placement.count].node,
                   &shares[placement.count].replicas, &used) == 2) {
        placement.count++;
        text += used;
    }
    return placement;
}

void cluster_fixture_plan (struct cluster_fixture *fixture, const char *const *places)
{
    struct share shares[16];
    struct plan plan = {0};
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = fixture->round};
    struct event event = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    cluster_fixture_apply (fixture, &round);
    assert_int_equal (0, plan_reset (&plan, fixture->cluster.active.count));
    for (int i = 0; i < plan.job_count; i++)
        assert_int_equal (0, plan_place (&plan, i, parse (places[i], shares)));
    cluster_fixture_apply (fixture, &event);
    plan_clear (&plan);
}

void cluster_fixture_start (struct cluster_fixture *fixture, int job, const char *place)
{
    struct share shares[16];
    struct event event = {.type = EVENT_START,
                          .job = job,
                          .start = {.generation = fixture->cluster.jobs[job]->generation + 1,
                                    .placement = parse (place, shares)}};
    cluster_fixture_apply (fixture, &event);
}

void cluster_fixture_exit (struct cluster_fixture *fixture, int job, enum exit_kind kind,
                           const char *detail)
{
    struct event event = {
        .type = EVENT_EXIT,
        .job = job,
        .exit = {.generation = fixture->cluster.jobs[job]->generation, .kind = kind}};
    snprintf (event.exit.detail, sizeof (event.exit.detail), "%s", detail);
    cluster_fixture_apply (fixture, &event);
}

void cluster_fixture_drain (struct cluster_fixture *fixture, int node)
{
    struct event event = {.type = EVENT_NODE, .job = -1, .node = fixture->cluster.nodes[node]};
    event.node.available = false;
    cluster_fixture_apply (fixture, &event);
}
