/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux workload: generate a workload and print it in the published format.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "base/nearest.h"
#include "base/options.h"
#include "cli/sim_inputs.h"
#include "sim/workload_generate.h"

enum {
    OPTION_JOBS = 1,
    OPTION_HOURS,
    OPTION_RATE,
    OPTION_START,
    OPTION_DAY_NIGHT,
    OPTION_MIX,
    OPTION_FROM,
    OPTION_TRACES,
    OPTION_PROFILES,
    OPTION_SLOTS,
    OPTION_MAX_REPLICAS,
    OPTION_SEED
};

static const struct command_option option_rows[] = {
    {"jobs", "N", OPTION_JOBS, "number of jobs (160)"},
    {"hours", "H", OPTION_HOURS, "hours of submissions (8)"},
    {"rate", "JOBS-PER-HOUR", OPTION_RATE, "mean rate of arrivals, instead of --jobs"},
    {"start", "HOUR", OPTION_START, "hour of the day of the start (9, or the busiest)"},
    {"day-night", "RATIO", OPTION_DAY_NIGHT, "ratio of busiest to quietest rate; 1: constant (4)"},
    {"mix", "APP=WEIGHT,...", OPTION_MIX, "applications (all, short ones more often)"},
    {"from", "HISTORY.csv", OPTION_FROM, "sample times and sizes from a cluster's job history"},
    {"traces", "DIR", OPTION_TRACES, "measured applications, in the published format"},
    {"profiles", "FILE", OPTION_PROFILES, "applications as profiles (JSON)"},
    {"gpus-per-node", "N", OPTION_SLOTS, "GPUs of each node, to choose sizes (4)"},
    {"max-replicas", "N", OPTION_MAX_REPLICAS, "most GPUs requested by a job (64)"},
    {"seed", "N", OPTION_SEED, "seed of the random numbers (0)"},
};

struct request {
    struct recipe recipe;
    struct sim_input_files files;
    const char *mix, *from;
    bool jobs_given;
};

/* ---- Arguments ---------------------------------------------------------------------------- */

static int take_int (const struct options *options, int64_t most, int *ret,
                     struct pollux_error *err)
{
    int64_t value = 0;
    int code = options_int64 (options, 1, most, &value, err);
    if (code == 0)
        *ret = (int)value;
    return code;
}

static int take (struct request *request, int id, const struct options *options,
                 struct pollux_error *err)
{
    struct recipe *recipe = &request->recipe;
    int64_t seed;
    int code = 0;
    switch (id) {
    case OPTION_JOBS:
        request->jobs_given = true;
        return take_int (options, WORKLOAD_JOBS_LIMIT, &recipe->jobs, err);
    case OPTION_HOURS:
        return options_double (options, 0.01, RECIPE_HOURS_LIMIT, &recipe->hours, err);
    case OPTION_RATE:
        return options_double (options, 1e-6, WORKLOAD_JOBS_LIMIT, &recipe->jobs_per_hour, err);
    case OPTION_START:
        return options_double (options, 0, 24, &recipe->start_hour, err);
    case OPTION_DAY_NIGHT:
        return options_double (options, 1, RECIPE_DAY_NIGHT_LIMIT, &recipe->day_night, err);
    case OPTION_MIX:
        request->mix = options->argument;
        return 0;
    case OPTION_FROM:
        request->from = options->argument;
        return 0;
    case OPTION_TRACES:
        request->files.traces_dir = options->argument;
        return 0;
    case OPTION_PROFILES:
        request->files.profiles = options->argument;
        return 0;
    case OPTION_SLOTS:
        return take_int (options, POLLUX_REPLICAS_LIMIT, &recipe->slots_per_node, err);
    case OPTION_MAX_REPLICAS:
        return take_int (options, POLLUX_REPLICAS_LIMIT, &recipe->max_replicas, err);
    case OPTION_SEED:
        code = options_int64 (options, 0, INT64_MAX, &seed, err);
        if (code == 0)
            recipe->seed = (uint64_t)seed;
        return code;
    }
    return code;
}

static int parse (struct options *options, struct request *ret, struct pollux_error *err)
{
    struct request request = {.recipe = recipe_default ()};
    char **operands;
    int id;
    while ((id = options_next (options, err)) > 0) {
        int code = take (&request, id, options, err);
        if (code < 0)
            return code;
    }
    if (id < 0)
        return id;
    if (options_operands (options, &operands) > 0)
        return fail (err, -EINVAL, "unexpected argument '%s': the workload is printed",
                     operands[0]);
    if (request.jobs_given && request.recipe.jobs_per_hour > 0)
        return fail (err, -EINVAL, "--jobs and --rate exclude each other");
    if (request.recipe.jobs_per_hour > 0)
        request.recipe.jobs = 0;
    if (request.mix && request.from)
        return fail (err, -EINVAL, "--mix and --from exclude each other: a history has its own");
    if (request.files.traces_dir && request.files.profiles)
        return fail (err, -EINVAL, "--traces and --profiles exclude each other");
    *ret = request;
    return 0;
}

