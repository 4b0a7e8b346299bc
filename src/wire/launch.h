/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a job, as fields of an object.
 *
 *     {
 *       "owner": "ann", "command": ["python", "train.py"], "environment": {"EPOCHS": "10"},
 *       "directory": "/home/ann", "checkpoint_dir": "/home/ann/checkpoints", "launcher": "env",
 *       "stop_signal": 15, "grace": 30, "max_failures": 3, "backoff": 10,
 *       "slurm": {"account": "vision"}
 *     }
 *
 * All fields are required except the owner, the two directories and what is asked of Slurm.
 */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include "cluster/launch.h"
#include "wire/json.h"
#include "wire/member.h"

/* Largest max_failures. */
#define WIRE_FAILURES_LIMIT 1000000

/* All fields except the command, the environment, the directories and the signal. */
extern const struct wire_member wire_launch_members[];

/* Decode an object.  On success the caller owns *ret (launch_free). */
int wire_launch_decode (const struct wire_place *object, struct launch **ret,
                        struct pollux_error *err);
/* Add the fields to an object.  Decoding them gives the same launch.  -EINVAL for a launch that
 * decoding would refuse, -ENOMEM. */
int wire_launch_put (const struct launch *launch, json_t *object, struct pollux_error *err);

#endif
