/* SPDX-License-Identifier: Apache-2.0 */
/* Private to agent.c, advice.c and state.c, and to tests that set their own clock. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <sys/types.h>

#include "agent/reporter.h"
#include "agent/second_moment.h"
#include "agent/stopwatch.h"
#include "agent/tuner.h"
#include "agent/type_profile.h"

/* Indices of the numbers that replica 0 broadcasts. */
enum {
    NUMBER_MARK, /* identifies the numbers as advice */
    NUMBER_M,    /* of the batch that was chosen */
    NUMBER_S,
    NUMBER_PROBE, /* the next update is a probe */
    NUMBER_VERDICT,
    NUMBER_SKIP,
    NUMBER_GAIN,
    NUMBER_PROGRESS,
    NUMBER_FACTORS, /* one per group, from this index */
};

struct pollux_agent {
    pid_t pid; /* of the process that opened it; in others it is inert */
    double (*now_s) (void *clock);
    void *clock;

    struct pollux_world world;
    const struct pollux_rule *rule;
    int groups;
    bool observe;
    double total, warmup_epochs;
    double beta2;         /* Adam's; 0: another optimizer */
    char *checkpoint_dir; /* owned, or NULL */

    struct pollux_noise *noise;   /* owned; for the status, and for rules by group */
    struct adaptation adaptation; /* for decisions */
    struct second_moment moment;
    struct type_profiles types; /* what was measured; the first one is the present type */
    struct tuner tuner;
    struct reporter reporter;

    struct stopwatch watch;
    bool unmeasured; /* the next step is not representative */
    bool changed;    /* the batch was changed in this step, for the next one */
    bool skip;       /* the update of this step is not finite */
    bool decided;    /* the decision on this step's update is made */
    int64_t samples; /* of this step, from pollux_agent_samples; 0: K m (s+1) */
    double progress;
    struct {
        bool is_set; /* progress includes this step's update */
        double progress;
        struct second_moment moment;
        struct adaptation adaptation;
    } before; /* that update */

    int signal; /* caught; 0: none */
    unsigned signal_count;
    bool stop;                    /* requested by pollux_agent_stop */
    bool news;                    /* report without waiting for the end of the period */
    bool said_last;               /* the last report was sent */
    struct pollux_advice advice;  /* the last one followed */
    struct pollux_batch followed; /* its batch, or the one that a probe divides */
    double *factors;              /* of that advice; owned */
    double *numbers;              /* to broadcast; owned */
};

static inline bool agent_decides (const struct pollux_agent *agent)
{
    return agent->world.rank == 0;
}

static inline const struct profile *agent_profile (const struct pollux_agent *agent)
{
    return &agent->types.items[0].profile;
}

/* The statistics to decide by (adaptation_grad). */
struct pollux_grad agent_grad (const struct pollux_agent *agent);

/* The update that this step's decision counts is not made after all. */
void agent_take_back (struct pollux_agent *agent);

/* Samples of this step's update, over all replicas. */
int64_t agent_samples (const struct pollux_agent *agent);

/* True if this is the process that opened the agent. */
bool agent_is_here (const struct pollux_agent *agent);

/* Send a report now. */
void agent_report (struct pollux_agent *agent, double now_s);

#endif
