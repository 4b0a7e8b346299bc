/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the local backend share.
 *
 *     local.c          the ops; making and freeing
 *     local_start.c    the carrier: starting runs
 *     local_look.c     the carrier: looking at, refusing and stopping runs
 *     local_port.c     MASTER_PORT, and failures because another program took it
 *     local_recover.c  what an earlier daemon left; removing old runs
 */
#ifndef BACKEND_LOCAL_PRIVATE_H
#define BACKEND_LOCAL_PRIVATE_H

#include "backend/backend.h"
#include "backend/excuse_counts.h"
#include "backend/generation.h"
#include "backend/machine.h"
#include "backend/run.h"
#include "backend/run_settings.h"

struct local {
    struct generation_set set;
    struct run_settings runs;
    int epoll;    /* descriptor */
    char *cgroup; /* NULL: none */
    struct machine machine;
    struct node *nodes;    /* the machine's */
    int next_port;         /* offset from PORT_FIRST, modulo PORT_COUNT */
    struct run_view *view; /* of the last look */
    int *leaving; /* pidfds of supervisors that were released before they ended; to be reaped */
    int leaving_count;
    struct excuse_counts collisions; /* failures in succession because of a taken port */
};

/* ---- Functions of the carrier (carrier.h) ---- */

extern const struct carrier local_carrier;

int local_start (void *self, const struct cluster *cluster, struct generation *generation,
                 int share, struct pollux_error *err);
int local_look (void *self, struct generation *generation, int rank, struct pollux_error *err);
void local_refuse (void *self, struct generation *generation, int rank, bool stopped,
                   const char *why);
void local_stop (void *self, struct generation *generation, int share);
void local_mark_stop (void *self, struct generation *generation);
void local_release (void *self, struct rank *rank);
const char *local_excuse (void *self, const struct generation *generation,
                          struct pollux_error *text, int *ret_pause_s);
void local_forget_excuses (void *self, int job);
void local_remove (void *self, const char *job, int number);

/* Watch a supervisor by its pidfd, which becomes the rank's. */
void local_watch (struct local *local, struct rank *rank, int pidfd);
/* Reap supervisors that were released before they ended. */
void local_reap_leaving (struct local *local);

/* ---- Others ---- */

/* Choose a port for a generation: one that is free and that no running generation has.
 * -EADDRINUSE: there is none. */
int local_choose_port (struct local *local, struct pollux_error *err);

int local_recover (void *self, const struct cluster *cluster, struct pollux_error *err);
/* Remove the logs of all but the keep_jobs jobs that ended last. */
void local_prune (struct local *local, const struct cluster *cluster);

#endif
