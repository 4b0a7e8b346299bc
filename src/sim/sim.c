/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator.  Its event source is a state machine on virtual time.  Each interval gives:
 *
 *     SUBMIT and EXIT of the interval, by time    jobs that arrive, jobs that are done
 *     HINTS                                       reports of the running jobs' agents
 *     ROUND                                       at the end of the interval
 *
 * The backend moves modelled jobs to the placements of the plan.  Intervals without jobs are
 * skipped.
 */
#include "sim/sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/rng.h"
#include "policy/policy_options.h"
#include "sim/job_request.h"
#include "sim/result_summary.h"
#include "sim/sim_power.h"

static int64_t to_us (double seconds)
{
    return llround (seconds * 1e6);
}

/* One job of the workload, in order of submission. */
struct actor {
    const struct workload_job *job;
    struct job_request request;
    struct training training;
    struct job_agent agent;
    double interference; /* share of speed lost now */
};

/* After so many rounds in which no job made progress, none will. */
enum { IDLE_ROUNDS = 10000 };

enum stage { STAGE_NODES, STAGE_BETWEEN, STAGE_HINTS, STAGE_ROUND };

struct sim {
    const struct sim_config *config;
    const struct policy *policy;
    struct sim_progress *progress;
    struct actor *actors; /* by the cluster's index of the job */
    int actor_count;
    int submitted, finished;

    enum stage stage;
    int node;               /* next NODE event */
    struct sim_power power; /* of a cluster with groups that are ordered, returned or paid */
    int64_t tick;           /* number of the round that ends this interval */
    int *exits;             /* actors done in this interval, by time; `exit_next` is the next */
    int exit_count, exit_next;
    double trained;  /* progress of all jobs that live, at the last round that advanced one */
    int idle_rounds; /* in succession that advanced none */
    struct report *reports;
    struct job_spec spec; /* of the job being submitted */
    struct oracle oracle; /* its iter_s is freed when the next job comes */
    int *nodes_shared;    /* scratch by node: multi-node jobs there */
    int *counts;          /* scratch by node */

    double *decide_s;
    int rounds, round_capacity;
};

static double tick_s (const struct sim *sim)
{
    return (double)sim->tick * sim->config->interval_s;
}

/* ---- The source ---- */

/* Iterations per second with the requested replicas and batch on nodes of a group; 0: it does not fit there. */
static double requested_rate (const struct sim *sim, const struct workload_job *job, int index)
{
    struct node_group group = sim_group (sim->config, index);
    const struct app *here = app_on (job->app, group.type);
    if (job->replicas > group.nodes * group.slots_per_node)
        return 0;
    int nodes = packed_counts (job->replicas, group.slots_per_node, sim->counts);
    struct pollux_limits limits = *app_limits (here);
    limits.max_local = app_max_local (here, sim->counts, nodes);
    struct pollux_batch batch = batch_split (&limits, job->batch, job->replicas);
    if (job->replicas == 1 && batch.s == 0)
        batch = (struct pollux_batch){.m = (batch.m + 1) / 2, .s = 1};
    double iter_s = app_iter_time (app_step (here, sim->counts, nodes, batch.m), batch.s);
    return 1 / iter_s / app_slowdown (job->app);
}

/* Whether one of the first groups has that type. */
static bool has_type (const struct sim_config *config, int count, const char *type)
{
    for (int i = 0; i < count; i++)
        if (strcmp (config->groups[i].type, type) == 0)
            return true;
    return false;
}

