/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGHUP: read configuration, certificate and tokens again.  If one of them is wrong, nothing changes.
 */
#include <string.h>

#include "daemon/daemon_private.h"

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

static bool has_tls (const struct wire_config *config)
{
    return config->tls_cert || config->tls_self_signed;
}

static bool same_nodes (const struct wire_config *a, const struct wire_config *b)
{
    if (a->node_count != b->node_count)
        return false;
    for (int i = 0; i < a->node_count; i++)
        if (strcmp (a->nodes[i].name, b->nodes[i].name) != 0 ||
            strcmp (a->nodes[i].type, b->nodes[i].type) != 0 ||
            a->nodes[i].slots != b->nodes[i].slots)
            return false;
    return true;
}

/* Warn about changed fields that need a restart. */
static void warn_fixed (const struct logger *logger, const struct wire_config *old,
                        const struct wire_config *new)
{
    const struct {
        const char *name;
        bool same;
    } fields[] = {
        {"state", same_text (old->state, new->state)},
        {"listen", same_list (old->listen, new->listen)},
        {"tls_cert, tls_self_signed", !has_tls (old) == !has_tls (new)},
        {"insecure", old->insecure == new->insecure},
        {"host_names", same_list (old->host_names, new->host_names)},
        {"backend", same_text (old->backend, new->backend)},
        {"nodes", same_nodes (old, new)},
        {"slots", old->slots == new->slots},
        {"checkpoints", same_text (old->checkpoints, new->checkpoints)},
        {"run_as", same_text (old->run_as, new->run_as)},
        {"auth", old->auth == new->auth},
        {"admin_users", same_list (old->admin_users, new->admin_users)},
        {"log_format", old->log_format == new->log_format},
        {"job_log_limit", old->job_log_limit == new->job_log_limit},
        {"max_body", old->max_body == new->max_body},
        {"rate", old->rate == new->rate},
        {"burst", old->burst == new->burst},
        {"connections", old->connections == new->connections},
        {"connections_per_address", old->connections_per_address == new->connections_per_address},
    };
    for (size_t i = 0; i < sizeof (fields) / sizeof (fields[0]); i++)
        if (!fields[i].same)
            say (logger, LOG_WARNING, "only a restart can change this",
                 LOG_TEXT ("field", fields[i].name));
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
        rc = tokens_reload (daemon->tokens, err);
    if (rc < 0) {
        wire_config_clear (ret);
        tls_clear (ret_tls);
    }
    return rc;
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
