/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of Slurm's states.  Sources: squeue(1) "JOB STATE CODES" and sinfo(1) "NODE STATE
 * CODES" of Slurm 22.05 and 24.11.
 */
#define _GNU_SOURCE
#include "backend/slurm/states.h"

#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

static const struct {
    const char *state;
    enum slurm_phase phase;
} phases[] = {
    {"PENDING", SLURM_COMING},
    {"CONFIGURING", SLURM_COMING}, /* nodes are being powered up for it */
    {"RESV_DEL_HOLD", SLURM_COMING},
    {"RUNNING", SLURM_HELD},
    {"COMPLETING", SLURM_HELD},
    {"SUSPENDED", SLURM_HELD},
    {"STOPPED", SLURM_HELD},
    {"SIGNALING", SLURM_HELD},
    {"STAGE_OUT", SLURM_HELD},
    {"RESIZING", SLURM_HELD},
    {"EXPEDITING", SLURM_COMING}, /* from 24.11 on */
    {"COMPLETED", SLURM_ENDED},
    {"FAILED", SLURM_ENDED},
    {"OUT_OF_MEMORY", SLURM_ENDED},
    {"NODE_FAIL", SLURM_EXCUSED},
    {"PREEMPTED", SLURM_EXCUSED},
    {"BOOT_FAIL", SLURM_EXCUSED},
    {"LAUNCH_FAILED", SLURM_EXCUSED},
    {"RECONFIG_FAIL", SLURM_EXCUSED},
    {"TIMEOUT", SLURM_EXCUSED},
    {"DEADLINE", SLURM_EXCUSED},
    {"CANCELLED", SLURM_EXCUSED},
    /* Slurm would run the same job again; Pollux cancels it and starts a new generation. */
    {"REQUEUED", SLURM_EXCUSED},
    {"REQUEUE_FED", SLURM_EXCUSED},
    {"REQUEUE_HOLD", SLURM_EXCUSED},
    {"SPECIAL_EXIT", SLURM_EXCUSED},
    {"REVOKED", SLURM_EXCUSED}, /* another cluster of a federation runs it */
};

