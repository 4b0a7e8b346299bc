/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a run: command, environment and limits.  People write them by hand, too, so
 * every refusal names the place.  Text that execve(2) or a URL cannot contain is refused here.
 */
#include <assert.h>
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

const char *const run_auth_names[] = {"token", "munge"};
static_assert (sizeof (run_auth_names) / sizeof (run_auth_names[0]) == RUN_AUTHS,
               "a name for every way");

static const struct wire_member description_members[] = {
    {WIRE_FIELD ("grace", run_description, grace_s, WIRE_DOUBLE), .optional = true,
     .missing = RUN_GRACE_DEFAULT, .min = 0, .max = RUN_GRACE_LIMIT},
    {WIRE_MEMBER (run_description, log_size, WIRE_INT64), .optional = true,
     .missing = RUN_LOG_SIZE_DEFAULT, .min = RUN_LOG_SIZE_LEAST, .max = RUN_LOG_SIZE_LIMIT},
    {WIRE_MEMBER (run_description, log_files, WIRE_INT), .optional = true,
     .missing = RUN_LOG_FILES_DEFAULT, .min = 0, .max = RUN_LOG_FILES_LIMIT},
    {WIRE_MEMBER (run_description, auth, WIRE_CHOICE), .optional = true, .missing = RUN_AUTH_TOKEN,
     .max = RUN_AUTH_MUNGE, .names = run_auth_names},
    {WIRE_MEMBER (run_description, munge_uid, WIRE_INT64), .optional = true,
     .max = UINT32_MAX - 1.0},
    {WIRE_MEMBER (run_description, news, WIRE_BOOL), .optional = true},
    {0},
};

/* Of the object "master". */
static const struct wire_member master_members[] = {
    {WIRE_FIELD ("first", run_description, master_first, WIRE_BOOL), .optional = true},
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
    free (description->ca);
    free (description->cgroup);
    free (description->master);
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

static bool starts (const char *text, const char *with)
{
    return strncmp (text, with, strlen (with)) == 0;
}

/* True for an address of this machine.  127.0.0.1.example.com is a name of another one. */
static bool is_local_url (const char *text)
{
    static const char four[] = "http://127.";
    if (starts (text, four)) {
        const char *host = text + sizeof (four) - 1;
        return host[strspn (host, "0123456789.")] == ':';
    }
    return starts (text, "unix:/") || starts (text, "http://[::1]:") ||
           starts (text, "http://localhost:");
}

static const char *wrong_url (const char *text)
{
    if (strlen (text) >= 108 || text[strcspn (text, " \t\r\n\"\\@?#")])
        return "expected a URL of at most 107 characters without blanks, quotes, @, ? and #";
    if (starts (text, "unix:/"))
        return NULL;
    /* HOST:PORT, and at most a slash at its end */
    const char *host = starts (text, "https://")  ? text + 8
                       : starts (text, "http://") ? text + 7
                                                  : NULL;
    const char *colon = host ? strrchr (host, ':') : NULL;
    size_t digits = colon ? strspn (colon + 1, "0123456789") : 0;
    if (colon && colon > host && digits >= 1 && digits <= 5 &&
        colon[1 + digits + (colon[1 + digits] == '/')] == '\0')
        return NULL;
    return "expected http://HOST:PORT, https://HOST:PORT or unix:/PATH";
}

/* A token leaves this machine only by TLS. */
static const char *wrong_secrecy (const char *url, const char *token)
{
    if (!url || !token || starts (url, "https://") || is_local_url (url))
        return NULL;
    return "with a token, expected https:// or an address on this machine: a token is not sent "
           "over "
           "the network without TLS";
}

static const char *wrong_token (const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at <= ' ' || *at > '~')
            return "expected a token of printable ASCII characters";
    return strlen (text) > 1024 ? "expected a token of at most 1024 characters" : NULL;
}

/* A file in the generation's directory, where run directories are numbers. */
static const char *wrong_master (const char *text)
{
    size_t length = strlen (text);
    bool legal = length >= 1 && length <= 32 && *text >= 'a' && *text <= 'z' &&
                 text[strspn (text, "abcdefghijklmnopqrstuvwxyz0123456789-_")] == '\0';
    return legal ? NULL : "expected a name of 1 to 32 lower-case letters, digits, '-' and '_'";
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int master_decode (const struct wire_place *root, struct run_description *ret,
                          struct pollux_error *err)
{
    if (!wire_has (root, "master"))
        return 0;
    struct wire_place master = wire_field (root, "master");
    int code = wire_expect_object (&master, err);
    if (code == 0)
        code = wire_members_decode (master_members, &master, ret, err);
    if (code == 0)
        code = wire_string_decode (&master, "file", "master", wrong_master, &ret->master, err);
    return code;
}

static int decode (const struct wire_place *root, void *description, struct pollux_error *err)
{
    struct run_description *ret = description;
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
    if (code == 0 && wrong_secrecy (ret->url, ret->token)) {
        struct wire_place place = wire_field (root, "url");
        code = wire_fail (&place, err, "%s", wrong_secrecy (ret->url, ret->token));
    }
    if (code == 0)
        code = wire_string_decode (root, "ca", NULL, wire_wrong_path, &ret->ca, err);
    if (code == 0)
        code = wire_string_decode (root, "cgroup", NULL, wire_wrong_path, &ret->cgroup, err);
    if (code == 0)
        code = run_list_decode (root, "devices", INT32_MAX, &ret->devices, err);
    if (code == 0)
        code = master_decode (root, ret, err);
    return code;
}

int run_description_decode (const char *name, const char *text, size_t length,
                            struct run_description **ret, struct pollux_error *err)
{
    struct run_description *description = calloc (1, sizeof (*description));
    int code = description ? wire_document_decode (name, text, length, RUN_DESCRIPTION_LIMIT,
                                                   decode, description, err)
                           : fail (err, -ENOMEM, "%s: not enough memory", name);
    if (code < 0)
        run_description_free (description);
    else
        *ret = description;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static int master_put (json_t *object, const struct run_description *description,
                       struct pollux_error *err)
{
    if (!description->master)
        return 0;
    json_t *master = json_object ();
    int code = wire_put (object, "master", master, err);
    if (code == 0)
        code = wire_string_put (master, "file", description->master, wrong_master, err);
    if (code == 0)
        code = wire_members_encode (master_members, description, master, err);
    return code;
}

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
        code =
            run_list_put (object, "slots", description->slots.items, description->slots.count, err);
    if (code == 0)
        code = run_list_put (object, "cpus", description->cpus.items, description->cpus.count, err);
    if (code == 0)
        code = wire_signal_put (object, "stop_signal", description->stop_signal, err);
    if (code == 0)
        code = wire_members_encode (description_members, description, object, err);
    if (code == 0)
        code = wire_string_put (object, "url", description->url, wrong_url, err);
    if (code == 0)
        code = wire_string_put (object, "token", description->token, wrong_token, err);
    if (code == 0 && wrong_secrecy (description->url, description->token))
        code = fail (err, -EINVAL, "url: %s", wrong_secrecy (description->url, description->token));
    if (code == 0)
        code = wire_string_put (object, "ca", description->ca, wire_wrong_path, err);
    if (code == 0)
        code = wire_string_put (object, "cgroup", description->cgroup, wire_wrong_path, err);
    if (code == 0 && description->devices.count > 0)
        code = run_list_put (object, "devices", description->devices.items,
                             description->devices.count, err);
    if (code == 0)
        code = master_put (object, description, err);
    return run_object_text (object, code, RUN_DESCRIPTION_LIMIT, ret, ret_length, err);
}
