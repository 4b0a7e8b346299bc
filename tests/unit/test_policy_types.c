/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies on nodes of several types: slots of a type that a job may use are not left idle.  sia: counts and nodes that
 * its configurations do not fit.  Plans computed by hand.
 */
#include "unit.h"
#include "views.h"

#include <errno.h>

struct row {
    const char *place;
    int request;
    const char *type; /* the only one that it may use; NULL: all */
    const char *expected;
    int multiple, min; /* 0: any */
};

/* One node per letter of `nodes`, which is its type. */
static const struct case_of_types {
    const char *policy, *what, *nodes;
    int rows;
    struct row row[4];
    const char *slots; /* one digit per node; NULL: 4 each */
} cases[] = {
    {"equal-share", "the second job takes the other type", "xyy", 2,
     .row = {{"", 1, NULL, .expected = "1:4 2:4"}, {"", 1, NULL, .expected = "0:4"}}},
    {"equal-share", "each job has its own type for itself", "xyy", 2,
     .row = {{"", 1, "x", .expected = "0:4"}, {"", 1, "y", .expected = "1:4 2:4"}}},
    {"equal-share", "a job leaves the type that others need", "xyy", 3,
     .row = {{"", 1, NULL, .expected = "1:4 2:4"},
             {"", 1, "x", .expected = "0:2"},
             {"", 1, "x", .expected = "0:2"}}},
    {"equal-share", "a type that no node has takes no slots from others", "xx", 2,
     .row = {{"", 1, "z", .expected = ""}, {"", 1, NULL, .expected = "0:4 1:4"}}},
    {"equal-share", "more room elsewhere: it moves", "xyy", 1,
     .row = {{"0:4", 1, NULL, .expected = "1:4 2:4"}}},
    {"optimus", "each job has its own type for itself", "xyy", 2,
     .row = {{"", 1, "x", .expected = "0:4"}, {"", 1, "y", .expected = "1:4 2:4"}}},
    {"optimus", "the second job takes the other type", "xyy", 2,
     .row = {{"", 1, NULL, .expected = "1:4 2:4"}, {"", 1, NULL, .expected = "0:4"}}},
    {"fifo", "a job that waits for its type blocks that type only", "xyy", 4,
     .row = {{"0:2", 2, NULL, .expected = "0:2"},
             {"", 4, "x", .expected = ""},
             {"", 8, "y", .expected = "1:4 2:4"},
             {"", 1, "x", .expected = ""}}},
    {"fifo", "a job that is larger than its type is skipped, although the cluster has enough slots",
     "xyy", 2, .row = {{"", 8, "x", .expected = ""}, {"", 4, "x", .expected = "0:4"}}},
    {"fifo", "slots of several types do not add up", "xyy", 2,
     .row = {{"", 10, NULL, .expected = ""}, {"", 8, NULL, .expected = "1:4 2:4"}}},
    {"fifo", "a waiting job takes no slots of a running one", "xyy", 2,
     .row = {{"", 4, NULL, .expected = "0:4"}, {"1:4 2:4", 8, NULL, .expected = "1:4 2:4"}}},
    {"sia", "multiples of 3 on one node", "x", 1,
     .row = {{"", 1, NULL, .expected = "0:3", .multiple = 3}}},
    {"sia", "multiples of 3 on several nodes", "xxx", 2,
     .row = {{"", 1, NULL, .expected = "0:4 1:2", .multiple = 3, .min = 5},
             {"", 1, NULL, .expected = "2:1"}}},
    {"sia", "what is free on the nodes is used", "xx", 2,
     .row = {{"0:3", 1, NULL, .expected = "0:3", .multiple = 3},
             {"1:3", 1, NULL, .expected = "1:3", .multiple = 3}}},
    {"sia", "one node of each size: each job has its own", "xxx", 3,
     .row = {{"", 1, NULL, .expected = "0:8", .min = 8},
             {"", 1, NULL, .expected = "1:3", .min = 3},
             {"", 1, NULL, .expected = "2:3", .min = 3}},
     .slots = "833"},
    {"sia", "whole nodes of the smaller size, which are more", "xxx", 2,
     .row = {{"", 1, NULL, .expected = "1:3 2:3", .min = 5},
             {"", 1, NULL, .expected = "0:4", .min = 4}},
     .slots = "433"},
};

