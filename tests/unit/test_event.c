/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as rows of a journal: random events of every type are decoded with the same bits, and
 * malformed rows are refused with their place.
 */
#include "unit.h"

#include <errno.h>

#include "base/rng.h"
#include "random_journal.h"
#include "wire/event.h"

/* ---- A cluster and events at random --------------------------------------------------------- */

enum { NODES = 20, JOBS = 40 };

static int below (struct rng *rng, int bound)
{
    return (int)rng_below (rng, (uint64_t)bound);
}

static bool maybe (struct rng *rng)
{
    return rng_below (rng, 2) == 1;
}

/* A random double of any magnitude from least to most, or one of the two limits. */
static double real (struct rng *rng, double least, double most)
{
    switch (below (rng, 8)) {
    case 0:
        return least;
    case 1:
        return most;
    case 2:
        return fmin (fmax (1, least), most);
    default:
        return fmin (fmax (exp (20 * rng_gaussian (rng)), least), most);
    }
}

static double real_or_unknown (struct rng *rng, double most)
{
    return maybe (rng) ? NAN : real (rng, 0, most);
}

/* Models of other types. */
static void add_types (struct hints *hints, struct rng *rng)
{
    snprintf (hints->type, NAME_SIZE, "last");
    hints->other_count = below (rng, OTHER_MODELS_LIMIT + 1);
    for (int i = 0; i < hints->other_count; i++) {
        struct type_model *other = &hints->others[i];
        *other = (struct type_model){.model = hints->model,
                                     .max_local = hints->limits.min_local + below (rng, 99),
                                     .max_profiled_replicas = 1 + below (rng, 64)};
        other->model.alpha_grad = real (rng, 1e-300, 1e12);
        snprintf (other->type, NAME_SIZE, "type-%d", i);
    }
}

static struct hints random_hints (struct rng *rng)
{
    struct hints hints = {.max_profiled_replicas = below (rng, 10) - 1,
                          .progress = real_or_unknown (rng, 1e18),
                          .total = real_or_unknown (rng, 1e18),
                          .step_s = real_or_unknown (rng, 1e12),
                          .rate_factor = real_or_unknown (rng, 1e12)};
    hints.has_model = maybe (rng);
    if (hints.has_model) {
        hints.model = (struct pollux_model){
            real (rng, 1e-300, 1e12), real (rng, 0, 1e12), real (rng, 0, 1e12), real (rng, 0, 1e12),
            real (rng, 0, 1e12),      real (rng, 0, 1e12), real (rng, 1, 1000)};
        hints.grad = (struct pollux_grad){.sqr = real (rng, 0, 1e300), .var = real (rng, 0, 1e300)};
    }
    if (hints.has_model || maybe (rng)) {
        int64_t init = 1 + (int64_t)rng_below (rng, POLLUX_BATCH_LIMIT),
                local = 1 + below (rng, 99);
        hints.limits = (struct pollux_limits){init, maybe (rng) ? init : POLLUX_BATCH_LIMIT, local,
                                              local + below (rng, 99), maybe (rng)};
    }
    if (hints.has_model && maybe (rng))
        add_types (&hints, rng);
    return hints;
}

static struct job_spec random_spec (struct rng *rng, const char *name)
{
    struct job_spec spec = {
        .min_replicas = below (rng, 4),
        .max_replicas = 1 + below (rng, POLLUX_REPLICAS_LIMIT),
        .weight = real (rng, 1e-9, 1e9),
        .preemptible = maybe (rng),
        .adaptive = maybe (rng),
        .restart_delay_s = real_or_unknown (rng, 1e12),
        .fixed_replicas = maybe (rng) ? 1 + below (rng, 64) : 0,
        .fixed_batch = maybe (rng) ? 1 + (int64_t)rng_below (rng, POLLUX_BATCH_LIMIT) : 0,
        .allowed = {.kind = (enum allowed_kind)below (rng, 4)},
    };
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    snprintf (spec.application, sizeof (spec.application), "%s", maybe (rng) ? "cifar10" : "");
    struct allowed *allowed = &spec.allowed;
    if (allowed->kind == ALLOWED_MULTIPLE)
        allowed->multiple = 1 + below (rng, POLLUX_REPLICAS_LIMIT);
    if (allowed->kind == ALLOWED_LIST) {
        allowed->count = 1 + below (rng, ALLOWED_LIST_LIMIT);
        for (int i = 0; i < allowed->count; i++)
            allowed->list[i] = (i ? allowed->list[i - 1] : 0) + 1 + below (rng, 1000);
    }
    spec.types.except = maybe (rng);
    spec.types.count = below (rng, SPEC_TYPES_LIMIT + 1);
    spec.types.except &= spec.types.count > 0;
    for (int i = 0; i < spec.types.count; i++)
        snprintf (spec.types.list[i], NAME_SIZE, "t%d", i);
    spec.speeds.count = below (rng, SPEC_TYPES_LIMIT + 1);
    for (int i = 0; i < spec.speeds.count; i++) {
        snprintf (spec.speeds.list[i].type, NAME_SIZE, "t%d", i);
        spec.speeds.list[i].speed = real (rng, 1e-3, 1e3);
    }
    return spec;
}

/* Names of all kinds: with blanks, quotes, escapes, other alphabets, and as long as they may be. */
static void name_of (const char *kind, int index, char ret[NAME_SIZE])
{
    static const char *const shapes[] = {
        "%s-%d",  "%s \"%d\"",
        "%s\\%d", "\xce\xbb%s%d",
        "%s/%d",  "a-name-of-%s-%d-that-is-quite-long-and-longer-than-most-of-them",
    };
    char name[256];
    snprintf (name, sizeof (name), shapes[(size_t)index % COUNT (shapes)], kind, index);
    snprintf (ret, NAME_SIZE, "%.*s", NAME_SIZE - 1, name);
}

