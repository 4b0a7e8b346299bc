/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a run: command, environment and limits.  People write them by hand, too, so
 * every refusal names the place.  Text that execve(2) or a URL cannot contain is refused here.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/member.h"
#include "wire/run.h"
#include "wire/run_fields.h"
#include "wire/strings.h"

static const struct wire_member description_members[] = {
    {WIRE_FIELD ("grace", run_description, grace_s, WIRE_DOUBLE), .optional = true,
     .missing = RUN_GRACE_DEFAULT, .min = 0, .max = RUN_GRACE_LIMIT},
    {WIRE_MEMBER (run_description, log_size, WIRE_INT64), .optional = true,
     .missing = RUN_LOG_SIZE_DEFAULT, .min = RUN_LOG_SIZE_LEAST, .max = RUN_LOG_SIZE_LIMIT},
    {WIRE_MEMBER (run_description, log_files, WIRE_INT), .optional = true,
     .missing = RUN_LOG_FILES_DEFAULT, .min = 0, .max = RUN_LOG_FILES_LIMIT},
    {0},
};

void run_description_free (struct run_description *description)
{
    if (!description)
        return;
    wire_strings_free (description->command);
    wire_strings_free (description->environment);
    free (description->directory);
    free (description->url);
    free (description->token);
    free (description->cgroup);
    free (description);
}

/* ---- Rules for decoding and encoding: NULL, or what was expected --------------------------- */

static const char *wrong_variable (const char *text)
{
    const char *equals = strchr (text, '=');
    if (!equals || equals == text)
        return "expected NAME=value";
    if (strncmp (text, "POLLUX_RUN=", 11) == 0 || strncmp (text, "POLLUX_SOCKET=", 14) == 0)
        return "expected a variable that the supervisor does not set itself";
    return NULL;
}

/* Only addresses of this machine: a token must not leave it. */
static const char *wrong_url (const char *text)
{
    static const char *const starts[] = {"http://127.",
                                         "http://[::1]:", "http://localhost:", "unix:/"};
    if (strlen (text) >= 108 || text[strcspn (text, " \t\r\n\"")])
        return "expected a URL of at most 107 characters without blanks";
    for (size_t i = 0; i < sizeof (starts) / sizeof (starts[0]); i++)
        if (strncmp (text, starts[i], strlen (starts[i])) == 0)
            return NULL;
    return "expected http://127.0.0.1:PORT, http://[::1]:PORT or unix:/PATH: hints stay on this "
           "machine";
}

static const char *wrong_token (const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at <= ' ' || *at > '~')
            return "expected a token of printable ASCII characters";
    return strlen (text) > 1024 ? "expected a token of at most 1024 characters" : NULL;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int decode (const struct wire_place *root, struct run_description *ret,
                   struct pollux_error *err)
{
    int code = run_version_decode (root, err);
    if (code == 0)
        code = wire_members_decode (description_members, root, ret, err);
    ret->stop_signal = SIGTERM;
    if (code == 0 && wire_has (root, "stop_signal"))
        code = wire_signal_decode (root, "stop_signal", &ret->stop_signal, err);
    if (code == 0)
        code = wire_strings_decode (root, "command", 1, wire_wrong_word, &ret->command, err);
    if (code == 0)
        code = wire_strings_decode (root, "environment", 0, wrong_variable, &ret->environment, err);
    if (code == 0)
        code = wire_string_decode (root, "directory", "/", wire_wrong_path, &ret->directory, err);
    if (code == 0)
        code = run_list_decode (root, "slots", INT32_MAX, &ret->slots, err);
    if (code == 0)
        code = run_list_decode (root, "cpus", RUN_CPU_LIMIT, &ret->cpus, err);
    if (code == 0)
        code = wire_string_decode (root, "url", NULL, wrong_url, &ret->url, err);
    if (code == 0)
        code = wire_string_decode (root, "token", NULL, wrong_token, &ret->token, err);
    if (code == 0)
        code = wire_string_decode (root, "cgroup", NULL, wire_wrong_path, &ret->cgroup, err);
    return code;
}

int run_description_decode (const char *name, const char *text, size_t length,
                            struct run_description **ret, struct pollux_error *err)
{
    struct wire_document *document;
    int code = wire_document_parse (name, text, length, RUN_DESCRIPTION_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct run_description *description = calloc (1, sizeof (*description));
    struct wire_place root = wire_root (document);
    code = description ? decode (&root, description, err)
                       : fail (err, -ENOMEM, "%s: not enough memory", name);
    wire_document_free (document);
    if (code < 0)
        run_description_free (description);
    else
        *ret = description;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

int run_description_encode (const struct run_description *description, char **ret,
                            size_t *ret_length, struct pollux_error *err)
{
    json_t *object;
    if (!description->command || !description->command[0])
        return fail (err, -EINVAL, "command: expected one word at least");
    int code = run_object_new (&object, err);
    if (code < 0)
        return code;
    code = wire_strings_put (object, "command", description->command, wire_wrong_word, err);
    if (code == 0)
        code =
            wire_strings_put (object, "environment", description->environment, wrong_variable, err);
    if (code == 0)
        code = wire_string_put (object, "directory", description->directory, wire_wrong_path, err);
    if (code == 0)
        code = run_list_put (object, "slots", &description->slots, err);
    if (code == 0)
        code = run_list_put (object, "cpus", &description->cpus, err);
    if (code == 0)
        code = wire_signal_put (object, "stop_signal", description->stop_signal, err);
    if (code == 0)
        code = wire_members_encode (description_members, description, object, err);
    if (code == 0)
        code = wire_string_put (object, "url", description->url, wrong_url, err);
    if (code == 0)
        code = wire_string_put (object, "token", description->token, wrong_token, err);
    if (code == 0)
        code = wire_string_put (object, "cgroup", description->cgroup, wire_wrong_path, err);
    return run_object_text (object, code, RUN_DESCRIPTION_LIMIT, ret, ret_length, err);
}
