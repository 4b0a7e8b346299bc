/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of policies, and the one entry point of a decision.
 */
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/priority_order.h"

const struct policy *const policies[] = {
    &policy_pollux,      &policy_pollux_jct, &policy_pollux_ga, &policy_tiresias,
    &policy_optimus,     &policy_fifo,       &policy_srtf,      &policy_las,
    &policy_equal_share, &policy_sia,        &policy_gavel,     NULL,
};

int policy_find (const char *name, const struct policy **ret, struct pollux_error *err)
{
    char names[sizeof (struct pollux_error)] = "";
    size_t used = 0;
    for (const struct policy *const *at = policies; *at; at++) {
        if (strcmp ((*at)->name, name) == 0) {
            *ret = *at;
            return 0;
        }
        size_t length = strlen ((*at)->name);
        if (used + length + 3 < sizeof (names)) {
            memcpy (names + used, used ? ", " : "", used ? 2 : 0);
            used += used ? 2 : 0;
            memcpy (names + used, (*at)->name, length + 1);
            used += length;
        }
    }
    return fail (err, -ENOENT, "no policy is called '%.32s'; there are %.190s", name, names);
}

int memory_new (const struct policy *policy, struct memory *ret, struct pollux_error *err)
{
    struct memory memory = {.policy = policy};
    if (policy->memory_size > 0) {
        memory.state = calloc (1, policy->memory_size);
        if (!memory.state)
            return fail (err, -ENOMEM, "no memory for the policy %s", policy->name);
    }
    int rc = policy->memory_init ? policy->memory_init (memory.state, err) : 0;
    if (rc < 0)
        memory_clear (&memory);
    else
        *ret = memory;
    return rc;
}

void memory_clear (struct memory *memory)
{
    if (memory->state)
        memory->policy->memory_clear (memory->state);
    free (memory->state);
    *memory = (struct memory){0};
}

int decide (const struct policy *policy, const struct view *view, struct memory *memory,
            struct plan *plan, struct pollux_error *err)
{
    if (plan_reset (plan, view->job_count) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    int rc = policy_settings_check (&view->settings, &policy, 1, err);
    if (rc < 0)
        return rc;
    return policy->decide ? policy->decide (view, memory->state, plan, err)
                          : decide_in_order (policy, view, memory->state, plan, err);
}
