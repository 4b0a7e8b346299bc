/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sia: its plans cost no more than the optimum of its integer program, which a dynamic programme over the
 * slots left of each type finds here, on small random clusters with up to three types.
 */
#include "unit.h"
#include "views.h"

#include <math.h>

#include "model/model.h"

enum { TYPES = 3, SLOTS = 16, ROOM = SLOTS + 1, JOBS = 8 };

/* Of all types: nodes, and slots of each. */
struct mix {
    int nodes[TYPES], node_slots[TYPES];
};

/* By job, type and slots, what a configuration costs; INFINITY where there is none. */
typedef double cost_table[JOBS][TYPES][ROOM];

static const double lambda = 1.1; /* cost of a job without slots */

/* ---- Random clusters and jobs ---- */

static const char *type_name (int type)
{
    static const char *const names[TYPES] = {"slow", "middle", "fast"};
    return names[type];
}

/* A factor around 1. */
static double jitter (struct rng *rng)
{
    return exp (0.5 * rng_gaussian (rng));
}

static struct pollux_model random_model (struct rng *rng)
{
    return (struct pollux_model){.alpha_grad = 0.05 * jitter (rng),
                                 .beta_grad = 0.002 * jitter (rng),
                                 .alpha_node = 0.05 * jitter (rng),
                                 .beta_node = 0.001 * jitter (rng),
                                 .alpha_local = 0.02 * jitter (rng),
                                 .beta_local = 0.0005 * jitter (rng),
                                 .gamma = 2};
}

/* Some jobs have no model; the others have one of each type. */
static void random_hints (struct job *job, struct rng *rng)
{
    int profiled = 1 << rng_below (rng, 4);
    job->hints = (struct hints){
        .has_model = rng_below (rng, 5) > 0,
        .model = random_model (rng),
        .grad = {.sqr = 1, .var = 16 * jitter (rng)},
        .limits = {.init_batch = 128, .max_batch = 8192, .min_local = 32, .max_local = 256},
        .max_profiled_replicas = profiled,
        .other_count = TYPES - 1,
    };
    snprintf (job->hints.type, NAME_SIZE, "%s", type_name (0));
    for (int i = 1; i < TYPES; i++) {
        struct type_model *other = &job->hints.others[i - 1];
        *other = (struct type_model){.model = random_model (rng),
                                     .max_local = job->hints.limits.max_local,
                                     .max_profiled_replicas = profiled};
        snprintf (other->type, NAME_SIZE, "%s", type_name (i));
    }
}

/* A cluster whose first nodes each have a job on all of their slots, and jobs that wait. */
static void random_problem (struct scene *scene, struct mix *mix, struct rng *rng)
{
    int nodes = 0, jobs = 2 + (int)rng_below (rng, JOBS - 1);
    *mix = (struct mix){0};
    scene_init (scene, SCENE_NODES);
    for (int i = 0; i < TYPES; i++) {
        mix->node_slots[i] = 1 << rng_below (rng, 4);
        mix->nodes[i] = 1 + (int)rng_below (rng, SLOTS / (uint64_t)mix->node_slots[i]);
        for (int j = 0; j < mix->nodes[i]; j++, nodes++) {
            scene->nodes[nodes].slots = mix->node_slots[i];
            snprintf (scene->nodes[nodes].type, NAME_SIZE, "%s", type_name (i));
        }
    }
    scene->view.node_count = nodes;
    scene->view.seed = rng_next (rng);
    for (int i = 0; i < jobs; i++) {
        char name[16], place[32] = "";
        snprintf (name, sizeof (name), "j%d", i);
        if (i < nodes && rng_below (rng, 2) == 0)
            snprintf (place, sizeof (place), "%d:%d", i, scene->nodes[i].slots);
        struct job *job = scene_add (scene, name, 1, place);
        random_hints (job, rng);
        job->age_s = 100 + 3600 * rng_uniform (rng);
        job->restarts = (int)rng_below (rng, 3);
    }
}

/* ---- The program ---- */

/* A power of two of slots on one node, or whole nodes, at most twice as many as the job was measured with; one
 * slot without a model. */
static bool is_config (const struct job *job, const struct mix *mix, int type, int slots)
{
    int node_slots = mix->node_slots[type];
    bool regular = slots < node_slots ? (slots & (slots - 1)) == 0 : slots % node_slots == 0;
    int most = job->hints.has_model ? 2 * job->hints.max_profiled_replicas : 1;
    return regular && slots <= most && slots <= mix->nodes[type] * node_slots;
}

