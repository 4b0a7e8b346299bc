/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of both trainers. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#include "network.h"
#include "step.h"

struct options {
    const struct network *network;
    int64_t samples; /* in the dataset */
    uint64_t seed;
    double rate;           /* learning rate, for batch M0 */
    int64_t batch;         /* M0, the total batch */
    int64_t accumulate;    /* s of the plain trainer */
    double total;          /* updates with batch M0 */
    double evaluate_every; /* evaluate after this many updates */
    double target;         /* stop at this loss; 0: no target */
    struct pace pace;
    double faster;     /* pace's steps are divided by this: the type of these nodes, 1 by default */
    const char *trace; /* directory for records of every update, or NULL */

    /* Only for the adaptive trainer. */
    int64_t max_batch, max_local, min_local; /* samples */
    bool accumulation;
    bool declared;            /* the agent gets the times of pace; replicas do not sleep */
    int64_t fixed_m, fixed_s; /* train with this batch; fixed_m 0: choose */
    bool observe;
    const char *rule;        /* NULL: the default */
    double report_s;         /* shortest time between fits, and between reports */
    const char *checkpoints; /* directory if there is no daemon; or NULL */
    double save_s;           /* seconds between checkpoints */
};

/* Exits with 2 for wrong usage, with 0 after --help. */
struct options options_parse (int argc, char **argv, bool adaptive);

#endif
