/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux decide: one decision, as a function from a file to a plan.
 */
#include "cli/decide.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/nearest.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/policy_options_help.h"
#include "policy/job_model.h"
#include "policy/policy_options.h"
#include "wire/problem.h"

enum { DECIDE_POLICY = 1, DECIDE_OPTION, DECIDE_SEED, DECIDE_JSON, DECIDE_EXPLAIN };

static const struct command_option decide_options[] = {
    {"policy", "NAME", DECIDE_POLICY, "the policy that decides (pollux)"},
    {"policy-option", "NAME=VALUE", DECIDE_OPTION,
     "an option of the policy, listed below; may be repeated"},
    {"seed", "N", DECIDE_SEED, "of the policy's random numbers (0)"},
    {"json", NULL, DECIDE_JSON, "print the plan as JSON"},
    {"explain", "[JOB]", DECIDE_EXPLAIN, "what one GPU more or fewer changes, for JOB or for all"},
};

struct decide_arguments {
    const char *path;
    const struct policy *policy;
    struct policy_settings settings;
    int64_t seed;
    bool json, explain;
    const char *job; /* to explain; NULL: all */
};

/* ---- Arguments ---------------------------------------------------------------------------- */

static int take (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct decide_arguments *ret = self;
    switch (id) {
    case DECIDE_POLICY:
        return policy_find (options->argument, &ret->policy, err);
    case DECIDE_OPTION:
        return policy_settings_parse (options->argument, &ret->settings, err);
    case DECIDE_SEED:
        return options_int64 (options, 0, INT64_MAX, &ret->seed, err);
    case DECIDE_JSON:
        ret->json = true;
        return 0;
    case DECIDE_EXPLAIN:
        ret->explain = true;
        ret->job = options->argument;
        return 0;
    }
    return 0;
}

static int parse (struct options *options, struct decide_arguments *ret, struct pollux_error *err)
{
    struct decide_arguments arguments = {.policy = policies[0]};
    int rc = options_each (options, take, &arguments, err);
    if (rc == 0)
        rc = options_operand (options, &arguments.path, err);
    if (rc == 0 && arguments.policy->oracle)
        rc = fail (
            err, -EINVAL,
            "policy %s needs the true remaining times of jobs, which only a simulation knows; see "
            "'pollux sim --help'",
            arguments.policy->name);
    if (rc == 0)
        rc = policy_settings_check (&arguments.settings, &arguments.policy, 1, err);
    if (rc == 0)
        *ret = arguments;
    return rc;
}

/* ---- Deciding ----------------------------------------------------------------------------- */

static double clock_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int find_batches (struct decision *decision, struct pollux_error *err)
{
    const struct view *view = decision->view;
    struct arena arena = {0};
    struct pools pools;
    struct type_ratios ratios;
    int rc = 0;
    decision->batches = calloc ((size_t)view->job_count + 1, sizeof (decision->batches[0]));
    if (!decision->batches ||
        pools_make_by_type (view->nodes, view->node_count, &arena, &pools) < 0 ||
        type_ratios_make (view, &pools, &arena, &ratios) < 0)
        rc = fail (err, -ENOMEM, "no memory for the batches of %d jobs", view->job_count);
    for (int i = 0; i < view->job_count && rc == 0; i++) {
        struct placement placement = plan_placement (&decision->plan, i);
        if (!view->jobs[i]->hints.has_model || placement.count == 0)
            continue;
        struct job_model model =
            job_model_on (view->jobs[i], &pools, pools.of_node[placement.shares[0].node], &ratios);
        rc = pollux_best_batch (&model.model, model.grad, &model.limits, view->search,
                                placement_shape (placement), &decision->batches[i], err);
    }
    arena_clear (&arena);
    return rc;
}

int decision_make (const struct view *view, const struct policy *policy, struct decision *ret,
                   struct pollux_error *err)
{
    struct decision decision = {.view = view, .policy = policy};
    struct memory memory;
    int rc = memory_new (policy, &memory, err);
    if (rc < 0)
        return rc;
    double start_s = clock_s ();
    rc = decide (policy, view, &memory, &decision.plan, err);
    decision.seconds = clock_s () - start_s;
    memory_clear (&memory);
    if (rc == 0)
        rc = find_batches (&decision, err);
    if (rc < 0)
        decision_clear (&decision);
    else
        *ret = decision;
    return rc;
}

