/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_JOB_H
#define CLUSTER_JOB_H

#include <stdint.h>

#include "cluster/launch.h"
#include "cluster/node.h"
#include "model/placement.h"

/* Bytes of the sentence on how a generation ended. */
enum { DETAIL_SIZE = 160 };

/* Which replica counts a job can run with, besides its minimum and maximum. */
enum allowed_kind { ALLOWED_ANY, ALLOWED_POW2, ALLOWED_MULTIPLE, ALLOWED_LIST };

enum { ALLOWED_LIST_LIMIT = 64 };

struct allowed {
    enum allowed_kind kind;
    int multiple;                 /* ALLOWED_MULTIPLE: of this, >= 1 */
    int list[ALLOWED_LIST_LIMIT]; /* ALLOWED_LIST: `count` counts, ascending */
    int count;
};

/* Types of nodes that an owner can name. */
enum { SPEC_TYPES_LIMIT = 16 };

/* Which types of nodes a job can run on. */
struct allowed_types {
    bool except; /* all but these */
    char list[SPEC_TYPES_LIMIT][NAME_SIZE];
    int count; /* 0: all */
};

/* How fast the job is on nodes of some types, with one replica; only the ratios count.  (The policy
 * gavel takes them as iterations per second of the job as requested.) */
struct type_speeds {
    struct type_speed {
        char type[NAME_SIZE];
        double speed;
    } list[SPEC_TYPES_LIMIT];
    int count;
};

/* What the owner sets when submitting the job. */
struct job_spec {
    char name[NAME_SIZE];
    char application
        [NAME_SIZE]; /* what it trains, as its owner says; the profile in a simulation; "": not given */
    bool ignore_experience; /* it neither learns from earlier jobs nor do later ones from it */
    int min_replicas;       /* at least this many whenever it runs; 0: no minimum */
    int max_replicas;       /* >= 1 */
    struct allowed allowed;
    struct allowed_types types;
    struct type_speeds speeds;
    double weight;          /* > 0, 1 by default */
    bool preemptible;       /* false: it keeps its first placement until it ends */
    bool adaptive;          /* tunes its batch to its placement; false: fixed_batch always */
    double restart_delay_s; /* NaN: use the cluster's */
    /* The request, for policies that use requests; 0: none. */
    int fixed_replicas;
    int64_t fixed_batch;
};

/* What a job has measured on nodes of one type. */
struct type_model {
    char type[NAME_SIZE];
    struct pollux_model model;
    int64_t max_local; /* largest batch of a replica's micro-step there */
    int max_profiled_replicas;
};

/* Types that a job reports at most, besides the one that it trained on last.  A report with all of them
 * has 4 KiB. */
enum { OTHER_MODELS_LIMIT = 7 };

/* What the job's agent reports.  Unknown doubles are NaN.  Gradient statistics hold for all types
 * of nodes; model, limits.max_local and max_profiled_replicas for the one that the job trained on
 * last, and for all types without a model of their own if that is not given. */
struct hints {
    bool has_model;       /* model and grad are known */
    char type[NAME_SIZE]; /* that it trained on last; "": not given */
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits; /* init_batch 0: unknown */
    int max_profiled_replicas;   /* -1: unknown, which sets no limit */
    double progress, total;      /* iterations of init_batch: done, and needed in total */
    /* Mean measured time of a step, with synchronisation, in its present shape and with its present
     * m; factor on the learning rate, of the first group of parameters, now. */
    double step_s, rate_factor;
    struct type_model others[OTHER_MODELS_LIMIT];
    int other_count;
};

/* Nothing is known. */
extern const struct hints hints_unknown;

/* Points of a noise curve: the share of the work that is done is divided into so many parts. */
enum { NOISE_POINTS = 8 };

/* The gradient statistics that a job reported first in each part of its training, if it had
 * evidence then; sqr 0: none. */
struct noise_curve {
    struct pollux_grad points[NOISE_POINTS];
};

/* Exact knowledge that only a simulation has, for policies that were published with it:
 * iteration times with the fixed batch on k = 1..count slots packed on full nodes, and the
 * remaining iterations with that batch. */
struct oracle {
    double *iter_s; /* owned by the job */
    int count;
    double remaining;
};

enum job_phase {
    JOB_PENDING,    /* no generation runs */
    JOB_RUNNING,    /* a generation runs: from its START to its EXIT */
    JOB_CANCELLING, /* a generation runs; the job ends with its EXIT */
    JOB_FINISHED,
    JOB_FAILED,
    JOB_CANCELLED,
};
enum { JOB_PHASES = JOB_CANCELLED + 1 };
extern const char *const job_phase_names[JOB_PHASES];

