/* SPDX-License-Identifier: Apache-2.0 */
/* Starts commands for the nodes that need one, watches them, and plans the next try of those that fail. */
#include "daemon/power_hooks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/command_set.h"
#include "backend/words.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/utf8.h"
#include "daemon/hook_record.h"
#include "wire/strings.h"

enum kind { GROW, SHRINK, KINDS };
static const char *const kind_names[] = {"grow", "shrink"};

/* After the first failure a call is repeated after 5 s, then after twice as long each time, at most 5 minutes. */
static const int64_t RETRY_US = 5000000, RETRY_LIMIT_US = 300000000;

/* What a command may write: more than a command of a provider says about 64 nodes.  Of it the log gets this much. */
enum { OUTPUT_LIMIT = 4 << 20, LOG_LINES = 20, LOG_LINE_SIZE = 400 };

/* Of one node, for the state that it is in since since_us. */
struct hook_node {
    enum power_state state;
    int64_t since_us;
    bool running, done;
    enum kind kind; /* of the command, if it is running */
    bool held;      /* its jobs have some time left before it is returned */
    bool
        returned; /* shrink has succeeded for an earlier state, and the node has come up meanwhile */
    int failures;
    int64_t retry_us; /* not before; monotonic */
};

/* The command of a kind that runs for a group. */
struct call {
    struct power_hooks *hooks;
    enum kind kind;
    int group;   /* it may have become another one since then */
    uint64_t id; /* 0: none runs */
    int nodes[HOOK_NODES], count;
    int64_t since_us[HOOK_NODES]; /* of their states */
};

struct power_hooks {
    struct power_hooks_options options;
    char **words[KINDS];
    struct command_set *commands;
    struct call calls[KINDS][NODE_GROUPS_LIMIT];
    bool ended;              /* during power_hooks_turn: a command has ended */
    struct hook_node *nodes; /* by node of the cluster */
    int count, capacity;
    int64_t due_us;                /* of the next retry */
    const struct cluster *cluster; /* during power_hooks_turn */
};

/* Remember for the next polluxd which process runs; 0: none.  If that fails, only what kill -9 leaves is not found. */
static void record (const struct call *call, int pid)
{
    const struct power_hooks_options *options = &call->hooks->options;
    struct pollux_error err = {.text = ""};
    if (hook_record_write (options->state, kind_names[call->kind], call->group, pid, &err) < 0)
        say (options->logger, LOG_WARNING, "the record of a hook is not written",
             LOG_TEXT ("hook", kind_names[call->kind]), LOG_TEXT ("why", err.text));
}

/* What an earlier polluxd has left of this call. */
static void kill_orphan (const struct call *call)
{
    const struct power_hooks_options *options = &call->hooks->options;
    struct pollux_error err = {.text = ""};
    int rc = hook_record_kill (options->state, kind_names[call->kind], call->group, &err);
    if (rc != 0)
        say (options->logger, LOG_WARNING,
             rc > 0 ? "a hook of an earlier polluxd was killed"
                    : "a hook of an earlier polluxd may still run",
             LOG_TEXT ("hook", kind_names[call->kind]), LOG_TEXT ("why", err.text));
}

/* All calls, as a list. */
enum { CALLS = KINDS * NODE_GROUPS_LIMIT };
static struct call *nth_call (struct power_hooks *hooks, int i)
{
    return &hooks->calls[i / NODE_GROUPS_LIMIT][i % NODE_GROUPS_LIMIT];
}

/* ---- Making and freeing ------------------------------------------------------------------- */

static int copy_words (char *const *words, char ***ret)
{
    size_t count = 0;
    while (words && words[count])
        count++;
    *ret = NULL;
    if (!words)
        return 0;
    char **copy = calloc (count + 1, sizeof (copy[0]));
    for (size_t i = 0; copy && i < count; i++)
        if (!(copy[i] = strdup (words[i]))) {
            wire_strings_free (copy);
            return -ENOMEM;
        }
    *ret = copy;
    return copy ? 0 : -ENOMEM;
}

