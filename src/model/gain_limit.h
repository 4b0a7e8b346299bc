/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest gain that a job uses.  With `pass` updates with batch M0 in a pass over the data, N / M0:
 *
 *     at first      pass / 100, at least 4: a pass keeps 100 updates
 *     then          twice as much after every GAIN_LIMIT_TRIAL of progress with a steady estimate
 *     at last       pass / 10, at least 4: a pass keeps 10 updates
 *
 * So short trainings and those on few data stay careful, and long ones on much data soon use the gain that
 * their noise allows.
 */
#ifndef MODEL_GAIN_LIMIT_H
#define MODEL_GAIN_LIMIT_H

#include <math.h>
#include <stdbool.h>

#define GAIN_LIMIT_FIRST 4.
#define GAIN_LIMIT_FIRST_UPDATES 100. /* of a pass */
#define GAIN_LIMIT_LAST_UPDATES 10.
#define GAIN_LIMIT_TRIAL 1000. /* the averages are over as many updates with batch M0 */
#define GAIN_LIMIT_LAST 1048576.

struct gain_limit {
    double most;
    double trial; /* progress so far that counts for the next doubling */
};

/* The limit that leaves a pass this many updates, within the range of all limits. */
static inline double gain_limit_of (double pass, double updates)
{
    return fmin (fmax (pass / updates, GAIN_LIMIT_FIRST), GAIN_LIMIT_LAST);
}

/* pass 0: unknown, a stream. */
static inline struct gain_limit gain_limit_start (double pass)
{
    return (struct gain_limit){.most = gain_limit_of (pass, GAIN_LIMIT_FIRST_UPDATES)};
}

/* An update with this gain was made. */
static inline void gain_limit_advance (struct gain_limit *limit, double gain, bool steady,
                                       double pass)
{
    double last = pass > 0 ? gain_limit_of (pass, GAIN_LIMIT_LAST_UPDATES) : GAIN_LIMIT_LAST;
    limit->trial += steady ? gain : 0;
    if (!(limit->trial >= GAIN_LIMIT_TRIAL))
        return;
    limit->trial = 0;
    limit->most = fmax (fmin (2 * limit->most, last), limit->most);
}

#endif