/* The state of a job in the cluster.  A field that is added here must be added to snapshots too
 * (wire/snapshot.c). */
struct job {
    struct job_spec spec;
    struct hints hints;
    uint64_t application; /* experience_application */
    struct noise_curve noise;
    /* In an informed view (policy/informed_view.h), else 0: other jobs whose measurements complete
     * its hints, and how many of its models are theirs, the last ones of hints.others first. */
    int evidence, borrowed;
    struct oracle oracle;
    struct pollux_batch batch; /* the batch it trains with now; {0, 0}: unknown */
    enum job_phase phase;
    int64_t submit_us, end_us; /* end_us: time of finish, failure or cancellation */
    double age_s;              /* age at the last round */
    int64_t age_us, aged_us;   /* age_s is computed from age_us, which is right up to aged_us */
    double attained_s;         /* slot-seconds held up to charged_us */
    double held_s;             /* seconds with slots, up to charged_us */
    double cost;               /* of these slots, in the unit of the groups' prices */
    int64_t charged_us;
    int account;                /* hint of ledger_add */
    int generation;             /* generations started so far */
    int restarts;               /* of these, not the first one and not after a failure */
    bool failed_last;           /* the last generation failed: the next START is no restart */
    int failures;               /* generations that failed */
    int64_t retry_us;           /* after a failure, or a pause: not started before this time */
    int64_t start_us;           /* of the last START */
    double delay_s;             /* seconds from START to STARTED; NaN: not measured yet */
    struct placement placement; /* where it runs */
    struct placement desired;   /* according to the last plan */
    struct share *shares, *desired_shares; /* memory of the two placements */
    int share_capacity, desired_capacity;
    struct launch *launch;    /* owned; NULL in simulations */
    char detail[DETAIL_SIZE]; /* of the last EXIT */
};

/* True if the job may have this many replicas.  0, not running, is always allowed. */
bool job_allows (const struct job *job, int replicas);

/* True if the job can run on nodes of that type.  "", a node without a type, is in no list. */
bool job_allows_type (const struct job *job, const char *type);

/* The owner's speed of a type; NaN: not given. */
double job_type_speed (const struct job *job, const char *type);

/* The same of a job whose speeds are all that is known: a type that its owner does not list counts as the geometric mean
 * of those listed, and every type as 1 if none is. */
double job_assumed_speed (const struct job *job, const char *type);

/* The smallest allowed count > replicas; 0 if there is none.  Negative values count as 0. */
int job_next_replicas (const struct job *job, int replicas);

/* The largest allowed count <= replicas; 0 if there is none, or if replicas is negative. */
int job_fit_replicas (const struct job *job, int replicas);

/* The number of replicas for policies that do not choose it: the requested one, or the smallest
 * allowed one. */
int job_request (const struct job *job);

/* True if the job has a placement that must not change: it is not preemptible. */
bool job_pinned (const struct job *job);

/* The largest number of replicas that the job may have now: at most its maximum, and at most twice
 * the number it was profiled with (but never less than its smallest allowed count), because the
 * model is not reliable far outside of the measured range. */
int job_trusted_replicas (const struct job *job);

/* The same, if it was profiled with this many; -1: unknown, which sets no limit. */
int job_trusted_with (const struct job *job, int profiled_replicas);

/* The same, and at most max_batch / min_local: each replica needs min_local samples. */
int job_most_replicas (const struct job *job);

/* True if it has not ended. */
bool job_live (const struct job *job);

/* True if a generation of it runs. */
bool job_runs (const struct job *job);

/* True if other jobs can learn from them: a model, and the replicas that it was measured with. */
bool hints_are_evidence (const struct hints *hints);

/* How many types they have a model of. */
int hints_model_count (const struct hints *hints);

/* The model of their i-th type, the one trained on last first. */
struct type_model hints_model_at (const struct hints *hints, int i);

/* The index of a type in them; -1: they have no model of it. */
int hints_type_index (const struct hints *hints, const char *type);

/* The point of a noise curve for its progress; 0 if that is not known. */
int hints_noise_point (const struct hints *hints);

/* Remaining iterations of init_batch; NaN: unknown. */
double job_remaining (const struct job *job);

/* Copy a placement into the job, as the present or the desired one.  0 or -ENOMEM. */
int job_place (struct job *job, struct placement placement);
int job_desire (struct job *job, struct placement placement);

/* Free its contents, not the job itself. */
void job_clear (struct job *job);

#endif
