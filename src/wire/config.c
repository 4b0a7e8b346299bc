/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode and encode the configuration of polluxd.  The struct starts with the defaults; each field
 * of the file replaces one.  Reading continues after an error, so that all errors are reported.
 */
#include "wire/config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "wire/hook.h"
#include "wire/job.h"
#include "wire/keys.h"
#include "wire/member.h"
#include "wire/node.h"
#include "wire/policy_settings.h"
#include "wire/run.h"
#include "wire/strings.h"

const char *const wire_log_levels[] = {"error", "warning", "info", "debug"};
const char *const wire_log_formats[] = {"auto", "plain", "journald", "json"};
const char *const wire_auths[] = {"token", "munge"};
static const char *const slots_names[] = {"auto", "cpu"};

/* max_body: a job file may need 4 KiB; more than 64 MiB does not fit into an event. */
static const struct wire_member config_members[] = {
    {WIRE_MEMBER (wire_config, slots, WIRE_CHOICE), .max = WIRE_SLOTS_CPU, .names = slots_names},
    {WIRE_MEMBER (wire_config, backend, WIRE_NAME)},
    {WIRE_MEMBER (wire_config, policy, WIRE_NAME)},
    {WIRE_FIELD ("interval", wire_config, interval_s, WIRE_DOUBLE), .min = 0.01, .max = 86400},
    {WIRE_FIELD ("restart_delay", wire_config, restart_delay_s, WIRE_DOUBLE), .max = 86400},
    {WIRE_FIELD ("fairness", wire_config, p, WIRE_DOUBLE), .min = -INFINITY, .max = 1},
    {WIRE_MEMBER (wire_config, experience, WIRE_BOOL)},
    {WIRE_FIELD ("hook_timeout", wire_config, hook_timeout_s, WIRE_DOUBLE), .min = 0.1,
     .max = 86400},
    {WIRE_MEMBER (wire_config, tls_self_signed, WIRE_BOOL)},
    {WIRE_MEMBER (wire_config, insecure, WIRE_BOOL)},
    {WIRE_MEMBER (wire_config, run_as, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (wire_config, allow_root, WIRE_BOOL)},
    {WIRE_MEMBER (wire_config, auth, WIRE_CHOICE), .max = WIRE_AUTHS - 1, .names = wire_auths},
    {WIRE_MEMBER (wire_config, log_level, WIRE_CHOICE), .max = WIRE_LOG_LEVELS - 1,
     .names = wire_log_levels},
    {WIRE_MEMBER (wire_config, log_format, WIRE_CHOICE), .max = WIRE_LOG_FORMATS - 1,
     .names = wire_log_formats},
    {WIRE_MEMBER (wire_config, access_log, WIRE_BOOL)},
    {WIRE_MEMBER (wire_config, max_body, WIRE_INT64), .min = 4096, .max = 1 << 26},
    {WIRE_MEMBER (wire_config, rate, WIRE_DOUBLE), .min = 1, .max = 1e6},
    {WIRE_MEMBER (wire_config, burst, WIRE_DOUBLE), .min = 1, .max = 1e6},
    {WIRE_MEMBER (wire_config, connections, WIRE_INT), .min = 8, .max = 1 << 16},
    {WIRE_MEMBER (wire_config, connections_per_address, WIRE_INT), .min = 1, .max = 1 << 16},
    {WIRE_MEMBER (wire_config, job_log_limit, WIRE_INT64), .min = (double)RUN_JOB_LOG_LEAST,
     .max = (double)RUN_JOB_LOG_LIMIT},
    {WIRE_MEMBER (wire_config, keep_events, WIRE_INT64), .min = 1000, .max = 1e9},
    {0},
};

static const char *const known_keys[] = {
    "state",          "listen",
    "host_names",     "backend",
    "nodes",          "slots",
    "policy",         "checkpoints",
    "interval",       "restart_delay",
    "fairness",       "run_as",
    "allow_root",     "log_level",
    "log_format",     "max_body",
    "rate",           "burst",
    "connections",    "connections_per_address",
    "job_log_limit",  "keep_events",
    "policy_options", "access_log",
    "auth",           "admin_users",
    "slurm",          "tls_cert",
    "tls_key",        "tls_self_signed",
    "insecure",       "experience",
    "cluster",        "goal",
    "grow",           "shrink",
    "hook_timeout",   NULL,
};

/* ---- Defaults ----------------------------------------------------------------------------- */

void wire_config_clear (struct wire_config *config)
{
    free (config->state);
    wire_strings_free (config->listen);
    wire_strings_free (config->host_names);
    wire_strings_free (config->admin_users);
    free (config->tls_cert);
    free (config->tls_key);
    free (config->nodes);
    free (config->checkpoints);
    free (config->cluster);
    free (config->groups);
    wire_strings_free (config->grow);
    wire_strings_free (config->shrink);
    *config = (struct wire_config){0};
}

int wire_config_default (struct wire_config *ret, struct pollux_error *err)
{
    struct wire_config config = {
        .backend = "local",
        .policy = "pollux",
        .interval_s = 60,
        .restart_delay_s = 30,
        .p = -1,
        .experience = true,
        .hook_timeout_s = 300,
        .log_level = 2, /* info */
        .access_log = true,
        .max_body = 1 << 20,
        .rate = 1000,
        .burst = 2000,
        .connections = 1024,
        .connections_per_address = 768,
        .job_log_limit = RUN_JOB_LOG_DEFAULT,
        .keep_events = 100000,
        .slurm = wire_slurm_config_default (),
    };
    config.state = strdup ("/var/lib/pollux");
    config.host_names = calloc (1, sizeof (char *));
    config.admin_users = calloc (1, sizeof (char *));
    config.listen = calloc (2, sizeof (char *));
    if (config.listen)
        config.listen[0] = strdup ("127.0.0.1:7467");
    if (!config.state || !config.host_names || !config.admin_users || !config.listen ||
        !config.listen[0]) {
        wire_config_clear (&config);
        return fail (err, -ENOMEM, "not enough memory for the configuration");
    }
    *ret = config;
    return 0;
}

int wire_config_add_node (struct wire_config *config, const struct node *node,
                          struct pollux_error *err)
{
    for (int i = 0; i < config->node_count; i++)
        if (strcmp (config->nodes[i].name, node->name) == 0)
            return fail (err, -EEXIST, "node %s: expected every name once", node->name);
    if (config->node_count == WIRE_CONFIG_NODES)
        return fail (err, -EINVAL, "expected at most %d nodes", WIRE_CONFIG_NODES);
    if (!node_type_fits (config->nodes, config->node_count, node->type))
        return fail (err, -EINVAL, "node %s, type %s: expected at most %d types of nodes",
                     node->name, node->type, NODE_TYPES_LIMIT);
    size_t count = (size_t)config->node_count + 1;
    struct node *nodes = realloc (config->nodes, count * sizeof (nodes[0]));
    if (!nodes)
        return fail (err, -ENOMEM, "not enough memory for %zu nodes", count);
    nodes[count - 1] = *node;
    config->nodes = nodes;
    config->node_count++;
    return 0;
}

/* ---- Rules -------------------------------------------------------------------------------- */

/* ADDRESS:PORT, [ADDRESS]:PORT or unix:/PATH.  The server finds out whether this machine has the
 * address. */
const char *wire_wrong_listen (const char *text)
{
    int64_t port;
    const char *colon = strrchr (text, ':');
    if (strncmp (text, "unix:", 5) == 0)
        return text[5] == '/' && strlen (text) < 5 + 108 ? NULL
                                                         : "expected unix:/PATH below 108 bytes";
    if (!colon || colon == text || text[strcspn (text, " \t/")] ||
        number_int64 (colon + 1, &port) < 0 || port < 0 || port > 65535)
        return "expected ADDRESS:PORT, such as 127.0.0.1:7467, or unix:/PATH";
    return NULL;
}

static const char *wrong_host (const char *text)
{
    static const char legal[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";
    size_t length = strspn (text, legal);
    return length > 0 && length < 254 && !text[length] ? NULL : "expected the name of a host";
}

static const char *wrong_user (const char *text)
{
    size_t length = strlen (text);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            length = 0;
    return length > 0 && length < NAME_SIZE ? NULL : "expected the name of a user";
}

/* ---- Reading ------------------------------------------------------------------------------ */

struct reader {
    struct wire_place root;
    struct wire_config_names names;
    struct wire_config config;
    int code;
    struct pollux_error *err;
};

static void note (struct reader *reader, int code)
{
    reader->code = wire_worse (reader->code, code);
}

/* Read a path; without one the default stays. */
static void read_path (struct reader *reader, const char *key, char **ret)
{
    char *path = NULL;
    note (reader,
          wire_string_decode (&reader->root, key, *ret, wire_wrong_path, &path, reader->err));
    if (path) {
        free (*ret);
        *ret = path;
    }
}

/* Read a list of texts, or one text without brackets; without one the default stays. */
static void read_list (struct reader *reader, const char *key, size_t least,
                       const char *(*wrong) (const char *), char ***ret)
{
    char **list = NULL;
    struct wire_place place = wire_field (&reader->root, key);
    if (!wire_has (&reader->root, key))
        return;
    if (json_is_string (place.value)) {
        list = calloc (2, sizeof (list[0]));
        note (reader,
              list ? wire_string_decode (&reader->root, key, NULL, wrong, &list[0], reader->err)
                   : fail (reader->err, -ENOMEM, "%s: not enough memory", key));
    } else {
        note (reader, wire_strings_decode (&reader->root, key, least, wrong, &list, reader->err));
    }
    wire_strings_free (*ret);
    *ret = list;
}

static void read_nodes (struct reader *reader)
{
    struct wire_place list = wire_field (&reader->root, "nodes");
    size_t count = json_array_size (list.value);
    if (!wire_has (&reader->root, "nodes"))
        return;
    if (!json_is_array (list.value) || count > WIRE_CONFIG_NODES) {
        note (reader, wire_fail (&list, reader->err, "expected a list of at most %d nodes",
                                 WIRE_CONFIG_NODES));
        return;
    }
    int code = 0;
    for (size_t i = 0; !wire_stops (&list, code) && i < count; i++) {
        struct node node;
        struct wire_place place = wire_element (&list, i);
        code = wire_node_decode (&place, &node, reader->err);
        if (code == 0)
            code = wire_config_add_node (&reader->config, &node, reader->err);
        if (code == -EEXIST)
            code = wire_fail (&place, reader->err, "expected every name once");
        note (reader, code);
    }
}

static void read_goal (struct reader *reader)
{
    const char *text;
    struct pollux_error why;
    struct wire_place place = wire_field (&reader->root, "goal");
    if (!wire_has (&reader->root, "goal"))
        return;
    int code = wire_text (&reader->root, "goal", &text, reader->err);
    if (code == 0 && goal_parse (text, &reader->config.goal, &why) < 0)
        code = wire_fail (&place, reader->err, "%s", why.text);
    note (reader, code);
}

/* names: NULL at the end; NULL: any. */
static void check_name (struct reader *reader, const char *key, const char *const *names)
{
    int choice, count = 0;
    while (names && names[count])
        count++;
    if (count > 0 && wire_has (&reader->root, key))
        note (reader, wire_choice (&reader->root, key, names, count, &choice, reader->err));
}

static void check_connections (struct reader *reader)
{
    const struct wire_config *config = &reader->config;
    struct wire_place place = wire_field (&reader->root, "connections_per_address");
    if (config->connections_per_address > config->connections &&
        wire_has (&reader->root, "connections_per_address"))
        note (reader, wire_fail (&place, reader->err, "expected at most connections (%d)",
                                 config->connections));
}

static int read_root (struct reader *reader)
{
    struct wire_config *config = &reader->config;
    note (reader, wire_expect_object (&reader->root, reader->err));
    if (reader->code < 0)
        return reader->code;
    note (reader, wire_expect_keys (&reader->root, known_keys, reader->err));
    note (reader, wire_members_override (config_members, &reader->root, config, reader->err));
    check_name (reader, "backend", reader->names.backends);
    note (reader, wire_policy_settings_decode (&reader->root, "policy_options", &config->settings,
                                               reader->err));
    read_path (reader, "state", &config->state);
    read_path (reader, "checkpoints", &config->checkpoints);
    read_path (reader, "tls_cert", &config->tls_cert);
    read_path (reader, "tls_key", &config->tls_key);
    read_path (reader, "cluster", &config->cluster);
    read_goal (reader);
    note (reader, wire_hook_decode (&reader->root, "grow", &config->grow, reader->err));
    note (reader, wire_hook_decode (&reader->root, "shrink", &config->shrink, reader->err));
    read_list (reader, "listen", 1, wire_wrong_listen, &config->listen);
    read_list (reader, "host_names", 0, wrong_host, &config->host_names);
    read_list (reader, "admin_users", 0, wrong_user, &config->admin_users);
    read_nodes (reader);
    struct wire_place slurm = wire_field (&reader->root, "slurm");
    if (wire_has (&reader->root, "slurm"))
        note (reader, wire_slurm_config_decode (&slurm, &config->slurm, reader->err));
    check_name (reader, "policy", reader->names.policies);
    check_connections (reader);
    return reader->code;
}

/* Read a document and free it. */
static int read_document (struct wire_document *document, const struct wire_config_names *names,
                          struct wire_config *ret, struct pollux_error *err)
{
    struct reader reader = {.root = wire_root (document), .err = err};
    if (names)
        reader.names = *names;
    int code = wire_config_default (&reader.config, err);
    if (code == 0)
        code = read_root (&reader);
    wire_document_free (document);
    if (code < 0)
        wire_config_clear (&reader.config);
    else
        *ret = reader.config;
    return code;
}

int wire_config_read (const char *path, const struct wire_config_names *names,
                      struct wire_diagnostics *diagnostics, struct wire_config *ret,
                      struct pollux_error *err)
{
    struct wire_document *document;
    struct wire_diagnostics own = {0};
    diagnostics = diagnostics ? diagnostics : &own;
    int code = wire_document_open (path, WIRE_CONFIG_LIMIT, wire_syntax_of_path (path), diagnostics,
                                   &document, err);
    if (code == 0)
        code = read_document (document, names, ret, err);
    return wire_diagnostics_conclude (diagnostics, code, path, err);
}

int wire_config_parse (const char *name, const char *text, size_t length,
                       const struct wire_config_names *names, struct wire_diagnostics *diagnostics,
                       struct wire_config *ret, struct pollux_error *err)
{
    struct wire_document *document;
    struct wire_diagnostics own = {0};
    diagnostics = diagnostics ? diagnostics : &own;
    int code = wire_document_open_text (name, text, length, WIRE_CONFIG_LIMIT,
                                        wire_syntax_of_path (name), diagnostics, &document, err);
    if (code == 0)
        code = read_document (document, names, ret, err);
    return wire_diagnostics_conclude (diagnostics, code, name, err);
}

/* ---- Writing ------------------------------------------------------------------------------ */

static int put_nodes (json_t *object, const struct wire_config *config, struct pollux_error *err)
{
    json_t *list = json_array ();
    int code = wire_put (object, "nodes", list, err);
    for (int i = 0; code == 0 && i < config->node_count; i++) {
        const struct node *node = &config->nodes[i];
        json_t *inner = json_pack ("{s:s,s:i}", "name", node->name, "slots", node->slots);
        if (json_array_append_new (list, inner) < 0)
            code = fail (err, -ENOMEM, "nodes: not enough memory");
        else if (node->type[0])
            code = wire_put (inner, "type", json_string (node->type), err);
    }
    return code;
}

static int put_scaling (json_t *object, const struct wire_config *config, struct pollux_error *err)
{
    char goal[GOAL_SIZE];
    goal_format (&config->goal, goal);
    int code = wire_string_put (object, "cluster", config->cluster, wire_wrong_path, err);
    if (code == 0)
        code = wire_put (object, "goal", json_string (goal), err);
    if (code == 0 && config->grow)
        code = wire_strings_put (object, "grow", config->grow, wire_wrong_word, err);
    if (code == 0 && config->shrink)
        code = wire_strings_put (object, "shrink", config->shrink, wire_wrong_word, err);
    return code;
}

json_t *wire_config_encode (const struct wire_config *config, struct pollux_error *err)
{
    json_t *object = json_object ();
    int code = object ? 0 : fail (err, -ENOMEM, "not enough memory");
    if (code == 0)
        code = wire_string_put (object, "state", config->state, wire_wrong_path, err);
    if (code == 0)
        code = wire_strings_put (object, "listen", config->listen, wire_wrong_listen, err);
    if (code == 0)
        code = wire_string_put (object, "tls_cert", config->tls_cert, wire_wrong_path, err);
    if (code == 0)
        code = wire_string_put (object, "tls_key", config->tls_key, wire_wrong_path, err);
    if (code == 0)
        code = wire_strings_put (object, "host_names", config->host_names, wrong_host, err);
    if (code == 0)
        code = wire_strings_put (object, "admin_users", config->admin_users, wrong_user, err);
    if (code == 0)
        code = wire_put (object, "backend", json_string (config->backend), err);
    if (code == 0)
        code = put_nodes (object, config, err);
    if (code == 0)
        code = put_scaling (object, config, err);
    if (code == 0)
        code = wire_string_put (object, "checkpoints", config->checkpoints, wire_wrong_path, err);
    if (code == 0)
        code = wire_members_encode (config_members, config, object, err);
    if (code == 0)
        code = wire_policy_settings_put (object, "policy_options", &config->settings, err);
    if (code == 0)
        code = wire_slurm_config_put (object, "slurm", &config->slurm, err);
    if (code == 0)
        return object;
    json_decref (object);
    return NULL;
}

/* ---- Comparing ---------------------------------------------------------------------------- */

struct comparison {
    void (*differs) (void *self, const char *field);
    void *self;
};

static void compare_objects (const struct comparison *to, const char *section, json_t *a, json_t *b)
{
    const char *key;
    json_t *value, *all = json_copy (a);
    json_object_update_missing (all, b); /* absent fields differ from those that are set */
    json_object_foreach (all, key, value)
    {
        char field[128];
        snprintf (field, sizeof (field), "%s%s", section, key);
        if (strcmp (field, "slurm") == 0)
            compare_objects (to, "slurm.", json_object_get (a, key), json_object_get (b, key));
        else if (!json_equal (json_object_get (a, key), json_object_get (b, key)))
            to->differs (to->self, field);
    }
    json_decref (all);
}

int wire_config_compare (const struct wire_config *a, const struct wire_config *b,
                         void (*differs) (void *self, const char *field), void *self,
                         struct pollux_error *err)
{
    const struct comparison to = {differs, self};
    json_t *first = wire_config_encode (a, err);
    json_t *second = first ? wire_config_encode (b, err) : NULL;
    if (second)
        compare_objects (&to, "", first, second);
    json_decref (first);
    json_decref (second);
    return second ? 0 : -ENOMEM;
}
