/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot: the state of a cluster as text, instead of its events.  First the whole:
 *
 *     {"now_us": 1700000000000000, "jobs": 2,
 *      "nodes": [{"name": "n0", "slots": 4, "available": true}],
 *      "rounds": [{"seq": 17, "at_us": 1699999940000000, "policy": "pollux", "fitness": 1.9, ...}]}
 *
 * with "experience": [{"application": "1234", "hints": {...}, "noise": [{"sqr": 1, "var": 2}, {}, ...]}, ...] if there
 * is any, and with "groups" and "ledger" (power.h); then, for every job, the body of its SUBMIT event (event.h) and its present state:
 *
 *     {"phase": "running", "generation": 3, "placement": {"n0": 4}, "hints": {...}, ...}
 *
 * docs/formats.md lists all fields.  Numbers keep every bit.  Of an ended job only a summary is kept,
 * without environment, model and oracle.
 */
#ifndef WIRE_SNAPSHOT_H
#define WIRE_SNAPSHOT_H

#include "cluster/restore.h"
#include "cluster/round_summary.h"
#include "wire/event.h"

/* Largest number of rounds in a snapshot: the newest ones are kept. */
enum { WIRE_ROUNDS_LIMIT = 4096 };

/* The whole.  After decoding, the caller owns the rounds (wire_past_clear). */
struct wire_past {
    int64_t now_us;
    int job_count;
    struct round_summary *rounds; /* oldest first */
    int round_count;
};
void wire_past_clear (struct wire_past *past);

/* Encode the whole into the buffer. */
int wire_past_encode (const struct cluster *cluster, const struct round_summary *rounds,
                      int round_count, struct wire_text_buffer *buffer, struct pollux_error *err);

/* Decode the whole; nodes are added to the cluster, which must be empty.  On failure clear both. */
int wire_past_decode (const char *text, size_t length, const char *name, struct cluster *cluster,
                      struct wire_past *ret, struct pollux_error *err);

/* Encode the state of a job into the buffer. */
int wire_state_encode (const struct cluster *cluster, int job, struct wire_text_buffer *buffer,
                       struct pollux_error *err);

/* Memory for restoring a job.  Starts zeroed; is reused. */
struct wire_restored {
    struct wire_event submit;
    struct wire_shares placement, desired;
};
void wire_restored_clear (struct wire_restored *restored);

/* Add a job to the cluster, from the row of its SUBMIT (hints may be missing) and its state.
 * Messages use name for the texts. */
int wire_job_restore (struct cluster *cluster, const struct wire_row *submit, const char *state,
                      size_t length, const char *name, int64_t now_us, struct wire_restored *memory,
                      struct pollux_error *err);

#endif