/* The types that the application can run on, and its speeds there with one replica. */
static void add_types (const struct sim *sim, const struct workload_job *job, struct job_spec *spec)
{
    const struct app *app = job->app;
    double first = 0; /* speeds are relative to the first one */
    for (int i = 0; i < sim->config->group_count; i++) {
        const char *type = sim->config->groups[i].type;
        const struct app *here = app_on (app, type);
        if (has_type (sim->config, i, type))
            continue;
        if (here)
            memcpy (spec->types.list[spec->types.count++], type, NAME_SIZE);
        double speed = here && sim->policy->rates ? requested_rate (sim, job, i)
                       : here                     ? app_speed (here)
                                                  : 0;
        if (speed > 0) {
            struct type_speed *known = &spec->speeds.list[spec->speeds.count++];
            memcpy (known->type, type, NAME_SIZE);
            first = first > 0 ? first : speed;
            /* In the range of a journal (wire/spec.h). */
            known->speed = fmin (fmax (sim->policy->rates ? speed : speed / first, 1e-3), 1e3);
        }
    }
}

/* The application that the job says it has: its own, or with wrong experience, for every second job, that of the next
 * job which has another. */
static const struct app *named_application (const struct sim *sim, const struct actor *actor)
{
    int index = (int)(actor - sim->actors);
    if (sim->config->experience == EXPERIENCE_WRONG && index % 2 == 1)
        for (int i = 1; i < sim->actor_count; i++) {
            const struct app *other = sim->actors[(index + i) % sim->actor_count].job->app;
            if (other != actor->job->app)
                return other;
        }
    return actor->job->app;
}

static void make_spec (struct sim *sim, const struct actor *actor)
{
    const struct workload_job *job = actor->job;
    sim->spec = (struct job_spec){
        .max_replicas = sim->policy->elastic ? actor->request.max_replicas : job->replicas,
        .weight = 1,
        .preemptible = true,
        .adaptive = actor->request.batch == 0,
        .restart_delay_s = sim_typed (sim->config) && !sim->config->one_delay
                               ? app_restart_delay (job->app)
                               : (double)NAN,
        .fixed_replicas = job->replicas,
        .fixed_batch = sim->policy->requested ? job->batch : actor->request.batch,
    };
    if (sim_typed (sim->config))
        add_types (sim, job, &sim->spec);
    memcpy (sim->spec.name, job->name, sizeof (job->name));
    snprintf (sim->spec.application, sizeof (sim->spec.application), "%s",
              app_name (named_application (sim, actor)));
}

/* The total work that the job reports: exact, or with the configured error. */
static double reported_total (const struct sim *sim, const struct actor *actor)
{
    double total = app_need (actor->job->app, app_max_epochs (actor->job->app));
    if (sim->config->remaining_error == 0)
        return total;
    double done = actor->training.progress;
    struct rng rng = rng_stream (~sim->config->seed, (uint64_t)(actor - sim->actors));
    return done + (total - done) * exp (sim->config->remaining_error * rng_gaussian (&rng));
}

/* What the agent has measured on nodes of a group; false: nothing. */
static bool measured_on (const struct sim *sim, const struct actor *actor, int group,
                         struct type_model *ret)
{
    struct node_group nodes = sim_group (sim->config, group);
    const struct app *here = app_on (actor->job->app, nodes.type);
    const struct batch_fit *fit = here ? &actor->agent.adapter.fits[app_index (here)] : NULL;
    if (!fit || fit->count == 0)
        return false;
    *ret = (struct type_model){.model = fit->fit.model,
                               .max_local = app_limits (here)->max_local,
                               .max_profiled_replicas =
                                   actor->training.samples[app_index (here)].max_replicas};
    memcpy (ret->type, nodes.type, NAME_SIZE);
    return true;
}