enum slurm_phase slurm_phase (const char *state)
{
    size_t length = strspn (state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    for (size_t i = 0; i < COUNT (phases); i++)
        if (strlen (phases[i].state) == length && memcmp (phases[i].state, state, length) == 0)
            return phases[i].phase;
    return SLURM_UNKNOWN;
}

bool slurm_is_node_failure (const char *state)
{
    return strncmp (state, "NODE_FAIL", 9) == 0 || strncmp (state, "BOOT_FAIL", 9) == 0;
}

static const char *const phase_names[] = {"coming", "held", "ended", "excused", "unknown"};
_Static_assert(COUNT (phase_names) == SLURM_PHASE_COUNT, "a name per phase");

const char *slurm_phase_name (enum slurm_phase phase)
{
    return phase_names[phase];
}

/* ---- Waiting ------------------------------------------------------------------------------ */

/* Beginnings of reasons; all others are limits.  Sources: squeue(1) "JOB REASON CODES", job_reason_string() of
 * 22.05. */
static const struct {
    const char *reason;
    enum slurm_waiting waiting;
} waitings[] = {
    {"None", SLURM_WAITS_FOR_NODE},
    {"Priority", SLURM_WAITS_FOR_NODE},
    {"Resources", SLURM_WAITS_FOR_NODE},
    {"NodeDown", SLURM_WAITS_FOR_NODE},
    {"Nodes_required", SLURM_WAITS_FOR_NODE},
    {"ReqNodeNotAvail", SLURM_WAITS_FOR_NODE},
    {"Reservation", SLURM_WAITS_FOR_NODE},
    /* A share has one node, so it is not available. */
    {"PartitionNodeLimit", SLURM_WAITS_FOR_NODE},
    {"AccountNotAllowed", SLURM_WAITS_IN_VAIN},
    {"AssocMaxWallDurationPerJob", SLURM_WAITS_IN_VAIN},
    {"BadConstraints", SLURM_WAITS_IN_VAIN},
    {"DeadLine", SLURM_WAITS_IN_VAIN},
    {"DependencyNeverSatisfied", SLURM_WAITS_IN_VAIN},
    {"InvalidAccount", SLURM_WAITS_IN_VAIN},
    {"InvalidQOS", SLURM_WAITS_IN_VAIN},
    {"PartitionTimeLimit", SLURM_WAITS_IN_VAIN},
    {"QOSMaxWallDurationPerJob", SLURM_WAITS_IN_VAIN},
    {"QOSNotAllowed", SLURM_WAITS_IN_VAIN},
};

enum slurm_waiting slurm_waiting (const char *reason)
{
    for (size_t i = 0; i < COUNT (waitings); i++)
        if (strncmp (reason, waitings[i].reason, strlen (waitings[i].reason)) == 0)
            return waitings[i].waiting;
    return SLURM_WAITS_FOR_LIMIT;
}

/* The second one also comes for a time limit that is too long; the line before it says which limit it is. */
bool slurm_refuses_for_now (const char *messages)
{
    static const char *const sentences[] = {"Required partition not available",
                                            "Job violates accounting/QOS policy",
                                            "temporarily unable to accept job"};
    if (strstr (messages, "MaxWallDurationPerJob"))
        return false;
    for (size_t i = 0; i < COUNT (sentences); i++)
        if (strstr (messages, sentences[i]))
            return true;
    return false;
}

/* ---- Nodes -------------------------------------------------------------------------------- */

static const struct {
    const char *state;
    enum slurm_node_use use;
} uses[] = {
    {"idle", SLURM_NODE_USABLE},
    {"mixed", SLURM_NODE_USABLE},
    {"allocated", SLURM_NODE_USABLE},
    {"completing", SLURM_NODE_USABLE},
    /* The backfill scheduler reserves it for a waiting job.  Slurm decides whether ours fits before; what
     * runs there stays.  A closed node would move our jobs each time this state comes and goes. */
    {"planned", SLURM_NODE_USABLE},
    {"drained", SLURM_NODE_CLOSED},
    {"draining", SLURM_NODE_CLOSED},
    {"drain", SLURM_NODE_CLOSED},
    {"failing", SLURM_NODE_CLOSED},
    {"fail", SLURM_NODE_CLOSED},
    {"reserved", SLURM_NODE_CLOSED},
    {"maint", SLURM_NODE_CLOSED},
    {"perfctrs", SLURM_NODE_CLOSED},
    {"blocked", SLURM_NODE_CLOSED},
    {"reboot", SLURM_NODE_CLOSED},
    {"reboot_requested", SLURM_NODE_CLOSED},
    {"reboot_issued", SLURM_NODE_LOST},
    {"power_down", SLURM_NODE_CLOSED},
    {"powering_up", SLURM_NODE_CLOSED},
    {"powering_down", SLURM_NODE_LOST},
    {"powered_down", SLURM_NODE_LOST},
    {"down", SLURM_NODE_LOST},
    {"error", SLURM_NODE_LOST},
    {"future", SLURM_NODE_LOST},
    {"inval", SLURM_NODE_LOST},
    {"unknown", SLURM_NODE_LOST},
};

/* Flags of a node: the last characters of its state. */
static const struct {
    char suffix;
    enum slurm_node_use use;
} suffixes[] = {
    {'*', SLURM_NODE_LOST},   /* does not answer */
    {'~', SLURM_NODE_LOST},   /* powered off */
    {'#', SLURM_NODE_CLOSED}, /* is being powered up */
    {'!', SLURM_NODE_CLOSED}, /* will be powered down */
    {'%', SLURM_NODE_LOST},   /* is being powered down */
    {'$', SLURM_NODE_CLOSED}, /* in a reservation for maintenance */
    {'@', SLURM_NODE_CLOSED}, /* will be rebooted */
    {'^', SLURM_NODE_LOST},   /* is being rebooted */
    {'-', SLURM_NODE_USABLE}, /* planned */
    {'+', SLURM_NODE_USABLE}, /* allocated, and some jobs are completing */
};

enum slurm_node_use slurm_node_use (const char *state, bool reserved)
{
    size_t length = strcspn (state, "*~#!%$@^-+");
    enum slurm_node_use use = SLURM_NODE_CLOSED; /* a state of a later Slurm */
    for (size_t i = 0; i < COUNT (uses); i++)
        if (strlen (uses[i].state) == length && strncasecmp (uses[i].state, state, length) == 0)
            use = uses[i].use;
    if (reserved && length == strlen ("reserved") && strncasecmp (state, "reserved", length) == 0)
        use = SLURM_NODE_USABLE;
    for (const char *at = state + length; *at; at++)
        for (size_t i = 0; i < COUNT (suffixes); i++)
            if (suffixes[i].suffix == *at && suffixes[i].use > use)
                use = suffixes[i].use;
    return use;
}

static const char *const use_names[] = {"usable", "closed", "lost"};
_Static_assert(COUNT (use_names) == SLURM_NODE_USE_COUNT, "a name per use");

const char *slurm_node_use_name (enum slurm_node_use use)
{
    return use_names[use];
}