static double goodput_of (const struct job *job, const struct mix *mix, int type, int slots)
{
    const struct hints *hints = &job->hints;
    int node_slots = mix->node_slots[type];
    struct pollux_shape shape = {.nodes = (slots + node_slots - 1) / node_slots, .replicas = slots};
    struct pollux_best best;
    if (!hints->has_model)
        return 1;
    assert_int_equal (
        0, pollux_best_batch (type == 0 ? &hints->model : &hints->others[type - 1].model,
                              hints->grad, &hints->limits, POLLUX_REFERENCE, shape, &best, NULL));
    return best.goodput;
}

/* The type of a placement; -1: none. */
static int type_of (const struct scene *scene, struct placement placement)
{
    for (int i = 0; i < TYPES && placement.count > 0; i++)
        if (strcmp (scene->nodes[placement.shares[0].node].type, type_name (i)) == 0)
            return i;
    return -1;
}

/* Goodput, relative to the job's least one, to the power -1/2, to two decimals.  What a restart costs lowers all goodputs
 * but that of the present configuration. */
static void find_costs (const struct scene *scene, const struct mix *mix, cost_table costs)
{
    for (int i = 0; i < scene->view.job_count; i++) {
        const struct job *job = &scene->jobs[i];
        double least = INFINITY, delay_s = scene->view.restart_delay_s;
        double damping = (job->age_s - job->restarts * delay_s) / (job->age_s + delay_s);
        int present = type_of (scene, job->placement), has = placement_replicas (job->placement);
        for (int type = 0; type < TYPES; type++)
            for (int k = 1; k <= SLOTS; k++)
                if (is_config (job, mix, type, k))
                    least = fmin (least, goodput_of (job, mix, type, k));
        for (int type = 0; type < TYPES; type++)
            for (int k = 0; k <= SLOTS; k++) {
                bool moves = present >= 0 && !(type == present && k == has);
                costs[i][type][k] = k > 0 && is_config (job, mix, type, k)
                                        ? rint (100 / sqrt (goodput_of (job, mix, type, k) / least *
                                                            (moves ? damping : 1))) /
                                              100
                                        : INFINITY;
            }
    }
}

/* The least sum of costs.  best[a][b][c]: of the jobs so far, with at most so many slots of each type. */
static double least_sum (const struct mix *mix, int jobs, cost_table costs)
{
    static const int stride[TYPES] = {ROOM * ROOM, ROOM, 1};
    static double best[ROOM * ROOM * ROOM];
    for (int i = 0; i < ROOM * ROOM * ROOM; i++)
        best[i] = 0;
    for (int job = 0; job < jobs; job++)
        for (int i = ROOM * ROOM * ROOM - 1; i >= 0;
             i--) { /* smaller indices are of the jobs before */
            double least = best[i] + lambda;
            for (int type = 0; type < TYPES; type++)
                for (int k = 1; k <= i / stride[type] % ROOM; k++)
                    least = fmin (least, best[i - k * stride[type]] + costs[job][type][k]);
            best[i] = least;
        }
    int all = 0;
    for (int type = 0; type < TYPES; type++)
        all += stride[type] * mix->nodes[type] * mix->node_slots[type];
    return best[all];
}

static void optimal (void **state)
{
    (void)state;
    static struct scene scene;
    static cost_table costs;
    const struct policy *policy;
    struct memory memory;
    struct plan plan = {0};
    assert_int_equal (0, policy_find ("sia", &policy, NULL));
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    for (int i = 0; i < soak_count (2000); i++) {
        struct rng rng = rng_stream (10, (uint64_t)i);
        struct mix mix;
        double sum = 0;
        random_problem (&scene, &mix, &rng);
        assert_int_equal (0, decide (policy, &scene.view, &memory, &plan, NULL));
        assert_feasible (policy, &scene.view, &plan);
        find_costs (&scene, &mix, costs);
        for (int j = 0; j < scene.view.job_count; j++) {
            struct placement placement = plan_placement (&plan, j);
            int type = type_of (&scene, placement);
            sum += type < 0 ? lambda : costs[j][type][placement_replicas (placement)];
        }
        double least = least_sum (&mix, scene.view.job_count, costs);
        if (!(fabs (sum - least) < 1e-4)) /* ties are broken by less */
            fail_msg ("case %d: cost %g, optimum %g", i, sum, least);
        scene_clear (&scene);
    }
    plan_clear (&plan);
    memory_clear (&memory);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (optimal)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
