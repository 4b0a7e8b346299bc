/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results as tables: one row per policy, with the ratio of its mean completion time to the first
 * policy's; then a plot of the distribution of completion times.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/statistics.h"
#include "cli/plot.h"
#include "cli/sim_results.h"
#include "cli/table.h"

enum { CDF_POINTS = 101 };

static const struct sim_result *result_of (const struct sim_report *report, int policy,
                                           int workload)
{
    return &report->tasks[policy * report->inputs->count + workload].result;
}

/* A policy's mean result over the workloads; worst_rho is the maximum. */
static struct sim_result mean_result (const struct sim_report *report, int policy)
{
    struct sim_result mean = {0};
    double n = report->inputs->count;
    for (int w = 0; w < report->inputs->count; w++) {
        const struct sim_result *result = result_of (report, policy, w);
        mean.mean_jct_s += result->mean_jct_s / n;
        mean.median_jct_s += result->median_jct_s / n;
        mean.p99_jct_s += result->p99_jct_s / n;
        mean.makespan_s += result->makespan_s / n;
        mean.slot_hours_per_job += result->slot_hours_per_job / n;
        mean.restarts_per_job += result->restarts_per_job / n;
        mean.utilisation += result->utilisation / n;
        mean.unfair += result->unfair / n;
        mean.decide_mean_s += result->decide_mean_s / n;
        mean.cost += result->cost / n;
        mean.node_hours += result->node_hours / n;
        mean.boots += result->boots;
        mean.scaled |= result->scaled;
        mean.job_count += result->job_count;
        mean.worst_rho = fmax (mean.worst_rho, result->worst_rho);
    }
    return mean;
}

static int print_policies (const struct sim_report *report, struct terminal terminal, FILE *out,
                           struct pollux_error *err)
{
    static const char *const titles[] = {"<policy", "mean JCT",  "ratio",     "median",
                                         "p99",     "makespan",  "GPU-h/job", "restarts",
                                         "busy",    "worst rho", "unfair",    "decide"};
    struct table table = TABLE_START (titles);
    double first_s = mean_result (report, 0).mean_jct_s;
    for (int p = 0; p < report->variant_count; p++) {
        struct sim_result mean = mean_result (report, p);
        table_cell (&table, "%s", report->variants[p].name);
        table_cell (&table, "%.0f s", mean.mean_jct_s);
        table_cell (&table, "%.3f", mean.mean_jct_s / first_s);
        table_cell (&table, "%.0f s", mean.median_jct_s);
        table_cell (&table, "%.0f s", mean.p99_jct_s);
        table_cell (&table, "%.2f h", mean.makespan_s / 3600);
        table_cell (&table, "%.2f", mean.slot_hours_per_job);
        table_cell (&table, "%.2f", mean.restarts_per_job);
        table_cell (&table, "%.1f %%", 100 * mean.utilisation);
        table_cell (&table, "%.2f", mean.worst_rho);
        table_cell (&table, "%.1f %%", 100 * mean.unfair);
        table_cell (&table, "%.3f ms", 1e3 * mean.decide_mean_s);
    }
    return table_end (&table, terminal, out, err);
}

/* What the nodes have cost, beside the mean completion time; means over the workloads. */
static int print_costs (const struct sim_report *report, struct terminal terminal, FILE *out,
                        struct pollux_error *err)
{
    static const char *const titles[] = {"<policy",  "mean JCT", "p99",   "cost",
                                         "cost/job", "node-h",   "boots", "busy"};
    struct table table = table_start (titles, sizeof (titles) / sizeof (titles[0]));
    for (int p = 0; p < report->variant_count; p++) {
        struct sim_result mean = mean_result (report, p);
        double n = report->inputs->count;
        table_cell (&table, "%s", report->variants[p].name);
        table_cell (&table, "%.0f s", mean.mean_jct_s);
        table_cell (&table, "%.0f s", mean.p99_jct_s);
        table_cell (&table, "%.2f", mean.cost);
        table_cell (&table, "%.3f", mean.cost * n / mean.job_count);
        table_cell (&table, "%.1f", mean.node_hours);
        table_cell (&table, "%.1f", mean.boots / n);
        table_cell (&table, "%.1f %%", 100 * mean.utilisation);
    }
    return table_end (&table, terminal, out, err);
}

