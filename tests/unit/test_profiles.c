/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: the built-in ones, the meaning of the numbers, writing and reading again, profiles made
 * from applications, and refusals with the place.
 */
#include "unit.h"

#include <errno.h>

#include "sim/profile.h"

static struct ground_truth *parse (const char *text)
{
    struct profile *profiles;
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    int count;
    if (profiles_parse ("test", text, strlen (text), &profiles, &count, &err) < 0 ||
        ground_truth_of_profiles (profiles, count, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    free (profiles);
    return truth;
}

#define MODEL                                                                                      \
    "\"model\": {\"alpha_grad\": 0.1, \"beta_grad\": 0.01, \"alpha_node\": 0.3, \"beta_node\": "   \
    "0.01, \"alpha_local\": 0.2, \"beta_local\": 0.02, \"gamma\": 1}"
#define LIMITS "\"init_batch\": 10, \"max_batch\": 40, \"min_local\": 2, \"max_local\": 20"
#define NOISE "\"noise\": {\"progress\": [0, 1], \"batches\": [10], \"ratio\": [[1, 16]]}"
#define EPOCHS "\"epochs\": 4, \"epoch_iterations\": 100"
#define ONE(fields) "{\"version\": 1, \"applications\": {\"a\": {" fields "}}}"

static void test_what_they_mean (void **state)
{
    (void)state;
    struct ground_truth *truth = parse (ONE (EPOCHS ", " LIMITS ", " MODEL ", " NOISE));
    const struct app *app = ground_truth_app (truth, "a");
    assert_int_equal (app_max_epochs (app), 4);
    assert_int_equal (app_limits (app)->max_local, 20);
    assert_true (app_limits (app)->accumulation);
    assert_int_equal (app_pin (app).replicas, 0);
    assert_true (app_need (app, 3) == 300);
    /* In the middle of an epoch, geometric: 16^(1/8), 16^(3/8), ... */
    assert_true (relative (app_grad (app, 0, 10).var, pow (16, 0.125)) < 1e-12);
    assert_true (relative (app_grad (app, 3, 40).var, pow (16, 0.875)) < 1e-12);
    assert_true (app_grad (app, 2, 10).sqr == 1);
    assert_true (relative (app_iterations (app, 3, 10), 400) < 1e-12);
    int counts[] = {2, 1};
    struct app_step step = app_step (app, counts, 2, 5);
    assert_true (relative (step.step_s, 0.15 + 0.31) < 1e-12);
    assert_true (relative (step.sync_s, 0.31) < 1e-12);
    assert_false (step.modelled); /* the model is the ground truth */
    assert_int_equal (ground_truth_prepare (truth, NULL, NULL), 0);
    ground_truth_free (truth);

    /* Iterations at a batch follow from its gain: (1+3) / (3/4+1). */
    truth = parse (ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0.5], "
                               "\"batches\": [10, 40], \"ratio\": [[1], [3]]}, "
                               "\"pinned\": {\"replicas\": 2, \"batch\": 20}"));
    app = ground_truth_app (truth, "a");
    assert_true (relative (app_iterations (app, 3, 40), 400 / (4 / 1.75)) < 1e-12);
    assert_true (app_grad (app, 0, 25).var == 2);
    assert_int_equal (app_pin (app).replicas, 2);
    assert_int_equal (app_pin (app).batch, 20);
    ground_truth_free (truth);
}