int power_hooks_change (struct power_hooks *hooks, const struct power_hooks_options *options,
                        struct pollux_error *err)
{
    char **grow = NULL, **shrink = NULL;
    if (copy_words (options->grow, &grow) < 0 || copy_words (options->shrink, &shrink) < 0) {
        wire_strings_free (grow);
        return fail (err, -ENOMEM, "no memory for the commands grow and shrink");
    }
    wire_strings_free (hooks->words[GROW]);
    wire_strings_free (hooks->words[SHRINK]);
    hooks->words[GROW] = grow;
    hooks->words[SHRINK] = shrink;
    hooks->options = *options;
    hooks->options.grow = hooks->options.shrink = NULL;
    /* What failed may succeed now. */
    for (int i = 0; i < hooks->count; i++)
        hooks->nodes[i].retry_us = 0;
    return 0;
}

int power_hooks_new (const struct power_hooks_options *options, struct power_hooks **ret,
                     struct pollux_error *err)
{
    struct power_hooks *hooks = calloc (1, sizeof (*hooks));
    if (!hooks)
        return fail (err, -ENOMEM, "no memory for the commands grow and shrink");
    int rc = command_set_new (&hooks->commands, err);
    if (rc == 0)
        rc = power_hooks_change (hooks, options, err);
    if (rc < 0) {
        power_hooks_free (hooks);
        return rc;
    }
    for (int i = 0; i < CALLS; i++) {
        *nth_call (hooks, i) = (struct call){.hooks = hooks,
                                             .kind = (enum kind) (i / NODE_GROUPS_LIMIT),
                                             .group = i % NODE_GROUPS_LIMIT};
        kill_orphan (nth_call (hooks, i));
    }
    hooks->due_us = 0; /* at once, for nodes in states that an earlier polluxd has left */
    *ret = hooks;
    return 0;
}

void power_hooks_free (struct power_hooks *hooks)
{
    if (!hooks)
        return;
    command_set_free (hooks->commands);
    for (int i = 0; i < CALLS; i++)
        if (nth_call (hooks, i)->id != 0)
            record (nth_call (hooks, i), 0);
    wire_strings_free (hooks->words[GROW]);
    wire_strings_free (hooks->words[SHRINK]);
    free (hooks->nodes);
    free (hooks);
}

static bool has_command (const struct power_hooks *hooks, enum kind kind)
{
    return hooks->words[kind] || hooks->options.power_words;
}

bool power_hooks_have_commands (const struct power_hooks *hooks)
{
    return has_command (hooks, GROW) && has_command (hooks, SHRINK);
}

int power_hooks_fd (const struct power_hooks *hooks)
{
    return command_set_descriptor (hooks->commands);
}

int64_t power_hooks_due_us (const struct power_hooks *hooks)
{
    int64_t due_us = command_set_due_us (hooks->commands);
    return due_us < hooks->due_us ? due_us : hooks->due_us;
}

/* ---- Nodes -------------------------------------------------------------------------------- */

/* The kind of command that a node needs; KINDS: none. */
static enum kind kind_of (enum power_state state)
{
    return state == POWER_STARTING                            ? GROW
           : state == POWER_STOPPING || state == POWER_FAILED ? SHRINK
                                                              : KINDS;
}

static bool is_about (const struct hook_node *node, const struct node_power *power)
{
    return node->state == power->state && node->since_us == power->since_us;
}

/* A failed node says that it is up although it was returned, or is being returned: the report came late. */
static bool is_late (const struct hook_node *node, const struct node_power *power)
{
    bool returned = node->done || (node->running && node->kind == SHRINK);
    return node->state == POWER_FAILED && returned && power->state == POWER_UP;
}

/* Add nodes that the cluster has got; forget what was about an earlier state.  False: no memory. */
static bool follow (struct power_hooks *hooks, const struct cluster *cluster)
{
    while (hooks->count < cluster->node_count) {
        struct hook_node *nodes =
            array_grow (hooks->nodes, hooks->count, &hooks->capacity, sizeof (nodes[0]));
        if (!nodes)
            return false;
        hooks->nodes = nodes;
        hooks->nodes[hooks->count++] = (struct hook_node){.since_us = -1};
    }
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        const struct hook_node *before = &hooks->nodes[i];
        if (!is_about (before, power))
            hooks->nodes[i] = (struct hook_node){.state = power->state,
                                                 .since_us = power->since_us,
                                                 .running = before->running,
                                                 .kind = before->kind,
                                                 .returned = is_late (before, power)};
    }
    return true;
}

