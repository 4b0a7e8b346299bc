/* SPDX-License-Identifier: Apache-2.0 */
/* The agent from inside, for agent.c, advice.c and state.c, and for tests that bring their own clock. */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <sys/types.h>

#include "agent/profile.h"
#include "agent/reporter.h"
#include "agent/stopwatch.h"
#include "agent/tuner.h"

/* Seconds on a clock that does not go back. */
typedef double clock_fn (void *context);

/* Places in the numbers that replica 0 broadcasts. */
enum {
    NUMBER_MARK, /* tells advice from noise */
    NUMBER_M,
    NUMBER_S,
    NUMBER_VERDICT,
    NUMBER_SKIP,
    NUMBER_GAIN,
    NUMBER_PROGRESS,
    NUMBER_FACTORS, /* one per group from here on */
};

struct pollux_agent {
    pid_t pid; /* another one: a child of fork, where all is inert */
    clock_fn *now_s;
    void *clock;

    struct pollux_world world;
    const struct pollux_rule *rule;
    int groups;
    bool observe;
    double total, warmup_epochs;
    int64_t dataset_size;
    char *checkpoint_dir; /* owned, or NULL */

    struct pollux_noise *noise; /* owned */
    struct profile profile;
    struct tuner tuner;
    struct reporter reporter;

    struct stopwatch watch;
    bool unmeasured; /* the coming step is not like those after it */
    bool skip;       /* the update of this step is not finite */
    bool decided;    /* progress has this step */
    int64_t samples; /* of this step, if told; 0: K m (s+1) */
    double progress;

    int signal; /* held; 0: none */
    unsigned signal_count;
    bool stop;                   /* asked for by the program */
    bool news;                   /* something to report before the period is over */
    bool said_last;              /* stop or done was reported */
    struct pollux_advice advice; /* followed last */
    double *factors;             /* of that advice; owned */
    double *numbers;             /* to broadcast; owned */
};

static inline bool agent_decides (const struct pollux_agent *agent)
{
    return agent->world.rank == 0;
}

/* All samples of this step's update. */
int64_t agent_samples (const struct pollux_agent *agent);

/* Whether this is the process that opened the agent. */
bool agent_is_here (const struct pollux_agent *agent);

/* Send what there is to say, now. */
void agent_report (struct pollux_agent *agent, double now_s);

#endif
