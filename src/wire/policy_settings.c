/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object policy_options of ROUND events, problem files and the configuration.
 */
#include "wire/policy_settings.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "wire/member.h"

int wire_policy_settings_decode (const struct wire_place *object, const char *key,
                                 struct policy_settings *ret, struct pollux_error *err)
{
    struct wire_place map = wire_field (object, key), place;
    struct policy_settings settings = {0};
    int code = 0;
    if (wire_has (object, key))
        code = wire_expect_object (&map, err);
    for (void *at = NULL; code == 0 && wire_each (&map, &at, &place);) {
        double value = 0;
        code = wire_number (&map, place.key, -INFINITY, INFINITY, &value, err);
        if (code < 0)
            break;
        int rc = policy_settings_set (&settings, place.key, value);
        if (rc == -ENOSPC)
            code = wire_fail (&map, err, "expected at most %d options", POLICY_SETTINGS_LIMIT);
        else if (rc < 0)
            code = wire_fail_key (&place, err, "expected a name of 1 to %d bytes",
                                  POLICY_SETTING_NAME_SIZE - 1);
    }
    if (code == 0)
        *ret = settings;
    return code;
}

int wire_policy_settings_put (json_t *object, const char *key,
                              const struct policy_settings *settings, struct pollux_error *err)
{
    if (settings->count == 0)
        return 0;
    json_t *map = json_object ();
    int code = wire_put (object, key, map, err);
    for (int i = 0; code == 0 && i < settings->count; i++)
        code = wire_put (map, settings->items[i].name,
                         wire_number_encode (settings->items[i].value), err);
    return code;
}
