/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode what a job asks of Slurm.  Names become words of sbatch's command line, so their
 * alphabet is limited here, at the door.
 */
#include "wire/slurm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/keys.h"
#include "wire/member.h"

static const char *const known_keys[] = {
    "account", "qos", "partition", "time_limit", "cpus_per_replica", "memory_per_replica", NULL,
};

static const struct {
    const char *key;
    size_t offset;
} names[] = {
    {"account", offsetof (struct slurm_request, account)},
    {"qos", offsetof (struct slurm_request, qos)},
    {"partition", offsetof (struct slurm_request, partition)},
};
enum { NAMES = sizeof (names) / sizeof (names[0]) };

const char *wire_wrong_slurm_name (const char *text)
{
    static const char legal[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-+@,:";
    size_t length = strspn (text, legal);
    return length > 0 && length < NAME_SIZE && !text[length] && *text != '-'
               ? NULL
               : "expected a name of letters, digits and . _ - + @ , : that does not start with -";
}

/* ---- Times and sizes ---------------------------------------------------------------------- */

/* Digits up to a character that is no digit; -1: none, or too many. */
static int64_t take_number (const char **at)
{
    size_t length = strspn (*at, "0123456789");
    if (length == 0 || length > 9)
        return -1;
    int64_t value = strtoll (*at, NULL, 10);
    *at += length;
    return value;
}

int wire_slurm_minutes (const char *text, int *ret)
{
    /* With days: hours first.  Without: minutes first, hours if there are three numbers. */
    int64_t days = 0, parts[3] = {0, 0, 0}, first = take_number (&text);
    int count = 0;
    bool has_days = *text == '-';
    if (has_days) {
        days = first;
        text++;
        first = take_number (&text);
    }
    for (parts[count++] = first; *text == ':' && count < 3;) {
        text++;
        parts[count++] = take_number (&text);
    }
    if (*text || days < 0 || parts[0] < 0 || parts[1] < 0 || parts[2] < 0)
        return -EINVAL;
    int64_t hours = 0, minutes = parts[0], seconds = parts[1];
    if (has_days || count == 3) {
        hours = parts[0];
        minutes = parts[1];
        seconds = parts[2];
    }
    int64_t total = (days * 24 + hours) * 60 + minutes + (seconds + 59) / 60;
    if (total < 1 || total > WIRE_SLURM_MINUTES)
        return -EINVAL;
    *ret = (int)total;
    return 0;
}

int wire_slurm_memory (const char *text, int64_t *ret_mb)
{
    static const char units[] = "KMGT";
    int64_t value = take_number (&text);
    const char *unit = *text ? strchr (units, *text) : &units[1];
    if (value < 0 || !unit || (*text && text[1]))
        return -EINVAL;
    int64_t mb = unit == units ? (value + 1023) / 1024 : value << (10 * (unit - units - 1));
    if (mb < 1 || mb > WIRE_SLURM_MEMORY_MB)
        return -EINVAL;
    *ret_mb = mb;
    return 0;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int read_name (const struct wire_place *object, const char *key, char ret[NAME_SIZE],
                      struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    char *text;
    int code = wire_scalar (&place, &text, err);
    if (code < 0)
        return code;
    const char *wrong = wire_wrong_slurm_name (text);
    if (wrong)
        code = wire_fail (&place, err, "%s", wrong);
    else
        memcpy (ret, text, strlen (text) + 1);
    free (text);
    return code;
}

/* A number in 1..most, or a text. */
static int read_amount (const struct wire_place *object, const char *key, int64_t most,
                        int (*parse) (const char *, int64_t *), const char *expected, int64_t *ret,
                        struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    if (json_is_number (place.value))
        return wire_int64 (object, key, 1, most, ret, err);
    const char *text = json_string_value (place.value);
    if (!text || parse (text, ret) < 0)
        return wire_fail (&place, err, "%s", expected);
    return 0;
}

static int parse_minutes (const char *text, int64_t *ret)
{
    int minutes = 0, code = wire_slurm_minutes (text, &minutes);
    if (code == 0)
        *ret = minutes;
    return code;
}

int wire_slurm_decode (const struct wire_place *object, bool strict, struct slurm_request *ret,
                       struct pollux_error *err)
{
    struct slurm_request request = *ret;
    int64_t number;
    int code = wire_expect_object (object, err);
    if (code == 0 && strict)
        code = wire_expect_keys (object, known_keys, err);
    for (int i = 0; code == 0 && i < NAMES; i++)
        if (wire_has (object, names[i].key))
            code = read_name (object, names[i].key, (char *)&request + names[i].offset, err);
    if (code == 0 && wire_has (object, "time_limit")) {
        code = read_amount (object, "time_limit", WIRE_SLURM_MINUTES, parse_minutes,
                            "expected minutes, or a time such as \"12:00:00\" or \"2-00\"", &number,
                            err);
        request.time_limit_min = code == 0 ? (int)number : 0;
    }
    if (code == 0 && wire_has (object, "memory_per_replica"))
        code = read_amount (object, "memory_per_replica", WIRE_SLURM_MEMORY_MB, wire_slurm_memory,
                            "expected MiB, or a size such as \"16G\"", &request.memory_mb, err);
    if (code == 0 && wire_has (object, "cpus_per_replica")) {
        code = wire_int64 (object, "cpus_per_replica", 1, WIRE_SLURM_CPUS, &number, err);
        request.cpus = code == 0 ? (int)number : 0;
    }
    if (code == 0)
        *ret = request;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static bool in_range (int64_t value, int64_t most)
{
    return value >= 0 && value <= most;
}

int wire_slurm_put (json_t *object, const char *key, const struct slurm_request *request,
                    struct pollux_error *err)
{
    int code = 0;
    json_t *inner = json_object ();
    if (!inner)
        return fail (err, -ENOMEM, "%s: not enough memory", key);
    if (!in_range (request->time_limit_min, WIRE_SLURM_MINUTES) ||
        !in_range (request->cpus, WIRE_SLURM_CPUS) ||
        !in_range (request->memory_mb, WIRE_SLURM_MEMORY_MB))
        code = fail (err, -EINVAL, "%s: a number is out of its range", key);
    for (int i = 0; code == 0 && i < NAMES; i++) {
        const char *text = (const char *)request + names[i].offset;
        if (*text && wire_wrong_slurm_name (text))
            code =
                fail (err, -EINVAL, "%s: %s: %s", key, names[i].key, wire_wrong_slurm_name (text));
        else if (*text)
            code = wire_put (inner, names[i].key, json_string (text), err);
    }
    if (code == 0 && request->time_limit_min > 0)
        code = wire_put (inner, "time_limit", json_integer (request->time_limit_min), err);
    if (code == 0 && request->cpus > 0)
        code = wire_put (inner, "cpus_per_replica", json_integer (request->cpus), err);
    if (code == 0 && request->memory_mb > 0)
        code = wire_put (inner, "memory_per_replica", json_integer (request->memory_mb), err);
    if (code == 0 && json_object_size (inner) > 0)
        return wire_put (object, key, inner, err);
    json_decref (inner);
    return code;
}

struct slurm_request wire_slurm_merge (const struct slurm_request *lower,
                                       const struct slurm_request *upper)
{
    struct slurm_request both = *lower;
    for (int i = 0; i < NAMES; i++) {
        const char *text = (const char *)upper + names[i].offset;
        if (*text)
            memcpy ((char *)&both + names[i].offset, text, NAME_SIZE);
    }
    if (upper->time_limit_min > 0)
        both.time_limit_min = upper->time_limit_min;
    if (upper->cpus > 0)
        both.cpus = upper->cpus;
    if (upper->memory_mb > 0)
        both.memory_mb = upper->memory_mb;
    return both;
}
