/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views for the tests of policies.
 */
#include "unit.h"
#include "views.h"

void scene_init (struct scene *scene, int nodes)
{
    *scene = (struct scene){
        .view = {.node_count = nodes,
                 .now_s = 60,
                 .interval_s = 60,
                 .restart_delay_s = 30,
                 .p = -1,
                 .search = POLLUX_REFERENCE,
                 .seed = 1},
    };
    for (int i = 0; i < nodes; i++) {
        scene->nodes[i] = (struct node){.slots = 4, .available = true};
        snprintf (scene->nodes[i].name, NAME_SIZE, "n%d", i);
    }
    scene->view.nodes = scene->nodes;
    scene->view.jobs = scene->pointers;
}

void scene_clear (struct scene *scene)
{
    for (int i = 0; i < scene->view.job_count; i++)
        job_clear (&scene->jobs[i]);
    scene->view.job_count = 0;
}

static void place (struct job *job, const char *text)
{
    struct share shares[SCENE_NODES];
    int count = 0, used;
    while (sscanf (text, " %d:%d%n", &shares[count].node, &shares[count].replicas, &used) == 2) {
        text += used;
        count++;
    }
    assert_int_equal (0, job_place (job, (struct placement){shares, count}));
    job->phase = count > 0 ? JOB_RUNNING : JOB_PENDING;
}

struct job *scene_add (struct scene *scene, const char *name, int request, const char *text)
{
    assert_true (scene->view.job_count < SCENE_JOBS);
    int index = scene->view.job_count++;
    struct job *job = &scene->jobs[index];
    *job = (struct job){
        .spec = {.max_replicas = 64,
                 .weight = 1,
                 .preemptible = true,
                 .adaptive = true,
                 .restart_delay_s = NAN,
                 .fixed_replicas = request},
        .hints = hints_unknown,
        .oracle = {.remaining = NAN},
    };
    snprintf (job->spec.name, NAME_SIZE, "%s", name);
    scene->pointers[index] = job;
    place (job, text);
    return job;
}

void scene_advance (struct scene *scene, const struct plan *plan)
{
    const double seconds = scene->view.interval_s;
    for (int i = 0; i < scene->view.job_count; i++) {
        struct job *job = &scene->jobs[i];
        struct placement next = plan_placement (plan, i);
        if (!placement_equal (next, job->placement)) {
            job->restarts += job->generation > 0 && next.count > 0;
            job->generation += next.count > 0;
        }
        assert_int_equal (0, job_place (job, next));
        job->age_s += seconds;
        job->attained_s += seconds * placement_replicas (next);
    }
    scene->view.now_s += seconds;
}

void scene_remove (struct scene *scene, int job)
{
    job_clear (&scene->jobs[job]);
    int after = --scene->view.job_count - job;
    memmove (&scene->jobs[job], &scene->jobs[job + 1], (size_t)after * sizeof (scene->jobs[0]));
    scene->jobs[scene->view.job_count] = (struct job){0};
}

const char *placement_text (struct placement placement, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < placement.count && used < size; i++)
        used += (size_t)snprintf (text + used, size - used, "%s%d:%d", i > 0 ? " " : "",
                                  placement.shares[i].node, placement.shares[i].replicas);
    return text;
}

void assert_plan (const char *what, const struct plan *plan, const char *const *expected, int count)
{
    assert_int_equal (plan->job_count, count);
    for (int i = 0; i < count; i++) {
        char text[256];
        placement_text (plan_placement (plan, i), text, sizeof (text));
        if (strcmp (text, expected[i]) != 0)
            fail_msg ("%s: job %d: got \"%s\", want \"%s\"", what, i, text, expected[i]);
    }
}

/* ---- Random views ---- */

static int between (struct rng *rng, int least, int most)
{
    return least + (int)rng_below (rng, (uint64_t)(most - least + 1));
}

static bool chance (struct rng *rng, double p)
{
    return rng_uniform (rng) < p;
}

static struct allowed random_allowed (struct rng *rng)
{
    struct allowed allowed = {.kind = ALLOWED_ANY};
    if (chance (rng, 0.8))
        return allowed;
    allowed.kind = (enum allowed_kind)between (rng, ALLOWED_POW2, ALLOWED_LIST);
    allowed.multiple = between (rng, 1, 4);
    allowed.count = 3;
    allowed.list[0] = between (rng, 1, 3);
    allowed.list[1] = between (rng, 4, 7);
    allowed.list[2] = between (rng, 8, 15);
    return allowed;
}