/* The model of its present type comes first, or else the first known one. */
static void add_models (const struct sim *sim, const struct actor *actor, struct hints *hints)
{
    const struct app *here = actor->training.here;
    struct type_model first = {.max_profiled_replicas = 0}, model;
    for (int i = 0; i < sim_group_count (sim->config); i++) {
        const struct app *app = app_on (actor->job->app, sim_group (sim->config, i).type);
        if (app && measured_on (sim, actor, i, &model) && (app == here || !hints->has_model)) {
            hints->has_model = true;
            first = model;
        }
    }
    hints->max_profiled_replicas = first.max_profiled_replicas;
    if (!hints->has_model)
        return;
    hints->model = first.model;
    hints->grad = job_agent_grad (&actor->agent, &actor->training);
    hints->limits.max_local = first.max_local;
    memcpy (hints->type, first.type, NAME_SIZE);
    for (int i = 0; i < sim->config->group_count && hints->other_count < OTHER_MODELS_LIMIT; i++)
        if (measured_on (sim, actor, i, &model) && strcmp (model.type, first.type) != 0 &&
            !has_type (sim->config, i, model.type))
            hints->others[hints->other_count++] = model;
}

/* AdaScale's gain with its present batch.  A job whose batch its owner has fixed scales no learning rate. */
static double rate_factor (const struct actor *actor, const struct hints *hints)
{
    const struct training *training = &actor->training;
    struct pollux_shape shape = {.nodes = training->nodes, .replicas = training->replicas};
    if (!hints->has_model || training->replicas == 0 || training->requested_batch > 0)
        return NAN;
    double scale = pollux_total_batch (shape, training->batch) / (double)hints->limits.init_batch;
    return pollux_gain (hints->grad, fmax (scale, 1));
}

static struct hints make_hints (const struct sim *sim, const struct actor *actor)
{
    struct hints hints = hints_unknown;
    hints.progress = actor->training.progress;
    hints.total = reported_total (sim, actor);
    if (actor->training.replicas > 0 && actor->training.step.step_s > 0)
        hints.step_s = actor->training.step.step_s;
    if (sim->policy->adaptive) {
        hints.limits = *app_limits (actor->job->app);
        add_models (sim, actor, &hints);
        hints.rate_factor = rate_factor (actor, &hints);
    }
    return hints;
}

static int submit (struct sim *sim, struct event *ret, struct pollux_error *err)
{
    struct actor *actor = &sim->actors[sim->submitted];
    /* The job's clock starts at the round that sees it first. */
    training_init (&actor->training, actor->job->app, actor->request.batch, sim_typed (sim->config),
                   tick_s (sim));
    actor->training.factors = sim_job_factors (sim->config, actor->job);
    actor->agent = job_agent_start (sim->config->agent, sim->policy->search, actor->job->app);
    make_spec (sim, actor);
    free (sim->oracle.iter_s);
    sim->oracle.iter_s = NULL;
    if (sim->policy->oracle &&
        job_request_oracle (sim->config, actor->job, actor->request, &sim->oracle) < 0)
        return fail (err, -ENOMEM, "no memory for job %s", actor->job->name);
    *ret = (struct event){
        .at_us = to_us (actor->job->submit_s),
        .type = EVENT_SUBMIT,
        .job = sim->submitted++,
        .submit = {.spec = &sim->spec,
                   .hints = make_hints (sim, actor),
                   .oracle = sim->policy->oracle ? &sim->oracle : NULL},
    };
    return 1;
}

/* Seconds at the end of this interval that a job does not train, because a provider takes one of its nodes away. */
static double lost_time (const struct sim *sim, const struct cluster *cluster,
                         const struct job *job)
{
    int64_t leaves_us = sim_power_leaves_us (&sim->power, cluster, job->placement);
    if (leaves_us >= to_us (tick_s (sim)))
        return 0;
    return fmin (tick_s (sim) - (double)leaves_us * 1e-6, sim->config->interval_s);
}

