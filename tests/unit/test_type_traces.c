/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured applications on several types of GPUs, and jobs of the Sia simulator (SOSP'23) on fixed placements.  These
 * measurements may not be distributed: POLLUX_TYPE_DATA names their folder (../shared/types by default), and without it
 * the tests are skipped.
 */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "sim/job_agent.h"

static const char *data_folder (void)
{
    const char *folder = getenv ("POLLUX_TYPE_DATA");
    return folder ? folder : "../shared/types";
}

static void path_of (const char *name, char ret[512])
{
    snprintf (ret, 512, "%s/%s", data_folder (), name);
    if (access (data_folder (), F_OK) < 0) {
        fprintf (stderr, "SKIPPED: no %s: measurements of GPU types, which are not distributed\n",
                 data_folder ());
        skip ();
    }
}

static struct ground_truth *truth_of (void)
{
    char path[512];
    struct ground_truth *truth;
    struct pollux_error err;
    path_of ("traces", path);
    if (ground_truth_from_traces (path, &truth, &err) < 0)
        fail_msg ("%s", err.text);
    return truth;
}

/* "2-1-4": replicas of each node. */
static int counts_of (const char *text, int counts[64])
{
    int nodes = 0;
    for (char *end; *text; text = *end ? end + 1 : end)
        counts[nodes++] = (int)strtol (text, &end, 10);
    return nodes;
}

static void test_steps (void **state)
{
    (void)state;
    static const char *const names[] = {"application", "type",      "placement", "local_bsz",
                                        "kind",        "step_time", "sync_time", "max_local"};
    struct ground_truth *truth = truth_of ();
    struct csv *csv;
    size_t column[COUNT (names)];
    char path[512];
    int compared = 0;
    path_of ("golden/steps.csv", path);
    assert_int_equal (csv_read (path, &csv, NULL), 0);
    for (size_t i = 0; i < COUNT (names); i++)
        assert_int_equal (csv_column (csv, names[i], &column[i], NULL), 0);
    for (size_t row = 0; row < csv_rows (csv); row++) {
        const struct app *app = ground_truth_app (truth, csv_string (csv, row, column[0]));
        const struct app *here = app_on (app, csv_string (csv, row, column[1]));
        int counts[64], nodes = counts_of (csv_string (csv, row, column[2]), counts);
        int64_t m, most;
        double step_s, sync_s;
        if (!here || strcmp (csv_string (csv, row, column[4]), "none") == 0)
            continue; /* a type without data here, or no published time */
        assert_int_equal (csv_int64 (csv, row, column[3], 1, POLLUX_BATCH_LIMIT, &m, NULL), 0);
        assert_int_equal (csv_double (csv, row, column[5], 0, 1e9, &step_s, NULL), 0);
        assert_int_equal (csv_double (csv, row, column[6], 0, 1e9, &sync_s, NULL), 0);
        struct app_step step = app_step (here, counts, nodes, m);
        if (relative (step.step_s, step_s) > 1e-9 || relative (step.sync_s, sync_s) > 1e-9 ||
            step.modelled)
            fail_msg ("row %zu: step %.12g and %.12g, expected %.12g and %.12g", row + 2,
                      step.step_s, step.sync_s, step_s, sync_s);
        if (csv_int64 (csv, row, column[7], 1, POLLUX_BATCH_LIMIT, &most, NULL) == 0)
            assert_int_equal (app_max_local (here, counts, nodes), most);
        compared++;
    }
    print_message ("%d step times of %zu rows\n", compared, csv_rows (csv));
    assert_true (compared > 200);
    csv_free (csv);
    ground_truth_free (truth);
}

/* ---- Jobs on fixed placements ---------------------------------------------------------------- */

/* The usual adapter, with the fits of a list. */
struct given {
    struct batch_adapter adapter;
    const json_t *refits;
};

static int choose_given (void *self, const struct training *training, struct pollux_batch *ret,
                         struct pollux_error *err)
{
    struct given *given = self;
    struct batch_fit *fit = batch_adapter_here (&given->adapter, training);
    size_t count = training_samples (training)->count;
    if (count > 0 && count != fit->count) {
        const json_t *params =
            json_object_get (json_array_get (given->refits, count - 1), "params");
        double x[7];
        assert_int_equal (json_array_size (params), 7);
        for (size_t i = 0; i < 7; i++)
            x[i] = json_real_value (json_array_get (params, i));
        fit->fit.model = (struct pollux_model){x[0], x[1], x[2], x[3], x[4], x[5], x[6]};
        fit->count = count;
    }
    return batch_adapt (&given->adapter, training, ret, err);
}

/* Seconds until a case is complete. */
static double run_case (const struct ground_truth *truth, const json_t *one,
                        const struct batch_chooser *chooser)
{
    const struct app *app =
        ground_truth_app (truth, json_string_value (json_object_get (one, "application")));
    const struct app *here = app_on (app, json_string_value (json_object_get (one, "type")));
    const json_t *placement = json_object_get (one, "placement");
    json_int_t batch = json_integer_value (json_object_get (one, "batch_size"));
    bool fixed = strcmp (json_string_value (json_object_get (one, "mode")), "fixed") == 0;
    int counts[64], nodes = (int)json_array_size (placement);
    struct training job;
    struct pollux_error err;
    for (int i = 0; i < nodes; i++)
        counts[i] = (int)json_integer_value (json_array_get (placement, (size_t)i));
    training_init (&job, app, fixed ? batch : 0, true, 0);
    int rc = training_place (&job, here, counts, nodes, app_restart_delay (app), chooser, &err);
    while (rc == 0 && !training_done (&job))
        rc = training_advance (&job, 60, 0, chooser, &err);
    if (rc < 0)
        fail_msg ("%s", err.text);
    double completed_s = job.completed_s;
    training_clear (&job);
    return completed_s;
}

static void test_jobs (void **state)
{
    (void)state;
    struct ground_truth *truth = truth_of ();
    char path[512];
    path_of ("golden/static.json", path);
    json_t *root = json_load_file (path, 0, NULL), *cases = json_object_get (root, "cases"), *one;
    size_t i;
    int fixed = 0, adaptive = 0;
    double sum = 0, worst = 0;
    json_array_foreach (cases, i, one)
    {
        const char *type = json_string_value (json_object_get (one, "type"));
        if (!app_on (ground_truth_at (truth, 0), type))
            continue; /* no data of this type here */
        double completion = json_number_value (json_object_get (one, "completion"));
        struct given given = {.adapter.search = POLLUX_REFERENCE,
                              .refits = json_object_get (one, "refits")};
        struct batch_chooser chooser = {.choose = choose_given, .self = &given};
        double seconds = run_case (truth, one, &chooser);
        if (fabs (seconds - completion) > 1)
            fail_msg ("case %zu: %g s, expected %g s", i, seconds, completion);
        /* With our own fit. */
        struct batch_adapter own = {.search = POLLUX_REFERENCE};
        chooser = (struct batch_chooser){.choose = batch_adapt, .self = &own};
        seconds = run_case (truth, one, &chooser);
        bool is_fixed = strcmp (json_string_value (json_object_get (one, "mode")), "fixed") == 0;
        double off = seconds / completion - 1;
        if (is_fixed ? fabs (seconds - completion) > 1 : fabs (off) > 0.08)
            fail_msg ("case %zu, own fit: %g s, expected %g s", i, seconds, completion);
        fixed += is_fixed;
        adaptive += !is_fixed;
        sum += is_fixed ? 0 : off;
        worst = is_fixed ? worst : fmax (worst, fabs (off));
    }
    print_message ("%d fixed and %d adaptive jobs; own fit: mean %+.2f %%, worst %.1f %%\n", fixed,
                   adaptive, 100 * sum / adaptive, 100 * worst);
    assert_true (fixed > 20 && adaptive > 20 && fabs (sum / adaptive) <= 0.02);
    json_decref (root);
    ground_truth_free (truth);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_steps), cmocka_unit_test (test_jobs)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
