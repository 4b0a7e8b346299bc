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
    double evaluate_every; /* so many of them */
    double target;         /* loss at which to end; 0: none */
    struct pace pace;
    const char *trace; /* directory for records of every update, or NULL */

    /* What the adaptive trainer has besides. */
    int64_t max_batch, max_local, min_local; /* samples */
    bool accumulation;
    int64_t fixed_m, fixed_s; /* train with this batch; fixed_m 0: choose */
    bool observe;
    const char *rule;        /* NULL: the default */
    double report_s;         /* refit and report at most so often */
    const char *checkpoints; /* directory, where no daemon says one; or NULL */
    double save_s;           /* seconds between checkpoints */
};

/* Ends the program with 2 for wrong usage, with 0 after --help. */
struct options options_parse (int argc, char **argv, bool adaptive);

#endif
