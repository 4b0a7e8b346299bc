/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode structs by tables of their members.  Numbers of all types are compared with
 * their range as doubles: the ends of a range are integers up to 2^53, which a double holds exactly.
 */
#include "wire/member.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

/* ---- Names -------------------------------------------------------------------------------- */

bool wire_is_line (const char *text, size_t most)
{
    size_t length = strnlen (text, most + 1);
    if (length > most || utf8_valid (text, length) != length)
        return false;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    return true;
}

bool wire_is_name (const char *text)
{
    return text[0] && wire_is_line (text, NAME_SIZE - 1);
}

int wire_name (const struct wire_place *object, const char *key, char ret[NAME_SIZE],
               struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text = json_string_value (place.value);
    if (!text || !wire_is_name (text))
        return wire_fail (&place, err, "expected a name of 1 to %d bytes", NAME_SIZE - 1);
    memset (ret, 0, NAME_SIZE);
    memcpy (ret, text, strlen (text));
    return 0;
}

int wire_job_numbers (const struct wire_place *object, double most, wire_take_number *take,
                      void *self, struct pollux_error *err)
{
    struct wire_place place;
    double number = 0;
    int code = wire_expect_object (object, err);
    for (void *at = NULL; code == 0 && wire_each (object, &at, &place);) {
        if (!wire_is_name (place.key))
            return wire_fail_key (&place, err, "expected the name of a job");
        code = wire_double (object, place.key, 0, most, &number, err);
        if (code == 0)
            code = take (self, &place, number, err);
    }
    return code;
}

int wire_choice (const struct wire_place *object, const char *key, const char *const *names,
                 int count, int *ret, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text = json_string_value (place.value);
    char list[128] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        if (text && strcmp (text, names[i]) == 0) {
            *ret = i;
            return 0;
        }
        const char *before = i == 0 ? "" : i == count - 1 ? " or " : ", ";
        int more = snprintf (list + used, sizeof (list) - used, "%s\"%s\"", before, names[i]);
        used += (size_t)more < sizeof (list) - used ? (size_t)more : sizeof (list) - used - 1;
    }
    return wire_fail (&place, err, "expected %s", list);
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* Digits only, as the encoder writes them: no sign, no blanks, no leading zero. */
static int decode_uint64 (const struct wire_place *object, const char *key, uint64_t *ret,
                          struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text = json_string_value (place.value);
    uint64_t value = 0;
    bool legal = text && text[0] && (text[0] != '0' || !text[1]);
    for (const char *at = text; legal && *at; at++) {
        legal = *at >= '0' && *at <= '9' && !__builtin_mul_overflow (value, 10u, &value) &&
                !__builtin_add_overflow (value, (uint64_t)(*at - '0'), &value);
    }
    if (!legal)
        return wire_fail (&place, err, "expected the digits of an integer below 2^64, in quotes");
    *ret = value;
    return 0;
}

static int decode_integer (const struct wire_member *member, const struct wire_place *object,
                           int64_t *ret, struct pollux_error *err)
{
    return wire_int64 (object, member->key, (int64_t)member->min, (int64_t)member->max, ret, err);
}

static int decode_line (const struct wire_member *member, const struct wire_place *object,
                        char *value, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, member->key);
    const char *text = json_string_value (place.value);
    size_t most = (size_t)member->max;
    if (!text || !wire_is_line (text, most))
        return wire_fail (&place, err, "expected a line of at most %zu bytes", most);
    memset (value, 0, most + 1);
    memcpy (value, text, strlen (text));
    return 0;
}

static void decode_missing (const struct wire_member *member, void *value)
{
    switch (member->kind) {
    case WIRE_BOOL:
        *(bool *)value = member->missing != 0;
        break;
    case WIRE_INT:
    case WIRE_CHOICE:
        *(int *)value = (int)member->missing;
        break;
    case WIRE_INT64:
        *(int64_t *)value = (int64_t)member->missing;
        break;
    case WIRE_UINT64:
        *(uint64_t *)value = (uint64_t)member->missing;
        break;
    case WIRE_DOUBLE:
        *(double *)value = member->missing;
        break;
    case WIRE_NAME:
        memset (value, 0, NAME_SIZE);
        break;
    case WIRE_TEXT:
        memset (value, 0, (size_t)member->max + 1);
        break;
    }
}

static int decode_member (const struct wire_member *member, const struct wire_place *object,
                          void *value, struct pollux_error *err)
{
    int64_t integer = 0;
    int code = 0;
    switch (member->kind) {
    case WIRE_BOOL:
        return wire_bool (object, member->key, value, err);
    case WIRE_INT:
        code = decode_integer (member, object, &integer, err);
        if (code == 0)
            *(int *)value = (int)integer;
        return code;
    case WIRE_INT64:
        return decode_integer (member, object, value, err);
    case WIRE_UINT64:
        return decode_uint64 (object, member->key, value, err);
    case WIRE_DOUBLE:
        return wire_number (object, member->key, member->min, member->max, value, err);
    case WIRE_NAME:
        return wire_name (object, member->key, value, err);
    case WIRE_TEXT:
        return decode_line (member, object, value, err);
    case WIRE_CHOICE:
        return wire_choice (object, member->key, member->names, (int)member->max + 1, value, err);
    }
    return code;
}

