/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_EVENT_H
#define CLUSTER_EVENT_H

#include <stdint.h>

#include "cluster/job.h"
#include "cluster/launch.h"
#include "cluster/plan.h"
#include "cluster/policy_settings.h"
#include "cluster/power.h"

/* Everything that changes a cluster.  The cluster is the fold of its events. */
enum event_type {
    EVENT_SUBMIT,  /* a job arrives */
    EVENT_CANCEL,  /* its owner cancels it; if it runs, it ends with its EXIT */
    EVENT_LIMITS,  /* its owner changes its limits */
    EVENT_NODE,    /* a node appears or changes */
    EVENT_HINTS,   /* reports of agents since the last round */
    EVENT_ROUND,   /* a decision begins */
    EVENT_PLAN,    /* the decision */
    EVENT_START,   /* a generation is about to start on a placement */
    EVENT_STARTED, /* its program is ready and trains */
    EVENT_EXIT,    /* a generation has ended */
    EVENT_GROUPS,  /* the groups of nodes, and what their size aims at */
    EVENT_SIZE,    /* how many nodes each group should have; without a change: the utility now */
    EVENT_POWER,   /* a node of a group is ordered, drained, returned or off */
};
enum { EVENT_TYPES = EVENT_POWER + 1 };

/* "SUBMIT" and so on, as in the journal. */
extern const char *const event_names[EVENT_TYPES];

/* Of a pause after an exit, seconds: a day. */
enum { PAUSE_LIMIT = 86400 };

/* How a generation ended. */
enum exit_kind {
    EXITED_FINISHED, /* the job is done */
    EXITED_STOPPED,  /* the scheduler stopped it; the job continues later */
    EXITED_FAILED,   /* it failed; the job is retried after a back-off */
    EXITED_GAVE_UP,  /* it failed more than max_failures times: the job has failed */
    EXITED_AGAIN,    /* an outside reason, such as a port in use; the job is retried */
};
enum { EXIT_KINDS = EXITED_AGAIN + 1 };
extern const char *const exit_names[EXIT_KINDS];

/* The report of one job in EVENT_HINTS. */
struct report {
    int job;
    struct pollux_batch batch;
    struct hints hints;
    double oracle_remaining; /* NaN outside simulations */
};

/* How to decide.  Cluster and round determine the view: a decision in a journal can be repeated. */
struct round {
    char policy[NAME_SIZE];
    char software[NAME_SIZE]; /* the version that decided; "": the running one */
    double interval_s, restart_delay_s, p;
    struct policy_settings settings; /* other options of the policy */
    enum pollux_search search;
    uint64_t seed;
    int64_t budget;
    double least_age_s; /* lower limit on the age of jobs */
    bool fill;          /* only fill free slots: jobs with a placement, or a desired one, keep it */
    bool cold;          /* the policy starts with empty memory */
    bool experience;    /* jobs learn from earlier ones of their application */
};

/* What an event points to must stay valid until the event has been applied. */
struct event {
    int64_t at_us;
    enum event_type type;
    int job; /* index in order of submission; for SUBMIT the index of the new job; -1: none */
    union {
        struct {
            const struct job_spec *spec;
            struct hints hints;          /* known at submission */
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
        const struct plan *plan; /* job i of the plan is job i of cluster.active */
        struct {
            int generation;
            struct placement placement; /* of START; STARTED has none */
            /* Of START: the same number of replicas per node on other nodes of the same type, without a restart.
             * Only in simulations. */
            bool relocated;
        } start;
        struct {
            int generation;
            enum exit_kind kind;
            char detail[DETAIL_SIZE]; /* a sentence on which replica ended and how, or "".  One
                                       * line of UTF-8 (utf8_disarm) */
            int pause_s; /* it continues after this time; its slots are free meanwhile */
        } exit;
        struct {
            const struct node_group *list;
            int count; /* 0..NODE_GROUPS_LIMIT */
            struct goal goal;
        } groups;
        struct {
            double utility;               /* of this round; NaN: there was no job */
            bool resize;                  /* nodes and reason hold */
            int nodes[NODE_GROUPS_LIMIT]; /* by group */
            char reason[DETAIL_SIZE];     /* a sentence, as exit.detail */
        } size;
        struct {
            char node[NAME_SIZE];
            enum power_state state;
            int64_t deadline_us;      /* of the state; 0: none */
            char detail[DETAIL_SIZE]; /* why, as exit.detail */
        } power;
    };
};

#endif
