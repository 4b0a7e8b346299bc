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
#include "daemon/settings.h"

struct daemon;

/* Open the state, fold the journal, take over what runs, and listen.  The settings are copied as
 * far as they are needed.  -EBUSY: another daemon has this state. */
int daemon_new (const struct settings *settings, const struct logger *logger, struct daemon **ret,
                struct pollux_error *err);

/* Until SIGTERM or SIGINT: 0.  Any failure is final: what was not committed has not happened. */
int daemon_run (struct daemon *daemon, struct pollux_error *err);

/* Jobs go on under their supervisors. */
void daemon_free (struct daemon *daemon);

#endif
