/* SPDX-License-Identifier: Apache-2.0 */
/* What an application is made of; for the files that load worlds.  Others ask world.h. */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "cluster/node.h"
#include "sim/training_curve.h"
#include "sim/ground_truth.h"

/* Where an application's step times come from: measurements or a model. */
struct timing {
    struct app_step (*step) (void *self, const int *counts, int nodes, int64_t m);
    int (*prepare) (void *self, struct pollux_error *err); /* NULL: nothing to prepare */
    /* The throughput model that describes it best. */
    int (*model) (void *self, struct pollux_model *ret, struct pollux_error *err);
    void (*free) (void *self);
};

struct app {
    char name[NAME_SIZE];
    struct pollux_limits limits;
    struct app_pin pin;
    struct training_curve curve;
    const struct timing *timing;
    void *times; /* the timing's own */
};

/* Free what it holds, also half-built. */
void app_clear (struct app *app);

/* A world of count applications, which it owns from then on, and sorts.  On failure they are
 * cleared. */
int ground_truth_new (struct app *apps, int count, struct ground_truth **ret,
                      struct pollux_error *err);

/* Step times of a throughput model, for replicas on nodes and m samples on each. */
struct app_step model_step (const struct pollux_model *model, const int *counts, int nodes,
                            int64_t m);

#endif
