/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does a size that follows a goal cost, compared with fixed sizes?  Simulates each goal, and fixed sizes from the minimum to
 * the maximum of the groups: the frontier of cost and completion time.
 *
 * The cost of a goal is compared with that of fixed sizes at equal mean completion time, workload by workload: between two
 * sizes the logarithm of the cost is linear in the logarithm of the mean completion time.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/capacity.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/plot.h"
#include "cli/sim_variants.h"
#include "cli/simulations.h"
#include "cli/table.h"

/* One variant, over all workloads. */
struct point {
    double mean_jct_s, p99_jct_s, cost, node_hours, boots, utilisation; /* means */
    /* Of a goal: its cost relative to fixed sizes at equal mean completion time: mean, and largest of a workload.  NaN: no fixed
     * size is as fast, or as slow, in one of the workloads. */
    double relative, worst;
};

struct frontier {
    const struct capacity_request *request;
    const struct sim_variants *variants;
    const struct sim_task *tasks;
    int workloads;
    struct point *points; /* by variant */
};

static const struct sim_result *result_of (const struct frontier *frontier, int variant,
                                           int workload)
{
    return &frontier->tasks[variant * frontier->workloads + workload].result;
}

/* Without prices every hour of a node costs the same. */
static double cost_of (const struct sim_result *result)
{
    return result->cost > 0 ? result->cost : result->node_hours;
}

/* The least cost of fixed sizes that reach this mean completion time in a workload; NaN: none does. */
static double fixed_cost (const struct frontier *frontier, int workload, double jct_s)
{
    const struct sim_result *before = NULL;
    double least = NAN;
    for (int v = 0; v < frontier->variants->count; v++) {
        if (!frontier->variants->list[v].fixed)
            continue;
        const struct sim_result *after = result_of (frontier, v, workload);
        double from_s = before ? before->mean_jct_s : NAN, to_s = after->mean_jct_s;
        if (jct_s >= fmin (from_s, to_s) && jct_s <= fmax (from_s, to_s) && before) {
            double part = from_s == to_s ? 0 : log (jct_s / from_s) / log (to_s / from_s);
            double cost = cost_of (before) * pow (cost_of (after) / cost_of (before), part);
            least = fmin (least, cost);
        }
        before = after;
    }
    return least;
}

static struct point point_of (const struct frontier *frontier, int variant)
{
    struct point point = {.worst = -INFINITY};
    double n = frontier->workloads;
    for (int w = 0; w < frontier->workloads; w++) {
        const struct sim_result *result = result_of (frontier, variant, w);
        double relative = cost_of (result) / fixed_cost (frontier, w, result->mean_jct_s);
        point.mean_jct_s += result->mean_jct_s / n;
        point.p99_jct_s += result->p99_jct_s / n;
        point.cost += result->cost / n;
        point.node_hours += result->node_hours / n;
        point.boots += result->boots / n;
        point.utilisation += result->utilisation / n;
        point.relative += relative / n;
        point.worst = isnan (relative) || relative > point.worst ? relative : point.worst;
    }
    if (frontier->variants->list[variant].fixed)
        point.relative = point.worst = NAN;
    return point;
}

/* ---- Printing ------------------------------------------------------------------------------ */

static json_t *number (double value)
{
    return isfinite (value) ? json_real (value) : json_null ();
}

/* By workload, the numbers that the means are made of. */
static json_t *workloads_json (const struct frontier *frontier, const struct sim_inputs *inputs,
                               int variant)
{
    json_t *object = json_object ();
    for (int w = 0; w < frontier->workloads; w++) {
        const struct sim_result *result = result_of (frontier, variant, w);
        bool fixed = frontier->variants->list[variant].fixed;
        double relative =
            fixed ? NAN : cost_of (result) / fixed_cost (frontier, w, result->mean_jct_s);
        json_object_set_new (object, inputs->workloads[w].name,
                             json_pack ("{s:f, s:f, s:f, s:f, s:i, s:o}", "mean_jct",
                                        result->mean_jct_s, "p99_jct", result->p99_jct_s, "cost",
                                        result->cost, "node_hours", result->node_hours, "boots",
                                        result->boots, "relative_cost", number (relative)));
    }
    return object;
}

static int print_json (const struct frontier *frontier, const struct sim_inputs *inputs, FILE *out,
                       struct pollux_error *err)
{
    json_t *fixed = json_array (), *goals = json_array ();
    for (int v = 0; v < frontier->variants->count; v++) {
        const struct sim_variant *variant = &frontier->variants->list[v];
        const struct point *point = &frontier->points[v];
        json_t *object =
            json_pack ("{s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "mean_jct", point->mean_jct_s,
                       "p99_jct", point->p99_jct_s, "cost", point->cost, "node_hours",
                       point->node_hours, "boots", point->boots, "utilisation", point->utilisation,
                       "workloads", workloads_json (frontier, inputs, v));
        if (variant->fixed) {
            json_object_set_new (object, "nodes",
                                 json_integer (sim_start_nodes (&variant->config)));
        } else {
            char goal[GOAL_SIZE];
            goal_format (&variant->config.goal, goal);
            json_object_set_new (object, "goal", json_string (goal));
            json_object_set_new (object, "relative_cost", number (point->relative));
            json_object_set_new (object, "worst_relative_cost", number (point->worst));
        }
        json_array_append_new (variant->fixed ? fixed : goals, object);
    }
    return output_json (json_pack ("{s:s, s:s, s:o, s:o}", "policy",
                                   frontier->request->policy->name, "agent",
                                   job_agent_names[frontier->request->sim.config.agent], "fixed",
                                   fixed, "goals", goals),
                        out, err);
}