/* Train all running jobs to the end of this interval.  Fills exits. */
static int advance (struct sim *sim, const struct cluster *cluster, struct pollux_error *err)
{
    sim->exit_count = sim->exit_next = 0;
    for (int i = 0; i < cluster->live.count; i++) {
        int index = cluster->live.indices[i];
        struct actor *actor = &sim->actors[index];
        struct batch_chooser chooser = job_agent_chooser (&actor->agent);
        double trained_s = sim->config->interval_s, lost_s = 0;
        if (sim_scaled (sim->config))
            lost_s = lost_time (sim, cluster, cluster->live.jobs[i]);
        int rc = training_advance (&actor->training, trained_s - lost_s, actor->interference,
                                   &chooser, err);
        if (rc == 0 && lost_s > 0 && !training_done (&actor->training)) {
            rc = training_place (&actor->training, actor->job->app, NULL, 0, 0, &chooser, err);
            if (rc == 0)
                rc = training_advance (&actor->training, lost_s, 0, &chooser, err);
        }
        if (rc < 0)
            return rc;
        if (!training_done (&actor->training))
            continue;
        int at = sim->exit_count++;
        for (; at > 0 &&
               sim->actors[sim->exits[at - 1]].training.completed_s > actor->training.completed_s;
             at--)
            sim->exits[at] = sim->exits[at - 1];
        sim->exits[at] = index;
    }
    return 0;
}

/* Go to the next interval with a job in it, or in which the size of the cluster changes. */
static int begin_interval (struct sim *sim, const struct cluster *cluster, struct pollux_error *err)
{
    sim->tick++;
    if (cluster->live.count > 0)
        return advance (sim, cluster, err);
    sim->exit_count = sim->exit_next = 0;
    if (sim_scaled (sim->config) && !sim_power_settled (&sim->power, cluster) && sim->tick > 1)
        return 0;
    double next_s =
        sim->actors[sim->submitted].job->submit_s; /* there is one: not all have ended */
    int64_t first = (int64_t)ceil (next_s / sim->config->interval_s);
    sim->tick = first > sim->tick ? first : sim->tick;
    sim->exit_count = sim->exit_next = 0;
    return 0;
}

/* The first of the next EXIT, the next SUBMIT and the next event of a node of this interval; 0: no more. */
static int between (struct sim *sim, const struct cluster *cluster, struct event *ret,
                    struct pollux_error *err)
{
    const struct actor *exit =
        sim->exit_next < sim->exit_count ? &sim->actors[sim->exits[sim->exit_next]] : NULL;
    const struct workload_job *arrival =
        sim->submitted < sim->actor_count ? sim->actors[sim->submitted].job : NULL;
    if (arrival && arrival->submit_s > tick_s (sim))
        arrival = NULL;
    if (sim_scaled (sim->config)) {
        double until_s = tick_s (sim);
        until_s = arrival ? fmin (until_s, arrival->submit_s) : until_s;
        until_s = exit ? fmin (until_s, exit->training.completed_s) : until_s;
        sim_power_look (&sim->power, cluster);
        int rc = sim_power_next (&sim->power, cluster, to_us (until_s), ret);
        if (rc != 0)
            return rc < 0 ? fail (err, rc, "no memory for the nodes of groups") : rc;
    }
    if (arrival && (!exit || arrival->submit_s < exit->training.completed_s))
        return submit (sim, ret, err);
    if (!exit)
        return 0;
    *ret = (struct event){
        .at_us = to_us (fmin (exit->training.completed_s, tick_s (sim))),
        .type = EVENT_EXIT,
        .job = sim->exits[sim->exit_next++],
        .exit = {.kind = EXITED_FINISHED},
    };
    sim->finished++;
    return 1;
}

/* Refuse to go on for ever: with a policy that starts no job, or that restarts jobs before they train. */
static int count_idle (struct sim *sim, const struct cluster *cluster, struct pollux_error *err)
{
    double progress = 0;
    for (int i = 0; i < cluster->live.count; i++)
        progress += sim->actors[cluster->live.indices[i]].training.progress;
    sim->idle_rounds = progress == sim->trained ? sim->idle_rounds + 1 : 0;
    sim->trained = progress;
    return sim->idle_rounds <= IDLE_ROUNDS
               ? 0
               : fail (err, -EDOM,
                       "with policy %s none of %d jobs has made progress for %d rounds; the "
                       "simulation would not end",
                       sim->policy->name, cluster->live.count, IDLE_ROUNDS);
}