static void test_built_in (void **state)
{
    static const char *const names[] = {"bert",     "cifar10", "deepspeech2",
                                        "imagenet", "ncf",     "yolov3"};
    (void)state;
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    if (ground_truth_from_profiles (NULL, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (ground_truth_count (truth), COUNT (names));
    for (size_t i = 0; i < COUNT (names); i++)
        assert_string_equal (app_name (ground_truth_at (truth, (int)i)), names[i]);
    assert_int_equal (app_pin (ground_truth_app (truth, "ncf")).replicas, 1);
    ground_truth_free (truth);
}

/* The built-in profiles approximate the published traces: total iterations and step times are close
 * over the measured placements and batches. */
static void test_built_in_is_near (void **state)
{
    (void)state;
    struct ground_truth *built_in = NULL, *traces = NULL;
    fclose (golden_open (TEST_DATA "osdi21/traces/bert/placements.csv"));
    assert_int_equal (ground_truth_from_profiles (NULL, &built_in, NULL), 0);
    assert_int_equal (ground_truth_from_traces (TEST_DATA "osdi21/traces", &traces, NULL), 0);
    for (int i = 0; i < ground_truth_count (built_in); i++) {
        const struct app *a = ground_truth_at (built_in, i), *b = ground_truth_at (traces, i);
        const struct pollux_limits *limits = app_limits (a);
        int last = app_max_epochs (a) - 1, count = 0;
        assert_memory_equal (limits, app_limits (b), sizeof *limits);
        assert_int_equal (app_max_epochs (b), last + 1);
        assert_true (relative (app_need (a, last + 1), app_need (b, last + 1)) < 1e-5);
        double error = 0;
        for (int64_t batch = limits->init_batch; batch <= limits->max_batch; batch *= 2) {
            double iterations = app_iterations (a, last, (double)batch);
            /* The traces have fewer iterations than their gains imply: yolov3 by a third. */
            assert_true (iterations / app_iterations (b, last, (double)batch) > 0.9);
            assert_true (iterations / app_iterations (b, last, (double)batch) < 1.65);
        }
        int placements[][4] = {{1}, {2}, {4}, {2, 2}, {4, 4}, {4, 4, 4}, {4, 4, 4, 4}};
        int nodes[] = {1, 1, 1, 2, 2, 3, 4};
        for (size_t p = 0; p < COUNT (nodes); p++)
            for (int64_t m = limits->min_local; m <= limits->max_local; m *= 2) {
                struct app_step x = app_step (a, placements[p], nodes[p], m);
                struct app_step y = app_step (b, placements[p], nodes[p], m);
                if (y.modelled)
                    continue;
                error += pow (log (x.step_s / y.step_s), 2);
                count++;
            }
        assert_true (sqrt (error / count) < 0.25);
    }
    ground_truth_free (built_in);
    ground_truth_free (traces);
}

static void test_written_and_read_again (void **state)
{
    (void)state;
    struct ground_truth *truth = NULL;
    struct profile made[8], *read;
    struct pollux_error err;
    char *text;
    size_t length;
    int count;
    assert_int_equal (ground_truth_from_profiles (NULL, &truth, NULL), 0);
    for (int i = 0; i < ground_truth_count (truth); i++)
        assert_int_equal (profile_of_app (ground_truth_at (truth, i), &made[i], &err), 0);
    strcpy (made[0].name, "a \"quoted\" näme");
    FILE *out = open_memstream (&text, &length);
    assert_int_equal (profiles_write (made, ground_truth_count (truth), out, &err), 0);
    assert_int_equal (fclose (out), 0);
    if (profiles_parse ("again", text, length, &read, &count, &err) < 0)
        fail_msg ("%s", err.text);
    free (text);
    assert_int_equal (count, ground_truth_count (truth));
    for (int i = 0; i < count; i++) {
        assert_string_equal (read[i].name, made[i].name);
        assert_int_equal (read[i].epochs, made[i].epochs);
        assert_true (relative (read[i].epoch_iterations, made[i].epoch_iterations) < 1e-5);
        assert_memory_equal (&read[i].limits, &made[i].limits, sizeof made[i].limits);
        assert_true (relative (read[i].model.alpha_node, made[i].model.alpha_node) < 1e-5);
        assert_int_equal (read[i].pinned_replicas, made[i].pinned_replicas);
        assert_int_equal (read[i].pinned_batch, made[i].pinned_batch);
        assert_int_equal (read[i].knot_count, made[i].knot_count);
        assert_int_equal (read[i].batch_count, made[i].batch_count);
        for (int b = 0; b < made[i].batch_count; b++)
            for (int k = 0; k < made[i].knot_count; k++)
                assert_true (relative (read[i].ratio[b][k], made[i].ratio[b][k]) < 1e-5);
    }
    free (read);
    ground_truth_free (truth);
}

/* A profile made from an application that was made from a profile is nearly the same profile. */
static void test_profile_of_profile (void **state)
{
    (void)state;
    struct ground_truth *truth =
        parse (ONE ("\"epochs\": 101, \"epoch_iterations\": 7, " LIMITS ", " MODEL
                    ", \"noise\": {\"progress\": [0.00495049504950495, 0.3, 0.995049504950495], "
                    "\"batches\": [10, 40], \"ratio\": [[1, 10, 20], [2, 30, 15]]}"));
    struct profile profile;
    const struct app *app = ground_truth_app (truth, "a");
    assert_int_equal (profile_of_app (app, &profile, NULL), 0);
    assert_true (profile.epoch_iterations == 7);
    assert_true (profile.model.beta_local == 0.02);
    assert_true (profile.knot_count <= 5);
    struct ground_truth *again = NULL;
    assert_int_equal (ground_truth_of_profiles (&profile, 1, &again, NULL), 0);
    for (int e = 0; e < 101; e++)
        for (int batch = 10; batch <= 40; batch += 30)
            assert_true (relative (app_grad (ground_truth_at (again, 0), e, batch).var,
                                   app_grad (app, e, batch).var) < 0.06);
    ground_truth_free (truth);
    ground_truth_free (again);
}

static const struct {
    const char *text, *says;
} refused[] = {
    {"", "test"},
    {"[]", "object"},
    {"{}", "version"},
    {"{\"version\": 2, \"applications\": {}}", "version"},
    {"{\"version\": 1}", "applications"},
    {"{\"version\": 1, \"applications\": {}}", "one application"},
    {"{\"version\": 1, \"applications\": {\"a\": 1}}", "applications.a"},
    {ONE (EPOCHS ", " LIMITS ", " NOISE), "applications.a.model"},
    {ONE (EPOCHS ", " MODEL ", " NOISE), "applications.a.init_batch"},
    {ONE (LIMITS ", " MODEL ", " NOISE), "applications.a.epochs"},
    {ONE ("\"epochs\": 0, \"epoch_iterations\": 1, " LIMITS ", " MODEL ", " NOISE), "epochs"},
    {ONE ("\"epochs\": 9, \"epoch_iterations\": 0, " LIMITS ", " MODEL ", " NOISE),
     "epoch_iterations"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL), "applications.a.noise"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [], \"batches\": [1], "
                 "\"ratio\": [[]]}"),
     "noise.progress"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0.5, 0.5], \"batches\": [1], "
                 "\"ratio\": [[1, 1]]}"),
     "noise.progress[1]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 2], \"batches\": [1], "
                 "\"ratio\": [[1, 1]]}"),
     "noise.progress[1]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 1], \"batches\": [9, 8], "
                 "\"ratio\": [[1, 1], [1, 1]]}"),
     "noise.batches[1]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 1], \"batches\": [9], "
                 "\"ratio\": [[1, 1], [1, 1]]}"),
     "expected 1 rows"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 1], \"batches\": [9], "
                 "\"ratio\": [[1]]}"),
     "noise.ratio[0]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 1], \"batches\": [9], "
                 "\"ratio\": [[1, -1]]}"),
     "noise.ratio[0][1]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", \"noise\": {\"progress\": [0, 1], \"batches\": [9], "
                 "\"ratio\": [[1, \"2\"]]}"),
     "noise.ratio[0][1]"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", " NOISE ", \"pinned\": {\"replicas\": 1}"),
     "pinned.batch"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", " NOISE ", \"pinned\": {\"replicas\": 1, \"batch\": 9}"),
     "pinned.batch"},
    {ONE (EPOCHS ", " LIMITS ", " MODEL ", " NOISE ", \"pinned\": 3"), "pinned"},
    {"{\"version\": 1, \"applications\": {\"\": {" EPOCHS ", " LIMITS ", " MODEL ", " NOISE "}}}",
     "name"},
};

static void test_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (refused); i++) {
        struct profile *profiles = NULL;
        struct pollux_error err = {.text = ""};
        int count = -1, code = profiles_parse ("test", refused[i].text, strlen (refused[i].text),
                                               &profiles, &count, &err);
        if (code != -EINVAL || profiles || count != -1 || !strstr (err.text, refused[i].says) ||
            strncmp (err.text, "test", 4) != 0)
            fail_msg ("case %zu: expected '%s', got %d: %s", i, refused[i].says, code, err.text);
    }
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    assert_int_equal (ground_truth_from_profiles ("no/such/file.json", &truth, &err), -ENOENT);
    assert_non_null (strstr (err.text, "no/such/file.json"));
    assert_null (truth);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_what_they_mean),         cmocka_unit_test (test_built_in),
        cmocka_unit_test (test_built_in_is_near),       cmocka_unit_test (test_profile_of_profile),
        cmocka_unit_test (test_written_and_read_again), cmocka_unit_test (test_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
