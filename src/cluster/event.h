/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_EVENT_H
#define CLUSTER_EVENT_H

#include <stdint.h>

#include "cluster/job.h"
#include "cluster/launch.h"
#include "cluster/plan.h"
#include "cluster/policy_settings.h"

/* All that can happen.  The cluster is the fold of its events. */
enum event_type {
    EVENT_SUBMIT,  /* a job arrives */
    EVENT_CANCEL,  /* its owner no longer wants it; if it runs, it ends with its EXIT */
    EVENT_LIMITS,  /* its owner changes its limits */
    EVENT_NODE,    /* a node appears or changes */
    EVENT_HINTS,   /* what agents reported since the last round */
    EVENT_ROUND,   /* time to decide */
    EVENT_PLAN,    /* the decision */
    EVENT_START,   /* a generation is about to start on a placement */
    EVENT_STARTED, /* it trains */
    EVENT_EXIT,    /* a generation has ended */
};
enum { EVENT_TYPES = EVENT_EXIT + 1 };

/* "SUBMIT" and so on, as in the journal. */
extern const char *const event_names[EVENT_TYPES];

/* How a generation ended. */
enum exit_kind {
    EXITED_FINISHED, /* the job is done */
    EXITED_STOPPED,  /* by the scheduler's choice; the job goes on later */
    EXITED_FAILED,   /* by itself; the job goes on later */
    EXITED_GAVE_UP,  /* by itself, once too often: the job has failed */
    EXITED_AGAIN,    /* by no fault of its own, such as a port that was taken: it goes on at once */
};
enum { EXIT_KINDS = EXITED_AGAIN + 1 };
extern const char *const exit_names[EXIT_KINDS];

/* One job's part of EVENT_HINTS. */
struct report {
    int job;
    struct hints hints;
    struct pollux_batch batch;
    double oracle_remaining; /* NaN outside simulations */
};

/* How to decide; with the cluster it makes the view, so that a journal can be decided again. */
struct round {
    char policy[NAME_SIZE];
    char software[NAME_SIZE]; /* the version that decided; "": this one */
    double interval_s, restart_delay_s, p;
    struct policy_settings settings; /* other options of the policy */
    enum pollux_search search;
    uint64_t seed;
    int64_t budget;
    double least_age_s; /* younger jobs count as so old */
    bool fill;          /* only fill free slots: whatever runs or is about to stays as it is */
    bool cold;          /* the policy has forgotten all earlier rounds */
};

/* An event borrows what it points to until it has been applied. */
struct event {
    int64_t at_us;
    enum event_type type;
    int job; /* its index in order of submission; for SUBMIT that of the new one; -1 for none */
    union {
        struct {
            const struct job_spec *spec;
            struct hints hints;          /* what is known from the start */
            const struct oracle *oracle; /* copied; NULL outside simulations */
            const struct launch *launch; /* copied; NULL in simulations */
        } submit;
        struct {
            int min_replicas, max_replicas;
            double weight;
        } limits;
        struct node node;
        struct {
            const struct report *reports;
            int count;
        } hints;
        struct round round;
        const struct plan *plan; /* by index among the jobs active then */
        struct {
            int generation;
            struct placement placement; /* of START; STARTED has none */
        } start;
        struct {
            int generation;
            enum exit_kind kind;
            char detail[DETAIL_SIZE]; /* for people: which replica ended how; may be "".  A line
                                       * of UTF-8: utf8_disarm makes one of anything */
        } exit;
    };
};

#endif