static void build_cluster (struct rng *rng, struct cluster *cluster)
{
    for (int i = 0; i < NODES; i++) {
        struct event node = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = 8, .available = true}};
        name_of ("node", i, node.node.name);
        assert_int_equal (0, cluster_apply (cluster, &node, NULL));
    }
    for (int i = 0; i < JOBS; i++) {
        char name[NAME_SIZE];
        name_of ("job", i, name);
        struct job_spec spec = random_spec (rng, name);
        struct event submit = {.type = EVENT_SUBMIT, .job = i, .submit = {.spec = &spec}};
        assert_int_equal (0, cluster_apply (cluster, &submit, NULL));
    }
    for (int i = 0; i < JOBS; i += 3) {
        struct event cancel = {.type = EVENT_CANCEL, .job = i};
        assert_int_equal (0, cluster_apply (cluster, &cancel, NULL));
    }
    struct event round = {.type = EVENT_ROUND, .job = -1};
    assert_int_equal (0, cluster_apply (cluster, &round, NULL));
    struct event groups = {
        .type = EVENT_GROUPS,
        .job = -1,
        .groups = {(struct node_group[]){
                       {.name = "spot", .slots_per_node = 4, .max_nodes = NODES_LIMIT},
                       {.name = "t4", .type = "t4", .slots_per_node = 8, .max_nodes = 3}},
                   2,
                   {.kind = GOAL_FIXED}}};
    assert_int_equal (0, cluster_apply (cluster, &groups, NULL));
}

/* Some nodes in any order. */
static struct placement random_placement (struct rng *rng, struct share *shares)
{
    int nodes[NODES] = {0};
    for (int i = 0; i < NODES; i++) {
        int j = below (rng, i + 1);
        nodes[i] = nodes[j];
        nodes[j] = i;
    }
    int count = below (rng, NODES + 1);
    for (int i = 0; i < count; i++)
        shares[i] = (struct share){.node = nodes[i], .replicas = 1 + below (rng, SLOTS_LIMIT)};
    return (struct placement){.shares = shares, .count = count};
}

/* Memory that random events point to. */
struct parts {
    struct job_spec spec;
    struct oracle oracle;
    struct launch launch;
    double iter_s[8];
    struct report reports[JOBS];
    struct share shares[NODES];
    struct plan plan;
    struct node_group groups[NODE_GROUPS_LIMIT];
};

static struct goal random_goal (struct rng *rng)
{
    switch ((enum goal_kind)below (rng, GOAL_COST + 1)) {
    case GOAL_BAND: {
        double low = real (rng, 1e-300, 0.9);
        return (struct goal){.kind = GOAL_BAND, .low = low, .high = low + (1 - low) / 2};
    }
    case GOAL_BUDGET:
        return (struct goal){.kind = GOAL_BUDGET, .limit = real (rng, 0, 1e300)};
    case GOAL_COST:
        return (struct goal){.kind = GOAL_COST, .limit = real (rng, 1, 1e300)};
    case GOAL_FIXED:
        break;
    }
    return (struct goal){.kind = GOAL_FIXED};
}

static struct node_group random_group (struct rng *rng, int index)
{
    struct node_group group = {
        .slots_per_node = 1 + below (rng, SLOTS_LIMIT),
        .min_nodes = below (rng, 10),
        .boot_s = real (rng, 0, 86400),
        .price_per_node_hour = real (rng, 0, 1e9),
        .revocable = maybe (rng),
    };
    group.retired = group.min_nodes == 0;
    group.nodes = group.min_nodes + below (rng, 10);
    group.max_nodes = maybe (rng) ? NODES_LIMIT : group.nodes + below (rng, 10);
    if (group.revocable) {
        group.notice_s = real (rng, 0, 86400);
        group.revocations_per_day = real (rng, 0, 1e4);
    }
    snprintf (group.name, NAME_SIZE, "group_%d.", index);
    snprintf (group.type, NAME_SIZE, "%s", maybe (rng) ? "a100" : "");
    if (maybe (rng)) { /* at least one name, also for a group without nodes */
        const char *first = maybe (rng) ? "0007" : "7";
        snprintf (group.names, NAME_SIZE, "gpu%c[%s-%d]", 'a' + index, first,
                  7 + group.max_nodes + below (rng, 3));
    }
    return group;
}

static void random_plan (struct rng *rng, const struct cluster *cluster, struct parts *parts)
{
    struct plan *plan = &parts->plan;
    assert_int_equal (0, plan_reset (plan, cluster->active.count));
    bool speedups = maybe (rng);
    for (int i = 0; i < plan->job_count; i++) {
        if (maybe (rng))
            assert_int_equal (0, plan_place (plan, i, random_placement (rng, parts->shares)));
        if (speedups && maybe (rng))
            plan->speedups[i] = real (rng, -1, INFINITY);
    }
    if (maybe (rng)) {
        plan->fitness = real (rng, -1, 1e300);
        plan->bound = real (rng, -1, INFINITY);
        plan->price = real (rng, -INFINITY, 1e300);
    }
}

static struct launch random_launch (struct rng *rng)
{
    static char *commands[][4] = {{"true"}, {"sh", "-c", "a \"b\" \\ \n\t\xce\xbb"}, {"", ""}};
    static char *environments[][3] = {{NULL}, {"A="}, {"A=b=c", "LONG_2=\x01 \n"}};
    struct launch launch = {
        .command = commands[below (rng, (int)COUNT (commands))],
        .environment = environments[below (rng, (int)COUNT (environments))],
        .directory = maybe (rng) ? "/tmp/a \xce\xbb" : NULL,
        .checkpoint_dir = maybe (rng) ? "/" : NULL,
        .launcher = (enum launcher)below (rng, LAUNCHERS),
        .stop_signal = maybe (rng) ? 15 : 64,
        .grace_s = real (rng, 0, 3600),
        .max_failures = below (rng, 1000),
        .backoff_s = real (rng, 0, LAUNCH_BACKOFF_LIMIT),
    };
    if (maybe (rng))
        launch.slurm = (struct slurm_request){.account = "vision", .memory_mb = 1 + below (rng, 9)};
    snprintf (launch.owner, sizeof (launch.owner), "%s", maybe (rng) ? "ann \xce\xbb" : "");
    return launch;
}

