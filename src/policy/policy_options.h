/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of a policy: a table that the policy owns (policy.options).  --policy-option, the field
 * policy_options of polluxd's configuration and of problem files, ROUND events and --help follow
 * from it.
 */
#ifndef POLICY_POLICY_OPTIONS_H
#define POLICY_POLICY_OPTIONS_H

#include "policy/policy.h"

enum policy_option_kind { OPTION_NUMBER, OPTION_INTEGER };

/* One row of a table, which ends with a row of zeros. */
struct policy_option {
    const char *name; /* lower case and _, below POLICY_SETTING_NAME_SIZE bytes */
    enum policy_option_kind kind;
    double min, max; /* both included */
    double usual;    /* the default */
    const char *help;
};

/* The row of p, which is view.p for all policies: --p and the field p set it, too. */
#define POLICY_OPTION_P                                                                            \
    {                                                                                              \
        .name = "p", .min = -INFINITY, .max = 1, .usual = -1,                                      \
        .help = "exponent of the mean over jobs; 1: throughput, -1: fair"                          \
    }

/* The value of an option in a view, other than p. */
double policy_option_value (const struct view *view, const struct policy_option *option);

/* Take "NAME=VALUE" from a command line.  Whether a policy has that option is checked later.
 * -EINVAL. */
int policy_settings_parse (const char *text, struct policy_settings *settings,
                           struct pollux_error *err);

/* Check that each setting is an option, or a former one, of at least one of the policies, and within the range of all
 * that have it.  -EINVAL: the sentence names the option, the policy, the range or the nearest name. */
int policy_settings_check (const struct policy_settings *settings, const struct policy *const *list,
                           int count, struct pollux_error *err);

/* The settings of one policy out of those for several.  p is not among them: it replaces *p. */
struct policy_settings policy_settings_of (const struct policy *policy,
                                           const struct policy_settings *settings, double *p);

/* One line of --help: "tiresias quantum=57600" and "slot-seconds ... (1 to 1e+12)". */
struct policy_option_text {
    char left[64], right[160];
};
struct policy_option_text policy_option_text (const struct policy *policy,
                                              const struct policy_option *option);

#endif
