/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest gain that the agent uses.  It rises with evidence: it doubles after every GAIN_LIMIT_TRIAL
 * of progress that was made close to it while the estimate was steady.  So short trainings stay
 * careful, and long ones on much data soon use the gain that their noise allows.
 */
#ifndef MODEL_GAIN_LIMIT_H
#define MODEL_GAIN_LIMIT_H

#include <stdbool.h>

#define GAIN_LIMIT_FIRST 4.
#define GAIN_LIMIT_TRIAL 1000. /* the averages are over as many updates with batch M0 */
#define GAIN_LIMIT_LAST 1048576.

struct gain_limit {
    double most;
    double trial; /* progress so far that counts for the next doubling */
};

static inline struct gain_limit gain_limit_start (void)
{
    return (struct gain_limit){.most = GAIN_LIMIT_FIRST};
}

/* An update with this gain was made. */
static inline void gain_limit_advance (struct gain_limit *limit, double gain, bool steady)
{
    if (!steady || !(gain > 0.9 * limit->most))
        return;
    limit->trial += gain;
    if (limit->trial >= GAIN_LIMIT_TRIAL && limit->most < GAIN_LIMIT_LAST)
        *limit = (struct gain_limit){.most = 2 * limit->most};
}

#endif