static struct event random_event (struct rng *rng, const struct cluster *cluster,
                                  enum event_type type, struct parts *parts)
{
    struct event event = {.at_us = cluster->now_us + (int64_t)rng_below (rng, INT64_MAX / 2),
                          .type = type,
                          .job = below (rng, JOBS)};
    switch (type) {
    case EVENT_SUBMIT:
        event.job = cluster->job_count;
        parts->spec = random_spec (rng, "a new one");
        event.submit.spec = &parts->spec;
        event.submit.hints = random_hints (rng);
        if (maybe (rng)) {
            parts->oracle = (struct oracle){.iter_s = parts->iter_s,
                                            .count = below (rng, 9),
                                            .remaining = real_or_unknown (rng, 1e18)};
            for (int i = 0; i < parts->oracle.count; i++)
                parts->iter_s[i] = real (rng, 0, 1e12);
            event.submit.oracle = &parts->oracle;
        }
        if (maybe (rng)) {
            parts->launch = random_launch (rng);
            event.submit.launch = &parts->launch;
        }
        break;
    case EVENT_CANCEL:
        break;
    case EVENT_LIMITS:
        event.limits.min_replicas = below (rng, 9);
        event.limits.max_replicas = 1 + below (rng, POLLUX_REPLICAS_LIMIT);
        event.limits.weight = real (rng, 1e-9, 1e9);
        break;
    case EVENT_NODE:
        event.job = -1;
        event.node.slots = below (rng, SLOTS_LIMIT + 1);
        event.node.available = maybe (rng);
        name_of ("node", below (rng, 2 * NODES), event.node.name);
        snprintf (event.node.type, sizeof (event.node.type), "%s", maybe (rng) ? "a100" : "");
        break;
    case EVENT_HINTS:
        event.job = -1;
        event.hints.reports = parts->reports;
        for (int i = 0; i < JOBS; i++) {
            if (maybe (rng))
                continue;
            parts->reports[event.hints.count++] = (struct report){
                .job = i,
                .hints = random_hints (rng),
                .batch = {maybe (rng) ? 1 + below (rng, 999) : 0, below (rng, 3)},
                .oracle_remaining = real_or_unknown (rng, 1e18),
            };
        }
        break;
    case EVENT_ROUND:
        event.job = -1;
        event.round = (struct round){
            .policy = "tiresias",
            .software = "0.0.9",
            .interval_s = real (rng, 0, 1e12),
            .restart_delay_s = real (rng, 0, 1e12),
            .p = maybe (rng) ? -real (rng, 0, INFINITY) : 1,
            .search = maybe (rng) ? POLLUX_EXACT : POLLUX_REFERENCE,
            .seed = maybe (rng) ? rng_next (rng) : UINT64_MAX - rng_below (rng, 2),
            .budget = (int64_t)rng_below (rng, (uint64_t)1 << 53),
            .least_age_s = maybe (rng) ? 0 : real (rng, 0, 1e12),
            .fill = maybe (rng),
            .cold = maybe (rng),
        };
        if (maybe (rng)) {
            policy_settings_set (&event.round.settings, "quantum", real (rng, 1, 1e12));
            policy_settings_set (&event.round.settings, "other", -INFINITY);
        }
        break;
    case EVENT_PLAN:
        event.job = -1;
        random_plan (rng, cluster, parts);
        event.plan = &parts->plan;
        break;
    case EVENT_START:
        event.start.placement = random_placement (rng, parts->shares);
        event.start.generation = below (rng, INT32_MAX);
        break;
    case EVENT_STARTED:
        event.start.generation = below (rng, INT32_MAX);
        break;
    case EVENT_EXIT:
        event.exit.generation = below (rng, INT32_MAX);
        event.exit.kind = (enum exit_kind)below (rng, EXIT_KINDS);
        memset (event.exit.detail, 'd', (size_t)below (rng, DETAIL_SIZE));
        event.exit.pause_s = below (rng, 3) ? 0 : below (rng, PAUSE_LIMIT + 1);
        break;
    case EVENT_GROUPS:
        event.job = -1;
        event.groups.list = parts->groups;
        event.groups.count = below (rng, NODE_GROUPS_LIMIT + 1);
        event.groups.goal = random_goal (rng);
        for (int i = 0; i < event.groups.count; i++)
            parts->groups[i] = random_group (rng, i);
        break;
    case EVENT_SIZE:
        event.job = -1;
        event.size.utility = maybe (rng) ? NAN : real (rng, 0, INFINITY);
        event.size.resize = maybe (rng);
        for (int i = 0; event.size.resize && i < cluster->power.count; i++)
            event.size.nodes[i] = below (rng, NODES_LIMIT + 1);
        if (event.size.resize)
            memset (event.size.reason, 'r', (size_t)below (rng, DETAIL_SIZE));
        break;
    case EVENT_POWER:
        event.job = -1;
        name_of ("node", below (rng, 2 * NODES), event.power.node);
        event.power.state = (enum power_state)below (rng, POWER_STATES);
        event.power.deadline_us = maybe (rng) ? 0 : (int64_t)rng_below (rng, (uint64_t)1 << 53);
        memset (event.power.detail, 'd', (size_t)below (rng, DETAIL_SIZE));
        break;
    }
    return event;
}

/* ---- The same, bit for bit ------------------------------------------------------------------ */

static void same_real (double a, double b)
{
    assert_memory_equal (&a, &b, sizeof (a));
}

static void same_hints (const struct hints *a, const struct hints *b)
{
    assert_string_equal (a->type, b->type);
    assert_int_equal (a->other_count, b->other_count);
    for (int i = 0; i < a->other_count; i++) {
        assert_string_equal (a->others[i].type, b->others[i].type);
        assert_memory_equal (&a->others[i].model, &b->others[i].model, sizeof (a->others[i].model));
        assert_true (a->others[i].max_local == b->others[i].max_local);
        assert_int_equal (a->others[i].max_profiled_replicas, b->others[i].max_profiled_replicas);
    }
    assert_int_equal (a->has_model, b->has_model);
    assert_memory_equal (&a->model, &b->model, sizeof (a->model));
    assert_memory_equal (&a->grad, &b->grad, sizeof (a->grad));
    assert_int_equal (a->limits.init_batch, b->limits.init_batch);
    assert_int_equal (a->limits.max_batch, b->limits.max_batch);
    assert_int_equal (a->limits.min_local, b->limits.min_local);
    assert_int_equal (a->limits.max_local, b->limits.max_local);
    assert_int_equal (a->limits.accumulation, b->limits.accumulation);
    assert_int_equal (a->max_profiled_replicas, b->max_profiled_replicas);
    same_real (a->progress, b->progress);
    same_real (a->total, b->total);
}