/* keep: members that are missing keep their value. */
static int decode_members (const struct wire_member *members, const struct wire_place *object,
                           bool keep, void *base, struct pollux_error *err)
{
    int ret = wire_expect_object (object, err);
    if (ret < 0)
        return ret;
    for (const struct wire_member *member = members; member->key; member++) {
        void *value = (char *)base + member->offset;
        bool missing = !wire_has (object, member->key);
        int code = 0;
        if (missing && keep)
            continue;
        if (missing && member->optional)
            decode_missing (member, value);
        else
            code = decode_member (member, object, value, err);
        if (wire_stops (object, code))
            return code;
        ret = wire_worse (ret, code);
    }
    return ret;
}

int wire_members_decode (const struct wire_member *members, const struct wire_place *object,
                         void *base, struct pollux_error *err)
{
    return decode_members (members, object, false, base, err);
}

int wire_members_override (const struct wire_member *members, const struct wire_place *object,
                           void *base, struct pollux_error *err)
{
    return decode_members (members, object, true, base, err);
}

/* ---- Writing ------------------------------------------------------------------------------ */

int wire_put (json_t *object, const char *key, json_t *value, struct pollux_error *err)
{
    return json_object_set_new (object, key, value) == 0
               ? 0
               : fail (err, -ENOMEM, "%s: not enough memory", key);
}

int wire_put_list (json_t *object, const char *key, int count, wire_put_item *put, const void *self,
                   struct pollux_error *err)
{
    json_t *list = json_array ();
    int code = wire_put (object, key, list, err);
    for (int i = 0; code == 0 && i < count; i++) {
        json_t *item = json_object ();
        code = json_array_append_new (list, item) == 0 ? put (self, i, item, err)
                                                       : fail (err, -ENOMEM, "not enough memory");
    }
    return code;
}

/* A number of any type as a double, for the comparison with the range. */
static double as_double (const struct wire_member *member, const void *value)
{
    switch (member->kind) {
    case WIRE_BOOL:
        return *(const bool *)value;
    case WIRE_INT:
    case WIRE_CHOICE:
        return *(const int *)value;
    case WIRE_INT64:
        return (double)*(const int64_t *)value;
    case WIRE_UINT64:
        return (double)*(const uint64_t *)value;
    case WIRE_DOUBLE:
        return *(const double *)value;
    case WIRE_NAME:
    case WIRE_TEXT:
        break;
    }
    return 0;
}

static bool is_missing (const struct wire_member *member, const void *value)
{
    if (member->kind == WIRE_NAME || member->kind == WIRE_TEXT)
        return *(const char *)value == '\0';
    double number = as_double (member, value);
    return isnan (member->missing) ? isnan (number) : number == member->missing;
}

static int check_member (const struct wire_member *member, const void *value,
                         struct pollux_error *err)
{
    if (member->kind == WIRE_NAME)
        return wire_is_name (value) ? 0
                                    : fail (err, -EINVAL, "%s: expected a name of 1 to %d bytes",
                                            member->key, NAME_SIZE - 1);
    if (member->kind == WIRE_TEXT)
        return wire_is_line (value, (size_t)member->max)
                   ? 0
                   : fail (err, -EINVAL, "%s: expected a line of at most %g bytes", member->key,
                           member->max);
    if (member->kind == WIRE_BOOL || member->kind == WIRE_UINT64)
        return 0;
    double number = as_double (member, value);
    if (number >= member->min && number <= member->max)
        return 0;
    return fail (err, -EINVAL, "%s: expected a number from %g to %g, got %g", member->key,
                 member->min, member->max, number);
}

static json_t *encode_value (const struct wire_member *member, const void *value)
{
    char digits[24];
    switch (member->kind) {
    case WIRE_BOOL:
        return json_boolean (*(const bool *)value);
    case WIRE_INT:
        return json_integer (*(const int *)value);
    case WIRE_INT64:
        return json_integer (*(const int64_t *)value);
    case WIRE_UINT64:
        snprintf (digits, sizeof (digits), "%" PRIu64, *(const uint64_t *)value);
        return json_string (digits);
    case WIRE_DOUBLE:
        return wire_number_encode (*(const double *)value);
    case WIRE_NAME:
    case WIRE_TEXT:
        return json_string (value);
    case WIRE_CHOICE:
        return json_string (member->names[*(const int *)value]);
    }
    return NULL;
}

int wire_members_encode (const struct wire_member *members, const void *base, json_t *object,
                         struct pollux_error *err)
{
    int code = 0;
    for (const struct wire_member *member = members; code == 0 && member->key; member++) {
        const void *value = (const char *)base + member->offset;
        if (member->optional && is_missing (member, value))
            continue;
        code = check_member (member, value, err);
        if (code == 0)
            code = wire_put (object, member->key, encode_value (member, value), err);
    }
    return code;
}
