/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads: reading, refusals with file and line, writing and reading again, generation by recipes,
 * and sampling from a history.
 */
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "sim/workload_generate.h"
#include "sim/job_sizes.h"

#define HEADER "name,time,application,num_replicas,batch_size\n"

static struct ground_truth *built_in (void)
{
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    if (ground_truth_from_profiles (NULL, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    return truth;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void test_accepted (void **state)
{
    static const char *const texts[] = {
        HEADER "a,0,cifar10,6,2048\nb,12.5,ncf,1,32768\n",
        HEADER "b,100,cifar10,6,2048\na,0,bert,1,12\n", /* any order of time */
        "batch_size,name,extra,time,application,num_replicas\n2048,a,,0,cifar10,6\n",
        "\xef\xbb\xbf" HEADER "a,0,cifar10,6,2048\r\n\r\n",
        HEADER "a,0,cifar10,6,2048", /* no line break, but one more digit would exceed the limit */
        HEADER "a,0,cifar10,128,4096\n",
    };
    (void)state;
    struct ground_truth *truth = built_in ();
    for (size_t i = 0; i < COUNT (texts); i++) {
        struct workload workload;
        struct pollux_error err;
        if (workload_parse ("test", texts[i], strlen (texts[i]), truth, &workload, &err) < 0)
            fail_msg ("case %zu: %s", i, err.text);
        assert_true (workload.count >= 1);
        workload_clear (&workload);
    }
    struct workload workload;
    assert_int_equal (workload_parse ("test", texts[0], strlen (texts[0]), truth, &workload, NULL),
                      0);
    assert_int_equal (workload.count, 2);
    assert_string_equal (workload.jobs[1].name, "b");
    assert_true (workload.jobs[1].submit_s == 12.5);
    assert_ptr_equal (workload.jobs[0].app, ground_truth_app (truth, "cifar10"));
    assert_int_equal (workload.jobs[0].replicas, 6);
    assert_int_equal (workload.jobs[0].batch, 2048);
    workload_clear (&workload);
    ground_truth_free (truth);
}

static const struct {
    const char *text, *says;
} refused[] = {
    {"", "test"},
    {HEADER, "test: no jobs"},
    {"name,time,application,num_replicas\na,0,bert,1\n", "batch_size"},
    {HEADER "a,0,bert,1,12\nb,0,resnet,1,12\n",
     "test:3:5: column 'application': expected one of bert, cifar10, deepspeech2, imagenet, ncf, "
     "yolov3"},
    {HEADER "a,-1,bert,1,12\n", "test:2:3: column 'time'"},
    {HEADER "a,nan,bert,1,12\n", "test:2:3: column 'time'"},
    {HEADER "a,1e10,bert,1,12\n", "test:2:3: column 'time'"},
    {HEADER "a,0,bert,1,12\n\nb,0,bert,1,12\na,0,bert,1,12\n", "test:5:1: column 'name'"},
    {HEADER ",0,bert,1,12\n", "test:2:1: column 'name'"},
    {HEADER "a234567890123456789012345678901234567890123456789012345678901234,0,bert,1,12\n",
     "1 to 63 bytes"},
    {HEADER "a,0,bert,0,12\n", "test:2:10: column 'num_replicas'"},
    {HEADER "a,0,bert,1.5,12\n", "test:2:10: column 'num_replicas'"},
    {HEADER "a,0,bert,1,11\n", "test:2:12: column 'batch_size'"},
    {HEADER "a,0,bert,1,385\n", "an integer from 12 to 384"},
    {HEADER "a,0,bert,4,12\n", "at least 16 for 4 replicas"},
    {HEADER "a,0,bert,1000000,384\n", "at least 4000000"},
    {HEADER "a,0,cifar10,6,2048\nb,0,cif", "test:3"},            /* cut off within a field, */
    {HEADER "a,0,cifar10,6,2048\nb,0,cifar10,6,", "test:3"},     /* before one, */
    {HEADER "a,0,cifar10,6,2048\nb,0,cifar10,6,20", "test:3"},   /* within a number that is */
    {HEADER "a,0,cifar10,6,2048\nb,0,cifar10,6,204", "cut off"}, /* too small, or is not */
    {"batch_size,name,application,num_replicas,time\n2048,a,cifar10,6,1", "cut off"},
};

static void test_refused (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    for (size_t i = 0; i < COUNT (refused); i++) {
        struct workload workload = {.count = -1};
        struct pollux_error err = {.text = ""};
        int code = workload_parse ("test", refused[i].text, strlen (refused[i].text), truth,
                                   &workload, &err);
        if (code != -EINVAL || workload.count != -1 || !strstr (err.text, refused[i].says))
            fail_msg ("case %zu: expected '%s', got %d: %s", i, refused[i].says, code, err.text);
    }
    struct workload workload;
    struct pollux_error err;
    assert_int_equal (workload_read ("no/such.csv", truth, &workload, &err), -ENOENT);
    assert_non_null (strstr (err.text, "no/such.csv"));
    ground_truth_free (truth);
}

/* A truncated file is refused, or its rows equal the first rows of the whole file. */
static void test_cut_off (void **state)
{
    static const char text[] = HEADER "ncf-0,10,ncf,1,32768\ncifar10-1,11,cifar10,12,4096\n";
    (void)state;
    struct ground_truth *truth = built_in ();
    struct workload whole;
    assert_int_equal (workload_parse ("test", text, strlen (text), truth, &whole, NULL), 0);
    for (size_t length = 0; length < strlen (text); length++) {
        struct workload cut;
        if (workload_parse ("test", text, length, truth, &cut, NULL) < 0)
            continue;
        assert_memory_equal (cut.jobs, whole.jobs, (size_t)cut.count * sizeof *cut.jobs);
        workload_clear (&cut);
    }
    workload_clear (&whole);
    ground_truth_free (truth);
}

static void test_published (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    fclose (golden_open (TEST_DATA "osdi21/workloads/workload-1.csv"));
    for (int i = 1; i <= 6; i++) {
        char path[64];
        struct workload workload;
        struct pollux_error err;
        (void)snprintf (path, sizeof path, TEST_DATA "osdi21/workloads/workload-%d.csv", i);
        if (workload_read (path, truth, &workload, &err) < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (workload.count, 160);
        workload_clear (&workload);
    }
    ground_truth_free (truth);
}

/* ---- Writing ------------------------------------------------------------------------------ */

static char *written (const struct workload *workload)
{
    char *text;
    size_t length;
    FILE *out = open_memstream (&text, &length);
    assert_int_equal (workload_write (workload, out, NULL), 0);
    assert_int_equal (fclose (out), 0);
    return text;
}

static void test_written_and_read_again (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    struct workload_job jobs[] = {
        {.name = "plain", .submit_s = 0.1, .replicas = 1, .batch = 12},
        {.name = "a,b", .submit_s = 1e9, .replicas = 1, .batch = 384},
        {.name = "say \"hi\"", .submit_s = 1.0 / 3, .replicas = 3, .batch = 13},
        {.name = " blanks ", .submit_s = 0, .replicas = 1, .batch = 12},
    };
    struct workload workload = {.jobs = jobs, .count = COUNT (jobs)}, again;
    for (size_t i = 0; i < COUNT (jobs); i++)
        jobs[i].app = ground_truth_app (truth, "bert");
    char *text = written (&workload);
    struct pollux_error err;
    if (workload_parse ("again", text, strlen (text), truth, &again, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (again.count, workload.count);
    assert_memory_equal (again.jobs, jobs, sizeof jobs);
    workload_clear (&again);
    free (text);
    FILE *full = fopen ("/dev/full", "w");
    if (full) {
        assert_true (workload_write (&workload, full, &err) < 0);
        (void)fclose (full);
    }
    ground_truth_free (truth);
}

/* ---- Recipes ------------------------------------------------------------------------------ */

static struct workload generate (const struct ground_truth *truth, const struct recipe *recipe)
{
    struct workload workload;
    struct pollux_error err;
    if (workload_generate (truth, recipe, &workload, &err) < 0)
        fail_msg ("%s", err.text);
    return workload;
}

/* Every generated workload can be read, is sorted by time, and has whole seconds. */
static void check_made (const struct ground_truth *truth, const struct workload *workload,
                        double hours)
{
    char *text = written (workload);
    struct workload again;
    struct pollux_error err;
    if (workload_parse ("made", text, strlen (text), truth, &again, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (again.count, workload->count);
    assert_memory_equal (again.jobs, workload->jobs, (size_t)again.count * sizeof *again.jobs);
    for (int i = 0; i < workload->count; i++) {
        double at = workload->jobs[i].submit_s;
        assert_true (at >= 0 && at < hours * 3600 && at == floor (at));
        assert_true (i == 0 || at >= workload->jobs[i - 1].submit_s);
    }
    workload_clear (&again);
    free (text);
}

static void test_default_recipe (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    struct recipe recipe = recipe_default ();
    struct workload usual = generate (truth, NULL), same = generate (truth, &recipe);
    check_made (truth, &usual, 8);
    assert_int_equal (usual.count, 160);
    assert_int_equal (same.count, 160);
    assert_memory_equal (usual.jobs, same.jobs, 160 * sizeof *usual.jobs);
    int seen = 0; /* number of applications that occur */
    for (int a = 0; a < ground_truth_count (truth); a++)
        for (int i = 0; i < usual.count; i++)
            if (usual.jobs[i].app == ground_truth_at (truth, a)) {
                seen++;
                break;
            }
    assert_int_equal (seen, 6);
    recipe.seed = 1;
    struct workload other = generate (truth, &recipe);
    assert_memory_not_equal (usual.jobs, other.jobs, 160 * sizeof *usual.jobs);
    workload_clear (&usual);
    workload_clear (&same);
    workload_clear (&other);
    ground_truth_free (truth);
}

/* Shares follow the mix within 5 standard deviations; times do not depend on the mix. */
static void test_mix (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    double mix[6] = {0, 3, 0, 0, 1, 0}; /* cifar10 and ncf */
    struct recipe recipe = recipe_default ();
    recipe.jobs = 4000;
    struct workload all = generate (truth, &recipe);
    recipe.mix = mix;
    struct workload two = generate (truth, &recipe);
    check_made (truth, &two, 8);
    int cifar10 = 0;
    for (int i = 0; i < two.count; i++) {
        assert_true (two.jobs[i].submit_s == all.jobs[i].submit_s);
        bool is = two.jobs[i].app == ground_truth_app (truth, "cifar10");
        assert_true (is || two.jobs[i].app == ground_truth_app (truth, "ncf"));
        cifar10 += is;
    }
    /* 3000 expected, standard deviation 27. */
    assert_true (abs (cifar10 - 3000) < 5 * 27);
    workload_clear (&all);
    workload_clear (&two);
    ground_truth_free (truth);
}

/* The ratio of arrivals in the busiest to the quietest hour is as requested. */
static void test_day_and_night (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    struct recipe recipe = recipe_default ();
    recipe.jobs = soak_count (1000000);
    recipe.hours = 48;
    recipe.start_hour = 6;
    recipe.day_night = 10;
    struct workload workload = generate (truth, &recipe);
    int by_hour[24] = {0};
    for (int i = 0; i < workload.count; i++)
        by_hour[(int)(workload.jobs[i].submit_s / 3600 + 6) % 24]++;
    double day = by_hour[13] + by_hour[14], night = by_hour[1] + by_hour[2];
    assert_true (fabs (day / night / 10 - 1) < 0.1 + 5 / sqrt (night));
    workload_clear (&workload);

    recipe.day_night = 1;
    workload = generate (truth, &recipe);
    memset (by_hour, 0, sizeof by_hour);
    for (int i = 0; i < workload.count; i++)
        by_hour[(int)(workload.jobs[i].submit_s / 3600) % 24]++;
    double mean = workload.count / 24.0;
    for (int hour = 0; hour < 24; hour++)
        assert_true (fabs (by_hour[hour] - mean) < 6 * sqrt (mean));
    workload_clear (&workload);
    ground_truth_free (truth);
}

/* The mean number of jobs of a day follows the rate for any day_night; it is Poisson distributed. */
static void test_rate (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    double sum = 0, squares = 0;
    int runs = soak_count (2000);
    for (int i = 0; i < runs; i++) {
        struct recipe recipe = recipe_default ();
        recipe.jobs = 0;
        recipe.jobs_per_hour = 2;
        recipe.hours = 24;
        recipe.start_hour = i % 25;
        recipe.day_night = 1 + i % 7;
        recipe.seed = (uint64_t)i;
        struct workload workload = generate (truth, &recipe);
        sum += workload.count;
        squares += pow (workload.count, 2);
        workload_clear (&workload);
    }
    double mean = sum / runs, variance = squares / runs - mean * mean;
    assert_true (fabs (mean - 48) < 5 * sqrt (48.0 / runs));
    assert_true (runs < 100 || (variance > 48 * 0.6 && variance < 48 * 1.4));
    ground_truth_free (truth);
}

static void test_bad_recipes (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    double nothing[6] = {0};
    struct recipe recipes[10];
    for (size_t i = 0; i < COUNT (recipes); i++)
        recipes[i] = recipe_default ();
    recipes[0].jobs = -1;
    recipes[1].jobs = WORKLOAD_JOBS_LIMIT + 1;
    recipes[2].jobs = 0;
    recipes[3].hours = 0;
    recipes[4].hours = NAN;
    recipes[5].start_hour = 25;
    recipes[6].day_night = 0.5;
    recipes[7].mix = nothing;
    recipes[8].max_replicas = 0;
    recipes[9].jobs = 0;
    recipes[9].jobs_per_hour = 1e-9;
    for (size_t i = 0; i < COUNT (recipes); i++) {
        struct workload workload = {.count = -1};
        struct pollux_error err = {.text = ""};
        assert_int_equal (workload_generate (truth, &recipes[i], &workload, &err), -EINVAL);
        assert_true (workload.count == -1 && err.text[0]);
    }
    ground_truth_free (truth);
}

/* ---- Sizes -------------------------------------------------------------------------------- */

/* The requests of the published workloads are among the generated sizes. */
static void test_sizes (void **state)
{
    static const struct {
        const char *app;
        int replicas;
        int64_t batch;
    } published[] = {
        {"bert", 6, 384},        {"bert", 8, 384},         {"bert", 12, 384},
        {"bert", 16, 384},       {"cifar10", 6, 2048},     {"cifar10", 8, 2048},
        {"cifar10", 12, 4096},   {"cifar10", 16, 4096},    {"deepspeech2", 6, 320},
        {"deepspeech2", 8, 320}, {"deepspeech2", 12, 640}, {"imagenet", 24, 3200},
        {"imagenet", 32, 6400},  {"imagenet", 48, 6400},   {"ncf", 1, 32768},
        {"yolov3", 4, 64},
    };
    (void)state;
    struct ground_truth *truth = NULL;
    struct pollux_error err;
    fclose (golden_open (TEST_DATA "osdi21/traces/bert/placements.csv"));
    if (ground_truth_from_traces (TEST_DATA "osdi21/traces", &truth, &err) < 0)
        fail_msg ("%s", err.text);
    for (size_t i = 0; i < COUNT (published); i++) {
        struct job_size sizes[SIZES_LIMIT];
        int found = 0, count = app_sizes (ground_truth_app (truth, published[i].app), 64, 4, sizes);
        for (int s = 0; s < count; s++)
            found +=
                sizes[s].replicas == published[i].replicas && sizes[s].batch == published[i].batch;
        if (!found)
            fail_msg ("%s: no generated job requests %d replicas and batch %lld", published[i].app,
                      published[i].replicas, (long long)published[i].batch);
    }
    ground_truth_free (truth);
}

static void test_sizes_are_legal (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    for (int a = 0; a < ground_truth_count (truth); a++)
        for (int most = 1; most < 100000; most = most * 3 + 1)
            for (int slots = 1; slots <= 16; slots *= 4) {
                const struct app *app = ground_truth_at (truth, a);
                const struct pollux_limits *limits = app_limits (app);
                struct job_size sizes[SIZES_LIMIT];
                int count = app_sizes (app, most, slots, sizes);
                assert_true (count >= 1);
                for (int i = 0; i < count; i++) {
                    assert_in_range (sizes[i].replicas, 1, most);
                    assert_in_range (sizes[i].batch, limits->init_batch, limits->max_batch);
                    assert_true (sizes[i].batch >= sizes[i].replicas * limits->min_local);
                    assert_true (sizes[i].seconds > 0 && isfinite (sizes[i].seconds));
                    assert_true (i == 0 || sizes[i].replicas > sizes[i - 1].replicas);
                }
            }
    ground_truth_free (truth);
}

/* ---- Histories ---------------------------------------------------------------------------- */

static struct job_history read_history (const char *text, struct pollux_error *err, int *code)
{
    char path[64];
    snprintf (path, sizeof (path), "%s/pollux-history-XXXXXX", temporary_folder ());
    int fd = mkstemp (path);
    assert_true (fd >= 0);
    FILE *file = fdopen (fd, "w");
    assert_true (fputs (text, file) >= 0);
    assert_int_equal (fclose (file), 0);
    struct job_history history = {0};
    *code = job_history_read (path, &history, err);
    unlink (path);
    return history;
}

#define HISTORY "timestamp,duration,num_gpus,gpu_time,cluster\n"

static void test_history (void **state)
{
    (void)state;
    int code;
    struct pollux_error err;
    struct job_history history = read_history (HISTORY "2017-10-09 07:01:55,66.0,1,66.0,x\n"
                                                       "2017-10-09 07:01:56,59.0,1,59.0,x\n"
                                                       "2000-02-29T23:59:59,3600,2,7200,\n",
                                               &err, &code);
    assert_int_equal (code, 0);
    assert_int_equal (history.count, 2); /* jobs of less than a minute are left out */
    assert_int_equal (history.jobs[0].at_s, 1507532515);
    assert_int_equal (history.jobs[1].at_s, 951868799);
    assert_true (history.jobs[1].slot_s == 7200);
    job_history_clear (&history);

    static const char *const bad[] = {
        HISTORY,
        HISTORY "2017-10-09 07:01,66,1,66,x\n",
        HISTORY "2017-13-09 07:01:55,66,1,66,x\n",
        HISTORY "2017-10-09 25:01:55,66,1,66,x\n",
        HISTORY "2017-10-09 07:01:55,-1,1,66,x\n",
        HISTORY "2017-10-09 07:01:55,66,1,x,x\n",
        HISTORY "2017-1o-09 07:01:55,66,1,66,x\n",
        HISTORY "2017-10-09 07:01:55,6,1,6,x\n",
        "timestamp,duration\n2017-10-09 07:01:55,66\n",
    };
    for (size_t i = 0; i < COUNT (bad); i++) {
        history = read_history (bad[i], &err, &code);
        assert_int_equal (code, -EINVAL);
        assert_null (history.jobs);
    }
}

/* Jobs at 3:00 and 15:00 of ten days, small ones in the morning and large ones later. */
static void test_sampled (void **state)
{
    (void)state;
    struct ground_truth *truth = built_in ();
    struct past_job jobs[300];
    struct job_history history = {.jobs = jobs, .count = 300};
    for (int i = 0; i < 300; i++) {
        bool early = i % 3 == 0;
        jobs[i].at_s = 1500000000 / 86400 * 86400 + i % 10 * 86400 + (early ? 3 : 15) * 3600 + i;
        jobs[i].slot_s = early ? 60 : 300 * 3600.0;
    }
    struct recipe recipe = recipe_default ();
    recipe.history = &history;
    recipe.jobs = 50;
    recipe.hours = 2;
    struct workload workload = generate (truth, &recipe);
    check_made (truth, &workload, 2); /* the busiest two hours have 15:00 */
    for (int i = 0; i < workload.count; i++)
        assert_string_equal (app_name (workload.jobs[i].app), "imagenet");
    workload_clear (&workload);

    recipe.start_hour = 2;
    workload = generate (truth, &recipe);
    check_made (truth, &workload, 2);
    for (int i = 0; i < workload.count; i++) {
        assert_string_equal (app_name (workload.jobs[i].app), "ncf");
        assert_in_range ((int)workload.jobs[i].submit_s, 3600, 3600 + 299);
    }
    workload_clear (&workload);

    recipe.hours = 240; /* longer than a week: the whole history from its first day */
    recipe.start_hour = 0;
    recipe.jobs = 300;
    workload = generate (truth, &recipe);
    check_made (truth, &workload, 240);
    assert_int_equal (workload.count, 300);
    workload_clear (&workload);

    struct pollux_error err;
    recipe.jobs = 301;
    assert_int_equal (workload_generate (truth, &recipe, &workload, &err), -EINVAL);
    assert_non_null (strstr (err.text, "300 jobs"));
    double mix[6] = {1, 1, 1, 1, 1, 1};
    recipe.mix = mix;
    assert_int_equal (workload_generate (truth, &recipe, &workload, &err), -EINVAL);
    ground_truth_free (truth);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_accepted),
        cmocka_unit_test (test_refused),
        cmocka_unit_test (test_cut_off),
        cmocka_unit_test (test_published),
        cmocka_unit_test (test_written_and_read_again),
        cmocka_unit_test (test_default_recipe),
        cmocka_unit_test (test_mix),
        cmocka_unit_test (test_day_and_night),
        cmocka_unit_test (test_rate),
        cmocka_unit_test (test_bad_recipes),
        cmocka_unit_test (test_sizes),
        cmocka_unit_test (test_sizes_are_legal),
        cmocka_unit_test (test_history),
        cmocka_unit_test (test_sampled),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