static void same_spec (const struct job_spec *a, const struct job_spec *b)
{
    assert_string_equal (a->name, b->name);
    assert_string_equal (a->application, b->application);
    assert_int_equal (a->min_replicas, b->min_replicas);
    assert_int_equal (a->max_replicas, b->max_replicas);
    assert_memory_equal (&a->allowed, &b->allowed, sizeof (a->allowed));
    assert_memory_equal (&a->types, &b->types, sizeof (a->types));
    assert_int_equal (a->speeds.count, b->speeds.count);
    for (int i = 0; i < a->speeds.count; i++) {
        assert_string_equal (a->speeds.list[i].type, b->speeds.list[i].type);
        same_real (a->speeds.list[i].speed, b->speeds.list[i].speed);
    }
    same_real (a->weight, b->weight);
    assert_int_equal (a->preemptible, b->preemptible);
    assert_int_equal (a->adaptive, b->adaptive);
    same_real (a->restart_delay_s, b->restart_delay_s);
    assert_int_equal (a->fixed_replicas, b->fixed_replicas);
    assert_int_equal (a->fixed_batch, b->fixed_batch);
}

static void same_submit (const struct event *a, const struct event *b)
{
    same_spec (a->submit.spec, b->submit.spec);
    same_hints (&a->submit.hints, &b->submit.hints);
    launches_equal (a->submit.launch, b->submit.launch);
    const struct oracle *x = a->submit.oracle, *y = b->submit.oracle;
    assert_int_equal (!x, !y);
    if (!x)
        return;
    assert_int_equal (x->count, y->count);
    if (x->count > 0)
        assert_memory_equal (x->iter_s, y->iter_s, (size_t)x->count * sizeof (x->iter_s[0]));
    same_real (x->remaining, y->remaining);
}

static void same_plan (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++) {
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
        same_real (a->speedups[i], b->speedups[i]);
    }
    same_real (a->fitness, b->fitness);
    same_real (a->bound, b->bound);
    same_real (a->price, b->price);
}

static void same_round (const struct round *a, const struct round *b)
{
    assert_string_equal (a->policy, b->policy);
    assert_string_equal (a->software, b->software);
    same_real (a->interval_s, b->interval_s);
    same_real (a->restart_delay_s, b->restart_delay_s);
    same_real (a->p, b->p);
    assert_int_equal (a->search, b->search);
    assert_true (a->seed == b->seed);
    assert_true (a->budget == b->budget);
    same_real (a->least_age_s, b->least_age_s);
    assert_int_equal (a->fill, b->fill);
    assert_int_equal (a->cold, b->cold);
    assert_int_equal (a->settings.count, b->settings.count);
    for (int i = 0; i < a->settings.count; i++) {
        assert_string_equal (a->settings.items[i].name, b->settings.items[i].name);
        same_real (a->settings.items[i].value, b->settings.items[i].value);
    }
}

static void same_goal (const struct goal *a, const struct goal *b)
{
    assert_int_equal (a->kind, b->kind);
    same_real (a->low, b->low);
    same_real (a->high, b->high);
    same_real (a->limit, b->limit);
}

static void same_event (const struct event *a, const struct event *b)
{
    assert_true (a->at_us == b->at_us);
    assert_int_equal (a->type, b->type);
    assert_int_equal (a->job, b->job);
    switch (a->type) {
    case EVENT_SUBMIT:
        same_submit (a, b);
        break;
    case EVENT_CANCEL:
        break;
    case EVENT_LIMITS:
        assert_int_equal (a->limits.min_replicas, b->limits.min_replicas);
        assert_int_equal (a->limits.max_replicas, b->limits.max_replicas);
        same_real (a->limits.weight, b->limits.weight);
        break;
    case EVENT_NODE:
        assert_string_equal (a->node.name, b->node.name);
        assert_string_equal (a->node.type, b->node.type);
        assert_int_equal (a->node.slots, b->node.slots);
        assert_int_equal (a->node.available, b->node.available);
        break;
    case EVENT_HINTS:
        assert_int_equal (a->hints.count, b->hints.count);
        for (int i = 0; i < a->hints.count; i++) {
            const struct report *x = &a->hints.reports[i], *y = &b->hints.reports[i];
            assert_int_equal (x->job, y->job);
            same_hints (&x->hints, &y->hints);
            assert_memory_equal (&x->batch, &y->batch, sizeof (x->batch));
            same_real (x->oracle_remaining, y->oracle_remaining);
        }
        break;
    case EVENT_ROUND:
        same_round (&a->round, &b->round);
        break;
    case EVENT_PLAN:
        same_plan (a->plan, b->plan);
        break;
    case EVENT_START:
        assert_true (placement_equal (a->start.placement, b->start.placement));
        assert_int_equal (a->start.generation, b->start.generation);
        break;
    case EVENT_STARTED:
        assert_int_equal (a->start.generation, b->start.generation);
        break;
    case EVENT_EXIT:
        assert_int_equal (a->exit.generation, b->exit.generation);
        assert_int_equal (a->exit.kind, b->exit.kind);
        assert_string_equal (a->exit.detail, b->exit.detail);
        assert_int_equal (a->exit.pause_s, b->exit.pause_s);
        break;
    case EVENT_GROUPS:
        same_goal (&a->groups.goal, &b->groups.goal);
        assert_int_equal (a->groups.count, b->groups.count);
        for (int i = 0; i < a->groups.count; i++)
            node_groups_equal (&a->groups.list[i], &b->groups.list[i]);
        break;
    case EVENT_SIZE:
        same_real (a->size.utility, b->size.utility);
        assert_int_equal (a->size.resize, b->size.resize);
        assert_memory_equal (a->size.nodes, b->size.nodes, sizeof (a->size.nodes));
        assert_string_equal (a->size.reason, b->size.reason);
        break;
    case EVENT_POWER:
        assert_string_equal (a->power.node, b->power.node);
        assert_int_equal (a->power.state, b->power.state);
        assert_true (a->power.deadline_us == b->power.deadline_us);
        assert_string_equal (a->power.detail, b->power.detail);
        break;
    }
}

static void every_type_comes_back (void **state)
{
    (void)state;
    struct rng rng = rng_seed (11);
    struct cluster cluster = {0};
    struct parts parts = {0};
    struct wire_text_buffer buffer = {0};
    struct wire_event back = {0};
    build_cluster (&rng, &cluster);
    for (int i = 0; i < soak_count (20000); i++) {
        enum event_type type = (enum event_type) (i % EVENT_TYPES);
        struct event event = random_event (&rng, &cluster, type, &parts);
        struct wire_row row;
        struct pollux_error err = {""};
        if (wire_event_encode (&cluster, &event, &buffer, &row, &err) < 0)
            fail_msg ("%s", err.text);
        assert_string_equal (row.type, event_names[type]);
        if (wire_event_decode (&cluster, &row, "row", &back, &err) < 0)
            fail_msg ("%s: %.*s", err.text, (int)row.length, row.body);
        same_event (&event, &back.event);
    }
    wire_event_clear (&back);
    wire_text_buffer_clear (&buffer);
    plan_clear (&parts.plan);
    cluster_clear (&cluster);
}

