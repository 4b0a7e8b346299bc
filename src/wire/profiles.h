/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: applications for the simulator, described by a few numbers each.
 *
 *     {"version": 1,
 *      "applications": {
 *        "cifar10": {
 *          "epochs": 100, "epoch_iterations": 390.6,
 *          "init_batch": 128, "max_batch": 4096, "min_local": 32, "max_local": 1024,
 *          "model": {"alpha_grad": 0.03, ...},
 *          "restart_delay": 50, "slowdown": 1.8,
 *          "types": {"a100": {"min_local": 32, "max_local": 4096, "one_gpu": 10063, "model": {...}}},
 *          "noise": {"progress": [0, 0.3, 1], "batches": [128, 4096],
 *                    "ratio": [[0.6, 20, 250], [0.8, 60, 1600]]}}}}
 *
 * docs/formats.md explains the fields.
 */
#ifndef WIRE_PROFILES_H
#define WIRE_PROFILES_H

#include <stdio.h>

#include "cluster/node.h"
#include "pollux/pollux.h"

/* 4 MiB: a profile takes 2 KiB, or 20 KiB with all its knots; room for 200 of the latter. */
#define PROFILES_FILE_LIMIT ((size_t)4 << 20)
#define PROFILE_EPOCHS_LIMIT 100000
enum { PROFILE_KNOTS = 32, PROFILE_BATCHES = 32 };

/* Types of nodes of one profile. */
enum { PROFILE_TYPES = 8 };

struct profile {
    char name[NAME_SIZE];
    int epochs;
    double epoch_iterations; /* of batch M0 */
    struct pollux_limits limits;
    struct pollux_model model;
    double restart_delay_s, slowdown; /* in clusters with types; NaN and 1: not given */
    struct profile_type {
        char name[NAME_SIZE];
        int64_t min_local, max_local;
        double one_gpu; /* samples per second; 0: not known */
        struct pollux_model model;
    } types[PROFILE_TYPES];
    int type_count;
    int pinned_replicas; /* 0: free to scale */
    int64_t pinned_batch;
    /* Gradient noise var / sqr for each batch (ascending) and each point of progress (ascending,
     * 0: start of training, 1: end). */
    int knot_count, batch_count;
    double progress[PROFILE_KNOTS], batches[PROFILE_BATCHES];
    double ratio[PROFILE_BATCHES][PROFILE_KNOTS];
};

/* Read a file ("-": standard input), or a text, for which messages use name.  On success *ret has
 * *count >= 1 profiles; the caller frees it.  -EINVAL names the place. */
int profiles_read (const char *path, struct profile **ret, int *count, struct pollux_error *err);
int profiles_parse (const char *name, const char *text, size_t length, struct profile **ret,
                    int *count, struct pollux_error *err);

/* Write profiles, with six digits per number.  -errno of the stream. */
int profiles_write (const struct profile *profiles, int count, FILE *out, struct pollux_error *err);

#endif
