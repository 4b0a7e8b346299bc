/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: read configuration, certificate and tokens again.  If one of them is wrong, nothing changes.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon_private.h"

static bool has_tls (const struct wire_config *config)
{
    return config->tls_cert || config->tls_self_signed;
}

static void warn (const struct logger *logger, const char *field)
{
    say (logger, LOG_WARNING, "only a restart can change this", LOG_TEXT ("field", field));
}

/* Fields that reload changes; tls_cert and tls_self_signed only from one certificate to another. */
static const char *const reloaded[] = {
    "policy",     "policy_options", "interval", "restart_delay", "fairness",        "log_level",
    "access_log", "keep_events",    "tls_cert", "tls_key",       "tls_self_signed", "experience",
    "cluster",    "goal",           "grow",     "shrink",        "hook_timeout",
};

static void warn_unless_reloaded (void *self, const char *field)
{
    const struct logger *logger = self;
    for (size_t i = 0; i < sizeof (reloaded) / sizeof (reloaded[0]); i++)
        if (strcmp (field, reloaded[i]) == 0)
            return;
    warn (logger, field);
}

/* Warn about changed fields that need a restart. */
static void warn_fixed (struct logger *logger, const struct wire_config *old,
                        const struct wire_config *new)
{
    struct pollux_error err;
    if (wire_config_compare (old, new, warn_unless_reloaded, logger, &err) < 0)
        say (logger, LOG_WARNING, "fields that only a restart can change are not known",
             LOG_TEXT ("why", err.text));
    if (has_tls (old) != has_tls (new))
        warn (logger, "tls_cert, tls_self_signed");
}

static int read_again (struct daemon *daemon, struct wire_config *ret, const struct policy **policy,
                       struct tls *ret_tls, struct pollux_error *err)
{
    int rc = daemon->options->configure (daemon->options->self, ret, err);
    if (rc < 0)
        return rc;
    *ret_tls = (struct tls){0};
    rc = daemon_policy (ret->policy, policy, err);
    if (rc == 0)
        rc = certificate_load (daemon, ret, ret_tls, err);
    if (rc == 0)
        rc = check_groups (daemon, ret, err);
    if (rc == 0)
        rc = tokens_reload (daemon->tokens, err);
    if (rc < 0) {
        wire_config_clear (ret);
        tls_clear (ret_tls);
    }
    return rc;
}

/* Groups of nodes, their goal and the commands that order and return them. */
static void take_scaling (struct daemon *daemon, struct wire_config *config)
{
    struct power_hooks_options options = configured_hooks (daemon, config);
    struct pollux_error err;
    daemon->power_changed = true;
    if (power_hooks_change (daemon->hooks, &options, &err) < 0 ||
        declare_groups (daemon, config, &err) < 0) {
        say (&daemon->logger, LOG_ERROR, "groups of nodes not reloaded",
             LOG_TEXT ("why", err.text));
        return;
    }
    warn_of_budget (daemon, config);
    free (daemon->config.groups);
    daemon->config.groups = config->groups;
    daemon->config.group_count = config->group_count;
    daemon->config.goal = config->goal;
    config->groups = NULL;
    config->group_count = 0;
}

void reload (struct daemon *daemon)
{
    struct wire_config config;
    struct pollux_error err;
    struct tls tls;
    const struct policy *policy = NULL;
    if (read_again (daemon, &config, &policy, &tls, &err) < 0) {
        say (&daemon->logger, LOG_ERROR, "not reloaded: everything stays as it was",
             LOG_TEXT ("why", err.text));
        return;
    }
    warn_fixed (&daemon->logger, &daemon->config, &config);
    take_scaling (daemon, &config);
    certificate_use (daemon, &tls);
    tls_clear (&tls);
    if (policy != daemon->loop.policy)
        daemon->cold = true;
    daemon->loop.policy = policy;
    daemon->round = configured_round (&config, policy);
    daemon->logger.level = (enum log_level)config.log_level;
    round_schedule_change (&daemon->schedule, config.interval_s, clock_now_us (&daemon->clock));
    daemon->status.next_round_us = daemon->schedule.full_us;
    daemon->config.interval_s = config.interval_s;
    daemon->config.keep_events = config.keep_events;
    daemon->config.access_log = config.access_log;
    wire_config_clear (&config);
    say (&daemon->logger, LOG_INFO, "configuration reloaded",
         LOG_TEXT ("policy", daemon->round.policy),
         LOG_NUMBER ("interval", daemon->round.interval_s), LOG_NUMBER ("p", daemon->round.p));
}
