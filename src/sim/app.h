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
    int (*prepare) (void *self, struct pollux_error *err); /* NULL: nothing to prepare */
    /* The throughput model that fits it best. */
    int (*model) (void *self, struct pollux_model *ret, struct pollux_error *err);
    void (*free) (void *self);
};

struct app {
    char name[NAME_SIZE];
    struct pollux_limits limits;
    struct app_pin pin;
    struct training_curve curve;
    const struct timing *timing;
    void *times; /* self of the timing's functions */
};

/* Free its contents; half-built ones too. */
void app_clear (struct app *app);

/* Make a ground truth of count applications.  It takes them over and sorts them, also on failure,
 * which frees them. */
int ground_truth_new (struct app *apps, int count, struct ground_truth **ret,
                      struct pollux_error *err);

/* Step times by a throughput model: counts[i] replicas on node i, m samples each. */
struct app_step model_step (const struct pollux_model *model, const int *counts, int nodes,
                            int64_t m);

#endif
