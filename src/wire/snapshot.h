/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster as text, instead of the events that led to it.  First what is known of the whole:
 *
 *     {"now_us": 1700000000000000, "jobs": 2,
 *      "nodes": [{"name": "n0", "slots": 4, "available": true}],
 *      "rounds": [{"seq": 17, "at_us": 1699999940000000, "policy": "pollux", "fitness": 1.9, ...}]}
 *
 * then, for every job, the body of its SUBMIT event (event.h) and what has become of it since:
 *
 *     {"phase": "running", "generation": 3, "placement": {"n0": 4}, "hints": {...}, ...}
 *
 * docs/formats.md has all fields.  Numbers come back bit for bit.  An ended job is a summary: its
 * environment, its model and its oracle are forgotten.
 */
#ifndef WIRE_SNAPSHOT_H
#define WIRE_SNAPSHOT_H

#include "cluster/restore.h"
#include "cluster/round_summary.h"
#include "wire/event.h"

/* Rounds in a snapshot: the newest of those offered. */
enum { WIRE_ROUNDS_LIMIT = 4096 };

/* What is known of the whole.  The rounds belong to whoever reads them (wire_past_clear). */
struct wire_past {
    int64_t now_us;
    int job_count;
    struct round_summary *rounds; /* oldest first */
    int round_count;
};
void wire_past_clear (struct wire_past *past);

/* The text of the whole, in the buffer. */
int wire_past_encode (const struct cluster *cluster, const struct round_summary *rounds,
                      int round_count, struct wire_text_buffer *buffer, struct pollux_error *err);

/* The other way; the nodes go to the cluster, which is empty.  On failure, clear both. */
int wire_past_decode (const char *text, size_t length, const char *name, struct cluster *cluster,
                      struct wire_past *ret, struct pollux_error *err);

/* The text of a job's state, in the buffer. */
int wire_state_encode (const struct cluster *cluster, int job, struct wire_text_buffer *buffer,
                       struct pollux_error *err);

/* Memory for a job on its way back, used again and again; zero to begin with. */
struct wire_restored {
    struct wire_event submit;
    struct wire_shares placement, desired;
};
void wire_restored_clear (struct wire_restored *restored);

/* The other way: the cluster has one job more, of which the row of its SUBMIT (may lack its hints)
 * and its state are given.  name stands for the texts in messages. */
int wire_job_restore (struct cluster *cluster, const struct wire_row *submit, const char *state,
                      size_t length, const char *name, int64_t now_us, struct wire_restored *memory,
                      struct pollux_error *err);

#endif
