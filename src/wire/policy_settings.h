/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a policy as an object of names and numbers: {"quantum": 3600}.  "-inf" is a number. */
#ifndef WIRE_POLICY_SETTINGS_H
#define WIRE_POLICY_SETTINGS_H

#include "cluster/policy_settings.h"
#include "wire/json.h"

/* Read a field of an object; absent or null: no settings.  Whether a policy has these options, and
 * their ranges, are checked by policy_settings_check.  -EINVAL, with the place. */
int wire_policy_settings_decode (const struct wire_place *object, const char *key,
                                 struct policy_settings *ret, struct pollux_error *err);

/* Add the field to an object; nothing if there are no settings.  0 or -ENOMEM. */
int wire_policy_settings_put (json_t *object, const char *key,
                              const struct policy_settings *settings, struct pollux_error *err);

#endif
