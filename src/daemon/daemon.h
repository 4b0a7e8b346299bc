/* SPDX-License-Identifier: Apache-2.0 */
/*
 * polluxd: one thread and one epoll around the loop.
 *
 *     epoll -> HTTP requests and exits of replicas become events -> loop_take
 *       -> a round if one is due -> loop_settle (reconcile, commit, act) -> answers are released
 *
 * All state that must survive is in the journal.  It is committed before the backend acts and before a
 * request is answered: a crash at any moment loses nothing that was acknowledged.
 */
#ifndef DAEMON_DAEMON_H
#define DAEMON_DAEMON_H

#include "daemon/logger.h"
#include "policy/policy.h"
#include "wire/config.h"

struct daemon;

/* Borrowed for the daemon's life. */
struct daemon_options {
    struct logger logger;
    const char *program;    /* the path of pollux, which supervises replicas */
    const char *nvidia_smi; /* the command that lists GPUs; NULL: nvidia-smi, "": do not look */
    bool shared_state;      /* several hosts share the state directory, see daemon/epoch.h */
    int owner_socket;       /* to the process that acts for owners (backend/slurm/as_owner.h); -1 */
    bool stop_jobs;         /* stop all jobs when the daemon stops */
    /* Read the configuration, at the start and for a reload: the file, and the command line over it. */
    int (*configure) (void *self, struct wire_config *ret, struct pollux_error *err);
    void *self;
};

/* Find a policy by name.  -ENOENT, and the sentence lists all names; -EINVAL: it needs knowledge of the
 * future, which only a simulation has. */
int daemon_policy (const char *name, const struct policy **ret, struct pollux_error *err);

/* -EINVAL: certificate and key are not given together; or an address that other machines reach is listened
 * on without TLS, and the configuration does not say that it is insecure; or jobs on other nodes could not
 * report to the first address. */
int daemon_check_listen (const struct wire_config *config, struct pollux_error *err);

/* Read the cluster file of a configuration into its groups, and check that this backend and this policy (NULL: not known)
 * can have them.  -EINVAL. */
struct backend_ops;
int daemon_read_groups (struct wire_config *config, const struct backend_ops *backend,
                        const struct policy *policy, struct pollux_error *err);

/* Open the state directory, read the journal, take over running replicas, and listen.  -EBUSY: another
 * daemon uses this state; EPOCH_LOST (daemon/epoch.h): another daemon took it over; -EBADMSG: the state is damaged; -EINVAL: the configuration is wrong. */
int daemon_new (const struct daemon_options *options, struct daemon **ret,
                struct pollux_error *err);

/* Run until SIGTERM or SIGINT, then return 0.  After a failure the daemon can only be freed; events
 * that were not committed are lost.  EPOCH_LOST: another daemon took over the state directory. */
int daemon_run (struct daemon *daemon, struct pollux_error *err);

/* Running jobs go on under their supervisors.  NULL is fine. */
void daemon_free (struct daemon *daemon);

#endif
