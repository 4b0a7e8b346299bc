/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that order and return nodes: grow NAME..., shrink NAME...
 *
 *     a node is starting             grow, until it succeeded once; then the node has to come by itself
 *     stopping                       shrink, until it succeeds; then the node is off
 *     failed                         shrink, until it succeeds; the node is off after its deadline, too
 *
 * One command of each kind runs at a time for a group, for up to HOOK_NODES of its nodes, and never two commands for one node.
 * One that fails, or takes too long and is killed, is called again, later each time and for each of its nodes alone, so that
 * a node that cannot be ordered does not delay the others.  Nothing is kept: the next polluxd calls the commands again for all
 * nodes in these states.  So they must succeed for a node that is ordered, or returned, already.
 */
#ifndef DAEMON_POWER_HOOKS_H
#define DAEMON_POWER_HOOKS_H

#include "backend/backend.h"
#include "daemon/logger.h"

struct power_hooks;

enum { HOOK_NODES = 64 };

/* Borrowed for the life of the hooks, except the words and the time, which are copied. */
struct power_hooks_options {
    char *const *grow, *const *shrink; /* words before the names; NULL: by power_words */
    double timeout_s;
    const char *state;   /* POLLUX_STATE of the commands, by which `pollux` finds polluxd */
    const char *program; /* of pollux; its folder comes first in PATH */
    int (*power_words) (bool grow, const char *const *names, struct words *ret); /* or NULL */
    const struct logger *logger;
};

int power_hooks_new (const struct power_hooks_options *options, struct power_hooks **ret,
                     struct pollux_error *err);
/* Kills commands that run.  NULL is fine. */
void power_hooks_free (struct power_hooks *hooks);

/* Use other commands and another time limit, for calls that begin from now on. */
int power_hooks_change (struct power_hooks *hooks, const struct power_hooks_options *options,
                        struct pollux_error *err);

/* True if each kind has a command, of the options or by power_words. */
bool power_hooks_have_commands (const struct power_hooks *hooks);

/* For epoll; and the next time at which something is to be done, of the monotonic clock; INT64_MAX: none. */
int power_hooks_fd (const struct power_hooks *hooks);
int64_t power_hooks_due_us (const struct power_hooks *hooks);

/* Take what commands have written, and how they ended.  True if one has ended. */
bool power_hooks_turn (struct power_hooks *hooks, const struct cluster *cluster);

/* 1 and the POWER event of a node that is off now, or that came up when it was returned; 0: none.  now_us: of the
 * cluster's clock. */
int power_hooks_next (const struct power_hooks *hooks, const struct cluster *cluster,
                      int64_t now_us, struct event *ret);

/* The groups, as bits, in which HOOK_NODES nodes are ordered for which grow has not succeeded yet. */
unsigned power_hooks_full (const struct power_hooks *hooks, const struct cluster *cluster);

/* Start commands for nodes whose states are committed; cluster_now_us: of the cluster's clock.  A node with a deadline is returned when no
 * job is left on it, or at the deadline. */
void power_hooks_act (struct power_hooks *hooks, const struct cluster *cluster,
                      int64_t cluster_now_us);

#endif
