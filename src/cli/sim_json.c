/* SPDX-License-Identifier: Apache-2.0 */
/*
 * {"agent": NAME,
 *  "policies": {NAME: {"mean_avg_jct": s, "workloads": {NAME: {"avg_jct": s, ..., "jct": {...}}}}}}
 */
#include "cli/sim_results.h"

/* What the nodes have cost; by group the hours of its nodes. */
static int add_cost (const struct sim_task *task, json_t *object)
{
    const struct sim_result *result = &task->result;
    json_t *hours = json_object (), *jobs = json_object ();
    int failed = !hours || !jobs;
    for (int g = 0; g < task->config.group_count; g++)
        failed |= json_object_set_new (hours, task->config.groups[g].name,
                                       json_real (result->group_node_hours[g]));
    for (int i = 0; i < result->job_count; i++)
        failed |= json_object_set_new (jobs, task->workload->jobs[i].name,
                                       json_real (result->jobs[i].cost));
    failed |= json_object_set_new (object, "cost", json_real (result->cost));
    failed |=
        json_object_set_new (object, "cost_per_job", json_real (result->cost / result->job_count));
    failed |= json_object_set_new (object, "node_hours", json_real (result->node_hours));
    failed |= json_object_set_new (object, "boots", json_integer (result->boots));
    failed |= json_object_set_new (object, "group_node_hours", hours);
    return failed | json_object_set_new (object, "job_cost", jobs);
}

static json_t *workload_json (const struct sim_task *task, bool with_times)
{
    const struct sim_result *result = &task->result;
    json_t *jct = json_object ();
    int failed = !jct;
    for (int i = 0; i < result->job_count; i++)
        failed |= json_object_set_new (jct, task->workload->jobs[i].name,
                                       json_real (result->jobs[i].jct_s));
    json_t *object =
        json_pack ("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:b, s:o}",     /**/
                   "avg_jct", result->mean_jct_s, "p50_jct", result->median_jct_s,     /**/
                   "p99_jct", result->p99_jct_s, "makespan", result->makespan_s,       /**/
                   "gpu_hours_per_job", result->slot_hours_per_job,                    /**/
                   "restarts_per_job", result->restarts_per_job,                       /**/
                   "utilisation", result->utilisation, "worst_rho", result->worst_rho, /**/
                   "unfair_fraction", result->unfair, "rounds", result->rounds,        /**/
                   "outside_measurements", (int)result->modelled, "jct", jct);
    if (result->scaled)
        failed |= add_cost (task, object);
    if (with_times)
        failed |=
            json_object_set_new (object, "decide_seconds",
                                 json_pack ("{s:f, s:f, s:f, s:f}", "mean", result->decide_mean_s,
                                            "p50", result->decide_median_s, "p99",
                                            result->decide_p99_s, "max", result->decide_max_s));
    if (failed) {
        json_decref (object);
        return NULL;
    }
    return object;
}

json_t *sim_report_json (const struct sim_report *report, bool with_times)
{
    json_t *policies_object = json_object ();
    int failed = 0;
    for (int p = 0; p < report->variant_count; p++) {
        json_t *workloads = json_object ();
        double sum_s = 0;
        for (int w = 0; w < report->inputs->count; w++) {
            const struct sim_task *task = &report->tasks[p * report->inputs->count + w];
            sum_s += task->result.mean_jct_s;
            failed |= json_object_set_new (workloads, report->inputs->workloads[w].name,
                                           workload_json (task, with_times));
        }
        failed |=
            json_object_set_new (policies_object, report->variants[p].name,
                                 json_pack ("{s:f, s:o}", "mean_avg_jct",
                                            sum_s / report->inputs->count, "workloads", workloads));
    }
    json_t *object = json_pack ("{s:s, s:o}", "agent", job_agent_names[report->agent], "policies",
                                policies_object);
    if (failed) {
        json_decref (object);
        return NULL;
    }
    return object;
}
