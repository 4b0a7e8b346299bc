/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All generations that run, above a carrier: which to start, which to stop, and the events that
 * follow.  These functions are the ops of a backend (backend.h) that do not depend on where
 * replicas run.
 *
 * Slots are taken when START is posted and free when EXIT is reported, so the set knows which slots
 * are really free, whatever the plan says.
 */
#ifndef BACKEND_GENERATION_SET_H
#define BACKEND_GENERATION_SET_H

#include "backend/carrier.h"
#include "backend/slot_map.h"
#include "loop/loop.h"
#include "wire/run_news.h"

struct run_settings;

/* Fill carrier, carrier_self, log, log_self and runs; zero the rest. */
struct generation_set {
    const struct carrier *carrier;
    void *carrier_self;
    void (*log) (void *self, int level, const char *text); /* NULL: none */
    void *log_self;
    struct run_settings *runs; /* NULL: run directories are elsewhere */
    /* May a job be started now?  False: not yet; wants_settle is set later.  NULL: always. */
    bool (*may_start) (void *self, const struct job *job);
    void *may_start_self;
    bool one_mpi_share; /* without mpirun (carrier.h), all ranks of an MPI job are one share */
    struct generation **items; /* in no order */
    int count, capacity;
    struct slot_map slot_map;
    bool stopping; /* start nothing, stop all */
    bool wants_settle;
    int64_t hold_until_us;  /* start nothing before this; 0: no such time */
    int64_t start_until_us; /* end of the time for starts in this step; 0: no start so far */
};

/* Drops all generations. */
void generation_set_clear (struct generation_set *set);

/* Add the generations that run according to the journal.  adopt finds out how far one of them came: 1
 * if it has its slots, 0 if it needs some, or an error.  These get slots that no other generation has. */
int generation_set_recover (struct generation_set *set, const struct cluster *cluster,
                            int (*adopt) (void *self, struct generation *generation,
                                          struct pollux_error *err),
                            void *self, struct pollux_error *err);

int generation_set_reconcile (struct generation_set *set, struct loop *loop,
                              struct pollux_error *err);
void generation_set_act (struct generation_set *set, const struct cluster *cluster);
/* Step every generation that is due. */
void generation_set_step (struct generation_set *set, const struct cluster *cluster);
int64_t generation_set_due_us (const struct generation_set *set);
int generation_set_next_event (struct generation_set *set, const struct cluster *cluster,
                               struct event *ret);
bool generation_set_wants_settle (const struct generation_set *set);
/* News of a run: the carrier looks at its generation with the next step.  -EINVAL: no such rank. */
int generation_set_news (struct generation_set *set, int job, const struct run_news *news,
                         struct pollux_error *err);
void generation_set_reported (struct generation_set *set, const struct cluster *cluster, int job);

/* Format and log a sentence. */
void generation_log (const struct generation_set *set, int level, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
