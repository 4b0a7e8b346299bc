/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies and the names for --policy-option in --help.
 */
#include "cli/policy_options_help.h"

#include "policy/policy_options.h"

void policy_options_help (FILE *out)
{
    fputs ("\nPolicies:\n", out);
    for (const struct policy *const *policy = policies; *policy; policy++)
        fprintf (out, "  %s\n      %s\n", (*policy)->name, (*policy)->summary);
    fputs ("\nOptions of policies, with defaults and ranges:\n", out);
    for (const struct policy *const *policy = policies; *policy; policy++)
        for (const struct policy_option *at = (*policy)->options; at && at->name; at++) {
            struct policy_option_text text = policy_option_text (*policy, at);
            fprintf (out, "  %s\n      %s\n", text.left, text.right);
        }
}
