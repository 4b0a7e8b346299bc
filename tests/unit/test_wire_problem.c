/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling problems as documents: encoding and decoding gives the same bits.  tests/cli/decide.sh
 * tests the refusals.
 */
#include "unit.h"
#include "views.h"

#include "wire/problem.h"

static bool same_number (double a, double b)
{
    return memcmp (&a, &b, sizeof (a)) == 0 || (isnan (a) && isnan (b));
}

static void assert_same_job (const struct job *a, const struct job *b)
{
    assert_string_equal (a->spec.name, b->spec.name);
    assert_int_equal (a->spec.min_replicas, b->spec.min_replicas);
    if (job_trusted_replicas (a) > 0)
        assert_int_equal (job_trusted_replicas (a), job_trusted_replicas (b));
    assert_true (same_number (a->spec.weight, b->spec.weight));
    assert_true (same_number (a->spec.restart_delay_s, b->spec.restart_delay_s));
    assert_true (a->spec.preemptible == b->spec.preemptible);
    for (int k = 0; k <= job_trusted_replicas (a); k++)
        assert_true (job_allows (a, k) == job_allows (b, k));
    assert_true (same_number (a->age_s, b->age_s));
    assert_int_equal (a->restarts, b->restarts);
    assert_true (placement_same (a->placement, b->placement));
    assert_true (same_number (job_remaining (a), job_remaining (b)));
    assert_true (a->hints.has_model == b->hints.has_model);
    assert_memory_equal (&a->hints.limits, &b->hints.limits, sizeof (a->hints.limits));
    if (a->hints.has_model) {
        assert_memory_equal (&a->hints.model, &b->hints.model, sizeof (a->hints.model));
        assert_memory_equal (&a->hints.grad, &b->hints.grad, sizeof (a->hints.grad));
    }
}

/* A document cannot have a pinned job on an unavailable node. */
static void unpin_the_lost (struct scene *scene)
{
    for (int i = 0; i < scene->view.job_count; i++) {
        struct job *job = &scene->jobs[i];
        for (int j = 0; j < job->placement.count; j++)
            if (!scene->nodes[job->placement.shares[j].node].available)
                job->spec.preemptible = true;
    }
}

/* Every second job limits its gain. */
static void limit_gains (struct scene *scene, struct rng *rng)
{
    for (int i = 0; i < scene->view.job_count; i += 2)
        scene->jobs[i].hints.grad.gain_max = 1 + rng_uniform (rng);
}

static void written_and_read (void **state)
{
    (void)state;
    static struct scene scene;
    for (int i = 0; i < soak_count (2000); i++) {
        struct rng rng = rng_stream (4, (uint64_t)i);
        scene_random (&scene, &rng);
        unpin_the_lost (&scene);
        limit_gains (&scene, &rng);
        if (scene.view.job_count % 2)
            policy_settings_set (&scene.view.settings, "quantum", 3600);
        json_t *document = problem_encode (&scene.view);
        assert_non_null (document);
        char *text = json_dumps (document, JSON_REAL_PRECISION (17));
        struct problem *problem;
        struct pollux_error err;
        if (problem_parse ("again", text, strlen (text), &problem, &err) != 0)
            fail_msg ("%s", err.text);
        const struct view *a = &scene.view, *b = &problem->view;
        assert_true (same_number (a->p, b->p));
        assert_int_equal (a->settings.count, b->settings.count);
        assert_true (policy_settings_get (&a->settings, "quantum", 0) ==
                     policy_settings_get (&b->settings, "quantum", 0));
        assert_true (same_number (a->restart_delay_s, b->restart_delay_s));
        assert_int_equal (a->search, b->search);
        assert_int_equal (a->node_count, b->node_count);
        assert_int_equal (a->job_count, b->job_count);
        for (int j = 0; j < a->node_count; j++) {
            assert_string_equal (a->nodes[j].name, b->nodes[j].name);
            assert_int_equal (a->nodes[j].slots, b->nodes[j].slots);
            assert_true (a->nodes[j].available == b->nodes[j].available);
        }
        for (int j = 0; j < a->job_count; j++)
            assert_same_job (a->jobs[j], b->jobs[j]);
        problem_free (problem);
        free (text);
        json_decref (document);
        scene_clear (&scene);
    }
}

static void defaults (void **state)
{
    (void)state;
    static const char text[] = "{\"nodes\": [{\"name\": \"n\", \"gpus\": 3}],"
                               " \"jobs\": [{\"name\": \"a\", \"max_replicas\": 2}]}";
    struct problem *problem;
    struct pollux_error err;
    if (problem_parse ("text", text, strlen (text), &problem, &err) != 0)
        fail_msg ("%s", err.text);
    const struct view *view = &problem->view;
    const struct job *job = view->jobs[0];
    assert_true (view->p == -1 && view->restart_delay_s == 30 && view->search == POLLUX_EXACT);
    assert_true (view->nodes[0].available && view->nodes[0].slots == 3);
    assert_true (job->age_s == 0 && job->restarts == 0 && job->placement.count == 0);
    assert_true (job->spec.min_replicas == 0 && job->spec.max_replicas == 2);
    assert_true (job->spec.weight == 1 && job->spec.preemptible && !job->hints.has_model);
    assert_true (job->spec.allowed.kind == ALLOWED_ANY && isnan (job->spec.restart_delay_s));
    assert_true (isnan (job_remaining (job)) && job_trusted_replicas (job) == 2);
    problem_free (problem);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (defaults),
        cmocka_unit_test (written_and_read),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
