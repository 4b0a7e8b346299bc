/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: another configuration for a daemon that runs.  A wrong one changes nothing.
 */
#include <string.h>

#include "daemon/inside.h"

static bool same_text (const char *a, const char *b)
{
    return a == b || (a && b && strcmp (a, b) == 0);
}

static bool same_list (char *const *a, char *const *b)
{
    for (; *a && *b && strcmp (*a, *b) == 0; a++, b++)
        ;
    return !*a && !*b;
}

/* The first field that only a restart changes; NULL: all is well. */
static const char *fixed_field (const struct wire_config *old, const struct wire_config *new)
{
    if (!same_text (old->state, new->state))
        return "state";
    if (!same_list (old->listen, new->listen))
        return "listen";
    if (!same_list (old->host_names, new->host_names))
        return "host_names";
    if (!same_text (old->backend, new->backend))
        return "backend";
    if (!same_text (old->checkpoints, new->checkpoints))
        return "checkpoints";
    if (!same_text (old->run_as, new->run_as))
        return "run_as";
    if (old->node_count != new->node_count ||
        (old->node_count > 0 &&
         memcmp (old->nodes, new->nodes, (size_t)old->node_count * sizeof (old->nodes[0])) != 0))
        return "nodes";
    return NULL;
}

static int read_again (struct daemon *daemon, struct wire_config *ret, const struct policy **policy,
                       struct pollux_error *err)
{
    int rc = daemon->options->configure (daemon->options->self, ret, err);
    if (rc < 0)
        return rc;
    rc = policy_find (ret->policy, policy, err);
    if (rc == 0)
        rc = tokens_reload (daemon->tokens, err);
    if (rc < 0)
        wire_config_clear (ret);
    return rc;
}

void reload (struct daemon *daemon)
{
    struct wire_config config;
    struct pollux_error err;
    const struct policy *policy = NULL;
    if (read_again (daemon, &config, &policy, &err) < 0) {
        say (&daemon->logger, LOG_ERROR, "not reloaded: everything stays as it was",
             LOG_TEXT ("why", err.text));
        return;
    }
    const char *fixed = fixed_field (&daemon->config, &config);
    if (fixed)
        say (&daemon->logger, LOG_WARNING, "only a restart can change this",
             LOG_TEXT ("field", fixed));
    if (policy != daemon->loop.policy)
        daemon->cold = true;
    daemon->loop.policy = policy;
    daemon->round = configured_round (&config, policy);
    daemon->logger.level = (enum log_level)config.log_level;
    timetable_change (&daemon->timetable, config.interval_s, clock_now_us (&daemon->clock));
    daemon->config.interval_s = config.interval_s;
    daemon->config.keep_events = config.keep_events;
    wire_config_clear (&config);
    say (&daemon->logger, LOG_INFO, "configuration reloaded",
         LOG_TEXT ("policy", daemon->round.policy),
         LOG_NUMBER ("interval", daemon->round.interval_s), LOG_NUMBER ("p", daemon->round.p));
}
