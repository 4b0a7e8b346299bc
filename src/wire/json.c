/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getters: convert values of a document to C types, or refuse them with their place in the file.
 */
#include "wire/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

int wire_expect_object (const struct wire_place *place, struct pollux_error *err)
{
    return json_is_object (place->value) ? 0 : wire_fail (place, err, "expected an object");
}

int wire_expect_array (const struct wire_place *place, struct pollux_error *err)
{
    return json_is_array (place->value) ? 0 : wire_fail (place, err, "expected an array");
}

int wire_count_elements (const struct wire_place *place, int limit, const char *what, size_t *ret,
                         struct pollux_error *err)
{
    int rc = wire_expect_array (place, err);
    if (rc < 0)
        return rc;
    size_t count = json_array_size (place->value);
    if (count > (size_t)limit)
        return wire_fail (place, err, "expected at most %d %s", limit, what);
    *ret = count;
    return 0;
}

/* Convert an integer, or a real with an integer value up to 2^53: larger reals are all integers. */
static bool whole (const json_t *value, int64_t *ret)
{
    if (json_is_integer (value)) {
        *ret = json_integer_value (value);
        return true;
    }
    double number = json_real_value (value);
    if (!json_is_real (value) || number != trunc (number) || fabs (number) > 0x1p53)
        return false;
    *ret = (int64_t)number;
    return true;
}

int wire_int64 (const struct wire_place *object, const char *key, int64_t min, int64_t max,
                int64_t *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    int64_t value;
    if (whole (place.value, &value) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (min == INT64_MIN && max == INT64_MAX)
        return wire_fail (&place, err, "expected an integer");
    if (max == INT64_MAX)
        return wire_fail (&place, err, "expected an integer of at least %" PRId64, min);
    return wire_fail (&place, err, "expected an integer from %" PRId64 " to %" PRId64, min, max);
}

int wire_double (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    double value = json_number_value (place.value);
    if (json_is_number (place.value) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (isinf (min) && isinf (max))
        return wire_fail (&place, err, "expected a finite number");
    if (isinf (max))
        return wire_fail (&place, err, "expected a number of at least %g", min);
    return wire_fail (&place, err, "expected a number from %g to %g", min, max);
}

/* "inf", or "Infinity" as other programs write it. */
static bool is_infinity (const char *text)
{
    return strcmp (text, "inf") == 0 || strcmp (text, "Infinity") == 0;
}

int wire_number (const struct wire_place *object, const char *key, double min, double max,
                 double *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text = json_string_value (place.value);
    bool below = text && text[0] == '-';
    bool infinite = text && is_infinity (text + below);
    double value = infinite ? (below ? -INFINITY : INFINITY) : json_number_value (place.value);
    if ((infinite || json_is_number (place.value)) && value >= min && value <= max) {
        *ret = value;
        return 0;
    }
    if (isinf (min) && isinf (max))
        return wire_fail (&place, err, "expected a number, \"inf\" or \"-inf\"");
    if (isinf (min))
        return wire_fail (&place, err, "expected a number up to %g, or \"-inf\"", max);
    if (isinf (max))
        return wire_fail (&place, err, "expected a number of at least %g, or \"inf\"", min);
    return wire_double (object, key, min, max, ret, err);
}

json_t *wire_number_encode (double number)
{
    if (isnan (number))
        return json_null ();
    if (isinf (number))
        return json_string (number < 0 ? "-inf" : "inf");
    return json_real (number);
}

int wire_bool (const struct wire_place *object, const char *key, bool *ret,
               struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    if (!json_is_boolean (place.value))
        return wire_fail (&place, err, "expected true or false");
    *ret = json_is_true (place.value);
    return 0;
}

int wire_text (const struct wire_place *object, const char *key, const char **ret,
               struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    if (!json_is_string (place.value))
        return wire_fail (&place, err, "expected a string");
    *ret = json_string_value (place.value);
    return 0;
}

int wire_version (const struct wire_place *object, int oldest, int newest, int *ret,
                  struct pollux_error *err)
{
    int64_t version;
    int code = wire_expect_object (object, err);
    if (code == 0)
        code = wire_int64 (object, "version", 1, INT64_MAX, &version, err);
    if (code < 0)
        return code;
    if (version >= oldest && version <= newest) {
        *ret = (int)version;
        return 0;
    }
    struct wire_place place = wire_field (object, "version");
    wire_fail (&place, err, "expected version %d%s", newest,
               oldest < newest ? " or an older one" : "");
    return -EPROTO;
}
