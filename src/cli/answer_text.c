/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of the daemon as text.  Other users wrote the strings in them, so the whole answer is
 * disarmed once: control characters are replaced before anything is printed.
 */
#include "cli/answer_text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/table.h"
#include "pollux/pollux.h"

/* ---- Disarming -------------------------------------------------------------------------------- */

/* A copy without control characters, to be freed; NULL: no memory. */
static char *disarmed (const char *text)
{
    char *copy = strdup (text);
    for (char *at = copy; copy && *at; at++)
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    if (copy)
        utf8_disarm (copy);
    return copy;
}

static bool disarm (json_t *value);

static bool disarm_string (json_t *value)
{
    char *text = disarmed (json_string_value (value));
    bool done = text && (strcmp (text, json_string_value (value)) == 0 ||
                         json_string_set (value, text) == 0);
    free (text);
    return done;
}

/* Keys cannot be changed in place: the fields move to a new object, then return. */
static bool disarm_object (json_t *object)
{
    json_t *fields = json_object (), *value;
    const char *key;
    bool done = fields != NULL;
    json_object_foreach (object, key, value)
    {
        char *name = disarmed (key);
        done = done && name && disarm (value) && json_object_set (fields, name, value) == 0;
        free (name);
    }
    done = done && json_object_clear (object) == 0 && json_object_update (object, fields) == 0;
    json_decref (fields);
    return done;
}

/* Recursion is at most 2048 deep, the limit of jansson. */
static bool disarm (json_t *value)
{
    bool done = true;
    if (json_is_string (value))
        return disarm_string (value);
    if (json_is_object (value))
        return disarm_object (value);
    for (size_t i = 0; i < json_array_size (value); i++)
        done = done && disarm (json_array_get (value, i));
    return done;
}

int answer_disarm (json_t *answer, struct pollux_error *err)
{
    return disarm (answer) ? 0 : fail (err, -ENOMEM, "not enough memory for the answer");
}

static int print_json (json_t *answer, size_t flags, FILE *out, struct pollux_error *err)
{
    char *text = answer ? json_dumps (answer, flags | JSON_ENSURE_ASCII) : NULL;
    json_decref (answer);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory for the output");
    /* DEL is the only ASCII control character that JSON does not escape. */
    for (const char *at = text; *at; at++) {
        if (*at == 0x7f)
            fputs ("\\u007f", out);
        else
            fputc (*at, out);
    }
    fputc ('\n', out);
    free (text);
    return 0;
}

int answer_json (json_t *answer, FILE *out, struct pollux_error *err)
{
    return print_json (answer, JSON_INDENT (2), out, err);
}

int answer_json_line (json_t *answer, FILE *out, struct pollux_error *err)
{
    return print_json (answer, JSON_COMPACT, out, err);
}

/* ---- Fields ----------------------------------------------------------------------------------- */

const char *answer_text (const json_t *object, const char *key)
{
    const char *text = json_string_value (json_object_get (object, key));
    return text ? text : "";
}

double answer_number (const json_t *object, const char *key)
{
    const json_t *value = json_object_get (object, key);
    return json_is_number (value) ? json_number_value (value) : NAN;
}

bool answer_true (const json_t *object, const char *key)
{
    return json_is_true (json_object_get (object, key));
}

/* ---- Words ------------------------------------------------------------------------------------ */

static const struct answer_word dash = {"-"};

struct answer_word answer_or_dash (const char *text)
{
    struct answer_word word;
    if (!*text)
        return dash;
    size_t length = strlen (text), keep = length;
    while (keep >= sizeof (word.text))
        keep = utf8_skip (text, length, utf8_count (text, keep) - 1);
    snprintf (word.text, sizeof (word.text), "%.*s", (int)keep, text);
    return word;
}

struct answer_word answer_count (double count)
{
    struct answer_word word;
    snprintf (word.text, sizeof (word.text), "%.0f", count);
    return isfinite (count) ? word : dash;
}

