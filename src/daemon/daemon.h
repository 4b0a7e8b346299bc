/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polluxd, all pieces together: one thread and one epoll around the loop.
 *
 *     wake up -> HTTP requests and what became of replicas turn into events -> loop_take
 *       -> a round if one is due -> loop_settle (reconcile, commit, act) -> answers are released
 *
 * Everything that must survive is in the journal, and the journal is committed before anything is
 * done or acknowledged: dying at any moment loses nothing that anybody was told.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/logger.h"
#include "policy/policy.h"
#include "wire/config.h"

struct daemon;

/* How to start.  Borrowed for the daemon's life. */
struct daemon_options {
    struct logger logger;
    const char *program;    /* the path of pollux, which supervises replicas */
    const char *nvidia_smi; /* who knows the GPUs; NULL: nvidia-smi, "": nobody */
    bool stop_jobs;         /* when it stops, so do all jobs */
    /* The configuration as it is now, command line included, for a reload. */
    int (*configure) (void *self, struct wire_config *ret, struct pollux_error *err);
    void *self;
};

/* The policy of that name.  -ENOENT lists those that there are; -EINVAL: a daemon cannot have it. */
int daemon_policy (const char *name, const struct policy **ret, struct pollux_error *err);

/* Open the state, fold the journal, take over what runs, and listen.  -EBUSY: another daemon has
 * this state; -EBADMSG: it is damaged, or not what it should be; -EINVAL: the configuration is. */
int daemon_new (const struct daemon_options *options, struct daemon **ret,
                struct pollux_error *err);

/* Until SIGTERM or SIGINT: 0.  Any failure is final: what was not committed has not happened. */
int daemon_run (struct daemon *daemon, struct pollux_error *err);

/* Jobs go on under their supervisors. */
void daemon_free (struct daemon *daemon);

#endif
