/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are made again when something about their job changes, and are compared with the row before.  So they have
 * nothing that changes with time alone, except for fields that are left out of the comparison; the sentence of
 * a waiting job has no times.  The cost of a job grows with time; its price per hour, which is compared, changes with its
 * placement and with the prices of groups.
 */
#include "api/rows.h"

#include <math.h>

_Static_assert(JOB_PENDING == 0 && JOB_RUNNING == 1 && JOB_CANCELLING == 2 && JOB_FINISHED == 3 &&
                   JOB_FAILED == 4 && JOB_CANCELLED == 5,
               "the phases of docs/api.md");
_Static_assert(POWER_OFF == 1 && POWER_STARTING == 2 && POWER_UP == 3 && POWER_DRAINING == 4 &&
                   POWER_STOPPING == 5 && POWER_FAILED == 6,
               "the states of docs/api.md");

/* Digits of rates, of progress, and of durations. */
enum { RATE = 6, PROGRESS = 9, DURATION = 9 };

static void comma (struct json_text *text)
{
    json_text_add (text, ",", 1);
}

static void put_number (struct json_text *text, double number, int digits)
{
    comma (text);
    json_text_number (text, number, digits);
}

static void put_string (struct json_text *text, const char *string)
{
    comma (text);
    json_text_string (text, string);
}

static void put_time (struct json_text *text, int64_t us)
{
    comma (text);
    json_text_time (text, us);
}

/* [node,replicas,node,replicas,...] */
static void put_placement (struct json_text *text, struct placement placement)
{
    json_text_add (text, ",[", 2);
    for (int i = 0; i < placement.count; i++)
        json_text_put (text, "%s%d,%d", i > 0 ? "," : "", placement.shares[i].node,
                       placement.shares[i].replicas);
    json_text_add (text, "]", 1);
}

static void put_rates (struct json_text *text, const struct job_figures *figures)
{
    const struct job_rates *rates = &figures->rates;
    if (rates->batch.m > 0)
        json_text_put (text, ",%lld,%lld", (long long)rates->batch.m, (long long)rates->batch.s);
    else
        json_text_put (text, ",null,null");
    put_number (text, rates->batch.m > 0 ? rates->total_batch : NAN, PROGRESS);
    const double rounded[] = {rates->throughput, rates->efficiency, rates->goodput, rates->speedup,
                              rates->noise_scale};
    for (size_t i = 0; i < sizeof (rounded) / sizeof (rounded[0]); i++)
        put_number (text, rounded[i], RATE);
    put_number (text, figures->hints->progress, PROGRESS);
    put_number (text, figures->hints->total, PROGRESS);
    put_number (text, rates->eta_s, RATE);
}

void row_put_job (struct json_text *text, const struct present *present, int index,
                  struct row_parts *ret_parts)
{
    const struct job *job = present->cluster->jobs[index];
    struct job_figures figures = job_figures_of (present, index);
    char sentence[WAIT_REASON_SIZE];
    struct wait_times times = {.now_us = present->now_us, .left_out = true};
    bool waits = wait_reason (present->cluster, &present->totals, job, times, sentence);
    size_t start = text->length;
    json_text_put (text, "[%d", index);
    put_string (text, job->spec.name);
    put_string (text, job->launch ? job->launch->owner : NULL);
    json_text_put (text, ",%d", (int)job->phase);
    put_placement (text, job->placement);
    if (placement_equal (job->desired, job->placement))
        json_text_add (text, ",0", 2);
    else
        put_placement (text, job->desired);
    put_rates (text, &figures);
    json_text_put (text, ",%d,%d,%d,%d,%d", job->spec.min_replicas, job->spec.max_replicas,
                   job->restarts, job->failures, job->generation);
    put_time (text, job->submit_us);
    put_time (text, figures.started_us);
    put_time (text, figures.ended_us);
    ret_parts->run = (uint32_t)(text->length - start);
    put_number (text, figures.run_s, DURATION);
    ret_parts->rest = (uint32_t)(text->length - start);
    put_string (text, waits ? sentence : NULL);
    put_string (text, job->detail);
    put_string (text, job->spec.application);
    ret_parts->made = (uint32_t)(text->length - start);
    put_time (text, present->now_us);
    put_number (text, figures.cost, DURATION);
    ret_parts->price = (uint32_t)(text->length - start);
    put_number (text, figures.price_per_hour, RATE);
    put_time (text, wait_retry_us (job, present->now_us));
    json_text_add (text, "]", 1);
}

void row_put_node (struct json_text *text, const struct cluster *cluster, int index)
{
    const struct node *node = &cluster->nodes[index];
    json_text_put (text, "[%d", index);
    put_string (text, node->name);
    put_string (text, node->type);
    json_text_put (text, ",%d,%d", node->slots, node->slots == 0 ? 2 : node->available ? 0 : 1);
    const struct node_power *power = &cluster->node_power[index];
    if (power->group >= 0) {
        json_text_put (text, ",%d,%d", power->group, (int)power->state);
        put_time (text, power->since_us);
        put_time (text, power->deadline_us > 0 ? power->deadline_us : -1);
    }
    json_text_add (text, "]", 1);
}