/* The state that follows for a node from the commands that have ended; POWER_NONE: it stays as it is. */
static enum power_state next_state (const struct hook_node *node, const struct node_power *power,
                                    int64_t now_us)
{
    if (!is_about (node, power)) /* now, in the commit of its report: the mark is in no journal */
        return is_late (node, power) ? POWER_STOPPING : POWER_NONE;
    if (node->done && (power->state == POWER_STOPPING ||
                       (power->state == POWER_FAILED && now_us >= power->deadline_us)))
        return POWER_OFF;
    /* Nobody else may notice that it does not exist any more.  So it is returned once more, and is off then. */
    if (node->returned && (power->state == POWER_UP || power->state == POWER_DRAINING))
        return POWER_STOPPING;
    return POWER_NONE;
}

int power_hooks_next (const struct power_hooks *hooks, const struct cluster *cluster,
                      int64_t now_us, struct event *ret)
{
    for (int i = 0; i < hooks->count && i < cluster->node_count; i++) {
        enum power_state state = next_state (&hooks->nodes[i], &cluster->node_power[i], now_us);
        if (state == POWER_NONE)
            continue;
        *ret = (struct event){.type = EVENT_POWER, .job = -1, .power = {.state = state}};
        memcpy (ret->power.node, cluster->nodes[i].name, NAME_SIZE);
        if (state == POWER_STOPPING)
            snprintf (ret->power.detail, sizeof (ret->power.detail),
                      "it came up when it was returned");
        return 1;
    }
    return 0;
}

/* ---- The end of a call -------------------------------------------------------------------- */

static void log_lines (const struct call *call, const char *text, size_t length)
{
    char line[LOG_LINE_SIZE];
    const char *end = text + length;
    for (int lines = 0; text < end; lines++) {
        const char *next = memchr (text, '\n', (size_t)(end - text));
        size_t size = (size_t)((next ? next : end) - text);
        if (lines == LOG_LINES) {
            say (call->hooks->options.logger, LOG_INFO, "a hook says more",
                 LOG_TEXT ("hook", kind_names[call->kind]), LOG_INT ("bytes", end - text));
            return;
        }
        snprintf (line, sizeof (line), "%.*s",
                  (int)(size < sizeof (line) ? size : sizeof (line) - 1), text);
        utf8_disarm (line);
        if (*line)
            say (call->hooks->options.logger, LOG_INFO, "a hook says",
                 LOG_TEXT ("hook", kind_names[call->kind]), LOG_TEXT ("text", line));
        text += size + 1;
    }
}

static int64_t retry_pause_us (int failures)
{
    int64_t pause_us = RETRY_US;
    for (int i = 1; i < failures && pause_us < RETRY_LIMIT_US; i++)
        pause_us *= 2;
    return pause_us < RETRY_LIMIT_US ? pause_us : RETRY_LIMIT_US;
}

static void end_call (struct call *call, int code, const char *why, double seconds)
{
    struct power_hooks *hooks = call->hooks;
    const struct logger *logger = hooks->options.logger;
    const char *first = hooks->cluster->nodes[call->nodes[0]].name;
    int64_t pause_us = 0;
    for (int i = 0; i < call->count; i++) {
        struct hook_node *node = &hooks->nodes[call->nodes[i]];
        /* The state may be another one since then, which needs its own call. */
        bool same = node->since_us == call->since_us[i] && kind_of (node->state) == call->kind;
        node->running = false;
        node->done = same && code == 0;
        node->returned = !same && code == 0 && call->kind == SHRINK;
        if (code == 0 || !same)
            continue;
        node->failures++;
        pause_us = retry_pause_us (node->failures);
        node->retry_us = clock_monotonic_us () + pause_us;
    }
    call->id = 0;
    record (call, 0);
    if (code == 0)
        say (logger, LOG_INFO, "a hook succeeded", LOG_TEXT ("hook", kind_names[call->kind]),
             LOG_TEXT ("node", first), LOG_INT ("nodes", call->count),
             LOG_NUMBER ("seconds", seconds));
    else
        say (logger, LOG_ERROR, "a hook failed", LOG_TEXT ("hook", kind_names[call->kind]),
             LOG_TEXT ("node", first), LOG_INT ("nodes", call->count),
             LOG_NUMBER ("seconds", seconds), LOG_NUMBER ("again_s", (double)pause_us * 1e-6),
             LOG_TEXT ("why", why));
}