/* ---- Refusals and their messages ------------------------------------------------------------ */

/* Nodes n0 and n1; jobs a, which has ended, b and c; a group spot. */
static void small_cluster (struct cluster *cluster)
{
    const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 2; i++) {
        struct event node = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = true}};
        snprintf (node.node.name, sizeof (node.node.name), "n%d", i);
        assert_int_equal (0, cluster_apply (cluster, &node, NULL));
    }
    for (int i = 0; i < 3; i++) {
        struct job_spec spec = {.max_replicas = 4, .weight = 1};
        snprintf (spec.name, sizeof (spec.name), "%s", names[i]);
        struct event submit = {.type = EVENT_SUBMIT, .job = i, .submit = {.spec = &spec}};
        assert_int_equal (0, cluster_apply (cluster, &submit, NULL));
    }
    struct event cancel = {.type = EVENT_CANCEL, .job = 0};
    assert_int_equal (0, cluster_apply (cluster, &cancel, NULL));
    struct event round = {.type = EVENT_ROUND, .job = -1};
    assert_int_equal (0, cluster_apply (cluster, &round, NULL));
    struct node_group spot = {.name = "spot", .slots_per_node = 4, .max_nodes = 16};
    struct event groups = {.type = EVENT_GROUPS, .job = -1, .groups = {.list = &spot, .count = 1}};
    assert_int_equal (0, cluster_apply (cluster, &groups, NULL));
}

#define GOAL "\"goal\":\"fixed\""
#define SPEC                                                                                       \
    "\"min_replicas\":0,\"max_replicas\":4,\"weight\":1,\"preemptible\":true,\"adaptive\":true"
#define MODEL                                                                                      \
    "\"model\":{\"alpha_grad\":1,\"beta_grad\":0,\"alpha_node\":0,\"beta_node\":0,"                \
    "\"alpha_local\":0,\"beta_local\":0,\"gamma\":1}"
#define LAUNCH                                                                                     \
    "\"launcher\":\"env\",\"stop_signal\":15,\"grace\":30,\"max_failures\":3,\"backoff\":10"
#define ROUND                                                                                      \
    "\"policy\":\"fifo\",\"interval\":60,\"restart_delay\":30,\"batch_search\":\"exact\","         \
    "\"software\":\"0.1.0\""

