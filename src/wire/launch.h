/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs, as fields of an object.
 *
 *     {
 *       "owner": "ann", "command": ["python", "train.py"], "environment": {"EPOCHS": "10"},
 *       "directory": "/home/ann", "checkpoint_dir": "/home/ann/checkpoints", "launcher": "env",
 *       "stop_signal": 15, "grace": 30, "max_failures": 3, "backoff": 10
 *     }
 *
 * Only the owner and the two directories may be missing.
 */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include "cluster/launch.h"
#include "wire/json.h"
#include "wire/member.h"

/* A job that failed a million times in a row will not succeed. */
#define WIRE_FAILURES_LIMIT 1000000

/* The plain fields: all but the command, the environment, the directories and the signal. */
extern const struct wire_member wire_launch_members[];

/* From a place: on success *ret belongs to the caller (launch_free). */
int wire_launch_decode (const struct wire_place *object, struct launch **ret,
                        struct pollux_error *err);
/* Add the fields to an object.  Decoding gives the same launch.  -EINVAL for one that decoding
 * would refuse, -ENOMEM. */
int wire_launch_put (const struct launch *launch, json_t *object, struct pollux_error *err);

#endif
