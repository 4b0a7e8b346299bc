/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop with random events.  Between two rounds some jobs arrive, some end, sometimes one is
 * cancelled or gets other limits, and a node is drained or resumed; then all running jobs
 * report.
 */
#include "random_journal.h"

#include "scaling/power_next.h"
#include "unit.h"

static const int64_t S = 1000000;
enum { NODES = 8, JOBS_LIMIT = 4096 };

struct generator {
    struct random_journal what;
    struct rng rng;
    int stage; /* nodes, then for each round: changes, hints, round */
    int round, changes;
    bool fill; /* something has changed: fill free slots */
    struct job_spec spec;
    struct launch launch;
    struct report reports[JOBS_LIMIT];
    struct node_group groups[2];
};

static int below (struct rng *rng, int bound)
{
    return (int)rng_below (rng, (uint64_t)bound);
}

static struct hints some_hints (struct rng *rng, double progress)
{
    return (struct hints){
        .has_model = rng_below (rng, 3) > 0,
        .model = {0.02 + 0.1 * rng_uniform (rng), 0.001, 0.08, 0.001, 0.01, 0.0005, 1.6},
        .grad = {.sqr = rng_uniform (rng),
                 .var = 1 + rng_uniform (rng),
                 .gain_max = below (rng, 2) ? 1 + 7 * rng_uniform (rng) : 0},
        .limits = {128, 8192, 16, 512, true},
        .max_profiled_replicas = below (rng, 9),
        .progress = progress,
        .total = 1e4,
        .step_s = below (rng, 2) ? 0.1 + rng_uniform (rng) : NAN,
        .rate_factor = below (rng, 2) ? 1 + rng_uniform (rng) : NAN,
    };
}

static struct event node_event (int index, bool available)
{
    struct event event = {
        .type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = available}};
    snprintf (event.node.name, sizeof (event.node.name), "n%d", index);
    return event;
}

static struct event submit_event (struct generator *generator, const struct cluster *cluster)
{
    struct rng *rng = &generator->rng;
    generator->spec = (struct job_spec){
        .max_replicas = 1 + below (rng, 16),
        .weight = 1,
        .preemptible = true,
        .restart_delay_s = NAN,
        .fixed_replicas = 1 + below (rng, 8),
        .fixed_batch = 512,
    };
    snprintf (generator->spec.name, sizeof (generator->spec.name), "job %d", cluster->job_count);
    if (cluster->job_count % 3 > 0) /* else its application is its command */
        snprintf (generator->spec.application, sizeof (generator->spec.application),
                  "application %d", cluster->job_count % 3);
    generator->spec.ignore_experience = cluster->job_count % 7 == 6;
    static char *command[] = {"train", "--epochs=3", NULL}, *environment[] = {"A=1", "B=", NULL};
    generator->launch = (struct launch){.owner = "ann",
                                        .command = command,
                                        .environment = environment,
                                        .directory = "/tmp",
                                        .stop_signal = 15,
                                        .grace_s = 30,
                                        .max_failures = 3,
                                        .backoff_s = 100};
    return (struct event){.type = EVENT_SUBMIT,
                          .job = cluster->job_count,
                          .submit = {.spec = &generator->spec,
                                     .hints = some_hints (rng, 0),
                                     .launch = generator->what.real ? &generator->launch : NULL}};
}

/* ---- Groups of nodes ---------------------------------------------------------------------- */

static struct event groups_event (struct generator *generator)
{
    struct rng *rng = &generator->rng;
    generator->groups[0] = (struct node_group){.name = "own",
                                               .names = "n[0-3]",
                                               .slots_per_node = 4,
                                               .nodes = 4,
                                               .min_nodes = below (rng, 3),
                                               .max_nodes = 4,
                                               .boot_s = 60,
                                               .price_per_node_hour = below (rng, 3)};
    generator->groups[1] = (struct node_group){.name = "spot",
                                               .slots_per_node = 4,
                                               .max_nodes = 6,
                                               .price_per_node_hour = rng_uniform (rng),
                                               .revocable = true,
                                               .notice_s = 30,
                                               .revocations_per_day = 10 * rng_uniform (rng)};
    return (struct event){.type = EVENT_GROUPS,
                          .job = -1,
                          .groups = {generator->groups, 2, {.kind = GOAL_BUDGET, .limit = 9}}};
}