static void malformed_rows_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *type, *job, *body, *says;
    } cases[] = {
        {"ROUNDS", NULL, "{}", "the type is 'ROUNDS', which this version does not know"},
        {"", NULL, "{}", "the type is a text that is not a name"},
        {"\x1b[2J", NULL, "{}", "the type is a text that is not a name"},
        {"round", NULL, "{}", "'round'"},
        {"CANCEL", NULL, "{}", "CANCEL: expected the name of a job, got nothing"},
        {"CANCEL", "", "{}", "expected the name of a job, got a text that is not a name"},
        {"CANCEL", "\xff", "{}", "got a text that is not a name"},
        {"CANCEL", "d", "{}", "CANCEL of job 'd', which is not known"},
        {"CANCEL", "b", "", "row:1:1: empty file"},
        {"CANCEL", "b", "{", "row:1:1: not well-formed JSON"},
        {"CANCEL", "b", "[]", "row:1:1: expected an object, got an array"},
        {"ROUND", "b", "{" ROUND ",\"p\":-1,\"seed\":\"1\"}", "ROUND of job 'b': expected no job"},
        {"ROUND", NULL, "{" ROUND ",\"p\":2,\"seed\":\"1\"}",
         "p: expected a number up to 1, or \"-inf\""},
        {"ROUND", NULL, "{" ROUND ",\"p\":\"inf\",\"seed\":\"1\"}", "p: expected a number"},
        {"ROUND", NULL, "{" ROUND ",\"p\":\"nan\",\"seed\":\"1\"}", "p: expected a number"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":1}", "seed: expected the digits"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"-1\"}", "seed: expected the digits"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"\"}", "seed: expected the digits"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"007\"}", "seed: expected the digits"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"18446744073709551616\"}", "below 2^64"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"1\",\"budget\":-1}", "budget: expected"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"1\",\"least_age\":-1}",
         "least_age: expected"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"1\",\"fill\":1}", "fill: expected true"},
        {"ROUND", NULL, "{" ROUND ",\"p\":-1,\"seed\":\"1\",\"cold\":\"no\"}",
         "cold: expected true"},
        {"ROUND", NULL, "{\"policy\":\"\"}", "policy: expected a name of 1 to 63 bytes, got \"\""},
        {"ROUND", NULL, "{}", "policy: expected a name of 1 to 63 bytes, got nothing"},
        {"NODE", NULL, "{\"name\":\"x\",\"slots\":-1,\"available\":true}",
         "slots: expected an integer"},
        {"NODE", NULL, "{\"name\":\"x\",\"slots\":1025,\"available\":true}", "from 0 to 1024"},
        {"NODE", NULL, "{\"name\":\"x\",\"slots\":1,\"available\":1}", "expected true or false"},
        {"NODE", NULL, "{\"name\":\"a\\u0000b\",\"slots\":1}", "not well-formed JSON"},
        {"NODE", NULL, "{\"name\":\"a\\u001b\",\"slots\":1}", "name: expected a name"},
        {"SUBMIT", "d", "{}", "min_replicas: expected an integer"},
        {"SUBMIT", "d", "{" SPEC "}", "hints: expected an object, got nothing"},
        {"SUBMIT", "d", "{" SPEC ",\"allowed\":\"some\",\"hints\":{}}",
         "allowed: expected \"any\""},
        {"SUBMIT", "d", "{" SPEC ",\"allowed\":{\"multiple_of\":0},\"hints\":{}}", "multiple_of"},
        {"SUBMIT", "d", "{" SPEC ",\"allowed\":[],\"hints\":{}}", "expected 1 to 64 counts"},
        {"SUBMIT", "d", "{" SPEC ",\"allowed\":[1,4,4],\"hints\":{}}",
         "allowed[2]: expected every count once"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{" MODEL "}}", "hints.grad: expected it beside"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{" MODEL ",\"grad\":{\"sqr\":1,\"var\":1}}}",
         "hints.init_batch: expected it beside the rest of the model"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{\"init_batch\":1,\"max_batch\":2,\"min_local\":1}}",
         "hints.max_local: expected it beside"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{},\"oracle\":{}}",
         "oracle.iter_s: expected an array"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{},\"oracle\":{\"iter_s\":[1,null]}}",
         "oracle.iter_s[1]: expected a number from 0"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{},\"launch\":[]}", "launch: expected an object"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{},\"launch\":{" LAUNCH "}}",
         "launch.command: expected"},
        {"SUBMIT", "d", "{" SPEC ",\"hints\":{},\"launch\":{" LAUNCH ",\"command\":[null]}}",
         "launch.command[0]: expected"},
        {"SUBMIT", "d",
         "{" SPEC ",\"hints\":{},\"launch\":{" LAUNCH ",\"command\":[\"a\"],\"directory\":\"b\"}}",
         "launch.directory: expected an absolute path"},
        {"LIMITS", "b", "{\"min_replicas\":0,\"max_replicas\":0}",
         "max_replicas: expected an integer"},
        {"LIMITS", "b", "{\"min_replicas\":0,\"max_replicas\":1,\"weight\":0}", "weight: expected"},
        {"HINTS", NULL, "{\"d\":{}}", "d: expected the name of a job"},
        {"HINTS", NULL, "{\"\\u001b[2J\":{}}", "?[2J: expected the name of a job"},
        {"HINTS", NULL, "{\"b\":3}", "b: expected an object, got '3'"},
        {"HINTS", NULL, "{\"b\":{\"m\":-1}}", "b.m: expected an integer"},
        {"HINTS", NULL, "{\"b\":{},\"b\":{}}", "duplicate"},
        {"PLAN", NULL, "{}", "placements: expected an object, got nothing"},
        {"PLAN", NULL, "{\"placements\":{\"a\":{}}}",
         "placements.a: expected a job that has not ended"},
        {"PLAN", NULL, "{\"placements\":{\"d\":{}}}", "placements.d: expected the name of a job"},
        {"PLAN", NULL, "{\"placements\":{\"b\":{\"n2\":1}}}",
         "b.n2: expected a node that is known"},
        {"PLAN", NULL, "{\"placements\":{\"b\":{\"n0\":0}}}", "b.n0: expected an integer from 1"},
        {"PLAN", NULL, "{\"placements\":{\"b\":{\"n0\":1,\"n1\":1,\"n2\":1}}}",
         "at most all 2 nodes"},
        {"PLAN", NULL, "{\"placements\":{},\"speedups\":[]}", "speedups: expected an object"},
        {"PLAN", NULL, "{\"placements\":{},\"speedups\":{\"a\":1}}", "speedups.a: expected a job"},
        {"PLAN", NULL, "{\"placements\":{},\"speedups\":{\"b\":null}}", "speedups.b: expected"},
        {"PLAN", NULL, "{\"placements\":{},\"fitness\":\"high\"}",
         "fitness: expected a number, \"inf\" or \"-inf\""},
        {"START", "b", "{\"generation\":1}", "placement: expected an object, got nothing"},
        {"START", "b", "{\"generation\":-1,\"placement\":{}}", "generation: expected an integer"},
        {"STARTED", "b", "{}", "generation: expected an integer"},
        {"EXIT", "b", "{\"generation\":1,\"kind\":\"lost\"}",
         "kind: expected \"finished\", \"stopped\", \"failed\", \"gave up\" or \"again\", got "
         "\"lost\""},
        {"EXIT", "b", "{\"generation\":1,\"kind\":\"failed\",\"detail\":\"a\\nb\"}",
         "detail: expected a line of at most 159 bytes"},
        {"EXIT", "b", "{\"generation\":1,\"kind\":\"failed\",\"detail\":1}",
         "detail: expected a line"},
        {"EXIT", "b", "{\"generation\":2147483648,\"kind\":\"failed\"}", "generation: expected"},
        {"GROUPS", NULL, "{}", "goal: expected"},
        {"GROUPS", NULL, "{\"goal\":\"more\",\"groups\":[]}", "expected fixed, band:LOW,HIGH"},
        {"GROUPS", NULL, "{" GOAL "}", "groups: expected an array, got nothing"},
        {"GROUPS", NULL, "{" GOAL ",\"groups\":[{}]}", "groups[0].gpus_per_node: expected"},
        {"GROUPS", NULL, "{" GOAL ",\"groups\":[{\"gpus_per_node\":1,\"max\":1}]}",
         "groups[0]: expected a name or a type"},
        {"GROUPS", NULL, "{" GOAL ",\"groups\":[{\"name\":\"a b\",\"gpus_per_node\":1,\"max\":1}]}",
         "groups[0].name: expected letters"},
        {"GROUPS", NULL,
         "{" GOAL ",\"groups\":[{\"name\":\"a\",\"gpus_per_node\":1,\"max\":1,\"min\":2}]}",
         "groups[0].min: expected min to be at most max, which is 1, got '2'"},
        {"GROUPS", NULL,
         "{" GOAL ",\"groups\":[{\"name\":\"a\",\"gpus_per_node\":1,\"max\":1},{\"name\":\"a\","
         "\"gpus_per_node\":1,\"max\":1}]}",
         "groups[1]: expected one group for each name"},
        {"GROUPS", NULL,
         "{" GOAL ",\"groups\":[{\"name\":\"a\",\"gpus_per_node\":1,\"max\":1},{\"name\":\"b\","
         "\"names\":\"a-[0-9]\",\"gpus_per_node\":1,\"max\":1}]}",
         "groups[1]: expected nodes of other names than those of group a"},
        {"SIZE", NULL, "{\"utility\":-1}", "utility: expected"},
        {"SIZE", NULL, "{\"reason\":\"why\"}", "nodes: expected it beside the reason"},
        {"SIZE", NULL, "{\"nodes\":[]}", "nodes: expected an object"},
        {"SIZE", NULL, "{\"nodes\":{}}", "nodes.spot: expected an integer"},
        {"SIZE", NULL, "{\"nodes\":{\"spot\":-1}}", "nodes.spot: expected an integer from 0"},
        {"SIZE", NULL, "{\"nodes\":{\"spot\":1,\"t4\":1}}",
         "nodes.t4: expected the name of a group"},
        {"SIZE", "b", "{}", "SIZE of job 'b': expected no job"},
        {"POWER", NULL, "{\"state\":\"off\"}", "node: expected a name"},
        {"POWER", NULL, "{\"node\":\"spot-0\"}", "state: expected"},
        {"POWER", NULL, "{\"node\":\"spot-0\",\"state\":\"on\"}", "state: expected \"none\""},
        {"POWER", NULL, "{\"node\":\"spot-0\",\"state\":\"off\",\"deadline_us\":-1}",
         "deadline_us: expected"},
        {"POWER", NULL, "{\"node\":\"spot-0\",\"state\":\"off\",\"detail\":\"a\\nb\"}",
         "detail: expected a line"},
    };
    struct cluster cluster = {0};
    struct wire_event event = {0};
    small_cluster (&cluster);
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_error err = {""};
        struct wire_row row = {.type = cases[i].type,
                               .job = cases[i].job,
                               .body = cases[i].body,
                               .length = strlen (cases[i].body)};
        assert_int_equal (-EINVAL, wire_event_decode (&cluster, &row, "row", &event, &err));
        if (strncmp (err.text, "row", 3) != 0 || !strstr (err.text, cases[i].says))
            fail_msg ("case %zu: expected '%s' in: %s", i, cases[i].says, err.text);
        for (const char *at = err.text; *at; at++)
            assert_true ((unsigned char)*at >= 0x20);
    }
    struct wire_row early = {.at_us = -1, .type = "CANCEL", .job = "b", .body = "{}", .length = 2};
    assert_int_equal (-EINVAL, wire_event_decode (&cluster, &early, "row", &event, NULL));
    wire_event_clear (&event);
    cluster_clear (&cluster);
}

