/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ground truth from traces: the published ones against values of an independent implementation,
 * small ones computed by hand, files that are refused, and several threads on one ground truth.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "base/rng.h"
#include "sim/ground_truth.h"

#define PUBLISHED TEST_DATA "osdi21/traces"

static struct ground_truth *load_published (void)
{
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    fclose (golden_open (PUBLISHED "/bert/placements.csv"));
    if (ground_truth_from_traces (PUBLISHED, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    return truth;
}

/* Loaded once for all tests that only read. */
static struct ground_truth *shared_truth;

static const struct ground_truth *published (void)
{
    if (!shared_truth)
        shared_truth = load_published ();
    return shared_truth;
}

static int free_shared (void **state)
{
    (void)state;
    ground_truth_free (shared_truth);
    return 0;
}

/* ---- The published traces ----------------------------------------------------------------- */

static void test_published_apps (void **state)
{
    static const struct {
        const char *name;
        int epochs;
        struct pollux_limits limits;
        struct app_pin pin;
        double need; /* of all epochs */
    } want[] = {
        {"bert", 2, {12, 384, 4, 12, true}, {0, 0}, 14774},
        {"cifar10", 100, {128, 4096, 32, 1024, true}, {0, 0}, 39062.908166595327},
        {"deepspeech2", 80, {20, 640, 10, 80, true}, {0, 0}, 28536},
        {"imagenet", 90, {200, 12800, 20, 200, true}, {0, 0}, 576525.59489560391},
        {"ncf", 10, {256, 32768, 32, 32768, true}, {1, 32768}, 194174},
        {"yolov3", 50, {8, 512, 4, 8, true}, {0, 0}, 103443.97796253165},
    };
    (void)state;
    const struct ground_truth *truth = published ();
    assert_int_equal (ground_truth_count (truth), COUNT (want));
    for (size_t i = 0; i < COUNT (want); i++) {
        const struct app *app = ground_truth_app (truth, want[i].name);
        assert_non_null (app);
        assert_ptr_equal (app, ground_truth_at (truth, (int)i));
        assert_string_equal (app_name (app), want[i].name);
        assert_int_equal (app_max_epochs (app), want[i].epochs);
        const struct pollux_limits *limits = app_limits (app);
        assert_int_equal (limits->init_batch, want[i].limits.init_batch);
        assert_int_equal (limits->max_batch, want[i].limits.max_batch);
        assert_int_equal (limits->min_local, want[i].limits.min_local);
        assert_int_equal (limits->max_local, want[i].limits.max_local);
        assert_true (limits->accumulation);
        assert_int_equal (app_pin (app).replicas, want[i].pin.replicas);
        assert_int_equal (app_pin (app).batch, want[i].pin.batch);
        assert_true (app_need (app, 0) == 0);
        assert_true (relative (app_need (app, want[i].epochs), want[i].need) < 1e-12);
    }
    assert_null (ground_truth_app (truth, "resnet"));
    assert_null (ground_truth_app (truth, ""));
}

/* Step times on placements that were not measured: N nodes, K replicas, m samples.  Computed with
 * scipy's LinearNDInterpolator.  Several simplices give different values for the first two or three
 * of each application, and for imagenet on 12 nodes: there the walk decides, not the first
 * simplex in Qhull's order. */
static const struct {
    const char *app;
    int nodes, replicas, m;
    double step_s, sync_s;
} interpolated[] = {
    {"bert", 8, 9, 7, 1.52910076082, 0.944172525406},
    {"bert", 14, 17, 8, 1.69025726616, 1.02616003513},
    {"bert", 12, 46, 6, 1.85775865987, 1.30723693657},
    {"bert", 10, 24, 8, 1.70620629936, 1.06487285042},
    {"cifar10", 7, 14, 42, 0.153137161182, 0.105312316484},
    {"cifar10", 9, 24, 358, 0.313380428321, 0.0485249323591},
    {"cifar10", 6, 7, 403, 0.315025315285, 0.0281952212906},
    {"cifar10", 9, 29, 237, 0.245549441576, 0.0561944729864},
    {"deepspeech2", 8, 23, 37, 1.39741367102, 0.313451335398},
    {"deepspeech2", 6, 9, 66, 2.24883894817, 0.192342509613},
    {"deepspeech2", 7, 20, 52, 1.8195168972, 0.251612695432},
    {"deepspeech2", 10, 12, 53, 1.75283027708, 0.252013515019},
    {"imagenet", 7, 26, 134, 0.742373734216, 0.0597087664684},
    {"imagenet", 6, 23, 23, 0.473597073555, 0.305048980522},
    {"imagenet", 8, 16, 22, 0.484828788042, 0.326464614105},
    {"imagenet", 6, 22, 57, 0.616111779213, 0.282110845184},
    {"imagenet", 12, 45, 143, 0.788208750884, 0.069169634215},
    {"imagenet", 12, 46, 140, 0.787995488445, 0.082394785277},
    {"imagenet", 12, 47, 137, 0.787782226006, 0.0956199363391},
    {"ncf", 8, 30, 219, 0.031625085972, 0.0237920318991},
    {"ncf", 6, 13, 623, 0.0281925551796, 0.0207470270405},
    {"ncf", 8, 29, 261, 0.0317479821621, 0.0241134558868},
    {"ncf", 6, 10, 21545, 0.026651487127, 0.0101588105929},
    {"yolov3", 9, 13, 8, 1.18442770839, 0.895132068634},
    {"yolov3", 5, 18, 7, 1.27845719457, 0.848414983749},
    {"yolov3", 13, 21, 8, 1.13588392735, 0.843693668365},
    {"yolov3", 13, 49, 7, 1.47598009557, 1.03668117523},
};

/* K replicas spread evenly over N nodes. */
static void spread (int nodes, int replicas, int *counts)
{
    for (int i = 0; i < nodes; i++)
        counts[i] = replicas / nodes + (i < replicas % nodes);
}

static void test_interpolated_steps (void **state)
{
    (void)state;
    const struct ground_truth *truth = published ();
    for (size_t i = 0; i < COUNT (interpolated); i++) {
        int counts[16];
        spread (interpolated[i].nodes, interpolated[i].replicas, counts);
        struct app_step step = app_step (ground_truth_app (truth, interpolated[i].app), counts,
                                         interpolated[i].nodes, interpolated[i].m);
        if (relative (step.step_s, interpolated[i].step_s) > 1e-10 ||
            relative (step.sync_s, interpolated[i].sync_s) > 1e-10 || step.modelled)
            fail_msg ("%s on %d nodes, %d replicas, m %d: %.12g %.12g", interpolated[i].app,
                      interpolated[i].nodes, interpolated[i].replicas, interpolated[i].m,
                      step.step_s, step.sync_s);
    }
}

/* Measured placements in every rotation, and points outside the measurements. */
static void test_measured_steps (void **state)
{
    static const struct {
        const char *app;
        int counts[20], nodes, m;
        double step_s, sync_s; /* NaN: from the model */
    } cases[] = {
        {"bert", {1}, 1, 4, 0.455323547125, 0.013738612175},
        {"cifar10", {4, 4}, 2, 341, 0.294624415434, 0.0381682393884},
        {"cifar10", {1, 3, 4}, 3, 100, 0.155701581428, 0.0752559945659},
        {"cifar10", {3, 4, 1}, 3, 100, 0.155701581428, 0.0752559945659},
        {"cifar10", {4, 1, 3}, 3, 100, 0.155701581428, 0.0752559945659},
        {"imagenet", {1, 2, 4, 3}, 4, 133, 0.707473650575, 0.0502243039131},
        {"imagenet", {4, 3, 1, 2}, 4, 133, 0.707473650575, 0.0502243039131},
        {"ncf", {1}, 1, 16384, 0.0149687378784, 0.00033913164137},
        {"yolov3", {2, 2}, 2, 7, 1.2599844411, 0.882888860703},
        {"bert", {1}, 1, 3, NAN, NAN},
        {"bert", {1}, 1, 13, NAN, NAN},
        {"bert", {8}, 1, 8, NAN, NAN}, /* more than 4 per node were not measured */
        {"bert", {8, 8}, 2, 8, NAN, NAN},
        {"ncf", {4, 4}, 2, 8000, NAN, NAN}, /* measured up to 4103 */
    };
    (void)state;
    const struct ground_truth *truth = published ();
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct app_step step = app_step (ground_truth_app (truth, cases[i].app), cases[i].counts,
                                         cases[i].nodes, cases[i].m);
        assert_int_equal (step.modelled, isnan (cases[i].step_s));
        assert_true (step.step_s > step.sync_s && step.sync_s >= 0);
        if (!step.modelled)
            assert_true (relative (step.step_s, cases[i].step_s) < 1e-10 &&
                         relative (step.sync_s, cases[i].sync_s) < 1e-10);
    }
    /* More than 16 nodes count as 16. */
    int counts[20];
    spread (16, 48, counts);
    struct app_step sixteen = app_step (ground_truth_app (truth, "bert"), counts, 16, 8);
    spread (20, 48, counts);
    struct app_step twenty = app_step (ground_truth_app (truth, "bert"), counts, 20, 8);
    assert_true (sixteen.step_s == twenty.step_s && !twenty.modelled);
}

/* Statistics and iterations equal the files at their batches, and are linear between them. */
static void test_published_curve (void **state)
{
    (void)state;
    const struct ground_truth *truth = published ();
    const struct app *app = ground_truth_app (truth, "cifar10");
    assert_true (app_iterations (app, 2, 128) == 1171);
    assert_true (app_iterations (app, 2, 256) == 864);
    assert_true (app_iterations (app, 2, 192) == (1171 + 864) / 2.0);
    assert_true (app_grad (app, 0, 128).sqr == 8.947307535897329);
    assert_true (app_grad (app, 0, 256).var == 13.937760473946334);
    double middle = app_grad (app, 0, 192).sqr;
    assert_true (relative (middle, (8.947307535897329 + 17.379458169870425) / 2) < 1e-15);
    assert_true (app_grad (app, 0, 1).sqr == app_grad (app, 0, 128).sqr);
    assert_true (app_grad (app, 0, 1e9).sqr == app_grad (app, 0, 4096).sqr);
    for (int e = 0; e < 100; e++)
        assert_true (app_need (app, e + 1) > app_need (app, e));
}

/* ---- Threads ------------------------------------------------------------------------------ */

enum { THREADS = 4, LOOKUPS = 200 };

struct lookup {
    const struct ground_truth *truth;
    double steps[LOOKUPS];
};

/* All threads look up the same points, each in another order, without ground_truth_prepare. */
static void *look_up (void *self)
{
    struct lookup *lookup = self;
    int shift = (int)((uintptr_t)self / 64 % LOOKUPS);
    for (int i = 0; i < LOOKUPS; i++) {
        int point = (i + shift) % LOOKUPS, counts[16];
        struct rng rng = rng_stream (5, (uint64_t)point);
        /* The applications with the smallest triangulations. */
        const struct app *app =
            ground_truth_app (lookup->truth, rng_below (&rng, 2) ? "bert" : "yolov3");
        int nodes = 1 + (int)rng_below (&rng, 16);
        for (int n = 0; n < nodes; n++)
            counts[n] = 1 + (int)rng_below (&rng, 4);
        const struct pollux_limits *limits = app_limits (app);
        int64_t m = limits->min_local + (int64_t)rng_below (&rng, (uint64_t)limits->max_local);
        lookup->steps[point] = app_step (app, counts, nodes, m).step_s;
    }
    return NULL;
}

static void test_threads_agree (void **state)
{
    (void)state;
    static struct lookup lookups[THREADS + 1];
    pthread_t threads[THREADS];
    struct ground_truth *truth = load_published (), *prepared = load_published ();
    assert_int_equal (ground_truth_prepare (prepared, NULL, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        lookups[i].truth = truth;
        assert_int_equal (pthread_create (&threads[i], NULL, look_up, &lookups[i]), 0);
    }
    lookups[THREADS].truth = prepared;
    look_up (&lookups[THREADS]);
    for (int i = 0; i < THREADS; i++)
        pthread_join (threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_memory_equal (lookups[i].steps, lookups[THREADS].steps, sizeof lookups[i].steps);
    ground_truth_free (truth);
    ground_truth_free (prepared);
}

/* ---- Small traces ------------------------------------------------------------------------- */

struct file {
    const char *name, *text;
};

static const struct file toy[] = {
    {"placements.csv", "placement,local_bsz,step_time,sync_time\n"
                       "1,4,1,0.1\n1,8,2,0.1\n11,4,1.5,0.5\n11,8,2.5,0.5\n2,4,1.25,0.25\n"
                       "12,4,1.5,0.5\n"},
    {"scalability.csv", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
                        "6,6,4,3,1\n6,6,8,4,1\n6,12,4,3.5,1.5\n6,12,8,4.5,1.5\n"},
    {"validation-10.csv", "progress,iteration,metric,grad_sqr,grad_var\n"
                          "100,100,0,1,2\n200,200,0,1,4\n300,300,0,1,8\n"},
    {"validation-20.csv", "progress,iteration,metric,grad_sqr,grad_var\n"
                          "99.5,60,0,2,4\n201,120,0,2,8\n301,180,0,2,16\n"},
    {"notes.txt", "not ours\n"},
    {"validation-x.csv", "not ours\n"},
};

/* A temporary folder, and in it the folder of an application. */
static char root[64], app_dir[128];

static void write_file (const char *dir, const char *name, const char *text)
{
    char path[256];
    (void)snprintf (path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen (path, "w");
    assert_non_null (file);
    assert_true (fputs (text, file) >= 0);
    assert_int_equal (fclose (file), 0);
}

static void make_app (const char *name)
{
    char command[256];
    snprintf (root, sizeof (root), "%s/pollux-traces-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (root));
    (void)snprintf (app_dir, sizeof app_dir, "%s/%s", root, name);
    (void)snprintf (command, sizeof command, "mkdir -p %s %s/empty", app_dir, root);
    assert_int_equal (system (command), 0);
    for (size_t i = 0; i < COUNT (toy); i++)
        write_file (app_dir, toy[i].name, toy[i].text);
}

static void remove_app (void)
{
    char command[256];
    (void)snprintf (command, sizeof command, "rm -rf %s", root);
    assert_int_equal (system (command), 0);
}

static void test_own_traces (void **state)
{
    (void)state;
    struct ground_truth *truth;
    struct pollux_error err;
    make_app ("toy");
    if (ground_truth_from_traces (root, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    remove_app ();
    assert_int_equal (ground_truth_count (truth), 1);
    const struct app *app = ground_truth_app (truth, "toy");
    const struct pollux_limits *limits = app_limits (app);
    assert_int_equal (app_max_epochs (app), 3); /* as many as there are rows */
    assert_int_equal (limits->init_batch, 10);
    assert_int_equal (limits->max_batch, 20);
    assert_int_equal (limits->min_local, 4);
    assert_int_equal (limits->max_local, 8);
    assert_true (app_need (app, 1) == 99.5 && app_need (app, 2) == 200 && app_need (app, 3) == 300);
    assert_true (app_grad (app, 2, 15).var == 12);

    struct app_step step = app_step (app, (int[]){1}, 1, 6);
    assert_true (step.step_s == 1.5 && step.sync_s == 0.1 && !step.modelled);
    assert_true (app_iter_time (step, 2) == 1.5 + 2 * (1.5 - 0.1));
    step = app_step (app, (int[]){2, 1}, 2, 4); /* measured as 12 */
    assert_true (step.step_s == 1.5 && !step.modelled);
    step = app_step (app, (int[]){2, 1}, 2, 6); /* with one batch only */
    assert_true (step.step_s > 0 && step.modelled);
    step = app_step (app, (int[]){100}, 1, 6);
    assert_true (step.step_s > 0 && step.modelled);
    ground_truth_free (truth);
}

/* Measurements that span no volume: the model gives all other step times. */
static void test_flat_traces (void **state)
{
    (void)state;
    struct ground_truth *truth;
    struct pollux_error err;
    make_app ("flat");
    write_file (app_dir, "placements.csv",
                "placement,local_bsz,step_time,sync_time\n1,4,1,0.1\n1,8,2,0.1\n");
    write_file (app_dir, "scalability.csv",
                "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,4,1,0.5\n");
    if (ground_truth_from_traces (root, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    remove_app ();
    struct app_step step = app_step (ground_truth_at (truth, 0), (int[]){2}, 1, 4);
    assert_true (step.modelled && step.step_s > 0);
    assert_int_equal (ground_truth_prepare (truth, (bool[]){true}, &err), 0);
    ground_truth_free (truth);
}

#define PLACEMENTS "placement,local_bsz,step_time,sync_time\n"
#define SHAPES "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
#define EPOCHS "progress,iteration,metric,grad_sqr,grad_var\n"

/* One file of the toy replaced (text NULL: removed), and the expected message. */
static const struct {
    struct file file;
    const char *says;
} refused[] = {
    {{"placements.csv", ""}, "placements.csv"},
    {{"placements.csv", PLACEMENTS}, "placements.csv: no rows"},
    {{"placements.csv", PLACEMENTS "1,4,1\n"}, "placements.csv:2"},
    {{"placements.csv", PLACEMENTS "1,4,1,0.1\n10,4,1,0.1\n"}, "placements.csv:3:1"},
    {{"placements.csv", PLACEMENTS "1x,4,1,0.1\n"}, "digits from 1 to 9"},
    {{"placements.csv", PLACEMENTS "1111111111111111111,4,1,0.1\n"}, "digits from 1 to 9"},
    {{"placements.csv", PLACEMENTS ",4,1,0.1\n"}, "digits from 1 to 9"},
    {{"placements.csv", PLACEMENTS "1,0,1,0.1\n"}, "column 'local_bsz'"},
    {{"placements.csv", PLACEMENTS "1,4,0,0\n"}, "column 'step_time'"},
    {{"placements.csv", PLACEMENTS "1,4,1,1\n"}, "less than the step_time"},
    {{"placements.csv", PLACEMENTS "1,4,1,-1\n"}, "column 'sync_time'"},
    {{"placements.csv", PLACEMENTS "1,4,nan,0\n"}, "column 'step_time'"},
    {{"placements.csv", PLACEMENTS "12,4,1,0\n21,4,1,0\n"}, "placement 12 has the local batch 4"},
    {{"placements.csv", "placement,local_bsz,step_time\n1,4,1\n"}, "sync_time"},
    {{"scalability.csv", NULL}, "scalability.csv"},
    {{"scalability.csv", SHAPES "6,5,4,1,0\n"}, "column 'num_replicas'"},
    {{"scalability.csv", SHAPES "0,5,4,1,0\n"}, "scalability.csv:2:1"},
    {{"validation-10.csv", EPOCHS}, "validation-10.csv: no rows"},
    {{"validation-10.csv", EPOCHS "1,1,0,1,1\n"}, "3 rows, but validation-10.csv has 1"},
    {{"validation-10.csv", EPOCHS "100,100,0,1,2\n90,200,0,1,4\n300,300,0,1,8\n"},
     "validation-10.csv:3:1"},
    {{"validation-10.csv", EPOCHS "100,100,0,1,2\n100,200,0,1,4\n300,300,0,1,8\n"},
     "more progress than before"},
    {{"validation-10.csv", EPOCHS "100,100,0,1,2\n200,99,0,1,4\n300,300,0,1,8\n"},
     "column 'iteration'"},
    {{"validation-10.csv", EPOCHS "100,100,0,-1,2\n200,200,0,1,4\n300,300,0,1,8\n"},
     "column 'grad_sqr'"},
    {{"validation-010.csv", EPOCHS "1,1,0,1,1\n"}, "two validation files for batch 10"},
};

static void test_refused_traces (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (refused); i++) {
        struct ground_truth *truth = NULL;
        struct pollux_error err = {.text = ""};
        make_app ("toy");
        if (refused[i].file.text) {
            write_file (app_dir, refused[i].file.name, refused[i].file.text);
        } else {
            char path[256];
            (void)snprintf (path, sizeof path, "%s/%s", app_dir, refused[i].file.name);
            assert_int_equal (unlink (path), 0);
        }
        int code = ground_truth_from_traces (root, &truth, &err);
        remove_app ();
        if (code >= 0 || truth || !strstr (err.text, refused[i].says))
            fail_msg ("case %zu: expected '%s', got %d: %s", i, refused[i].says, code, err.text);
    }
}

static void test_refused_folders (void **state)
{
    (void)state;
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    assert_int_equal (ground_truth_from_traces ("/no/such/folder", &truth, &err), -ENOENT);
    assert_non_null (strstr (err.text, "/no/such/folder"));
    make_app ("bert"); /* trains for 2 epochs, has 3 rows */
    char empty[128];
    (void)snprintf (empty, sizeof empty, "%s/empty", root);
    assert_int_equal (ground_truth_from_traces (empty, &truth, &err), -EINVAL);
    assert_non_null (strstr (err.text, "no traces here"));
    assert_int_equal (ground_truth_from_traces (root, &truth, &err), 0);
    assert_int_equal (app_max_epochs (ground_truth_at (truth, 0)), 2);
    ground_truth_free (truth);
    truth = NULL;
    remove_app ();
    make_app ("cifar10"); /* trains for 100 epochs */
    assert_int_equal (ground_truth_from_traces (root, &truth, &err), -EINVAL);
    assert_non_null (strstr (err.text, "trains for 100 epochs"));
    remove_app ();
    make_app ("toy");
    char command[256];
    (void)snprintf (command, sizeof command, "rm %s/validation-*", app_dir);
    assert_int_equal (system (command), 0);
    assert_int_equal (ground_truth_from_traces (root, &truth, &err), -EINVAL);
    assert_non_null (strstr (err.text, "no validation-B.csv"));
    remove_app ();
    assert_null (truth);
    ground_truth_free (NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_published_apps),  cmocka_unit_test (test_interpolated_steps),
        cmocka_unit_test (test_measured_steps),  cmocka_unit_test (test_published_curve),
        cmocka_unit_test (test_threads_agree),   cmocka_unit_test (test_own_traces),
        cmocka_unit_test (test_flat_traces),     cmocka_unit_test (test_refused_traces),
        cmocka_unit_test (test_refused_folders),
    };
    return cmocka_run_group_tests (tests, NULL, free_shared);
}