static void random_hints (struct hints *hints, struct rng *rng)
{
    int64_t init = between (rng, 16, 256);
    hints->limits = (struct pollux_limits){.init_batch = init,
                                           .max_batch = init * between (rng, 1, 32),
                                           .min_local = between (rng, 1, (int)init),
                                           .accumulation = chance (rng, 0.7)};
    hints->limits.max_local = hints->limits.min_local * between (rng, 1, 16);
    hints->max_profiled_replicas = between (rng, -1, 16);
    hints->has_model = chance (rng, 0.8);
    hints->model = (struct pollux_model){
        0.01 + 0.1 * rng_uniform (rng), 0.001 + 0.01 * rng_uniform (rng), 0.1 * rng_uniform (rng),
        0.01 * rng_uniform (rng),       0.05 * rng_uniform (rng),         0.005 * rng_uniform (rng),
        1 + 3 * rng_uniform (rng)};
    hints->grad =
        (struct pollux_grad){.sqr = 0.1 + rng_uniform (rng), .var = 10 * rng_uniform (rng)};
}

static void random_oracle (struct oracle *oracle, struct rng *rng)
{
    if (chance (rng, 0.1))
        return;
    oracle->count = between (rng, 1, 64);
    oracle->remaining = 1000 * rng_uniform (rng);
    oracle->iter_s = malloc ((size_t)oracle->count * sizeof (oracle->iter_s[0]));
    assert_non_null (oracle->iter_s);
    for (int k = 1; k <= oracle->count; k++)
        oracle->iter_s[k - 1] = 0.1 + 1.0 / k + 0.05 * rng_uniform (rng);
}

void scene_random (struct scene *scene, struct rng *rng)
{
    scene_init (scene, between (rng, 1, 20));
    struct view *view = &scene->view;
    static const double ps[] = {-1, -1, -1, 0, 1, -INFINITY, -5};
    view->p = ps[rng_below (rng, COUNT (ps))];
    view->seed = rng_next (rng);
    view->search = chance (rng, 0.5) ? POLLUX_EXACT : POLLUX_REFERENCE;
    int free[SCENE_NODES];
    for (int i = 0; i < view->node_count; i++) {
        free[i] = scene->nodes[i].slots = between (rng, 0, 8);
        scene->nodes[i].available = chance (rng, 0.9);
    }
    for (int count = between (rng, 0, 40); count > 0; count--) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "job-%d", count);
        struct job *job = scene_add (scene, name, chance (rng, 0.9) ? between (rng, 1, 16) : 0, "");
        job->spec.min_replicas = chance (rng, 0.2) ? between (rng, 0, 4) : 0;
        job->spec.max_replicas = job->spec.min_replicas + between (rng, 1, 32);
        job->spec.allowed = random_allowed (rng);
        job->spec.weight = chance (rng, 0.2) ? 4 * rng_uniform (rng) + 0.1 : 1;
        job->spec.preemptible = chance (rng, 0.9);
        job->spec.restart_delay_s = chance (rng, 0.1) ? 100 * rng_uniform (rng) : NAN;
        job->age_s = 10000 * rng_uniform (rng);
        job->attained_s = chance (rng, 0.5) ? 100000 * rng_uniform (rng) : 0;
        job->restarts = between (rng, 0, 20);
        random_hints (&job->hints, rng);
        random_oracle (&job->oracle, rng);
        if (chance (rng, 0.4))
            continue;
        /* Its placement: the requested count, or any allowed count for an elastic job. */
        int left = job->spec.fixed_replicas;
        if (chance (rng, 0.5))
            left = job_fit_replicas (job, between (rng, 1, 16));
        struct share shares[SCENE_NODES];
        int used = 0;
        for (int i = 0; i < view->node_count && left > 0; i++)
            if (free[i] > 0 && chance (rng, 0.7)) {
                int some = free[i] < left ? free[i] : left;
                shares[used++] = (struct share){.node = i, .replicas = some};
                left -= some;
            }
        if (left > 0)
            continue;
        for (int i = 0; i < used; i++)
            free[shares[i].node] -= shares[i].replicas;
        assert_int_equal (0, job_place (job, (struct placement){shares, used}));
    }
}

static bool one_type (const struct view *view, struct placement placement)
{
    for (int i = 1; i < placement.count; i++)
        if (strcmp (view->nodes[placement.shares[i].node].type,
                    view->nodes[placement.shares[0].node].type) != 0)
            return false;
    return true;
}

/* A model of each type, with different speeds. */
static void random_models (struct hints *hints, int types, struct rng *rng)
{
    snprintf (hints->type, NAME_SIZE, "type-%d", types);
    for (hints->other_count = 0; hints->other_count < types - 1; hints->other_count++) {
        struct type_model *other = &hints->others[hints->other_count];
        double slower = log_uniform (rng, 0.2, 5);
        *other = (struct type_model){
            .model = hints->model,
            .max_local = hints->limits.min_local * between (rng, 1, 16),
            .max_profiled_replicas = between (rng, 1, 16),
        };
        other->model.alpha_grad *= slower;
        other->model.beta_grad *= slower;
        snprintf (other->type, NAME_SIZE, "type-%d", hints->other_count + 1);
    }
}

