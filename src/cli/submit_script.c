/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Python script as a job: `pollux submit train.py`.  The script is expected to have an agent, so
 * the job is adaptive, with launcher env.  Its Python is the first python3 of this shell's PATH, for
 * example of a virtual environment, which the daemon does not know.
 */
#include "cli/submit_script.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "cli/submit_job.h"

static bool has_python_line (const char *path)
{
    char line[256] = "";
    struct stat status;
    /* Regular files only: opening a pipe may block for ever. */
    FILE *file = stat (path, &status) == 0 && S_ISREG (status.st_mode) ? fopen (path, "r") : NULL;
    if (!file)
        return false;
    bool python = fgets (line, sizeof (line), file) && strncmp (line, "#!", 2) == 0 &&
                  strstr (line, "python");
    fclose (file);
    return python;
}

bool submit_script_is (const char *word)
{
    size_t length = strlen (word);
    return (length > 3 && strcmp (word + length - 3, ".py") == 0) || has_python_line (word);
}

/* The first python3 of PATH.  Links are not resolved, because a virtual environment's python3 is
 * one.  Relative folders are skipped: the daemon has another current directory. */
static int find_python (char ret[PATH_MAX], struct pollux_error *err)
{
    const char *path = getenv ("PATH");
    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        struct stat status;
        size_t length = strcspn (at, ":");
        int whole = snprintf (ret, PATH_MAX, "%.*s/python3", (int)length, at);
        if (*at == '/' && whole < PATH_MAX && access (ret, X_OK) == 0 && stat (ret, &status) == 0 &&
            S_ISREG (status.st_mode))
            return 0;
        at += length;
    }
    return fail (err, -ENOENT,
                 "no python3 on PATH here; name one: pollux submit --adaptive -- "
                 "/PATH/TO/python3 SCRIPT");
}

static int put_default (json_t *job, const char *key, json_t *value, struct pollux_error *err)
{
    if (!value || json_object_set_new (job, key, value) < 0)
        return fail (err, -ENOMEM, "not enough memory for the job");
    return 0;
}

/* Pass PYTHONPATH on, so that imports work as here. */
static int pass_on_modules (json_t *job, struct pollux_error *err)
{
    const char *path = getenv ("PYTHONPATH");
    json_t *environment = json_object_get (job, "environment");
    json_t *value =
        path && !json_object_get (environment, "PYTHONPATH") ? json_string (path) : NULL;
    if (!value)
        return 0;
    if (!environment) {
        environment = json_object ();
        int rc = put_default (job, "environment", environment, err);
        if (rc < 0) {
            json_decref (value);
            return rc;
        }
    }
    return put_default (environment, "PYTHONPATH", value, err);
}

int submit_script_take (json_t *job, const char *script, char **arguments, int count,
                        struct pollux_error *err)
{
    char python[PATH_MAX], path[SUBMIT_PATH_SIZE];
    struct stat status;
    if (stat (script, &status) < 0 || !S_ISREG (status.st_mode))
        return fail (err, -ENOENT, "%s: no such file", file_name (script).text);
    int rc = find_python (python, err);
    if (rc == 0)
        rc = submit_path_absolute ("script", script, path, err);
    char **words = rc == 0 ? calloc ((size_t)count + 2, sizeof (words[0])) : NULL;
    if (rc == 0 && !words)
        rc = fail (err, -ENOMEM, "not enough memory for the job");
    if (rc == 0) {
        words[0] = python;
        words[1] = path;
        for (int i = 0; i < count; i++)
            words[2 + i] = arguments[i];
        rc = submit_job_command (job, words, count + 2, err);
    }
    free (words);
    if (rc == 0 && !json_object_get (job, "adaptive") && !json_object_get (job, "fixed_batch"))
        rc = put_default (job, "adaptive", json_true (), err);
    if (rc == 0 && !json_object_get (job, "launcher"))
        rc = put_default (job, "launcher", json_string ("env"), err);
    return rc == 0 ? pass_on_modules (job, err) : rc;
}

void submit_script_hint (const struct options *options, struct pollux_error *err)
{
    for (int i = 1; i < options->argc && strcmp (options->argv[i], "--") != 0; i++) {
        const char *word = options->argv[i];
        size_t used = strlen (err->text);
        if (*word == '-' || !submit_script_is (word))
            continue;
        snprintf (err->text + used, sizeof (err->text) - used, "; put options of %s after '--'",
                  quote (word).text);
        return;
    }
}
