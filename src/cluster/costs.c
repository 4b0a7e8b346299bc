/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over jobs and nodes from their last event to a later time. */
#include "cluster/costs.h"

#include <errno.h>

#include "base/error.h"

static const double US = 1e-6;

/* ---- Jobs --------------------------------------------------------------------------------- */

double costs_of_job_hour (const struct cluster *cluster, const struct job *job)
{
    return 3600 * power_placement_price (cluster, job->placement);
}

/* Since its cost was brought up to date. */
static double cost_since (const struct cluster *cluster, const struct job *job, int64_t now_us)
{
    return power_placement_price (cluster, job->placement) *
           ((double)(now_us - job->charged_us) * US);
}

double costs_of_job (const struct cluster *cluster, const struct job *job, int64_t now_us)
{
    return job->cost + cost_since (cluster, job, now_us);
}

static double ledger_cost (const struct ledger *ledger, bool capacity)
{
    double cost = 0;
    for (int i = 0; i < ledger->count; i++)
        cost += ledger->rows[i].capacity == capacity ? ledger->rows[i].cost : 0;
    return cost;
}

double costs_of_jobs (const struct cluster *cluster, int64_t now_us)
{
    double cost = ledger_cost (&cluster->ledger, false);
    for (int i = 0; i < cluster->live.count; i++)
        cost += cost_since (cluster, cluster->live.jobs[i], now_us);
    return cost;
}

/* ---- Nodes -------------------------------------------------------------------------------- */

static double node_hour (const struct cluster *cluster, int node)
{
    int group = cluster->node_power[node].group;
    return group < 0 || !power_is_billed (cluster, node)
               ? 0
               : cluster->power.groups[group].price_per_node_hour;
}

double costs_of_nodes_hour (const struct cluster *cluster, int group)
{
    double price = 0;
    for (int i = 0; i < cluster->node_count; i++)
        if (group < 0 || cluster->node_power[i].group == group)
            price += node_hour (cluster, i);
    return price;
}

double costs_of_nodes (const struct cluster *cluster, int64_t now_us)
{
    double cost = ledger_cost (&cluster->ledger, true);
    for (int i = 0; i < cluster->node_count; i++)
        cost += node_hour (cluster, i) / 3600 *
                ((double)(now_us - cluster->node_power[i].billed_us) * US);
    return cost;
}

bool costs_known (const struct cluster *cluster)
{
    for (int i = 0; i < cluster->power.count; i++)
        if (cluster->power.groups[i].price_per_node_hour > 0)
            return true;
    for (int i = 0; i < cluster->ledger.count; i++)
        if (cluster->ledger.rows[i].cost > 0)
            return true;
    return false;
}

/* ---- The ledger --------------------------------------------------------------------------- */

static int add_nodes (const struct cluster *cluster, int64_t now_us, struct ledger *ledger)
{
    int rc = 0, hint = -1;
    for (int i = 0; rc == 0 && i < cluster->node_count; i++)
        if (power_is_billed (cluster, i))
            rc = ledger_add (ledger, cluster->node_power[i].billed_us, now_us, NULL,
                             cluster->nodes[i].slots, node_hour (cluster, i) / 3600, &hint);
    return rc;
}

static int add_jobs (const struct cluster *cluster, int64_t now_us, struct ledger *ledger)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        int hint = job->account;
        if (job->placement.count > 0)
            rc = ledger_add (ledger, job->charged_us, now_us, job->launch ? job->launch->owner : "",
                             placement_replicas (job->placement),
                             power_placement_price (cluster, job->placement), &hint);
    }
    return rc;
}

int costs_ledger (const struct cluster *cluster, int64_t now_us, struct ledger *ret,
                  struct pollux_error *err)
{
    struct ledger ledger = {0};
    int rc = 0;
    if (ledger_copy (&cluster->ledger, &ledger) < 0 ||
        (rc = add_nodes (cluster, now_us, &ledger)) < 0 ||
        (rc = add_jobs (cluster, now_us, &ledger)) < 0) {
        ledger_clear (&ledger);
        return fail (err, -ENOMEM, "no memory for the costs");
    }
    *ret = ledger;
    return 0;
}