/* Some jobs may use some types only, and some have an owner who knows speeds. */
static void random_wishes (struct job_spec *spec, struct rng *rng)
{
    if (chance (rng, 0.3)) {
        spec->types = (struct allowed_types){.except = chance (rng, 0.5), .count = 1};
        snprintf (spec->types.list[0], NAME_SIZE, "type-%d", between (rng, 1, 3));
    }
    if (chance (rng, 0.3)) {
        spec->speeds = (struct type_speeds){.count = 1};
        spec->speeds.list[0].speed = log_uniform (rng, 0.2, 5);
        snprintf (spec->speeds.list[0].type, NAME_SIZE, "type-%d", between (rng, 1, 3));
    }
}

void scene_mix (struct scene *scene, struct rng *rng)
{
    int types = between (rng, 1, 3);
    for (int i = 0; i < scene->view.node_count; i++)
        snprintf (scene->nodes[i].type, NAME_SIZE, "type-%d", between (rng, 1, types));
    for (int i = 0; i < scene->view.job_count; i++) {
        struct job *job = &scene->jobs[i];
        if (job->hints.has_model && chance (rng, 0.5))
            random_models (&job->hints, types, rng);
        random_wishes (&job->spec, rng);
        if (job->spec.preemptible && !one_type (&scene->view, job->placement))
            assert_int_equal (0, job_place (job, (struct placement){0}));
    }
}

static bool one_rate (const struct view *view, struct placement placement)
{
    for (int i = 1; i < placement.count; i++)
        if (view->nodes[placement.shares[i].node].revocations_per_s !=
            view->nodes[placement.shares[0].node].revocations_per_s)
            return false;
    return true;
}

void scene_revoke (struct scene *scene, struct rng *rng)
{
    double rates[] = {0, 0, log_uniform (rng, 1e-6, 1e-2), log_uniform (rng, 1e-6, 1e-2)};
    for (int i = 0; i < scene->view.node_count; i++)
        scene->nodes[i].revocations_per_s = rates[between (rng, 0, 3)];
    for (int i = 0; i < scene->view.job_count; i++) {
        struct job *job = &scene->jobs[i];
        if (job->spec.preemptible && !one_rate (&scene->view, job->placement))
            assert_int_equal (0, job_place (job, (struct placement){0}));
    }
}

/* ---- What every plan must keep ---- */

static bool nodes_available (const struct view *view, struct placement placement)
{
    for (int i = 0; i < placement.count; i++)
        if (!view->nodes[placement.shares[i].node].available)
            return false;
    return true;
}

/* The largest limit of all types that it has trained on. */
static int widest_trust (const struct job *job)
{
    int most = job_trusted_replicas (job);
    for (int i = 0; i < job->hints.other_count; i++) {
        int trusted = job_trusted_with (job, job->hints.others[i].max_profiled_replicas);
        most = trusted > most ? trusted : most;
    }
    return most;
}

void assert_feasible (const struct policy *policy, const struct view *view, const struct plan *plan)
{
    int used[SCENE_NODES] = {0};
    assert_int_equal (plan->job_count, view->job_count);
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct placement placement = plan_placement (plan, i);
        int replicas = placement_replicas (placement);
        for (int k = 0; k < placement.count; k++) {
            struct share share = placement.shares[k];
            assert_in_range (share.node, 0, view->node_count - 1);
            assert_true (share.replicas > 0);
            assert_true (view->nodes[share.node].available);
            for (int l = 0; l < k; l++)
                assert_int_not_equal (placement.shares[l].node, share.node);
            used[share.node] += share.replicas;
        }
        if (job_pinned (job) && nodes_available (view, job->placement)) {
            assert_true (placement_equal (placement, job->placement));
            continue;
        }
        assert_true (one_type (view, placement));
        if (job_pinned (job) || replicas == 0)
            continue;
        assert_true (job_allows_type (job, view->nodes[placement.shares[0].node].type));
        if (policy->elastic)
            assert_true (job_allows (job, replicas));
        else
            assert_int_equal (replicas, job_request (job));
        /* Sia starts a job without a model with its smallest configuration, for example 4 for a minimum of 3. */
        bool first = !job->hints.has_model && strcmp (policy->name, "sia") == 0;
        if (policy->adaptive && !first && replicas > widest_trust (job))
            fail_msg ("%s: %d replicas of a job that is trusted with %d", policy->name, replicas,
                      widest_trust (job));
    }
    for (int i = 0; i < view->node_count; i++)
        assert_true (used[i] <= view->nodes[i].slots);
}
