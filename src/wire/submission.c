/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode job files.  A file and the options of a command line are two layers of the same
 * fields:
 *
 *     options   max_replicas: 8                       a field is taken from the highest layer
 *     file      max_replicas: 4   command: ...        that has it
 *
 * Reading continues after an error, so that all errors are reported.  A field that is refused keeps
 * its default, so that the rules between fields can still be checked.
 */
#include "wire/submission.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/keys.h"
#include "wire/launch.h"
#include "wire/run.h"
#include "wire/slurm.h"
#include "wire/spec.h"
#include "wire/strings.h"

static const char *const known_keys[] = {
    "name",         "command",      "directory",      "environment",       "min_replicas",
    "max_replicas", "allowed",      "weight",         "preemptible",       "adaptive",
    "fixed_batch",  "launcher",     "fixed_replicas", "checkpoint_dir",    "stop_signal",
    "grace",        "max_failures", "backoff",        "restart_delay",     "slurm",
    "types",        "speeds",       "application",    "ignore_experience", NULL,
};

enum { LAYERS = 2 };

/* The layers, the result so far, and the worst code so far. */
struct reader {
    struct wire_place layers[LAYERS]; /* lowest first */
    int count, code;
    struct wire_submission ret;
    struct pollux_error *err;
};

void wire_submission_clear (struct wire_submission *submission)
{
    launch_free (submission->launch);
    *submission = (struct wire_submission){0};
}

static void note (struct reader *reader, int code)
{
    reader->code = wire_worse (reader->code, code);
}

/* The highest layer that has a field; the lowest one if none has it. */
static const struct wire_place *layer_of (const struct reader *reader, const char *key)
{
    int at = reader->count - 1;
    while (at > 0 && !wire_has (&reader->layers[at], key))
        at--;
    return &reader->layers[at];
}

static bool is_given (const struct reader *reader, const char *key)
{
    return wire_has (layer_of (reader, key), key);
}

/* ---- The program -------------------------------------------------------------------------- */

/* A text is a command line for the shell. */
static int shell_command (const struct wire_place *place, char ***ret, struct pollux_error *err)
{
    const char *text = json_string_value (place->value), *what = wire_wrong_word (text);
    if (!text[strspn (text, " \t\r\n")])
        what = "expected a command";
    if (what)
        return wire_fail (place, err, "%s", what);
    const char *const words[] = {"/bin/sh", "-c", text};
    char **command = calloc (4, sizeof (command[0]));
    *ret = command;
    for (int i = 0; command && i < 3; i++)
        if (!(command[i] = strdup (words[i])))
            command = NULL;
    return command ? 0 : fail (err, -ENOMEM, "command: not enough memory");
}

static int read_command (const struct reader *reader, char ***ret)
{
    const struct wire_place *layer = layer_of (reader, "command");
    struct wire_place place = wire_field (layer, "command");
    if (json_is_string (place.value))
        return shell_command (&place, ret, reader->err);
    if (!json_is_array (place.value))
        return wire_fail (&place, reader->err, "expected a text for the shell or a list of words");
    int code = wire_strings_decode (layer, "command", 1, wire_wrong_word, ret, reader->err);
    if (code == 0 && !(*ret)[0][0])
        code = wire_fail (&place, reader->err, "expected a program as the first word");
    return code;
}

/* Environment variables that the scheduler sets for a replica. */
static bool is_reserved (const char *name)
{
    static const char *const names[] = {
        "RANK",        "WORLD_SIZE",  "LOCAL_RANK",          "LOCAL_WORLD_SIZE",
        "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES"};
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        if (strcmp (name, names[i]) == 0)
            return true;
    return strncmp (name, "POLLUX_", 7) == 0;
}

static void check_reserved (struct reader *reader, const struct wire_place *layer)
{
    struct wire_place map = wire_field (layer, "environment"), place;
    int code = 0;
    for (void *at = NULL; !wire_stops (&map, code) && wire_each (&map, &at, &place);) {
        if (!is_reserved (place.key))
            continue;
        code = wire_fail_key (&place, reader->err,
                              "expected another name: the scheduler sets this one");
        note (reader, code);
    }
}

/* The element of a list with this variable; the end of the list if there is none. */
static char **find_variable (char **list, const char *variable)
{
    size_t length = strcspn (variable, "=") + 1;
    while (*list && strncmp (*list, variable, length) != 0)
        list++;
    return list;
}

/* Move the variables of `upper` into *list, where they replace those of the same name.  The search
 * is linear: only a command line is a second layer, and it is short. */
static int merge (char ***list, char **upper, struct pollux_error *err)
{
    size_t count = 0, more = 0;
    while ((*list)[count])
        count++;
    while (upper[more])
        more++;
    char **bigger = realloc (*list, (count + more + 1) * sizeof (bigger[0]));
    if (!bigger)
        return fail (err, -ENOMEM, "environment: not enough memory");
    memset (bigger + count, 0, (more + 1) * sizeof (bigger[0]));
    for (size_t i = 0; i < more; i++) {
        char **at = find_variable (bigger, upper[i]);
        free (*at);
        *at = upper[i];
        upper[i] = NULL;
    }
    *list = bigger;
    return 0;
}

