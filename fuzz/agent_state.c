/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: saved states of an agent.  The bytes are restored unchanged, and with both checksums
 * corrected so that all fields are reached.  An accepted state is saved as the same bytes; decisions,
 * steps and saving must work after it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/bytes.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Positions: the total batch; name and max_local of the first type. */
enum { GROUPS = 2, NOISE = 64 + 16 * GROUPS, TOTAL_AT = 4 * 8, TYPE_AT = 18 * 8, MOST_AT = 26 * 8 };

static void demand (bool truth)
{
    if (!truth)
        abort ();
}

static void live (struct pollux_agent *agent)
{
    double one[GROUPS] = {1, 1}, two[GROUPS] = {2, 2};
    struct pollux_advice advice;
    struct pollux_status status;
    size_t count;
    pollux_agent_pass_begin (agent);
    for (int i = 0; i < 3; i++) {
        pollux_agent_decide (agent, &count);
        int code = pollux_agent_follow (agent, &advice, NULL);
        /* Progress of 1e308 may overflow; nothing else may be wrong. */
        demand (code == 0 || !isfinite (agent->progress));
        pollux_agent_step_begin (agent);
        code = pollux_agent_gradients (agent, agent->watch.batch.s + 1, two, one, NULL);
        demand (code == 0 || code == -EDOM);
        pollux_agent_step_end (agent);
    }
    pollux_agent_status (agent, &status);
    demand (status.batch.m >= 1 && status.batch.s >= 0);
}

static void restore (const uint8_t *data, size_t size)
{
    struct pollux_setup setup;
    struct pollux_agent *agent;
    struct pollux_error err = {.text = ""};
    pollux_setup_default (64, &setup);
    setup.limits = (struct pollux_limits){64, 4096, 1, 512, true};
    setup.groups = GROUPS;
    setup.world.shape = (struct pollux_shape){1, 2};
    demand (pollux_agent_open (&setup, &agent, NULL) == 0);
    int code = pollux_agent_state_restore (agent, data, size, &err);
    demand (code == 0 || (code == -EINVAL && *err.text));
    /* Older versions are saved as the present one.  This agent is on nodes without a type: a state of another
     * type gets an empty profile in front. */
    if (code == 0 && data[8] == 3 && data[TYPE_AT] == 0) {
        uint8_t *again = malloc (size);
        demand (again && pollux_agent_state_size (agent) == size);
        demand (pollux_agent_state_save (agent, again, size, NULL) == 0);
        /* The total batch is saved as the limits and replicas of this agent allow it, and max_local is this
         * agent's; the checksum follows them. */
        memcpy (again + TOTAL_AT, data + TOTAL_AT, 8);
        memcpy (again + MOST_AT, data + MOST_AT, 8);
        demand (memcmp (data, again, size - 8) == 0);
        free (again);
    }
    live (agent);
    size = pollux_agent_state_size (agent);
    uint8_t *saved = malloc (size);
    demand (saved && pollux_agent_state_save (agent, saved, size, NULL) == 0);
    code = pollux_agent_state_restore (agent, saved, size, NULL);
    demand (code == 0 || !isfinite (agent->progress));
    free (saved);
    pollux_agent_close (agent);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    restore (data, size);
    if (size >= NOISE + 8) {
        uint8_t *right = malloc (size);
        if (!right)
            return 0;
        uint8_t *noise = right + size - 8 - NOISE;
        memcpy (right, data, size);
        bytes_put_u64 (noise + NOISE - 8, bytes_checksum (noise, NOISE - 8));
        bytes_put_u64 (right + size - 8, bytes_checksum (right, size - 8));
        restore (right, size);
        free (right);
    }
    return 0;
}
