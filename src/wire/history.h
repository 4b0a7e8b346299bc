/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The past of a cluster and of its jobs as text: rows of the journal's table `history`.  That of
 * the cluster:
 *
 *     {"version": 1, "until_us": 1700000000000000, "hints_us": 1699999990000000, "price": 0.1,
 *      "minutes": {"at": "00060a...", "slots": "41000000...", ..., "open_us": 1699999980000000,
 *                  "sums": "...", "known": "..."},
 *      "hours": {...}}
 *
 * and that of a job:
 *
 *     {"version": 1, "until_us": ..., "resolution_us": 60000000, "present": "40000000...",
 *      "points": {"at": "...", "replicas": "...", ...},
 *      "generations": [{"generation": 1, "started_us": ..., "ended_us": ..., "kind": "stopped", "replicas": 2, "nodes": 1,
 *                       "placement": {"n0": 2}}, ...],
 *      "measured": [{"node": "n0", "nodes": 1, "replicas": 2, "m": 64, "at_us": ..., "step_s": 0.1}, ...]}
 *
 * A column of numbers is one string: 8 hexadecimal digits for each, the bits of a float, or 16 for
 * an integer (`at`) or a double (`sums`, `known`).  So every bit is kept, the points of a job have
 * 13 kB at most, and 5,000 jobs of three hours are encoded in a quarter of a second (bench/history).  docs/formats.md lists all fields.
 */
#ifndef WIRE_HISTORY_H
#define WIRE_HISTORY_H

#include "cluster/cluster.h"
#include "cluster/cluster_past.h"
#include "cluster/job_past.h"
#include "wire/text.h"

enum { WIRE_HISTORY_VERSION = 1 };

/* 2 MiB: the series of a cluster have 10,224 points of 64 digits; a job has 129 of 96 digits, and
 * 32 generations of at most 16 nodes with names of 63 bytes. */
#define WIRE_HISTORY_LIMIT ((size_t)2 << 20)

/* Encode into the buffer.  Nodes are written by name. */
int wire_cluster_past_encode (const struct cluster_past *past, struct wire_text_buffer *buffer,
                              struct pollux_error *err);
int wire_job_past_encode (const struct cluster *cluster, const struct job_past *past,
                          struct wire_text_buffer *buffer, struct pollux_error *err);

/* Decode a text; name stands for it in messages.  On success the caller frees *ret (cluster_past_clear,
 * job_past_clear).  -EINVAL: refused; -EPROTO: unknown version; -ENOMEM. */
int wire_cluster_past_decode (const char *text, size_t length, const char *name,
                              struct cluster_past *ret, struct pollux_error *err);
int wire_job_past_decode (const char *text, size_t length, const char *name,
                          const struct cluster *cluster, struct job_past *ret,
                          struct pollux_error *err);

#endif
