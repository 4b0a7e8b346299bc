/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured step times of a job, in a bounded table.
 *
 * A mean is over all steps up to a thousand, then an exponential moving average: it follows a machine
 * that has become slower, and a single slow step changes little.
 */
#include "agent/profile.h"

#include <math.h>

/* Steps in the window of a mean. */
static const int64_t memory_steps = 1000;

/* The range of times that pollux_fit accepts. */
static const double least_s = 1e-9, most_s = 1e9;

static bool is_of (const struct profile_entry *entry, struct pollux_shape shape, int64_t m)
{
    return entry->shape.nodes == shape.nodes && entry->shape.replicas == shape.replicas &&
           entry->m == m;
}

static struct profile_entry *find_or_make (struct profile *profile, struct pollux_shape shape,
                                           int64_t m)
{
    struct profile_entry *oldest = &profile->entries[0];
    for (int i = 0; i < profile->count; i++) {
        struct profile_entry *entry = &profile->entries[i];
        if (is_of (entry, shape, m))
            return entry;
        if (entry->met_at < oldest->met_at)
            oldest = entry;
    }
    if (profile->count < PROFILE_LIMIT)
        oldest = &profile->entries[profile->count++];
    *oldest = (struct profile_entry){.shape = shape, .m = m};
    return oldest;
}

bool profile_add (struct profile *profile, struct pollux_shape shape, int64_t m, double grad_s,
                  double step_s)
{
    if (!(grad_s >= least_s && grad_s <= most_s && step_s >= least_s && step_s <= most_s))
        return false;
    struct profile_entry *entry = find_or_make (profile, shape, m);
    if (entry->steps < memory_steps)
        entry->steps++;
    entry->grad_s += (grad_s - entry->grad_s) / (double)entry->steps;
    entry->step_s += (step_s - entry->step_s) / (double)entry->steps;
    entry->met_at = ++profile->steps;
    if (shape.replicas > profile->max_replicas)
        profile->max_replicas = shape.replicas;
    return true;
}

double profile_step_s (const struct profile *profile, struct pollux_shape shape, int64_t m)
{
    for (int i = 0; i < profile->count; i++) {
        const struct profile_entry *entry = &profile->entries[i];
        if (is_of (entry, shape, m))
            return entry->step_s;
    }
    return NAN;
}

size_t profile_samples (const struct profile *profile, struct pollux_sample ret[PROFILE_LIMIT])
{
    for (int i = 0; i < profile->count; i++) {
        const struct profile_entry *entry = &profile->entries[i];
        ret[i] = (struct pollux_sample){entry->shape, entry->m, entry->grad_s, entry->step_s,
                                        .weight = 1};
    }
    return (size_t)profile->count;
}