/* Mean completion times, a row per workload and a column per policy. */
static int print_workloads (const struct sim_report *report, struct terminal terminal, FILE *out,
                            struct pollux_error *err)
{
    size_t columns = (size_t)report->variant_count + 2;
    const char **titles = calloc (columns, sizeof (titles[0]));
    if (!titles)
        return fail (err, -ENOMEM, "no memory for a table of %zu columns", columns);
    titles[0] = "<mean JCT of";
    titles[1] = "jobs";
    for (int p = 0; p < report->variant_count; p++)
        titles[p + 2] = report->variants[p].name;
    struct table table = table_start (titles, columns);
    for (int w = 0; w < report->inputs->count; w++) {
        table_cell (&table, "%s", report->inputs->workloads[w].name);
        table_cell (&table, "%d", report->inputs->workloads[w].workload.count);
        for (int p = 0; p < report->variant_count; p++)
            table_cell (&table, "%.0f s", result_of (report, p, w)->mean_jct_s);
    }
    int rc = table_end (&table, terminal, out, err);
    free (titles);
    return rc;
}

/* Quantiles of all completion times under a policy, in hours, and the share of jobs below. */
static int sample_cdf (const struct sim_report *report, int policy, double *hours, double *share)
{
    int count = 0, filled = 0;
    for (int w = 0; w < report->inputs->count; w++)
        count += result_of (report, policy, w)->job_count;
    double *jct_h = malloc ((size_t)count * sizeof (jct_h[0]));
    if (!jct_h)
        return -ENOMEM;
    for (int w = 0; w < report->inputs->count; w++)
        for (int i = 0; i < result_of (report, policy, w)->job_count; i++)
            jct_h[filled++] = result_of (report, policy, w)->jobs[i].jct_s / 3600;
    for (int i = 0; i < CDF_POINTS; i++) {
        share[i] = 100.0 * i / (CDF_POINTS - 1);
        hours[i] = quantile (jct_h, count, share[i] / 100);
    }
    free (jct_h);
    return 0;
}

static int print_cdf (const struct sim_report *report, struct terminal terminal, FILE *out,
                      struct pollux_error *err)
{
    double hours[PLOT_SERIES_LIMIT][CDF_POINTS], share[CDF_POINTS];
    struct plot_series series[PLOT_SERIES_LIMIT];
    int count =
        report->variant_count < PLOT_SERIES_LIMIT ? report->variant_count : PLOT_SERIES_LIMIT;
    for (int p = 0; p < count; p++) {
        if (sample_cdf (report, p, hours[p], share) < 0)
            return fail (err, -ENOMEM, "no memory for the drawing");
        series[p] = (struct plot_series){
            .name = report->variants[p].name, .x = hours[p], .y = share, .count = CDF_POINTS};
    }
    const struct plot plot = {
        .x_label = "JCT, hours (log)", .y_label = "% of jobs done within", .x_log = true};
    fputc ('\n', out);
    return plot_print (&plot, series, (size_t)count, terminal, out, err);
}

int sim_report_print (const struct sim_report *report, struct terminal terminal, FILE *out,
                      struct pollux_error *err)
{
    int rc = print_policies (report, terminal, out, err);
    if (rc == 0 && report->tasks[0].result.scaled) {
        fputc ('\n', out);
        rc = print_costs (report, terminal, out, err);
    }
    if (rc == 0)
        fprintf (out, "\nagent of the jobs: %s\n", job_agent_names[report->agent]);
    if (rc == 0 && report->inputs->count > 1) {
        fputc ('\n', out);
        rc = print_workloads (report, terminal, out, err);
    }
    if (rc == 0)
        rc = print_cdf (report, terminal, out, err);
    return rc;
}