static void call_done (void *user, const struct command_result *result)
{
    struct call *call = user;
    char why[sizeof (result->why.text)];
    log_lines (call, result->output, result->output_length);
    log_lines (call, result->error, result->error_length);
    snprintf (why, sizeof (why), "%s", result->why.text);
    utf8_disarm (why);
    if (result->code == 0)
        fault_point ("hooked");
    end_call (call, result->code, why, (double)(result->ended_us - result->began_us) * 1e-6);
    call->hooks->ended = true;
}

bool power_hooks_turn (struct power_hooks *hooks, const struct cluster *cluster)
{
    hooks->ended = false;
    if (command_set_count (hooks->commands) > 0 && !follow (hooks, cluster))
        return false;
    hooks->cluster = cluster;
    command_set_turn (hooks->commands, clock_monotonic_us ());
    hooks->cluster = NULL;
    return hooks->ended;
}

/* ---- The beginning of a call -------------------------------------------------------------- */

static void add_environment (const struct power_hooks *hooks, const struct node_group *group,
                             enum kind kind, struct words *ret)
{
    const char *slash = strrchr (hooks->options.program, '/'), *path = getenv ("PATH");
    words_add (ret, "PATH=%.*s:%s", slash ? (int)(slash - hooks->options.program) : 1,
               slash ? hooks->options.program : ".", path && *path ? path : "/usr/bin:/bin");
    words_add (ret, "POLLUX_STATE=%s", hooks->options.state);
    words_add (ret, "POLLUX_HOOK=%s", kind_names[kind]);
    words_add (ret, "POLLUX_GROUP=%s", group->name);
    words_add (ret, "POLLUX_SLOTS=%d", group->slots_per_node);
    words_add (ret, "POLLUX_TYPE=%s", group->type);
}

static int call_words (const struct call *call, const struct cluster *cluster, struct words *ret)
{
    const struct power_hooks *hooks = call->hooks;
    const char *names[HOOK_NODES + 1] = {NULL};
    for (int i = 0; i < call->count; i++)
        names[i] = cluster->nodes[call->nodes[i]].name;
    char *const *words = hooks->words[call->kind];
    if (!words)
        return hooks->options.power_words
                   ? hooks->options.power_words (call->kind == GROW, names, ret)
                   : -ENOENT;
    for (; *words; words++)
        words_add (ret, "%s", *words);
    for (int i = 0; i < call->count; i++)
        words_add (ret, "%s", names[i]);
    return words_check (ret);
}

static int start_call (struct call *call, const struct cluster *cluster, struct pollux_error *err)
{
    struct power_hooks *hooks = call->hooks;
    struct words words = {0}, environment = {0};
    int64_t now_us = clock_monotonic_us ();
    const struct node_group *group =
        &cluster->power.groups[cluster->node_power[call->nodes[0]].group];
    int rc = call_words (call, cluster, &words);
    if (rc == -ENOENT)
        return fail (err, rc, "there is no command %s: name one with --%s", kind_names[call->kind],
                     kind_names[call->kind]);
    add_environment (hooks, group, call->kind, &environment);
    if (rc == 0)
        rc = words_check (&environment);
    if (rc < 0) {
        words_clear (&words);
        words_clear (&environment);
        return fail (err, rc, "no memory for a command");
    }
    struct command_request request = {
        .words = words_list (&words),
        .name = kind_names[call->kind],
        .environment = words_list (&environment),
        .deadline_us = now_us + (int64_t)(hooks->options.timeout_s * 1e6),
        .output_limit = OUTPUT_LIMIT,
        .done = call_done,
        .user = call,
    };
    fault_point ("hook");
    rc = command_set_start (hooks->commands, &request, now_us, &call->id, err);
    if (rc == 0)
        record (call, command_set_pid (hooks->commands, call->id));
    words_clear (&words);
    words_clear (&environment);
    return rc;
}

static bool is_waiting (const struct call *call, const struct cluster *cluster, int node)
{
    const struct hook_node *hook = &call->hooks->nodes[node];
    const struct node_power *power = &cluster->node_power[node];
    return power->group == call->group && kind_of (power->state) == call->kind && !hook->done &&
           !hook->running && !hook->held;
}

