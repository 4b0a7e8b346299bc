/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of `pollux submit` as fields of a job file.  The reader of job files checks the values.
 * This file only converts words: numbers, lists, environment variables, relative directories.
 */
#include "cli/submit_job.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "wire/json.h"
#include "wire/spec.h"

/* A day, in seconds: the upper limit of durations. */
#define DURATION_LIMIT 86400.0

static int put (json_t *job, const char *key, json_t *value, struct pollux_error *err)
{
    if (json_object_set_new (job, key, value) < 0)
        return fail (err, -ENOMEM, "not enough memory for the job");
    return 0;
}

static int put_text (json_t *job, const char *key, const char *text, struct pollux_error *err)
{
    json_t *value = json_string (text);
    if (!value)
        return fail (err, -EINVAL, "%s: expected UTF-8, got %s", key, quote (text).text);
    return put (job, key, value, err);
}

static int put_int (json_t *job, const char *key, const struct options *options, int64_t min,
                    int64_t max, struct pollux_error *err)
{
    int64_t value;
    int rc = options_int64 (options, min, max, &value, err);
    return rc < 0 ? rc : put (job, key, json_integer (value), err);
}

static int put_double (json_t *job, const char *key, const struct options *options, double min,
                       double max, struct pollux_error *err)
{
    double value;
    int rc = options_double (options, min, max, &value, err);
    return rc < 0 ? rc : put (job, key, json_real (value), err);
}

/* "1,2,6" */
static int put_counts (json_t *job, const struct options *options, struct pollux_error *err)
{
    json_t *counts = json_array ();
    const char *at = options->argument;
    for (;;) {
        char word[16];
        size_t length = strcspn (at, ",");
        int64_t count;
        snprintf (word, sizeof (word), "%.*s", (int)(length < 15 ? length : 15), at);
        if (number_int64 (word, &count) < 0 || length > 15) {
            json_decref (counts);
            return fail (err, -EINVAL,
                         "--allowed: expected any, pow2, multiple_of:N or counts with commas "
                         "between them, got %s",
                         quote (options->argument).text);
        }
        json_array_append_new (counts, json_integer (count));
        at += length;
        if (!*at++)
            return put (job, "allowed", counts, err);
    }
}

static int put_allowed (json_t *job, const struct options *options, struct pollux_error *err)
{
    static const char multiple[] = "multiple_of:";
    const char *text = options->argument;
    int64_t count;
    if (strcmp (text, "any") == 0 || strcmp (text, "pow2") == 0)
        return put_text (job, "allowed", text, err);
    if (strncmp (text, multiple, strlen (multiple)) == 0 &&
        number_int64 (text + strlen (multiple), &count) == 0)
        return put (job, "allowed", json_pack ("{s:I}", "multiple_of", (json_int_t)count), err);
    return put_counts (job, options, err);
}

/* Call `add` for every word of a list with commas, until it fails. */
static int each_word (const char *text, json_t *ret,
                      int (*add) (json_t *ret, const char *word, struct pollux_error *err),
                      struct pollux_error *err)
{
    char *copy = strdup (text), *rest = copy;
    int rc = copy ? 0 : fail (err, -ENOMEM, "not enough memory for the job");
    while (rc == 0 && rest)
        rc = add (ret, strsep (&rest, ","), err);
    free (copy);
    return rc;
}

static int add_type (json_t *list, const char *word, struct pollux_error *err)
{
    return json_array_append_new (list, json_string (word)) < 0
               ? fail (err, -EINVAL, "types: expected UTF-8, got %s", quote (word).text)
               : 0;
}

static int add_speed (json_t *map, const char *word, struct pollux_error *err)
{
    char type[256];
    size_t length = strcspn (word, "=");
    double speed;
    snprintf (type, sizeof (type), "%.*s", (int)(length < 255 ? length : 255), word);
    if (!word[length] || number_double (word + length + 1, &speed) < 0)
        return fail (err, -EINVAL, "--speeds: expected TYPE=NUMBER, such as a100=4.5, got %s",
                     quote (word).text);
    if (json_object_get (map, type))
        return fail (err, -EINVAL, "--speeds: type %s twice", quote (type).text);
    return put (map, type, json_real (speed), err);
}

/* "a100,h100": types, or all except these; as in a job file, the types "any" are all. */
static int put_types (json_t *job, const char *text, bool except, struct pollux_error *err)
{
    if (json_object_get (job, "types"))
        return fail (err, -EINVAL, "--types and --not-types exclude each other");
    if (!except && strcmp (text, "any") == 0)
        return put (job, "types", json_string (text), err);
    json_t *list = json_array ();
    int rc = each_word (text, list, add_type, err);
    if (rc == 0)
        return put (job, "types", except ? json_pack ("{s:o}", "except", list) : list, err);
    json_decref (list);
    return rc;
}

/* "t4=1,a100=4.5" */
static int put_speeds (json_t *job, const char *text, struct pollux_error *err)
{
    json_t *map = json_object ();
    int rc = each_word (text, map, add_speed, err);
    if (rc == 0)
        return put (job, "speeds", map, err);
    json_decref (map);
    return rc;
}