static struct event size_event (struct rng *rng, const struct cluster *cluster)
{
    struct event event = {.type = EVENT_SIZE,
                          .job = -1,
                          .size = {.utility = below (rng, 5) ? rng_uniform (rng) : NAN,
                                   .resize = below (rng, 3) == 0}};
    for (int i = 0; event.size.resize && i < cluster->power.count; i++) {
        const struct node_group *group = &cluster->power.groups[i];
        event.size.nodes[i] =
            group->min_nodes + below (rng, group->max_nodes - group->min_nodes + 1);
    }
    if (event.size.resize)
        snprintf (event.size.reason, sizeof (event.size.reason), "because of %d", below (rng, 99));
    return event;
}

/* What may happen to a node of a group by itself; false: nothing. */
static bool node_happens (struct rng *rng, const struct cluster *cluster, int node,
                          struct event *ret)
{
    const struct node_power *power = &cluster->node_power[node];
    bool comes = power->state == POWER_STARTING || below (rng, 9) == 0;
    struct event event = {.type = EVENT_POWER, .job = -1};
    snprintf (event.power.node, sizeof (event.power.node), "%s", cluster->nodes[node].name);
    if (power->group < 0)
        return false;
    if (comes || (power->state == POWER_UP && below (rng, 9) == 0)) {
        event = (struct event){
            .type = EVENT_NODE, .job = -1, .node = {.slots = comes ? 4 : 0, .available = comes}};
        snprintf (event.node.name, sizeof (event.node.name), "%s", cluster->nodes[node].name);
    } else if (power->state == POWER_STOPPING || power->state == POWER_FAILED) {
        event.power.state = POWER_OFF;
    } else if (power->state == POWER_UP || power->state == POWER_DRAINING) {
        event.power.state = POWER_DRAINING;
        event.power.deadline_us = cluster->now_us + 30 * S;
        snprintf (event.power.detail, sizeof (event.power.detail), "revoked");
    } else {
        return false;
    }
    *ret = event;
    return true;
}

static bool group_change (struct generator *generator, const struct cluster *cluster,
                          struct event *ret)
{
    struct rng *rng = &generator->rng;
    int what = below (rng, 40);
    if (!generator->what.groups || what > 20)
        return false;
    if (cluster->power.count == 0 || what == 0)
        *ret = groups_event (generator);
    else if (what < 6)
        *ret = size_event (rng, cluster);
    else if (what < 14 || cluster->node_count == 0)
        return power_next (cluster, cluster->now_us + (what == 13 ? 3600 * S : 0), ret) == 1;
    else
        return node_happens (rng, cluster, below (rng, cluster->node_count), ret);
    return true;
}

/* A random event between two rounds. */
static struct event change (struct generator *generator, const struct cluster *cluster)
{
    struct rng *rng = &generator->rng;
    int what = below (rng, 10), live = cluster->live.count;
    struct event of_group;
    if (generator->what.groups && group_change (generator, cluster, &of_group))
        return of_group;
    if (what < 4 || live == 0)
        return submit_event (generator, cluster);
    if (what == 4)
        return node_event (below (rng, NODES), rng_below (rng, 2) == 1);
    int pick = below (rng, live), index = cluster->live.indices[pick];
    const struct job *job = cluster->live.jobs[pick];
    struct event event = {.job = index, .type = EVENT_CANCEL};
    if (what == 5 && (job->phase == JOB_PENDING || generator->what.real))
        return event;
    if (job_runs (job)) {
        event.type = EVENT_EXIT;
        event.exit.generation = job->generation;
        if (generator->what.real)
            snprintf (event.exit.detail, sizeof (event.exit.detail), "replica %d: exit code %d",
                      below (rng, 4), below (rng, 256));
        event.exit.kind = what < 7 ? EXITED_FINISHED : what < 9 ? EXITED_FAILED : EXITED_GAVE_UP;
        return event;
    }
    event.type = EVENT_LIMITS;
    event.limits.min_replicas = 0;
    event.limits.max_replicas = 1 + below (rng, 16);
    event.limits.weight = 1 + rng_uniform (rng);
    return event;
}

static struct event report (struct generator *generator, const struct cluster *cluster)
{
    int count = 0;
    for (int i = 0; i < cluster->live.count && count < JOBS_LIMIT; i++) {
        if (cluster->live.jobs[i]->phase == JOB_RUNNING)
            generator->reports[count++] = (struct report){
                .job = cluster->live.indices[i],
                .hints = some_hints (&generator->rng, generator->round),
                .batch = {32, 1},
                .oracle_remaining = NAN,
            };
    }
    return (struct event){
        .type = EVENT_HINTS, .job = -1, .hints = {.reports = generator->reports, .count = count}};
}

