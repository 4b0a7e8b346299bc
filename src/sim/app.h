/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an application, for the files that load ground truth.  Others use
 * ground_truth.h. */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "cluster/node.h"
#include "sim/training_curve.h"
#include "sim/ground_truth.h"

/* The source of an application's step times: measurements or a model. */
struct timing {
    struct app_step (*step) (void *self, const int *counts, int nodes, int64_t m);
    /* The largest local batch of a placement, and of all measured placements with that many replicas (0: there are
     * none).  NULL: the limit of the type, and none. */
    int64_t (*max_local) (void *self, const int *counts, int nodes);
    int64_t (*most_local) (void *self, int replicas);
    int (*prepare) (void *self, struct pollux_error *err); /* NULL: nothing to prepare */
    /* The throughput model that fits it best. */
    int (*model) (void *self, struct pollux_model *ret, struct pollux_error *err);
    void (*free) (void *self);
};

/* An application, or its part on nodes of one type. */
struct app {
    char name[NAME_SIZE];
    char type[NAME_SIZE]; /* "": not given */
    struct pollux_limits limits;
    struct app_pin pin;
    struct training_curve curve; /* of a part: borrowed from the whole */
    const struct timing *timing; /* NULL: it runs on nodes of its types only */
    void *times;                 /* self of the timing's functions */
    double speed; /* samples per second of one replica with its largest batch; 0: not known */
    double restart_delay_s; /* NaN: not given */
    double slowdown;
    struct app *parts; /* on nodes of each type; owned; NULL in a part */
    int part_count;    /* at most APP_TYPES */
    int index;         /* of a part: from 1 on; 0: the whole */
};

/* What every application starts with. */
struct app app_start (void);

/* Free its contents; half-built ones too. */
void app_clear (struct app *app);

/* Complete an application whose own fields and parts' limits, times and types are set. */
void app_finish (struct app *app);

/* Make a ground truth of count applications.  It takes them over and sorts them, also on failure,
 * which frees them. */
int ground_truth_new (struct app *apps, int count, struct ground_truth **ret,
                      struct pollux_error *err);

/* Step times by a throughput model: counts[i] replicas on node i, m samples each. */
struct app_step model_step (const struct pollux_model *model, const int *counts, int nodes,
                            int64_t m);

#endif
