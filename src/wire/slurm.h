/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job asks of Slurm (struct slurm_request of cluster/launch.h), as an object:
 *
 *     {"account": "vision", "qos": "low", "partition": "gpu", "time_limit": 720,
 *      "cpus_per_replica": 8, "memory_per_replica": 16384}
 *
 * All fields are optional.  time_limit is in minutes, or a text as Slurm takes it ("12:00:00", "2-00",
 * "90"); memory_per_replica is in MiB, or a text with K, M, G or T ("16G").  The journal has numbers.
 */
#ifndef WIRE_SLURM_H
#define WIRE_SLURM_H

#include "cluster/launch.h"
#include "wire/json.h"

/* A year; 1 TiB x 16. */
enum { WIRE_SLURM_MINUTES = 366 * 24 * 60, WIRE_SLURM_CPUS = 1 << 14 };
#define WIRE_SLURM_MEMORY_MB ((int64_t)1 << 24)

/* Read the fields of an object; those that are absent do not change.  strict: refuse unknown fields,
 * for files that people write. */
int wire_slurm_decode (const struct wire_place *object, bool strict, struct slurm_request *ret,
                       struct pollux_error *err);

/* Add an object with the fields that are set; nothing if none is. */
int wire_slurm_put (json_t *object, const char *key, const struct slurm_request *request,
                    struct pollux_error *err);

/* Take what `upper` sets over what `lower` sets. */
struct slurm_request wire_slurm_merge (const struct slurm_request *lower,
                                       const struct slurm_request *upper);

/* The rule for an account, QOS, partition or reservation: NULL, or what was expected. */
const char *wire_wrong_slurm_name (const char *text);

/* Minutes, rounded up, from "90", "90:30", "1:30:00", "2-12", "2-12:30" or "2-12:30:00"; MiB, rounded
 * up, from "16G", "512" or "2T".  -EINVAL. */
int wire_slurm_minutes (const char *text, int *ret);
int wire_slurm_memory (const char *text, int64_t *ret_mb);

#endif