static struct event round_event (struct generator *generator, bool fill)
{
    bool real = generator->what.real;
    struct event event = {
        .type = EVENT_ROUND,
        .job = -1,
        .round = {
            .interval_s = 60, .restart_delay_s = 30, .p = -1, .seed = rng_next (&generator->rng)}};
    event.round.fill = fill;
    event.round.least_age_s = real ? 60 : 0;
    event.round.experience = generator->round % 2;
    event.round.cold = real && !fill && below (&generator->rng, 8) == 0;
    if (!fill && generator->what.cold && *generator->what.cold) {
        event.round.cold = true;
        *generator->what.cold = false;
    }
    snprintf (event.round.policy, sizeof (event.round.policy), "%s", generator->what.policy);
    return event;
}

static int next (void *self, const struct cluster *cluster, struct event *ret,
                 struct pollux_error *err)
{
    (void)err;
    struct generator *generator = self;
    if (generator->stage < NODES) {
        *ret = node_event (generator->stage++, true);
        return 1;
    }
    int64_t round_us = (generator->round + 1) * 60 * S;
    if (generator->stage == NODES && generator->changes == 0) {
        if (generator->round == generator->what.rounds)
            return 0;
        generator->changes = 1 + below (&generator->rng, 4);
    }
    if (generator->fill) {
        *ret = round_event (generator, true);
        ret->at_us = cluster->now_us;
        generator->fill = false;
    } else if (generator->stage == NODES) {
        generator->fill = generator->what.real;
        *ret = change (generator, cluster);
        int64_t least = cluster->now_us > round_us - 60 * S ? cluster->now_us : round_us - 60 * S;
        ret->at_us = least + (int64_t)rng_below (&generator->rng, (uint64_t)(round_us - least));
        generator->stage += --generator->changes == 0;
    } else if (generator->stage == NODES + 1) {
        *ret = report (generator, cluster);
        ret->at_us = round_us;
        generator->stage++;
    } else {
        *ret = round_event (generator, false);
        ret->at_us = round_us;
        generator->stage = NODES;
        generator->round++;
    }
    return 1;
}