/* Events that could not be read again are refused. */
static void unreadable_events_are_not_written (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    small_cluster (&cluster);
    struct plan plan = {0};
    assert_int_equal (0, plan_reset (&plan, 1));
    struct job_spec control = {.name = "bell\a", .max_replicas = 1, .weight = 1};
    struct job_spec heavy = {.name = "d", .max_replicas = 1, .weight = INFINITY};
    struct hints half = {.has_model = true, .model = {.alpha_grad = 1, .gamma = 1}};
    struct report illegal = {.job = 1, .hints = {.progress = -1}}, unknown_job = {.job = 7};
    struct report twice[] = {{.job = 1}, {.job = 1}};
    struct oracle oracle = {.iter_s = (double[]){NAN}, .count = 1};
    struct placement twin = {(struct share[]){{0, 1}, {0, 1}}, 2};
    struct placement nowhere = {(struct share[]){{2, 1}}, 1};
    struct job_spec fine = {.name = "d", .max_replicas = 1, .weight = 1};
    struct node_group blank = {.name = "a b", .slots_per_node = 1},
                      narrow = {.name = "a", .slots_per_node = 1, .min_nodes = 1},
                      dear = {.name = "a", .slots_per_node = 1, .price_per_node_hour = INFINITY};
    struct goal upside_down = {.kind = GOAL_BAND, .low = 0.7, .high = 0.3};
    const struct {
        struct event event;
        const char *says;
    } cases[] = {
        {{.type = EVENT_CANCEL, .job = 3}, "CANCEL: job 3: there are 3 jobs"},
        {{.type = EVENT_CANCEL, .job = -1}, "CANCEL: job -1"},
        {{.type = EVENT_CANCEL, .job = 1, .at_us = -1}, "CANCEL: at -1 us"},
        {{.type = EVENT_SUBMIT, .submit = {.spec = &control}}, "SUBMIT: a job's name"},
        {{.type = EVENT_SUBMIT, .submit = {.spec = &heavy}}, "SUBMIT: weight: expected a number"},
        {{.type = EVENT_SUBMIT, .submit = {.spec = &fine, .hints = half}}, "SUBMIT: init_batch"},
        {{.type = EVENT_SUBMIT, .submit = {.spec = &fine, .oracle = &oracle}}, "iter_s[0]"},
        {{.type = EVENT_LIMITS, .job = 1, .limits = {0, 0, 1}}, "LIMITS: max_replicas"},
        {{.type = EVENT_NODE, .node = {.name = ""}}, "NODE: name: expected a name"},
        {{.type = EVENT_HINTS, .hints = {&illegal, 1}}, "HINTS: job b: progress"},
        {{.type = EVENT_HINTS, .hints = {&unknown_job, 1}}, "HINTS: job 7"},
        {{.type = EVENT_HINTS, .hints = {twice, 2}}, "HINTS: two reports of one job"},
        {{.type = EVENT_ROUND, .round = {.policy = "fifo", .p = NAN}}, "ROUND: p: expected"},
        {{.type = EVENT_ROUND}, "ROUND: policy"},
        {{.type = EVENT_PLAN, .plan = &plan}, "PLAN: 1 jobs, but 2 are active"},
        {{.type = EVENT_START, .job = 1, .start = {.generation = 1, .placement = twin}},
         "START: placement: two shares"},
        {{.type = EVENT_START, .job = 1, .start = {.generation = 1, .placement = nowhere}},
         "on node 2, of 2 nodes"},
        {{.type = EVENT_EXIT, .job = 1, .exit = {.generation = 1, .kind = (enum exit_kind)9}},
         "EXIT: kind"},
        {{.type = EVENT_EXIT, .job = 1, .exit = {1, EXITED_FAILED, "bell\a", 0}}, "EXIT: detail"},
        {{.type = EVENT_EXIT, .job = 1, .exit = {1, EXITED_FAILED, "\xff", 0}}, "EXIT: detail"},
        {{.type = EVENT_EXIT, .job = 1, .exit = {1, EXITED_AGAIN, "", 86401}}, "EXIT: pause"},
        {{.type = EVENT_SUBMIT,
          .submit = {.spec = &fine, .launch = &(struct launch){.grace_s = 1}}},
         "SUBMIT: command: expected"},
        {{.type = EVENT_GROUPS, .groups = {.list = &blank, .count = 1}}, "expected letters"},
        {{.type = EVENT_GROUPS, .groups = {.list = &narrow, .count = 1}}, "min to be at most max"},
        {{.type = EVENT_GROUPS, .groups = {.list = &dear, .count = 1}}, "price_per_node_hour"},
        {{.type = EVENT_GROUPS, .groups = {.goal = upside_down}}, "GROUPS: goal"},
        {{.type = EVENT_SIZE, .size = {.utility = -1}}, "SIZE: utility"},
        {{.type = EVENT_SIZE, .size = {.resize = true, .nodes = {-1}}}, "SIZE: nodes.spot"},
        {{.type = EVENT_SIZE, .size = {.resize = true, .reason = "\a"}}, "SIZE: reason"},
        {{.type = EVENT_SIZE, .size = {.reason = "why"}}, "SIZE: reason: expected none"},
        {{.type = EVENT_POWER, .power = {.state = POWER_OFF}}, "POWER: node"},
        {{.type = EVENT_POWER, .power = {.node = "a", .state = (enum power_state)POWER_STATES}},
         "POWER: state"},
        {{.type = EVENT_POWER, .power = {.node = "a", .deadline_us = INT64_MAX}},
         "POWER: deadline_us"},
    };
    struct wire_text_buffer buffer = {0};
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_error err = {""};
        struct wire_row row = {.type = "untouched"};
        assert_int_equal (-EINVAL,
                          wire_event_encode (&cluster, &cases[i].event, &buffer, &row, &err));
        if (!strstr (err.text, cases[i].says))
            fail_msg ("case %zu: expected '%s' in: %s", i, cases[i].says, err.text);
        assert_string_equal (row.type, "untouched");
    }
    wire_text_buffer_clear (&buffer);
    plan_clear (&plan);
    cluster_clear (&cluster);
}

