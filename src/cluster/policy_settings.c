/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small map from option names to numbers.
 */
#include "cluster/policy_settings.h"

#include <errno.h>
#include <string.h>

/* The index of a name; count if it is not there. */
static int find (const struct policy_settings *settings, const char *name)
{
    int i = 0;
    while (i < settings->count && strcmp (settings->items[i].name, name) != 0)
        i++;
    return i;
}

int policy_settings_set (struct policy_settings *settings, const char *name, double value)
{
    size_t length = strnlen (name, POLICY_SETTING_NAME_SIZE);
    if (length == 0 || length == POLICY_SETTING_NAME_SIZE)
        return -EINVAL;
    int at = find (settings, name);
    if (at == POLICY_SETTINGS_LIMIT)
        return -ENOSPC;
    if (at == settings->count)
        settings->count++;
    struct policy_setting *item = &settings->items[at];
    memset (item, 0, sizeof (*item));
    memcpy (item->name, name, length);
    item->value = value;
    return 0;
}

double policy_settings_get (const struct policy_settings *settings, const char *name,
                            double fallback)
{
    int at = find (settings, name);
    return at < settings->count ? settings->items[at].value : fallback;
}