/* NAME=VALUE, or NAME with the value of this environment. */
static int put_variable (json_t *job, const char *text, struct pollux_error *err)
{
    json_t *environment = json_object_get (job, "environment");
    size_t length = strcspn (text, "=");
    char *name = strndup (text, length);
    const char *value = text[length] ? text + length + 1 : name ? getenv (name) : NULL;
    int rc = 0;
    if (!environment && name)
        rc = put (job, "environment", environment = json_object (), err);
    if (!name)
        rc = fail (err, -ENOMEM, "not enough memory for the job");
    else if (rc == 0 && length == 0)
        rc = fail (err, -EINVAL, "--env: expected NAME=VALUE or NAME, got %s", quote (text).text);
    else if (rc == 0 && !value)
        rc = fail (err, -EINVAL, "--env: %s is not set here; give --env %s=VALUE",
                   quote (text).text, excerpt (name, length).text);
    if (rc == 0 && json_object_set_new (environment, name, json_string (value)) < 0)
        rc = fail (err, -EINVAL, "--env: the value of %s is not UTF-8", quote (name).text);
    free (name);
    return rc;
}

/* A signal by name or by number. */
static int put_signal (json_t *job, const char *text, struct pollux_error *err)
{
    int64_t number;
    if (number_int64 (text, &number) == 0)
        return put (job, "stop_signal", json_integer (number), err);
    return put_text (job, "stop_signal", text, err);
}

int submit_job_take (json_t *job, const struct options *options, int id, struct pollux_error *err)
{
    const int limit = POLLUX_REPLICAS_LIMIT;
    int rc;
    switch (id) {
    case SUBMIT_NAME:
        return put_text (job, "name", options->argument, err);
    case SUBMIT_REPLICAS:
        rc = put_int (job, "min_replicas", options, 1, limit, err);
        if (rc == 0)
            rc = put_int (job, "max_replicas", options, 1, limit, err);
        return rc < 0 ? rc : put_int (job, "fixed_replicas", options, 1, limit, err);
    case SUBMIT_MIN:
        return put_int (job, "min_replicas", options, 0, limit, err);
    case SUBMIT_MAX:
        return put_int (job, "max_replicas", options, 1, limit, err);
    case SUBMIT_ALLOWED:
        return put_allowed (job, options, err);
    case SUBMIT_TYPES:
    case SUBMIT_NOT_TYPES:
        return put_types (job, options->argument, id == SUBMIT_NOT_TYPES, err);
    case SUBMIT_SPEEDS:
        return put_speeds (job, options->argument, err);
    case SUBMIT_APPLICATION:
        return put_text (job, "application", options->argument, err);
    case SUBMIT_IGNORE_EXPERIENCE:
        return put (job, "ignore_experience", json_true (), err);
    case SUBMIT_WEIGHT:
        return put_double (job, "weight", options, WIRE_WEIGHT_LEAST, WIRE_WEIGHT_LIMIT, err);
    case SUBMIT_PREEMPTIBLE:
    case SUBMIT_NO_PREEMPTIBLE:
        return put (job, "preemptible", json_boolean (id == SUBMIT_PREEMPTIBLE), err);
    case SUBMIT_ADAPTIVE:
    case SUBMIT_NO_ADAPTIVE:
        return put (job, "adaptive", json_boolean (id == SUBMIT_ADAPTIVE), err);
    case SUBMIT_FIXED_BATCH:
        return put_int (job, "fixed_batch", options, 1, POLLUX_BATCH_LIMIT, err);
    case SUBMIT_LAUNCHER:
        return put_text (job, "launcher", options->argument, err);
    case SUBMIT_DIRECTORY:
        return put_text (job, "directory", options->argument, err);
    case SUBMIT_CHECKPOINT_DIR:
        return put_text (job, "checkpoint_dir", options->argument, err);
    case SUBMIT_ENV:
        return put_variable (job, options->argument, err);
    case SUBMIT_STOP_SIGNAL:
        return put_signal (job, options->argument, err);
    case SUBMIT_GRACE:
        return put_double (job, "grace", options, 0, DURATION_LIMIT, err);
    case SUBMIT_MAX_FAILURES:
        return put_int (job, "max_failures", options, 0, INT32_MAX, err);
    default:
        return put_double (job, "backoff", options, 0, DURATION_LIMIT, err);
    }
}

int submit_job_command (json_t *job, char **words, int count, struct pollux_error *err)
{
    json_t *command = json_array ();
    for (int i = 0; i < count; i++) {
        json_t *word = json_string (words[i]);
        if (!word) {
            json_decref (command);
            return fail (err, -EINVAL, "command: expected UTF-8, got %s", quote (words[i]).text);
        }
        json_array_append_new (command, word);
    }
    return put (job, "command", command, err);
}

int submit_path_absolute (const char *what, const char *path, char ret[SUBMIT_PATH_SIZE],
                          struct pollux_error *err)
{
    char here[PATH_MAX] = "";
    if (strlen (path) >= PATH_MAX)
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", what);
    if (*path == '/') {
        strcpy (ret, path);
        return 0;
    }
    if (!getcwd (here, sizeof (here)))
        return fail (err, -errno, "cannot determine the current directory: %s", strerror (errno));
    while (strncmp (path, "./", 2) == 0)
        path += 1 + strspn (path + 1, "/");
    snprintf (ret, SUBMIT_PATH_SIZE, "%s/%s", strcmp (here, "/") ? here : "",
              strcmp (path, ".") ? path : "");
    return 0;
}

static int make_absolute (json_t *job, const char *key, struct pollux_error *err)
{
    const char *path = json_string_value (json_object_get (job, key));
    char absolute[SUBMIT_PATH_SIZE];
    if (!path || !*path || *path == '/')
        return 0;
    int rc = submit_path_absolute (key, path, absolute, err);
    return rc < 0 ? rc : put_text (job, key, absolute, err);
}

int submit_job_place (json_t *job, struct pollux_error *err)
{
    int rc = make_absolute (job, "directory", err);
    return rc < 0 ? rc : make_absolute (job, "checkpoint_dir", err);
}