static void read_environment (struct reader *reader, char ***ret)
{
    for (int i = 0; i < reader->count; i++) {
        const struct wire_place *layer = &reader->layers[i];
        char **list = NULL;
        note (reader, wire_environment_decode (layer, "environment", &list, reader->err));
        check_reserved (reader, layer);
        if (!*ret) {
            *ret = list;
            continue;
        }
        if (list)
            note (reader, merge (ret, list, reader->err));
        wire_strings_free (list);
    }
}

static void read_launch (struct reader *reader)
{
    struct launch *launch = reader->ret.launch;
    struct pollux_error *err = reader->err;
    for (int i = 0; i < reader->count; i++)
        note (reader, wire_members_override (wire_launch_members, &reader->layers[i], launch, err));
    note (reader, read_command (reader, &launch->command));
    read_environment (reader, &launch->environment);
    note (reader, wire_string_decode (layer_of (reader, "directory"), "directory", NULL,
                                      wire_wrong_path, &launch->directory, err));
    note (reader, wire_string_decode (layer_of (reader, "checkpoint_dir"), "checkpoint_dir", NULL,
                                      wire_wrong_path, &launch->checkpoint_dir, err));
    for (int i = 0; i < reader->count; i++) {
        struct wire_place slurm = wire_field (&reader->layers[i], "slurm");
        if (wire_has (&reader->layers[i], "slurm"))
            note (reader, wire_slurm_decode (&slurm, true, &launch->slurm, err));
    }
    if (is_given (reader, "stop_signal"))
        note (reader, wire_signal_decode (layer_of (reader, "stop_signal"), "stop_signal",
                                          &launch->stop_signal, err));
}

/* ---- The job ------------------------------------------------------------------------------ */

static void read_name (struct reader *reader)
{
    if (!is_given (reader, "name"))
        return;
    struct wire_place place = wire_field (layer_of (reader, "name"), "name");
    const char *name = json_string_value (place.value);
    if (name && wire_is_job (name))
        memcpy (reader->ret.spec.name, name, strlen (name));
    else
        note (reader, wire_fail (&place, reader->err,
                                 "expected a name of 1 to %d letters, digits, '.', '_' or '-' that "
                                 "does not start with '.' or '-'",
                                 NAME_SIZE - 1));
}

#define wrong(reader, key, ...)                                                                    \
    do {                                                                                           \
        struct wire_place place_ = wire_field (layer_of (reader, key), key);                       \
        note (reader, wire_fail (&place_, (reader)->err, __VA_ARGS__));                            \
    } while (0)

static void check_application (struct reader *reader)
{
    const char *application = reader->ret.spec.application;
    if (application[0] && !wire_is_job (application))
        wrong (reader, "application",
               "expected a name of 1 to %d letters, digits, '.', '_' or '-' that does not start "
               "with '.' or '-'",
               NAME_SIZE - 1);
}

static int larger (int a, int b)
{
    return a > b ? a : b;
}

/* Defaults that depend on other fields. */
static void complete (struct reader *reader)
{
    struct job_spec *spec = &reader->ret.spec;
    bool max_given = is_given (reader, "max_replicas");
    if (!max_given && !spec->adaptive)
        spec->max_replicas = larger (1, larger (spec->min_replicas, spec->fixed_replicas));
    if (!is_given (reader, "preemptible"))
        spec->preemptible = spec->adaptive || (max_given && spec->max_replicas > 1);
}

/* Rules between fields. */
static void check (struct reader *reader)
{
    const struct job_spec *spec = &reader->ret.spec;
    const struct job job = {.spec = *spec};
    if (spec->max_replicas < spec->min_replicas)
        wrong (reader, "max_replicas", "expected at least min_replicas (%d)", spec->min_replicas);
    else if (job_next_replicas (&job, 0) == 0)
        wrong (reader, "allowed", "expected a count from %d (min_replicas) to %d (max_replicas)",
               larger (1, spec->min_replicas), spec->max_replicas);
    else if (!job_allows (&job, spec->fixed_replicas))
        wrong (reader, "fixed_replicas",
               "expected a count that min_replicas, max_replicas and allowed admit");
    if (spec->adaptive && spec->fixed_batch)
        wrong (reader, "fixed_batch", "expected none beside adaptive: true");
}

static void read_spec (struct reader *reader)
{
    struct job_spec *spec = &reader->ret.spec;
    read_name (reader);
    for (int i = 0; i < reader->count; i++)
        note (reader,
              wire_members_override (wire_spec_members, &reader->layers[i], spec, reader->err));
    check_application (reader);
    struct wire_place allowed = wire_field (layer_of (reader, "allowed"), "allowed");
    if (is_given (reader, "allowed"))
        note (reader, wire_allowed_decode (&allowed, &spec->allowed, reader->err));
    struct wire_place types = wire_field (layer_of (reader, "types"), "types"),
                      speeds = wire_field (layer_of (reader, "speeds"), "speeds");
    if (is_given (reader, "types"))
        note (reader, wire_types_decode (&types, &spec->types, reader->err));
    if (is_given (reader, "speeds"))
        note (reader, wire_speeds_decode (&speeds, &spec->speeds, reader->err));
    complete (reader);
    check (reader);
}