static int report_hints (struct sim *sim, const struct cluster *cluster, struct event *ret,
                         struct pollux_error *err)
{
    int count = 0, rc;
    for (int i = 0; i < cluster->live.count; i++) {
        if (cluster->live.jobs[i]->phase != JOB_RUNNING)
            continue;
        int index = cluster->live.indices[i];
        struct actor *actor = &sim->actors[index];
        if (sim->policy->adaptive) {
            rc = batch_adapter_refit (&actor->agent.adapter, &actor->training, err);
            if (rc < 0)
                return rc;
        }
        sim->reports[count++] = (struct report){
            .job = index,
            .hints = make_hints (sim, actor),
            .batch = actor->training.batch,
            .oracle_remaining = sim->policy->oracle
                                    ? remaining_iterations (actor->job, actor->training.epochs)
                                    : NAN,
        };
    }
    rc = count_idle (sim, cluster, err);
    if (rc < 0)
        return rc;
    *ret = (struct event){.at_us = to_us (tick_s (sim)),
                          .type = EVENT_HINTS,
                          .job = -1,
                          .hints = {sim->reports, count}};
    return 1;
}

static void round_event (const struct sim *sim, struct event *ret)
{
    struct rng rng = rng_stream (sim->config->seed, (uint64_t)sim->tick);
    *ret = (struct event){
        .at_us = to_us (tick_s (sim)),
        .type = EVENT_ROUND,
        .job = -1,
        .round = {.interval_s = sim->config->interval_s,
                  .restart_delay_s = sim->config->restart_delay_s,
                  .p = sim->config->p,
                  .search = sim->policy->search,
                  .experience = sim->config->experience != EXPERIENCE_OFF,
                  .seed = rng_next (&rng)},
    };
    ret->round.settings = policy_settings_of (sim->policy, &sim->config->settings, &ret->round.p);
    snprintf (ret->round.policy, sizeof (ret->round.policy), "%s", sim->policy->name);
}

static void publish_progress (const struct sim *sim)
{
    if (!sim->progress)
        return;
    atomic_store (&sim->progress->now_us, to_us (tick_s (sim)));
    atomic_store (&sim->progress->jobs_done, sim->finished);
    atomic_store (&sim->progress->rounds, sim->rounds);
}

static struct node make_node (const struct sim_config *config, int index)
{
    int group = 0, before = 0;
    while (index >= before + sim_group (config, group).nodes)
        before += sim_group (config, group++).nodes;
    struct node_group nodes = sim_group (config, group);
    struct node node = {.slots = nodes.slots_per_node, .available = true};
    memcpy (node.type, nodes.type, NAME_SIZE);
    snprintf (node.name, sizeof (node.name), "n%d", index);
    return node;
}