struct answer_word answer_rate (double rate)
{
    struct answer_word word;
    double size = fabs (rate);
    int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    if (size >= 1e7 || (size > 0 && size < 0.001))
        snprintf (word.text, sizeof (word.text), "%.3g", rate);
    else
        snprintf (word.text, sizeof (word.text), "%.*f", decimals, rate);
    return isfinite (rate) ? word : dash;
}

struct answer_word answer_money (double money)
{
    struct answer_word word;
    snprintf (word.text, sizeof (word.text), "%.2f", fabs (money) < 0.005 ? 0.0 : money);
    return isfinite (money) ? word : dash;
}

struct answer_word answer_share (double share)
{
    struct answer_word word;
    double percent = 100 * share;
    snprintf (word.text, sizeof (word.text), "%.1f %%", fabs (percent) < 0.05 ? 0.0 : percent);
    return isfinite (share) ? word : dash;
}

struct answer_word answer_duration (double duration_s)
{
    struct answer_word word;
    double s = fmax (duration_s, 0);
    if (s < 99.5)
        snprintf (word.text, sizeof (word.text), "%.0f s", s);
    else if (s < 99.5 * 60)
        snprintf (word.text, sizeof (word.text), "%.0f min", s / 60);
    else if (s < 47.95 * 3600)
        snprintf (word.text, sizeof (word.text), "%.1f h", s / 3600);
    else
        snprintf (word.text, sizeof (word.text), "%.1f d", s / 86400);
    return isfinite (duration_s) ? word : dash;
}

struct answer_word answer_time (double at)
{
    struct answer_word word;
    struct tm tm;
    if (!(fabs (at) < 1e12))
        return dash;
    time_t seconds = (time_t)floor (at);
    if (!localtime_r (&seconds, &tm))
        return dash;
    strftime (word.text, sizeof (word.text), "%Y-%m-%d %H:%M:%S", &tm);
    return word;
}

struct answer_word answer_limits (const json_t *job)
{
    struct answer_word word;
    double min = answer_number (job, "min_replicas"), max = answer_number (job, "max_replicas");
    if (min == max)
        return answer_count (max);
    if (max >= POLLUX_REPLICAS_LIMIT)
        snprintf (word.text, sizeof (word.text), "%.0f+", min);
    else
        snprintf (word.text, sizeof (word.text), "%.0f-%.0f", min, max);
    return isfinite (min) && isfinite (max) ? word : dash;
}

struct answer_word answer_batch (const json_t *job)
{
    return answer_count (answer_number (json_object_get (job, "batch"), "total"));
}

void answer_cell (struct table *table, const json_t *object, const char *key,
                  struct answer_word (*format) (double))
{
    table_cell (table, "%s", format (answer_number (object, key)).text);
}

struct answer_line answer_placement (const json_t *placement, size_t width)
{
    struct answer_line line = {"-"};
    const char *node;
    json_t *count;
    size_t used = 0, shown = 0;
    json_object_foreach ((json_t *)placement, node, count)
    {
        char part[128]; /* a name has at most 63 bytes */
        snprintf (part, sizeof (part), "%s%.64s:%.0f", used ? " " : "", node,
                  json_number_value (count));
        size_t length = strlen (part), wide = utf8_count (part, length);
        if (used + length + sizeof (" ...") > sizeof (line.text) ||
            (used > 0 && shown + wide + 4 > width)) {
            memcpy (line.text + used, " ...", sizeof (" ..."));
            break;
        }
        memcpy (line.text + used, part, length + 1);
        used += length;
        shown += wide;
    }
    return line;
}

struct answer_line answer_phases (const json_t *phases)
{
    struct answer_line line = {"none"};
    const char *phase;
    json_t *count;
    size_t used = 0;
    json_object_foreach ((json_t *)phases, phase, count)
    {
        if (json_number_value (count) > 0 && used + 64 < sizeof (line.text))
            used += (size_t)snprintf (line.text + used, 64, "%s%.0f %.30s", used ? ", " : "",
                                      json_number_value (count), phase);
    }
    return line;
}