void decision_clear (struct decision *decision)
{
    plan_clear (&decision->plan);
    free (decision->batches);
    decision->batches = NULL;
}

double decide_gap (double fitness, double bound)
{
    return bound > 0 ? (bound - fitness) / bound : NAN;
}

/* ---- Explaining --------------------------------------------------------------------------- */

static int find_job (const struct view *view, const char *name, int *ret, struct pollux_error *err)
{
    struct nearest nearest = nearest_start (name, strlen (name));
    for (int i = 0; i < view->job_count; i++) {
        if (strcmp (view->jobs[i]->spec.name, name) == 0) {
            *ret = i;
            return 0;
        }
        nearest_try (&nearest, view->jobs[i]->spec.name);
    }
    return fail (err, -EINVAL, "--explain: no job is called %s%s%s%s",
                 excerpt (name, strlen (name)).text, nearest.best ? "; did you mean '" : "",
                 nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
}

/* One job or all; *ret belongs to the caller (free). */
static int explain_jobs (const struct decision *decision, const char *name,
                         struct explanation **ret, int *ret_count, struct pollux_error *err)
{
    int first = 0, last = decision->view->job_count - 1, rc = 0;
    if (name) {
        rc = find_job (decision->view, name, &first, err);
        last = first;
    }
    if (rc < 0)
        return rc;
    struct explainer *explainer = NULL;
    struct explanation *list = calloc ((size_t)(last - first) + 2, sizeof (list[0]));
    rc = list ? explainer_new (decision->policy, decision->view, &decision->plan, &explainer, err)
              : fail (err, -ENOMEM, "no memory for %d explanations", last - first + 1);
    for (int i = first; i <= last && rc == 0; i++)
        rc = explain (explainer, i, &list[i - first], err);
    explainer_free (explainer);
    if (rc < 0) {
        free (list);
        return rc;
    }
    *ret = list;
    *ret_count = last - first + 1;
    return 0;
}

/* The settings of the command line over those of the problem. */
static int take_settings (const struct decide_arguments *arguments, struct view *view,
                          struct pollux_error *err)
{
    struct policy_settings settings = view->settings;
    for (int i = 0; i < arguments->settings.count; i++)
        if (policy_settings_set (&settings, arguments->settings.items[i].name,
                                 arguments->settings.items[i].value) < 0)
            return fail (err, -EINVAL, "more than %d options of a policy", POLICY_SETTINGS_LIMIT);
    int rc = policy_settings_check (&settings, &arguments->policy, 1, err);
    if (rc == 0)
        view->settings = policy_settings_of (arguments->policy, &settings, &view->p);
    return rc;
}

/* ---- The command -------------------------------------------------------------------------- */

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct decide_arguments arguments = {0};
    struct problem *problem = NULL;
    struct decision decision = {0};
    struct explanation *explanations = NULL;
    int count = 0;
    int rc = parse (options, &arguments, err);
    if (rc == 0)
        rc = problem_read (arguments.path, &problem, err);
    if (rc < 0)
        return rc;
    problem->view.seed = (uint64_t)arguments.seed;
    rc = take_settings (&arguments, &problem->view, err);
    if (rc == 0)
        rc = decision_make (&problem->view, arguments.policy, &decision, err);
    if (rc == 0 && arguments.explain)
        rc = explain_jobs (&decision, arguments.job, &explanations, &count, err);
    if (rc == 0 && arguments.json)
        rc = output_json (decide_encode (&decision, explanations, count), out, err);
    else if (rc == 0)
        rc = decide_print (&decision, explanations, count, out, err);
    free (explanations);
    decision_clear (&decision);
    problem_free (problem);
    return rc;
}

const struct command decide_command = {
    .name = "decide",
    .operands = "PROBLEM.json",
    .summary = "decide once which job runs where, and prove how good that is",
    .description =
        "Reads a cluster and its jobs, and prints the plan that a policy makes for them, with its\n"
        "fitness, a bound that no plan exceeds, and the price of a GPU.  The same problem gives "
        "the\n"
        "same plan.  The format of problems is in pollux-decide(1); - is the standard input.",
    COMMAND_OPTIONS (decide_options),
    .more_help = policy_options_help,
    .run = run,
};