/* ---- The whole ---------------------------------------------------------------------------- */

static void defaults (struct wire_submission *ret)
{
    ret->spec = (struct job_spec){
        .max_replicas = POLLUX_REPLICAS_LIMIT, .weight = 1, .restart_delay_s = NAN};
    *ret->launch = (struct launch){.stop_signal = SIGTERM,
                                   .grace_s = RUN_GRACE_DEFAULT,
                                   .max_failures = WIRE_FAILURES_DEFAULT,
                                   .backoff_s = WIRE_BACKOFF_DEFAULT};
}

static int read_layers (struct wire_document *const *documents, int count,
                        struct wire_submission *ret, struct pollux_error *err)
{
    struct reader reader = {.err = err, .count = count};
    reader.ret.launch = calloc (1, sizeof (*reader.ret.launch));
    if (!reader.ret.launch)
        return fail (err, -ENOMEM, "not enough memory");
    defaults (&reader.ret);
    for (int i = 0; i < count; i++) {
        reader.layers[i] = wire_root (documents[i]);
        note (&reader, wire_expect_object (&reader.layers[i], err));
    }
    if (reader.code == 0) {
        for (int i = 0; i < count; i++)
            note (&reader, wire_expect_keys (&reader.layers[i], known_keys, err));
        read_spec (&reader);
        read_launch (&reader);
    }
    if (reader.code < 0)
        wire_submission_clear (&reader.ret);
    else
        *ret = reader.ret;
    return reader.code;
}

/* The options as a document with diagnostics of its own. */
static int open_options (const json_t *options, struct wire_diagnostics *diagnostics,
                         struct wire_document **ret, struct pollux_error *err)
{
    char *text = options ? json_dumps (options, JSON_COMPACT) : strdup ("{}");
    if (!text)
        return fail (err, -ENOMEM, "options: not enough memory");
    int code = wire_document_open_text ("options", text, strlen (text), WIRE_SUBMISSION_LIMIT,
                                        WIRE_JSON, diagnostics, ret, err);
    free (text);
    return code;
}

int wire_submission_read (const char *path, const json_t *options,
                          struct wire_diagnostics *diagnostics, struct wire_submission *ret,
                          struct pollux_error *err)
{
    struct wire_document *documents[LAYERS] = {NULL};
    struct wire_diagnostics of_options = {0}, own = {0};
    int count = 0, code = 0;
    diagnostics = diagnostics ? diagnostics : &own;
    if (path)
        code = wire_document_open (path, WIRE_SUBMISSION_LIMIT, wire_syntax_of_path (path),
                                   diagnostics, &documents[count++], err);
    if (code == 0 && (options || !path))
        code = open_options (options, &of_options, &documents[count++], err);
    if (code == 0)
        code = read_layers (documents, count, ret, err);
    for (int i = 0; i < LAYERS; i++)
        wire_document_free (documents[i]);
    for (int i = 0; i < of_options.count; i++) {
        struct wire_diagnostic diagnostic = of_options.items[i];
        diagnostic.line = diagnostic.column = 0;
        wire_diagnostics_add (diagnostics, &diagnostic);
    }
    return wire_diagnostics_conclude (diagnostics, code, path ? path : "options", err);
}

int wire_submission_parse (const char *name, const char *text, size_t length,
                           enum wire_syntax syntax, struct wire_diagnostics *diagnostics,
                           struct wire_submission *ret, struct pollux_error *err)
{
    struct wire_document *document;
    struct wire_diagnostics own = {0};
    diagnostics = diagnostics ? diagnostics : &own;
    int code = wire_document_open_text (name, text, length, WIRE_SUBMISSION_LIMIT, syntax,
                                        diagnostics, &document, err);
    if (code == 0) {
        code = read_layers (&document, 1, ret, err);
        wire_document_free (document);
    }
    return wire_diagnostics_conclude (diagnostics, code, name, err);
}

json_t *wire_submission_encode (const struct wire_submission *submission, struct pollux_error *err)
{
    const struct job_spec *spec = &submission->spec;
    struct launch launch = *submission->launch;
    memset (launch.owner, 0, sizeof (launch.owner));
    json_t *object = json_object ();
    int code = object ? 0 : fail (err, -ENOMEM, "not enough memory");
    if (code == 0 && spec->name[0])
        code = wire_put (object, "name", json_string (spec->name), err);
    if (code == 0)
        code = wire_spec_put (spec, object, err);
    if (code == 0)
        code = wire_launch_put (&launch, object, err);
    if (code == 0)
        return object;
    json_decref (object);
    return NULL;
}

bool wire_is_job (const char *name)
{
    static const char legal[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t length = strnlen (name, NAME_SIZE);
    return length > 0 && length < NAME_SIZE && *name != '.' && *name != '-' &&
           strspn (name, legal) == length;
}
