/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of policies: look-up, checks and the sentences about wrong ones.
 */
#include "policy/policy_options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/nearest.h"
#include "base/number.h"

static const struct policy_option *find (const struct policy *policy, const char *name)
{
    for (const struct policy_option *at = policy->options; at && at->name; at++)
        if (strcmp (at->name, name) == 0)
            return at;
    return NULL;
}

/* Journals and configurations of older versions name it. */
static bool is_retired (const struct policy *policy, const char *name)
{
    for (const char *const *at = policy->retired; at && *at; at++)
        if (strcmp (*at, name) == 0)
            return true;
    return false;
}

double policy_option_value (const struct view *view, const struct policy_option *option)
{
    return policy_settings_get (&view->settings, option->name, option->usual);
}

int policy_settings_parse (const char *text, struct policy_settings *settings,
                           struct pollux_error *err)
{
    const char *equals = strchr (text, '=');
    char name[POLICY_SETTING_NAME_SIZE] = "";
    double value = 0;
    int rc = -EINVAL;
    if (equals && (size_t)(equals - text) < sizeof (name)) {
        memcpy (name, text, (size_t)(equals - text));
        if (strcmp (equals + 1, "-inf") == 0)
            value = -INFINITY;
        else if (number_double (equals + 1, &value) < 0)
            name[0] = '\0';
        rc = policy_settings_set (settings, name, value);
    }
    if (rc == -ENOSPC)
        return fail (err, -EINVAL, "--policy-option: more than %d options", POLICY_SETTINGS_LIMIT);
    return rc < 0 ? fail (err, rc,
                          "--policy-option: expected NAME=NUMBER, such as quantum=3600, got %s",
                          excerpt (text, strlen (text)).text)
                  : 0;
}

/* ---- Checks ------------------------------------------------------------------------------- */

/* Add words to a list that may be cut at its end. */
static void add (char *list, size_t size, const char *before, const char *word)
{
    size_t used = strlen (list);
    snprintf (list + used, size - used, "%s%s", used ? before : "", word);
}

/* No policy of the list has that option: name the nearest one, or all. */
static int refuse_name (const char *name, const struct policy *const *list, int count,
                        struct pollux_error *err)
{
    char names[96] = "", options[96] = "";
    struct nearest nearest = nearest_start (name, strlen (name));
    for (int i = 0; i < count; i++) {
        add (names, sizeof (names), ", ", list[i]->name);
        for (const struct policy_option *at = list[i]->options; at && at->name; at++) {
            nearest_try (&nearest, at->name);
            add (options, sizeof (options), ", ", at->name);
        }
    }
    const char *verb = count == 1 ? "has" : "have";
    struct excerpt quoted = excerpt (name, strlen (name));
    if (nearest.best)
        return fail (err, -EINVAL, "policy %s %s no option %s; did you mean '%s'?", names, verb,
                     quoted.text, nearest.best);
    if (!options[0])
        return fail (err, -EINVAL, "policy %s %s no options, but %s is set", names, verb,
                     quoted.text);
    return fail (err, -EINVAL, "policy %s %s no option %s; known options: %s", names, verb,
                 quoted.text, options);
}

static int check_value (const struct policy *policy, const struct policy_option *option,
                        double value, struct pollux_error *err)
{
    bool whole = option->kind != OPTION_INTEGER || value == floor (value);
    if (value >= option->min && value <= option->max && whole)
        return 0;
    return fail (err, -EINVAL, "option %s of policy %s: expected %s from %.12g to %.12g, got %.12g",
                 option->name, policy->name,
                 option->kind == OPTION_INTEGER ? "an integer" : "a number", option->min,
                 option->max, value);
}

int policy_settings_check (const struct policy_settings *settings, const struct policy *const *list,
                           int count, struct pollux_error *err)
{
    for (int i = 0; i < settings->count; i++) {
        const struct policy_setting *item = &settings->items[i];
        bool known = false;
        for (int j = 0; j < count; j++) {
            const struct policy_option *option = find (list[j], item->name);
            int rc = option ? check_value (list[j], option, item->value, err) : 0;
            if (rc < 0)
                return rc;
            known |= option != NULL || is_retired (list[j], item->name);
        }
        if (!known)
            return refuse_name (item->name, list, count, err);
    }
    return 0;
}

struct policy_settings policy_settings_of (const struct policy *policy,
                                           const struct policy_settings *settings, double *p)
{
    struct policy_settings ret = {0};
    for (int i = 0; i < settings->count; i++) {
        const struct policy_setting *item = &settings->items[i];
        if (!find (policy, item->name))
            continue;
        if (strcmp (item->name, "p") == 0)
            *p = item->value;
        else
            ret.items[ret.count++] = *item;
    }
    return ret;
}

struct policy_option_text policy_option_text (const struct policy *policy,
                                              const struct policy_option *option)
{
    struct policy_option_text ret;
    snprintf (ret.left, sizeof (ret.left), "%s %s=%g", policy->name, option->name, option->usual);
    snprintf (ret.right, sizeof (ret.right), "%s (%g to %g)", option->help, option->min,
              option->max);
    return ret;
}
