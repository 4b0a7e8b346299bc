/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a job does not run, or not on its planned placement.  Reasons in this order: the job itself (it is
 * being stopped, or it failed), other jobs (which still hold its slots), the cluster (no free slots), and
 * last the time until the next round.
 */
#include "loop/wait_reason.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/excerpt.h"

/* Slots of a placement on nodes that take replicas, without those that `counted` has on the same nodes.
 * A job that moves holds its old and its new slots. */
static int held_on (const struct cluster *cluster, struct placement placement,
                    struct placement counted)
{
    int held = 0;
    for (int i = 0; i < placement.count; i++) {
        struct share share = placement.shares[i];
        int more = share.replicas - placement_on (counted, share.node);
        held += cluster->nodes[share.node].available && more > 0 ? more : 0;
    }
    return held;
}

/* Add slots to those of a type.  Types beyond the limit are not counted. */
static void add_type_slots (struct slot_totals *totals, const struct node *node)
{
    int at = 0;
    while (at < totals->type_count && strcmp (totals->types[at].type, node->type) != 0)
        at++;
    if (at == NODE_TYPES_LIMIT)
        return;
    if (at == totals->type_count)
        totals->types[totals->type_count++] = (struct type_slots){.type = node->type};
    totals->types[at].slots += node->slots;
}

/* Slots of the type that has most of them, of those that the job may use. */
static int most_of_a_type (const struct slot_totals *totals, const struct job *job)
{
    int most = 0;
    for (int i = 0; i < totals->type_count; i++) {
        const struct type_slots *type = &totals->types[i];
        if (type->slots > most && job_allows_type (job, type->type))
            most = type->slots;
    }
    return most;
}

struct slot_totals slot_totals_of (const struct cluster *cluster)
{
    struct slot_totals totals = {0};
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node *node = &cluster->nodes[i];
        totals.starting += cluster->node_power[i].state == POWER_STARTING;
        if (!node->available)
            continue;
        totals.slots += node->slots;
        totals.nodes++;
        add_type_slots (&totals, node);
    }
    totals.free = totals.slots;
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        totals.free -= held_on (cluster, job->placement, (struct placement){0});
        totals.free -= held_on (cluster, job->desired, job->placement);
    }
    totals.free = totals.free > 0 ? totals.free : 0;
    return totals;
}

static void add_seconds (char ret[WAIT_REASON_SIZE], int64_t us)
{
    int64_t s = us > 0 ? (us + 999999) / 1000000 : 0;
    if (s < 120)
        append (ret, WAIT_REASON_SIZE, "%lld s", (long long)s);
    else
        append (ret, WAIT_REASON_SIZE, "%lld min", (long long)(s + 59) / 60);
}

/* "2 on n0 and 2 on n1"; the first three nodes of a longer placement. */
static void add_placement (char ret[WAIT_REASON_SIZE], const struct cluster *cluster,
                           struct placement placement)
{
    enum { SHOWN = 3 };
    for (int i = 0; i < placement.count && i < SHOWN; i++) {
        bool last = i + 1 == placement.count;
        append (ret, WAIT_REASON_SIZE, "%s%d on %.40s",
                i == 0 ? ""
                : last ? " and "
                       : ", ",
                placement.shares[i].replicas, cluster->nodes[placement.shares[i].node].name);
    }
    if (placement.count > SHOWN)
        append (ret, WAIT_REASON_SIZE, " and %d more nodes", placement.count - SHOWN);
}

/* Find a job that still runs on a node of this job's desired placement and has to leave its own
 * placement.  Returns the first such job and the node; NULL: there is none. */
static const struct job *find_leaving (const struct cluster *cluster, const struct job *job,
                                       int *ret_node)
{
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *other = cluster->live.jobs[i];
        if (other == job || !job_runs (other) || placement_equal (other->placement, other->desired))
            continue;
        for (int j = 0; j < job->desired.count; j++) {
            int node = job->desired.shares[j].node;
            if (placement_on (other->placement, node) > 0) {
                *ret_node = node;
                return other;
            }
        }
    }
    return NULL;
}

static void wait_for_slots (const struct cluster *cluster, const struct job *job,
                            char ret[WAIT_REASON_SIZE])
{
    int node = 0;
    const struct job *other = find_leaving (cluster, job, &node);
    if (other)
        append (ret, WAIT_REASON_SIZE, "waits for job %s to leave %.60s; then it starts with ",
                other->spec.name, cluster->nodes[node].name);
    else
        append (ret, WAIT_REASON_SIZE, "is about to start with ");
    add_placement (ret, cluster, job->desired);
}

int64_t wait_retry_us (const struct job *job, int64_t now_us)
{
    bool waits = job->phase == JOB_PENDING && job->desired.count == 0 && job->retry_us > now_us;
    return waits ? job->retry_us : -1;
}