/* Nodes that were not called for before; or else one that may be called for again, the one that waits longest. */
static void choose_nodes (struct call *call, const struct cluster *cluster, int64_t now_us)
{
    struct power_hooks *hooks = call->hooks;
    int again = -1;
    call->count = 0;
    for (int i = 0; i < cluster->node_count && call->count < HOOK_NODES; i++) {
        const struct hook_node *node = &hooks->nodes[i];
        if (!is_waiting (call, cluster, i))
            continue;
        if (node->failures == 0)
            call->nodes[call->count++] = i;
        else if (again < 0 || node->retry_us < hooks->nodes[again].retry_us)
            again = i;
    }
    if (call->count > 0 || again < 0)
        return;
    if (hooks->nodes[again].retry_us <= now_us)
        call->nodes[call->count++] = again;
    else if (hooks->nodes[again].retry_us < hooks->due_us)
        hooks->due_us = hooks->nodes[again].retry_us;
}

/* Nodes of a group of a fixed size without commands come and go by themselves.  Those of a retired group, and those
 * that are too many since the maximum was lowered, have to be returned. */
static bool needs_no_command (const struct power_hooks *hooks, const struct cluster *cluster,
                              int node)
{
    enum kind kind = kind_of (cluster->node_power[node].state);
    if (kind == KINDS || has_command (hooks, kind))
        return false;
    const struct node_group *group = &cluster->power.groups[cluster->node_power[node].group];
    return !group->retired && group->surplus_names == 0 && group->min_nodes == group->max_nodes;
}

/* What follows without a command.  True: power_hooks_next has something to say. */
static bool conclude (struct power_hooks *hooks, const struct cluster *cluster)
{
    bool follows = false;
    for (int i = 0; i < cluster->node_count; i++) {
        struct hook_node *node = &hooks->nodes[i];
        bool done =
            !node->running && !node->done && !node->held && needs_no_command (hooks, cluster, i);
        node->done |= done;
        follows |= done || node->returned;
    }
    return follows;
}

unsigned power_hooks_full (const struct power_hooks *hooks, const struct cluster *cluster)
{
    int waiting[NODE_GROUPS_LIMIT] = {0};
    unsigned full = 0;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        bool done = i < hooks->count && is_about (&hooks->nodes[i], power) && hooks->nodes[i].done;
        if (kind_of (power->state) == GROW && !done && ++waiting[power->group] == HOOK_NODES)
            full |= 1u << power->group;
    }
    return full;
}

/* Start the command of a call that does not run, if nodes need it. */
static void begin_call (struct call *call, const struct cluster *cluster, int64_t now_us)
{
    struct power_hooks *hooks = call->hooks;
    struct pollux_error err = {.text = ""};
    choose_nodes (call, cluster, now_us);
    if (call->count == 0)
        return;
    for (int i = 0; i < call->count; i++) {
        hooks->nodes[call->nodes[i]].running = true;
        hooks->nodes[call->nodes[i]].kind = call->kind;
        call->since_us[i] = hooks->nodes[call->nodes[i]].since_us;
    }
    int rc = start_call (call, cluster, &err);
    if (rc == 0)
        return;
    hooks->cluster = cluster;
    end_call (call, rc, err.text, 0);
    hooks->cluster = NULL;
    hooks->due_us = now_us; /* choose again */
}

/* Jobs that are being stopped on a node before its deadline have until then. */
static void hold (struct power_hooks *hooks, const struct cluster *cluster, int64_t now_us)
{
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        hooks->nodes[i].held = power->state == POWER_STOPPING && power->deadline_us > now_us &&
                               cluster_uses_node (cluster, i);
    }
}

void power_hooks_act (struct power_hooks *hooks, const struct cluster *cluster,
                      int64_t cluster_now_us)
{
    int64_t now_us = clock_monotonic_us ();
    hooks->due_us = now_us + RETRY_US; /* if there is no memory */
    if (!follow (hooks, cluster))
        return;
    hold (hooks, cluster, cluster_now_us);
    hooks->due_us = conclude (hooks, cluster) ? now_us : INT64_MAX;
    for (int i = 0; i < CALLS; i++) {
        struct call *call = nth_call (hooks, i);
        if (call->id == 0 && call->group < cluster->power.count)
            begin_call (call, cluster, now_us);
    }
}