static int sim_next (void *self, const struct cluster *cluster, struct event *ret,
                     struct pollux_error *err)
{
    struct sim *sim = self;
    int rc;
    switch (sim->stage) {
    case STAGE_NODES:
        if (sim_scaled (sim->config)) {
            if (sim_power_start (&sim->power, ret) > 0)
                return 1;
        } else if (sim->node < sim_node_count (sim->config)) {
            *ret = (struct event){
                .type = EVENT_NODE, .job = -1, .node = make_node (sim->config, sim->node)};
            sim->node++;
            return 1;
        }
        rc = begin_interval (sim, cluster, err);
        if (rc < 0)
            return rc;
        sim->stage = STAGE_BETWEEN;
        /* fallthrough */
    case STAGE_BETWEEN:
        rc = between (sim, cluster, ret, err);
        if (rc == 1 && ret->type == EVENT_EXIT)
            ret->exit.generation = cluster->jobs[ret->job]->generation;
        if (rc != 0)
            return rc;
        publish_progress (sim);
        bool settled = !sim_scaled (sim->config) || sim_power_settled (&sim->power, cluster);
        if (sim->finished == sim->actor_count && settled)
            return 0;
        if (cluster->live.count > 0) {
            sim->stage = STAGE_HINTS;
            return report_hints (sim, cluster, ret, err);
        }
        if (!settled) { /* a round without jobs, which sets the size */
            sim->stage = STAGE_ROUND;
            round_event (sim, ret);
            return 1;
        }
        rc = begin_interval (sim, cluster, err);
        return rc < 0 ? rc : sim_next (self, cluster, ret, err);
    case STAGE_HINTS:
        sim->stage = STAGE_ROUND;
        round_event (sim, ret);
        return 1;
    case STAGE_ROUND:
        if (sim->progress && atomic_load (&sim->progress->stop))
            return fail (err, -EINTR, "interrupted");
        rc = begin_interval (sim, cluster, err);
        sim->stage = STAGE_BETWEEN;
        return rc < 0 ? rc : sim_next (self, cluster, ret, err);
    }
    return 0;
}

/* ---- The backend ---- */

/* Is `to` on nodes of the same type, with the same counts in the order of the nodes?  Then no restart is needed. */
static bool is_relocation (const struct cluster *cluster, const struct job *job,
                           struct placement to)
{
    struct placement from = job->placement;
    if (job->phase != JOB_RUNNING || to.count != from.count || to.count == 0 ||
        strcmp (cluster->nodes[to.shares[0].node].type, cluster->nodes[from.shares[0].node].type) !=
            0)
        return false;
    for (int i = 0; i < to.count; i++)
        if (to.shares[i].replicas != from.shares[i].replicas)
            return false;
    return true;
}

static int place_actor (struct sim *sim, struct actor *actor, const struct node *nodes,
                        struct placement to, struct pollux_error *err)
{
    struct batch_chooser chooser = job_agent_chooser (&actor->agent);
    const struct app *app = actor->job->app,
                     *here = to.count > 0 ? app_on (app, nodes[to.shares[0].node].type) : app;
    if (!here)
        return fail (err, -EINVAL, "job %s cannot run on nodes of type %s", actor->job->name,
                     nodes[to.shares[0].node].type);
    for (int i = 0; i < to.count; i++)
        sim->counts[i] = to.shares[i].replicas;
    return training_place (&actor->training, here, sim->counts, to.count,
                           sim_delay (sim->config, app), &chooser, err);
}

static int move_job (struct sim *sim, struct loop *loop, int index, struct placement to,
                     struct pollux_error *err)
{
    const struct job *job = loop->cluster.jobs[index];
    struct event event = {.at_us = loop->cluster.now_us, .job = index};
    bool relocated = sim_typed (sim->config) && is_relocation (&loop->cluster, job, to);
    if (job->phase == JOB_RUNNING) {
        event.type = EVENT_EXIT;
        event.exit.generation = job->generation;
        event.exit.kind = EXITED_STOPPED;
        int rc = loop_post (loop, &event, err);
        if (rc < 0)
            return rc;
    }
    struct actor *actor = &sim->actors[index];
    if (!relocated) {
        int rc = place_actor (sim, actor, loop->cluster.nodes, to, err);
        if (rc < 0 || to.count == 0)
            return rc;
    }
    event.type = EVENT_START;
    event.start.generation = job->generation + 1;
    event.start.placement = to;
    event.start.relocated = relocated;
    return loop_post (loop, &event, err);
}