static void name_cell (struct table *table, const struct sim_variant *variant)
{
    char goal[GOAL_SIZE];
    int nodes = sim_start_nodes (&variant->config);
    goal_format (&variant->config.goal, goal);
    if (variant->fixed)
        table_cell (table, "%d node%s", nodes, nodes == 1 ? "" : "s");
    else
        table_cell (table, "%s", goal);
}

static void percent_cell (struct table *table, double relative)
{
    if (isnan (relative))
        table_cell (table, "-");
    else
        table_cell (table, "%+.1f %%", 100 * (relative - 1));
}

/* Fixed sizes that are much slower than all goals would hide everything else. */
static double slowest_shown_s (const struct frontier *frontier)
{
    double slowest_s = 0;
    for (int v = 0; v < frontier->variants->count; v++)
        if (!frontier->variants->list[v].fixed)
            slowest_s = fmax (slowest_s, frontier->points[v].mean_jct_s);
    return 4 * slowest_s;
}

static int print_chart (const struct frontier *frontier, struct terminal terminal, FILE *out,
                        struct pollux_error *err)
{
    size_t count = (size_t)frontier->variants->count, lines = 0;
    struct plot_series series[PLOT_SERIES_LIMIT];
    double *x = malloc (2 * (count + 1) * sizeof (x[0]));
    if (!x)
        return 0; /* the table says the same */
    double *y = x + count + 1;
    size_t used = 0;
    for (int kind = 0; kind < 2; kind++) {
        size_t first = used;
        for (size_t v = 0; v < count; v++)
            if (frontier->variants->list[v].fixed == (kind == 0) &&
                frontier->points[v].mean_jct_s <= slowest_shown_s (frontier)) {
                const struct point *point = &frontier->points[v];
                x[used] = point->cost > 0 ? point->cost : point->node_hours;
                y[used++] = point->mean_jct_s / 3600;
            }
        series[lines++] = (struct plot_series){kind == 0 ? "fixed sizes" : "goals", x + first,
                                               y + first, used - first};
    }
    const struct plot plot = {.x_label = "cost (log)", .y_label = "mean JCT, hours", .x_log = true};
    fputc ('\n', out);
    int rc = plot_print (&plot, series, lines, terminal, out, err);
    free (x);
    return rc;
}

static int print_table (const struct frontier *frontier, FILE *out, struct pollux_error *err)
{
    static const char *const titles[] = {"<size", "mean JCT", "p99 JCT",  "cost", "node-h",
                                         "boots", "busy",     "to fixed", "worst"};
    struct terminal terminal = terminal_of (out);
    struct table table = table_start (titles, sizeof (titles) / sizeof (titles[0]));
    for (int v = 0; v < frontier->variants->count; v++) {
        const struct point *point = &frontier->points[v];
        name_cell (&table, &frontier->variants->list[v]);
        table_cell (&table, "%.0f s", point->mean_jct_s);
        table_cell (&table, "%.0f s", point->p99_jct_s);
        table_cell (&table, "%.2f", point->cost);
        table_cell (&table, "%.1f", point->node_hours);
        table_cell (&table, "%.1f", point->boots);
        table_cell (&table, "%.1f %%", 100 * point->utilisation);
        percent_cell (&table, point->relative);
        percent_cell (&table, point->worst);
    }
    int rc = table_end (&table, terminal, out, err);
    if (rc == 0)
        rc = print_chart (frontier, terminal, out, err);
    if (rc == 0)
        fputs ("\nto fixed: cost relative to fixed sizes, interpolated at equal mean JCT; worst: "
               "of one "
               "workload.\n",
               out);
    return rc;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static int study (const struct capacity_request *request, const struct sim_inputs *inputs,
                  const struct sim_variants *variants, FILE *out, struct pollux_error *err)
{
    struct simulations simulations;
    int rc = simulations_new (&request->sim.config, inputs, variants->count, &simulations, err);
    if (rc < 0)
        return rc;
    struct frontier frontier = {.request = request,
                                .variants = variants,
                                .tasks = simulations.tasks,
                                .workloads = inputs->count};
    frontier.points = calloc ((size_t)variants->count, sizeof (frontier.points[0]));
    rc = frontier.points ? 0 : fail (err, -ENOMEM, "no memory for %d sizes", variants->count);
    for (int i = 0; i < simulations.count; i++) {
        simulations.tasks[i].config = variants->list[i / inputs->count].config;
        simulations.tasks[i].policy = request->policy;
    }
    if (rc == 0)
        rc = simulations_run (&simulations, (int)request->threads, err);
    for (int v = 0; rc == 0 && v < variants->count; v++)
        frontier.points[v] = point_of (&frontier, v);
    if (rc == 0)
        rc = request->json ? print_json (&frontier, inputs, out, err)
                           : print_table (&frontier, out, err);
    free (frontier.points);
    simulations_clear (&simulations);
    return rc;
}

int capacity_study_goals (void *self, const struct sim_inputs *inputs, FILE *out,
                          struct pollux_error *err)
{
    const struct capacity_request *request = self;
    struct sim_variants variants;
    sim_inputs_warn (inputs, &request->sim.config, "capacity");
    struct fixed_range range = {.halves = true};
    if (request->has_range) {
        range.least = (int)request->min_nodes;
        range.most = (int)request->max_nodes;
    }
    int rc = sim_variants_new (&request->sim, &request->policy, 1, range, &variants, err);
    if (rc < 0)
        return rc;
    rc = study (request, inputs, &variants, out, err);
    sim_variants_clear (&variants);
    return rc < 0 ? rc : EXIT_OK;
}