/* ---- The mix ------------------------------------------------------------------------------ */

static int unknown_app (const struct ground_truth *truth, const char *name,
                        struct pollux_error *err)
{
    struct nearest nearest = nearest_start (name, strlen (name));
    for (int i = 0; i < ground_truth_count (truth); i++)
        nearest_try (&nearest, app_name (ground_truth_at (truth, i)));
    struct excerpt quoted = excerpt (name, strlen (name));
    if (nearest.best)
        return fail (err, -EINVAL, "--mix: there is no application %s; did you mean %s?",
                     quoted.text, nearest.best);
    return fail (err, -EINVAL,
                 "--mix: there is no application %s; 'pollux profiles' lists the "
                 "built-in ones",
                 quoted.text);
}

/* One APP=WEIGHT. */
static int parse_share (const struct ground_truth *truth, const char *text, size_t length,
                        double *weights, struct pollux_error *err)
{
    char name[NAME_SIZE + 32];
    struct excerpt quoted = excerpt (text, length);
    if (length >= sizeof name)
        return fail (err, -EINVAL, "--mix: %s is too long", quoted.text);
    memcpy (name, text, length);
    name[length] = '\0';
    char *equals = strrchr (name, '=');
    double weight = 1;
    if (equals) {
        *equals = '\0';
        if (number_double (equals + 1, &weight) < 0 || !(weight >= 0 && weight <= 1e9))
            return fail (err, -EINVAL, "--mix: expected a weight from 0 to 1e9 in %s", quoted.text);
    }
    for (int i = 0; i < ground_truth_count (truth); i++) {
        if (strcmp (app_name (ground_truth_at (truth, i)), name) != 0)
            continue;
        if (weights[i] >= 0)
            return fail (err, -EINVAL, "--mix: %s is given twice", name);
        weights[i] = weight;
        return 0;
    }
    return unknown_app (truth, name, err);
}

/* Weights by application; 0 for those not named. */
static int parse_mix (const struct ground_truth *truth, const char *text, double **ret,
                      struct pollux_error *err)
{
    int count = ground_truth_count (truth), code = 0;
    double *weights = malloc ((size_t)count * sizeof *weights);
    if (!weights)
        return fail (err, -ENOMEM, "no memory for %d applications", count);
    for (int i = 0; i < count; i++)
        weights[i] = -1;
    for (const char *at = text; code == 0; at++) {
        size_t length = strcspn (at, ",");
        code = parse_share (truth, at, length, weights, err);
        at += length;
        if (*at == '\0')
            break;
    }
    for (int i = 0; i < count; i++)
        weights[i] = weights[i] > 0 ? weights[i] : 0;
    if (code < 0) {
        free (weights);
        return code;
    }
    *ret = weights;
    return 0;
}

/* ---- Together ----------------------------------------------------------------------------- */

static int make (struct request *request, const struct ground_truth *truth, FILE *out,
                 struct pollux_error *err)
{
    struct job_history history = {0};
    struct workload workload = {0};
    double *mix = NULL;
    int code = 0;
    if (request->from)
        code = job_history_read (request->from, &history, err);
    if (code == 0 && request->mix)
        code = parse_mix (truth, request->mix, &mix, err);
    if (code == 0) {
        request->recipe.history = request->from ? &history : NULL;
        request->recipe.mix = mix;
        code = workload_generate (truth, &request->recipe, &workload, err);
    }
    if (code == 0)
        code = workload_write (&workload, out, NULL) < 0 ? EXIT_FAILED : EXIT_OK;
    workload_clear (&workload);
    job_history_clear (&history);
    free (mix);
    return code;
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct request request = {0};
    struct ground_truth *truth = NULL;
    int code = parse (options, &request, err);
    if (code < 0)
        return code;
    code = request.files.traces_dir
               ? ground_truth_from_traces (request.files.traces_dir, &truth, err)
               : ground_truth_from_profiles (request.files.profiles, &truth, err);
    if (code < 0)
        return code;
    code = make (&request, truth, out, err);
    ground_truth_free (truth);
    return code;
}

const struct command workload_command = {
    .name = "workload",
    .operands = "",
    .summary = "generate a workload for the simulator: arrivals, applications and sizes",
    .description =
        "Prints a workload as CSV (name,time,application,num_replicas,batch_size), for pollux "
        "sim.\n"
        "The rate of arrivals follows the time of day, with its maximum at 14:00; every job "
        "requests\n"
        "replicas and a batch that suit its application.  With --from, times and sizes are sampled "
        "from the\n"
        "job history of a cluster (timestamp,duration,num_gpus,gpu_time,cluster): each row "
        "becomes\n"
        "a job of the application whose GPU time is nearest.  The same seed gives the same jobs.",
    COMMAND_OPTIONS (option_rows),
    .run = run,
};
