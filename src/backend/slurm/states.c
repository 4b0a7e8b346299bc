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

/* The words of Slurm that mean the same: all that have one meaning, or fewer and then NULL. */
enum { WORDS_LIMIT = 16 };
typedef const char *words[WORDS_LIMIT];

/* The meaning of a word, which is `length` bytes of a text: the index of the words that have it, or `other`. */
static int meaning_of (const char *text, size_t length, const words *meanings, int count, int other)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < WORDS_LIMIT && meanings[i][j]; j++)
            if (strlen (meanings[i][j]) == length &&
                strncasecmp (meanings[i][j], text, length) == 0)
                return i;
    return other;
}

static const words phases[] = {
    [SLURM_COMING] = {"PENDING", "CONFIGURING" /* nodes are being powered up for it */,
                      "RESV_DEL_HOLD", "EXPEDITING" /* from 24.11 on */},
    [SLURM_HELD] = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT",
                    "RESIZING"},
    [SLURM_ENDED] = {"COMPLETED", "FAILED", "OUT_OF_MEMORY"},
    [SLURM_EXCUSED] =
        {
            "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL", "TIMEOUT",
            "DEADLINE", "CANCELLED",
            /* Slurm would run the same job again; Pollux cancels it and starts a new generation. */
            "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
            "REVOKED", /* another cluster of a federation runs it */
        },
};

enum slurm_phase slurm_phase (const char *state)
{
    size_t length = strspn (state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    return (enum slurm_phase)meaning_of (state, length, phases, COUNT (phases), SLURM_UNKNOWN);
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
static const words waitings[] = {
    [SLURM_WAITS_FOR_NODE] = {"None", "Priority", "Resources", "NodeDown", "Nodes_required",
                              "ReqNodeNotAvail", "Reservation",
                              /* A share has one node, so it is not available. */
                              "PartitionNodeLimit"},
    [SLURM_WAITS_IN_VAIN] = {"AccountNotAllowed", "AssocMaxWallDurationPerJob", "BadConstraints",
                             "DeadLine", "DependencyNeverSatisfied", "InvalidAccount", "InvalidQOS",
                             "PartitionTimeLimit", "QOSMaxWallDurationPerJob", "QOSNotAllowed"},
};

enum slurm_waiting slurm_waiting (const char *reason)
{
    for (size_t i = 0; i < COUNT (waitings); i++)
        for (int j = 0; j < WORDS_LIMIT && waitings[i][j]; j++)
            if (strncmp (reason, waitings[i][j], strlen (waitings[i][j])) == 0)
                return (enum slurm_waiting)i;
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

static const words uses[] = {
    [SLURM_NODE_USABLE] =
        {
            "idle",
            "mixed",
            "allocated",
            "completing",
            /* The backfill scheduler reserves it for a waiting job.  Slurm decides whether ours fits before; what
             * runs there stays.  A closed node would move our jobs each time this state comes and goes. */
            "planned",
        },
    [SLURM_NODE_CLOSED] = {"drained", "draining", "drain", "failing", "fail", "reserved", "maint",
                           "perfctrs", "blocked", "reboot", "reboot_requested", "power_down",
                           "powering_up"},
    [SLURM_NODE_LOST] = {"reboot_issued", "powering_down", "powered_down", "down", "error",
                         "future", "inval", "unknown"},
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
    enum slurm_node_use use = (enum slurm_node_use)meaning_of (
        state, length, uses, COUNT (uses), SLURM_NODE_CLOSED); /* a state of a later Slurm */
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