/* Stop jobs whose plan differs from their placement, and start planned ones. */
static int carry_out (void *self, struct loop *loop, struct pollux_error *err)
{
    (void)self;
    const struct job_list *active = &loop->cluster.active;
    for (int i = 0; i < active->count; i++) {
        const struct job *job = active->jobs[i];
        struct placement to = job->desired;
        struct event event = {.at_us = loop->cluster.now_us, .job = active->indices[i]};
        if (placement_equal (to, job->placement))
            continue;
        int rc = 0;
        if (job->phase == JOB_RUNNING) {
            event.type = EVENT_EXIT;
            event.exit.generation = job->generation;
            event.exit.kind = EXITED_STOPPED;
            rc = loop_post (loop, &event, err);
        }
        if (rc == 0 && to.count > 0) {
            event.type = EVENT_START;
            event.start.generation = job->generation + 1;
            event.start.placement = to;
            rc = loop_post (loop, &event, err);
        }
        if (rc == 0 && to.count > 0) {
            event.type = EVENT_STARTED;
            rc = loop_post (loop, &event, err);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int random_journal_write (const struct random_journal *options, struct journal journal,
                          struct cluster *ret, struct pollux_error *err)
{
    struct generator *generator = calloc (1, sizeof (*generator));
    assert_non_null (generator);
    generator->what = *options;
    generator->rng = rng_seed (options->seed);
    struct loop loop = {
        .source = {next, generator}, .journal = journal, .backend = {.reconcile = carry_out}};
    int rc = policy_find (options->policy, &loop.policy, err);
    if (rc == 0)
        rc = loop_run (&loop, err);
    if (rc == 0) {
        *ret = loop.cluster;
        loop.cluster = (struct cluster){0};
    }
    loop_clear (&loop);
    free (generator);
    return rc;
}

static void lists_equal (char *const *a, char *const *b)
{
    for (; *a && *b; a++, b++)
        assert_string_equal (*a, *b);
    assert_true (!*a && !*b);
}

static void launches_alike (const struct launch *a, const struct launch *b)
{
    assert_int_equal (!a, !b);
    if (!a)
        return;
    assert_string_equal (a->owner, b->owner);
    lists_equal (a->command, b->command);
    assert_int_equal (!a->directory, !b->directory);
    if (a->directory)
        assert_string_equal (a->directory, b->directory);
    assert_int_equal (!a->checkpoint_dir, !b->checkpoint_dir);
    if (a->checkpoint_dir)
        assert_string_equal (a->checkpoint_dir, b->checkpoint_dir);
    assert_int_equal (a->launcher, b->launcher);
    assert_int_equal (a->stop_signal, b->stop_signal);
    assert_memory_equal (&a->grace_s, &b->grace_s, sizeof (double));
    assert_int_equal (a->max_failures, b->max_failures);
    assert_memory_equal (&a->backoff_s, &b->backoff_s, sizeof (double));
    assert_string_equal (a->slurm.account, b->slurm.account);
    assert_int_equal (a->slurm.memory_mb, b->slurm.memory_mb);
}

void launches_equal (const struct launch *a, const struct launch *b)
{
    launches_alike (a, b);
    if (a)
        lists_equal (a->environment, b->environment);
}

static void jobs_alike (const struct job *a, const struct job *b)
{
    assert_string_equal (a->spec.name, b->spec.name);
    assert_int_equal (a->spec.max_replicas, b->spec.max_replicas);
    assert_memory_equal (&a->spec.weight, &b->spec.weight, sizeof (double));
    assert_int_equal (a->spec.min_replicas, b->spec.min_replicas);
    assert_int_equal (a->spec.fixed_batch, b->spec.fixed_batch);
    assert_memory_equal (&a->hints.total, &b->hints.total, sizeof (double));
    assert_memory_equal (&a->hints.progress, &b->hints.progress, sizeof (double));
    assert_memory_equal (&a->batch, &b->batch, sizeof (a->batch));
    assert_int_equal (a->phase, b->phase);
    assert_int_equal (a->submit_us, b->submit_us);
    assert_int_equal (a->end_us, b->end_us);
    assert_memory_equal (&a->age_s, &b->age_s, sizeof (double));
    assert_int_equal (a->age_us, b->age_us);
    assert_int_equal (a->aged_us, b->aged_us);
    assert_memory_equal (&a->attained_s, &b->attained_s, sizeof (double));
    assert_memory_equal (&a->held_s, &b->held_s, sizeof (double));
    assert_memory_equal (&a->cost, &b->cost, sizeof (double));
    assert_int_equal (a->charged_us, b->charged_us);
    assert_int_equal (a->generation, b->generation);
    assert_int_equal (a->restarts, b->restarts);
    assert_int_equal (a->failed_last, b->failed_last);
    assert_int_equal (a->failures, b->failures);
    assert_int_equal (a->retry_us, b->retry_us);
    assert_int_equal (a->start_us, b->start_us);
    assert_memory_equal (&a->delay_s, &b->delay_s, sizeof (double));
    assert_true (placement_equal (a->placement, b->placement));
    assert_true (placement_equal (a->desired, b->desired));
    assert_string_equal (a->detail, b->detail);
    launches_alike (a->launch, b->launch);
    assert_true (a->application == b->application);
}

static void jobs_equal (const struct job *a, const struct job *b)
{
    jobs_alike (a, b);
    assert_memory_equal (&a->noise, &b->noise, sizeof (a->noise));
    assert_int_equal (a->hints.has_model, b->hints.has_model);
    if (a->hints.has_model) {
        assert_memory_equal (&a->hints.model, &b->hints.model, sizeof (a->hints.model));
        assert_memory_equal (&a->hints.grad, &b->hints.grad, sizeof (a->hints.grad));
    }
    assert_int_equal (a->hints.limits.init_batch, b->hints.limits.init_batch);
    assert_int_equal (a->hints.limits.max_local, b->hints.limits.max_local);
    assert_int_equal (a->hints.max_profiled_replicas, b->hints.max_profiled_replicas);
    launches_equal (a->launch, b->launch);
}

void node_groups_equal (const struct node_group *a, const struct node_group *b)
{
    assert_string_equal (a->name, b->name);
    assert_string_equal (a->type, b->type);
    assert_string_equal (a->names, b->names);
    assert_int_equal (a->slots_per_node, b->slots_per_node);
    assert_int_equal (a->nodes, b->nodes);
    assert_int_equal (a->min_nodes, b->min_nodes);
    assert_int_equal (a->max_nodes, b->max_nodes);
    assert_memory_equal (&a->boot_s, &b->boot_s, sizeof (double));
    assert_memory_equal (&a->price_per_node_hour, &b->price_per_node_hour, sizeof (double));
    assert_int_equal (a->revocable, b->revocable);
    assert_memory_equal (&a->notice_s, &b->notice_s, sizeof (double));
    assert_memory_equal (&a->revocations_per_day, &b->revocations_per_day, sizeof (double));
    assert_int_equal (a->retired, b->retired);
}

static void node_powers_equal (const struct node_power *a, const struct node_power *b)
{
    assert_int_equal (a->group, b->group);
    assert_int_equal (a->state, b->state);
    assert_int_equal (a->since_us, b->since_us);
    assert_int_equal (a->deadline_us, b->deadline_us);
    assert_int_equal (a->billed_us, b->billed_us);
    assert_int_equal (a->came, b->came);
    assert_int_equal (a->failures, b->failures);
}

static void powers_equal (const struct power *a, const struct power *b)
{
    assert_int_equal (a->count, b->count);
    for (int i = 0; i < a->count; i++)
        node_groups_equal (&a->groups[i], &b->groups[i]);
    assert_int_equal (a->goal.kind, b->goal.kind);
    assert_memory_equal (&a->goal.low, &b->goal.low, sizeof (double));
    assert_memory_equal (&a->goal.high, &b->goal.high, sizeof (double));
    assert_memory_equal (&a->goal.limit, &b->goal.limit, sizeof (double));
    assert_memory_equal (a->wanted, b->wanted, sizeof (a->wanted));
    assert_int_equal (a->resized_us, b->resized_us);
    assert_memory_equal (a->complete_us, b->complete_us, sizeof (a->complete_us));
    assert_string_equal (a->reason, b->reason);
    assert_int_equal (a->utility_count, b->utility_count);
    if (a->utility_count > 0)
        assert_memory_equal (a->utilities, b->utilities,
                             (size_t)a->utility_count * sizeof (double));
    assert_int_equal (a->boots, b->boots);
}

static void ledgers_equal (const struct ledger *a, const struct ledger *b)
{
    assert_int_equal (a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_int_equal (a->rows[i].month, b->rows[i].month);
        assert_int_equal (a->rows[i].capacity, b->rows[i].capacity);
        assert_string_equal (a->rows[i].owner, b->rows[i].owner);
        assert_memory_equal (&a->rows[i].slot_s, &b->rows[i].slot_s, sizeof (double));
        assert_memory_equal (&a->rows[i].cost, &b->rows[i].cost, sizeof (double));
    }
}

void clusters_equal (const struct cluster *a, const struct cluster *b)
{
    clusters_alike (a, b);
    for (int i = 0; i < a->job_count; i++)
        jobs_equal (a->jobs[i], b->jobs[i]);
}

void clusters_alike (const struct cluster *a, const struct cluster *b)
{
    assert_int_equal (a->now_us, b->now_us);
    assert_int_equal (a->node_count, b->node_count);
    for (int i = 0; i < a->node_count; i++) {
        assert_string_equal (a->nodes[i].name, b->nodes[i].name);
        assert_string_equal (a->nodes[i].type, b->nodes[i].type);
        assert_int_equal (a->nodes[i].slots, b->nodes[i].slots);
        assert_int_equal (a->nodes[i].available, b->nodes[i].available);
        assert_memory_equal (&a->nodes[i].revocations_per_s, &b->nodes[i].revocations_per_s,
                             sizeof (double));
        node_powers_equal (&a->node_power[i], &b->node_power[i]);
    }
    powers_equal (&a->power, &b->power);
    ledgers_equal (&a->ledger, &b->ledger);
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++)
        if (job_live (a->jobs[i]))
            jobs_equal (a->jobs[i], b->jobs[i]);
        else
            jobs_alike (a->jobs[i], b->jobs[i]);
    assert_int_equal (a->experience.count, b->experience.count);
    for (int i = 0; i < a->experience.count; i++) {
        const struct ended_job *x = &a->experience.jobs[i], *y = &b->experience.jobs[i];
        assert_true (x->application == y->application);
        assert_memory_equal (&x->hints.model, &y->hints.model, sizeof (x->hints.model));
        assert_int_equal (x->hints.max_profiled_replicas, y->hints.max_profiled_replicas);
        assert_memory_equal (&x->noise, &y->noise, sizeof (x->noise));
    }
    assert_int_equal (a->live.count, b->live.count);
    for (int i = 0; i < a->live.count; i++)
        assert_int_equal (a->live.indices[i], b->live.indices[i]);
}