static void slots_by_type (void **state)
{
    (void)state;
    static double iter_s[16];
    for (int i = 0; i < 16; i++)
        iter_s[i] = 1.0 / (i + 1);
    for (size_t i = 0; i < COUNT (cases); i++) {
        const struct case_of_types *at = &cases[i];
        struct scene scene;
        const char *expected[4];
        scene_init (&scene, (int)strlen (at->nodes));
        for (int node = 0; node < scene.view.node_count; node++)
            snprintf (scene.nodes[node].type, NAME_SIZE, "%c", at->nodes[node]);
        for (int node = 0; at->slots && node < scene.view.node_count; node++)
            scene.nodes[node].slots = at->slots[node] - '0';
        for (int r = 0; r < at->rows; r++) {
            char name[NAME_SIZE];
            snprintf (name, sizeof (name), "job-%d", r);
            struct job *job = scene_add (&scene, name, at->row[r].request, at->row[r].place);
            if (at->row[r].type) {
                job->spec.types.count = 1;
                snprintf (job->spec.types.list[0], NAME_SIZE, "%s", at->row[r].type);
            }
            job->spec.min_replicas = at->row[r].min;
            if (at->row[r].multiple > 0)
                job->spec.allowed =
                    (struct allowed){.kind = ALLOWED_MULTIPLE, .multiple = at->row[r].multiple};
            job->oracle = (struct oracle){malloc (sizeof (iter_s)), 16, 1000};
            assert_non_null (job->oracle.iter_s);
            memcpy (job->oracle.iter_s, iter_s, sizeof (iter_s));
            expected[r] = at->row[r].expected;
        }
        const struct policy *policy;
        struct memory memory;
        struct plan plan = {0};
        assert_int_equal (0, policy_find (at->policy, &policy, NULL));
        assert_int_equal (0, memory_new (policy, &memory, NULL));
        assert_int_equal (0, decide (policy, &scene.view, &memory, &plan, NULL));
        assert_feasible (policy, &scene.view, &plan);
        char what[128];
        snprintf (what, sizeof (what), "%s: %s", at->policy, at->what);
        assert_plan (what, &plan, expected, at->rows);
        memory_clear (&memory);
        plan_clear (&plan);
        scene_clear (&scene);
    }
}

/* Decide, and make the plan the placements of the jobs. */
static void next_round (struct scene *scene, struct memory *memory, struct plan *plan)
{
    assert_int_equal (0, decide (memory->policy, &scene->view, memory, plan, NULL));
    assert_feasible (memory->policy, &scene->view, plan);
    scene_advance (scene, plan);
}

/* Twenty jobs that compete for nodes of three types, and prefer different ones. */
static void compete (struct scene *scene)
{
    static const char *const nodes = "xyyyyz";
    scene_init (scene, 6);
    policy_settings_set (&scene->view.settings, "gavel_round", 0);
    policy_settings_set (&scene->view.settings, "gavel_fair", 1);
    for (int i = 0; i < 6; i++)
        snprintf (scene->nodes[i].type, NAME_SIZE, "%c", nodes[i]);
    for (int i = 0; i < 20; i++) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "job-%d", i);
        struct job *job = scene_add (scene, name, 1 + i % 4, "");
        for (int c = 0; c < 3; c++) {
            struct type_speed *speed = &job->spec.speeds.list[job->spec.speeds.count++];
            snprintf (speed->type, NAME_SIZE, "%c", 'x' + c);
            speed->speed = 1 + (i * 5 + c * c * 3) % 7;
        }
    }
}

/* A round of gavel with too many jobs fails with the reason, and changes no later decision. */
static void failed_rounds_are_forgotten (void **state)
{
    (void)state;
    enum { CROWD = 7000 };
    static struct scene scene, other;
    const struct policy *policy;
    struct memory memory, failing;
    struct plan plan = {0}, same = {0};
    struct job extra = {.spec = {.name = "extra", .max_replicas = 1, .weight = 1}};
    const struct job **crowd = malloc (CROWD * sizeof (crowd[0]));
    assert_non_null (crowd);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = &extra;
    assert_int_equal (0, policy_find ("gavel", &policy, NULL));
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    assert_int_equal (0, memory_new (policy, &failing, NULL));
    compete (&scene);
    compete (&other);
    for (int round = 0; round < 40; round++) {
        struct pollux_error err = {""};
        struct view large = other.view;
        large.jobs = crowd;
        large.job_count = CROWD;
        assert_int_equal (-EINVAL, decide (policy, &large, &failing, &same, &err));
        assert_string_equal (err.text, "gavel: 7000 jobs on 3 types of nodes are a program of "
                                       "294112008 numbers, and at most 134217728 are solved");
        next_round (&scene, &memory, &plan);
        next_round (&other, &failing, &same);
        for (int i = 0; i < scene.view.job_count; i++)
            assert_true (placement_equal (plan_placement (&plan, i), plan_placement (&same, i)));
    }
    memory_clear (&memory);
    memory_clear (&failing);
    plan_clear (&plan);
    plan_clear (&same);
    scene_clear (&scene);
    scene_clear (&other);
    free (crowd);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (slots_by_type),
        cmocka_unit_test (failed_rounds_are_forgotten),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