/* The exact text of some events in docs/formats.md. */
static void rows_as_documented (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    small_cluster (&cluster);
    struct plan plan = {0};
    assert_int_equal (0, plan_reset (&plan, 2));
    assert_int_equal (
        0, plan_place (&plan, 1, (struct placement){(struct share[]){{1, 4}, {0, 2}}, 2}));
    struct node_group spot = {.name = "spot", .slots_per_node = 4, .max_nodes = 16};
    plan.speedups[1] = 2.5;
    plan.fitness = 0.5;
    const struct {
        struct event event;
        const char *body;
    } cases[] = {
        {{.type = EVENT_CANCEL, .job = 1}, "{}"},
        {{.type = EVENT_NODE, .node = {.name = "n7", .slots = 4, .available = true}},
         "{\"name\":\"n7\",\"slots\":4,\"available\":true}"},
        {{.type = EVENT_ROUND,
          .round = {.policy = "pollux", .interval_s = 60, .p = -INFINITY, .seed = UINT64_MAX}},
         "{\"policy\":\"pollux\",\"interval\":60.0,\"restart_delay\":0.0,\"p\":\"-inf\","
         "\"batch_search\":\"exact\",\"seed\":\"18446744073709551615\",\"software\":"
         "\"" POLLUX_VERSION "\"}"},
        {{.type = EVENT_ROUND,
          .round = {.policy = "pollux", .p = -1, .least_age_s = 60, .fill = true, .cold = true}},
         "{\"policy\":\"pollux\",\"interval\":0.0,\"restart_delay\":0.0,\"p\":-1.0,"
         "\"batch_search\":\"exact\",\"seed\":\"0\",\"software\":\"" POLLUX_VERSION "\","
         "\"least_age\":60.0,\"fill\":true,\"cold\":true}"},
        {{.type = EVENT_ROUND,
          .round = {.policy = "tiresias", .p = -1, .settings = {{{"quantum", 3600}}, 1}}},
         "{\"policy\":\"tiresias\",\"interval\":0.0,\"restart_delay\":0.0,\"p\":-1.0,"
         "\"batch_search\":\"exact\",\"seed\":\"0\",\"software\":\"" POLLUX_VERSION "\","
         "\"policy_options\":{\"quantum\":3600.0}}"},
        {{.type = EVENT_PLAN, .plan = &plan},
         "{\"placements\":{\"c\":{\"n1\":4,\"n0\":2}},\"speedups\":{\"c\":2.5},\"fitness\":0.5}"},
        {{.type = EVENT_EXIT, .job = 2, .exit = {.generation = 3, .kind = EXITED_GAVE_UP}},
         "{\"generation\":3,\"kind\":\"gave up\"}"},
        {{.type = EVENT_EXIT, .job = 2, .exit = {3, EXITED_FAILED, "replica 1: exit code 7", 0}},
         "{\"generation\":3,\"kind\":\"failed\",\"detail\":\"replica 1: exit code 7\"}"},
        {{.type = EVENT_EXIT, .job = 2, .exit = {3, EXITED_AGAIN, "", 20}},
         "{\"generation\":3,\"kind\":\"again\",\"pause\":20}"},
        {{.type = EVENT_GROUPS, .groups = {&spot, 1, {GOAL_BAND, 0.35, 0.65, 0}}},
         "{\"goal\":\"band:0.35,0.65\",\"groups\":[{\"name\":\"spot\",\"nodes\":0,\"min\":0,"
         "\"max\":16,\"gpus_per_node\":4}]}"},
        {{.type = EVENT_SIZE, .size = {.utility = 0.5}}, "{\"utility\":0.5}"},
        {{.type = EVENT_SIZE, .size = {.utility = NAN}}, "{}"},
        {{.type = EVENT_SIZE, .size = {0.25, true, {4}, "2 -> 4 nodes"}},
         "{\"utility\":0.25,\"reason\":\"2 -> 4 nodes\",\"nodes\":{\"spot\":4}}"},
        {{.type = EVENT_POWER, .power = {"spot-0", POWER_STARTING, 7000000, ""}},
         "{\"node\":\"spot-0\",\"state\":\"starting\",\"deadline_us\":7000000}"},
        {{.type = EVENT_POWER, .power = {"spot-0", POWER_STOPPING, 0, "not needed any more"}},
         "{\"node\":\"spot-0\",\"state\":\"stopping\",\"detail\":\"not needed any more\"}"},
    };
    struct wire_text_buffer buffer = {0};
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct wire_row row;
        assert_int_equal (0, wire_event_encode (&cluster, &cases[i].event, &buffer, &row, NULL));
        char text[512];
        snprintf (text, sizeof (text), "%.*s", (int)row.length, row.body);
        assert_string_equal (text, cases[i].body);
    }
    wire_text_buffer_clear (&buffer);
    plan_clear (&plan);
    cluster_clear (&cluster);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_type_comes_back),
        cmocka_unit_test (malformed_rows_are_refused),
        cmocka_unit_test (unreadable_events_are_not_written),
        cmocka_unit_test (rows_as_documented),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