/* A multi-node job that shares a node with another multi-node job loses some speed. */
static void interfere (struct sim *sim, const struct cluster *cluster)
{
    memset (sim->nodes_shared, 0, (size_t)cluster->node_count * sizeof (sim->nodes_shared[0]));
    for (int i = 0; i < cluster->live.count; i++) {
        struct placement placement = cluster->live.jobs[i]->placement;
        for (int j = 0; placement.count > 1 && j < placement.count; j++)
            sim->nodes_shared[placement.shares[j].node]++;
    }
    for (int i = 0; i < cluster->live.count; i++) {
        struct placement placement = cluster->live.jobs[i]->placement;
        struct actor *actor = &sim->actors[cluster->live.indices[i]];
        actor->interference = 0;
        for (int j = 0; placement.count > 1 && j < placement.count; j++)
            if (sim->nodes_shared[placement.shares[j].node] > 1)
                actor->interference = sim->config->interference;
    }
}

static int sim_reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    struct sim *sim = self;
    const struct job_list *active = &loop->cluster.active;
    for (int i = 0; i < active->count; i++) {
        const struct job *job = active->jobs[i];
        if (placement_equal (job->desired, job->placement))
            continue;
        int rc = move_job (sim, loop, active->indices[i], job->desired, err);
        if (rc < 0)
            return rc;
    }
    if (sim->config->interference > 0)
        interfere (sim, &loop->cluster);
    return 0;
}

/* ---- Running ---- */

static double real_clock_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sim_decided (void *self, const struct view *view, const struct plan *plan,
                         double seconds)
{
    (void)view;
    (void)plan;
    struct sim *sim = self;
    double *decide_s =
        array_grow (sim->decide_s, sim->rounds, &sim->round_capacity, sizeof (decide_s[0]));
    if (!decide_s)
        return; /* only this measurement is lost */
    sim->decide_s = decide_s;
    sim->decide_s[sim->rounds++] = seconds;
}