static void add_retry_time (char ret[WAIT_REASON_SIZE], int64_t retry_us, int64_t now_us)
{
    time_t at = (time_t)(retry_us / 1000000);
    struct tm utc;
    char clock[16] = "";
    if (gmtime_r (&at, &utc))
        strftime (clock, sizeof (clock), "%H:%M:%S", &utc);
    append (ret, WAIT_REASON_SIZE, "waits until %s UTC (", clock);
    add_seconds (ret, retry_us - now_us);
    append (ret, WAIT_REASON_SIZE, ")");
}

static void wait_for_retry (const struct job *job, struct wait_times times,
                            char ret[WAIT_REASON_SIZE])
{
    if (times.left_out)
        append (ret, WAIT_REASON_SIZE, "waits to start again");
    else
        add_retry_time (ret, job->retry_us, times.now_us);
    if (job->failures > 0 && job->launch)
        append (ret, WAIT_REASON_SIZE, "; failures: %d, it is given up after %d", job->failures,
                job->launch->max_failures + 1);
}

/* The types that a job is limited to: "a100, h100". */
static void add_types (char ret[WAIT_REASON_SIZE], const struct allowed_types *types)
{
    enum { SHOWN = 3 };
    for (int i = 0; i < types->count && i < SHOWN; i++)
        append (ret, WAIT_REASON_SIZE, "%s%.20s",
                i > 0           ? ", "
                : types->except ? "any but "
                                : "",
                types->list[i]);
    if (types->count > SHOWN)
        append (ret, WAIT_REASON_SIZE, " and %d more", types->count - SHOWN);
}

static void wait_for_room (const struct cluster *cluster, const struct slot_totals *totals,
                           const struct job *job, struct wait_times times,
                           char ret[WAIT_REASON_SIZE])
{
    int needs = job_next_replicas (job, 0);
    int most = most_of_a_type (totals, job);
    if (needs == 0) {
        append (ret, WAIT_REASON_SIZE, "no count of replicas is within its limits: change them");
        return;
    }
    if (totals->starting > 0 && (needs > totals->slots || needs > most)) {
        append (ret, WAIT_REASON_SIZE, "waits for %d node%s to start", totals->starting,
                totals->starting == 1 ? "" : "s");
        return;
    }
    if (totals->nodes == 0) {
        append (ret, WAIT_REASON_SIZE, "no node takes replicas: all are %s, or there are none",
                cluster->power.count > 0 ? "off or drained" : "drained");
        return;
    }
    if (needs > totals->slots) {
        append (ret, WAIT_REASON_SIZE,
                "too large: needs %d slots, and the nodes that take replicas have %d", needs,
                totals->slots);
        return;
    }
    if (needs > most) {
        append (ret, WAIT_REASON_SIZE, "needs %d slot%s of one %s", needs, needs == 1 ? "" : "s",
                job->spec.types.count > 0 ? "of its types (" : "type");
        add_types (ret, &job->spec.types);
        append (ret, WAIT_REASON_SIZE, "%s, and the nodes that take replicas have %d",
                job->spec.types.count > 0 ? ")" : "", most);
        return;
    }
    if (needs > totals->free)
        append (ret, WAIT_REASON_SIZE, "no free slots: needs %d, %d free; ", needs, totals->free);
    if (times.left_out || times.next_round_us == INT64_MAX) {
        append (ret, WAIT_REASON_SIZE, "waits for the next round");
        return;
    }
    if (times.next_round_us <= times.now_us) {
        append (ret, WAIT_REASON_SIZE, "waits for the next round, which is due");
        return;
    }
    append (ret, WAIT_REASON_SIZE, "waits for the next round, in ");
    add_seconds (ret, times.next_round_us - times.now_us);
}

bool wait_reason (const struct cluster *cluster, const struct slot_totals *totals,
                  const struct job *job, struct wait_times times, char ret[WAIT_REASON_SIZE])
{
    ret[0] = '\0';
    switch (job->phase) {
    case JOB_PENDING:
        if (job->desired.count > 0)
            wait_for_slots (cluster, job, ret);
        else if (wait_retry_us (job, times.now_us) >= 0)
            wait_for_retry (job, times, ret);
        else
            wait_for_room (cluster, totals, job, times, ret);
        return true;
    case JOB_RUNNING:
        if (placement_equal (job->placement, job->desired))
            return false;
        if (job->desired.count == 0) {
            append (ret, WAIT_REASON_SIZE,
                    "makes room for others: saves and stops, and goes on later");
        } else {
            append (ret, WAIT_REASON_SIZE, "saves and stops, to go on with ");
            add_placement (ret, cluster, job->desired);
        }
        return true;
    case JOB_CANCELLING:
        append (ret, WAIT_REASON_SIZE, "is being cancelled: its replicas have to end");
        return true;
    default:
        return false;
    }
}
