/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a policy that a user has set: names and values.  Options that are not here have
 * their defaults.  The policy's own table (policy/policy_options.h) has names, ranges and defaults;
 * here they are only carried, so that a journal can be read without its policy. */
#ifndef CLUSTER_POLICY_SETTINGS_H
#define CLUSTER_POLICY_SETTINGS_H

enum { POLICY_SETTINGS_LIMIT = 8, POLICY_SETTING_NAME_SIZE = 24 };

struct policy_settings {
    struct policy_setting {
        char name[POLICY_SETTING_NAME_SIZE];
        double value;
    } items[POLICY_SETTINGS_LIMIT];
    int count;
};

/* Add a setting, or replace the value of that name.  -EINVAL: the name is empty or too long;
 * -ENOSPC: there are POLICY_SETTINGS_LIMIT others. */
int policy_settings_set (struct policy_settings *settings, const char *name, double value);

/* The value of that name; fallback if there is none. */
double policy_settings_get (const struct policy_settings *settings, const char *name,
                            double fallback);

#endif