static int by_submission (const void *a, const void *b)
{
    const struct actor *x = a, *y = b;
    if (x->job->submit_s != y->job->submit_s)
        return x->job->submit_s < y->job->submit_s ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* Refuse a job that can never run. */
static int check_job (const struct sim *sim, const struct workload_job *job,
                      struct pollux_error *err)
{
    int slots = sim_app_slots (sim->config, job->app);
    if (slots == 0)
        return fail (err, -EINVAL, "job %s: application %s has no step times on %s", job->name,
                     app_name (job->app),
                     sim_typed (sim->config)
                         ? "any type of nodes of this cluster"
                         : "nodes without a type; give --node-group or --cluster");
    if (!sim->policy->elastic && job->replicas > slots)
        return fail (err, -EINVAL,
                     "job %s asks for %d GPUs, which policy %s cannot give on %d GPUs; simulate "
                     "more nodes",
                     job->name, job->replicas, sim->policy->name, slots);
    return 0;
}

static int sim_init (struct sim *sim, const struct workload *workload, struct pollux_error *err)
{
    size_t jobs = (size_t)workload->count, nodes = (size_t)sim_node_count (sim->config);
    sim->actors = calloc (jobs, sizeof (sim->actors[0]));
    sim->exits = malloc (jobs * sizeof (sim->exits[0]));
    sim->reports = malloc (jobs * sizeof (sim->reports[0]));
    if (sim_scaled (sim->config)) {
        int rc = sim_power_init (&sim->power, sim->config, err);
        if (rc < 0)
            return rc;
        nodes = (size_t)sim->power.capacity;
    }
    sim->nodes_shared = malloc (nodes * sizeof (sim->nodes_shared[0]));
    sim->counts = malloc (nodes * sizeof (sim->counts[0]));
    if (!sim->actors || !sim->exits || !sim->reports || !sim->nodes_shared || !sim->counts)
        return fail (err, -ENOMEM, "no memory to simulate %d jobs", workload->count);
    for (int i = 0; i < workload->count; i++) {
        struct actor *actor = &sim->actors[sim->actor_count++];
        actor->job = &workload->jobs[i];
        actor->request = job_request_of (sim->config, actor->job, sim->policy);
        int rc = check_job (sim, actor->job, err);
        if (rc < 0)
            return rc;
    }
    qsort (sim->actors, jobs, sizeof (sim->actors[0]), by_submission);
    return 0;
}

static void sim_clear (struct sim *sim)
{
    for (int i = 0; i < sim->submitted; i++)
        training_clear (&sim->actors[i].training);
    free (sim->actors);
    free (sim->exits);
    free (sim->reports);
    free (sim->nodes_shared);
    free (sim->counts);
    free (sim->oracle.iter_s);
    free (sim->decide_s);
    sim_power_clear (&sim->power);
}

/* The results of all jobs, in the order of the workload. */
static int collect (const struct sim *sim, const struct cluster *cluster,
                    const struct workload *workload, struct sim_result *ret,
                    struct pollux_error *err)
{
    struct sim_result result = {.job_count = workload->count, .rounds = sim->rounds};
    result.jobs = calloc ((size_t)workload->count, sizeof (result.jobs[0]));
    if (!result.jobs)
        return fail (err, -ENOMEM, "no memory for the results of %d jobs", workload->count);
    for (int i = 0; i < sim->actor_count; i++) {
        const struct actor *actor = &sim->actors[i];
        const struct job *job = cluster->jobs[i];
        result.modelled |= actor->training.modelled;
        result.jobs[actor->job - workload->jobs] = (struct sim_job){
            .jct_s = actor->training.completed_s - actor->job->submit_s,
            .slot_s = job->attained_s,
            .restarts = job->restarts,
            .cost = job->cost,
        };
    }
    *ret = result;
    return 0;
}

/* What the nodes of groups have cost. */
static int collect_cost (struct sim *sim, struct cluster *cluster, struct sim_result *result,
                         struct pollux_error *err)
{
    double slot_s = 0;
    if (!sim_scaled (sim->config))
        return 0;
    int rc = power_charge_all (cluster, cluster->now_us, err);
    if (rc < 0)
        return rc;
    sim_power_look (&sim->power, cluster);
    sim_power_end (&sim->power, cluster);
    for (int i = 0; i < cluster->ledger.count; i++)
        if (cluster->ledger.rows[i].capacity) {
            slot_s += cluster->ledger.rows[i].slot_s;
            result->cost += cluster->ledger.rows[i].cost;
        }
    for (int g = 0; g < sim->config->group_count; g++) {
        result->group_node_hours[g] = sim->power.node_s[g] / 3600;
        result->node_hours += result->group_node_hours[g];
    }
    result->scaled = true;
    result->boots = (int)cluster->power.boots - sim->power.started;
    if (sim->config->goal.kind != GOAL_FIXED)
        result->capacity_s = slot_s;
    return 0;
}

int sim_run (const struct sim_config *config, const struct workload *workload,
             const struct policy *policy, struct sim_progress *progress, struct sim_result *ret,
             struct pollux_error *err)
{
    struct sim sim = {.config = config, .policy = policy, .progress = progress};
    struct loop loop = {
        .policy = policy,
        .source = {.next = sim_next, .self = &sim},
        .journal = config->journal,
        .backend = {.reconcile = sim_reconcile, .self = &sim},
        .timer = {.now_s = real_clock_s, .decided = sim_decided, .self = &sim},
    };
    struct sim_result result = {0};
    int rc = sim_check (config, err);
    if (rc == 0)
        rc = sim_init (&sim, workload, err);
    if (rc == 0)
        rc = loop_run (&loop, err);
    if (rc == 0)
        rc = collect (&sim, &loop.cluster, workload, &result, err);
    if (rc == 0)
        rc = collect_cost (&sim, &loop.cluster, &result, err);
    if (rc == 0)
        rc = result_summarise (config, workload, policy, sim.decide_s, &result, err);
    if (rc == 0)
        *ret = result;
    else
        sim_result_clear (&result);
    loop_clear (&loop);
    sim_clear (&sim);
    return rc;
}
