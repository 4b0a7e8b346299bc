/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as rows of a journal.  Rows name jobs and nodes; numbers keep every bit.
 *
 *     type      job   body
 *     NODE            {"name": "n0", "slots": 4, "available": true}
 *     SUBMIT    a     {"min_replicas": 0, "max_replicas": 64, ..., "hints": {...}, "launch": {...}}
 *     LIMITS    a     {"min_replicas": 1, "max_replicas": 8, "weight": 2.0}
 *     CANCEL    a     {}
 *     HINTS           {"a": {"model": {...}, ..., "m": 32, "s": 1}, "b": {...}}
 *     ROUND           {"policy": "pollux", "interval": 60.0, ..., "seed": "42", "software": "0.1.0"}
 *     PLAN            {"placements": {"a": {"n0": 4, "n3": 2}}, "speedups": {"a": 1.9}, "fitness": ...}
 *     START     a     {"generation": 1, "placement": {"n0": 4, "n3": 2}}
 *     STARTED   a     {"generation": 1}
 *     EXIT      a     {"generation": 1, "kind": "finished"}
 *     GROUPS          {"goal": "band:0.35,0.65", "groups": [{"name": "spot", "max": 16, ...}]}
 *     SIZE            {"utility": 0.52, "nodes": {"spot": 4}, "reason": "..."}
 *     POWER           {"node": "spot-0", "state": "starting", "deadline_us": 1700000000000000}
 *
 * docs/formats.md lists all fields.  Unknown numbers (NaN) are not written.
 */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "cluster/cluster.h"
#include "wire/json.h"
#include "wire/placement.h"
#include "wire/text.h"

/* 64 MiB: the hints of 2^16 jobs take less than 1 KiB each. */
#define WIRE_EVENT_LIMIT ((size_t)64 << 20)

/* One row.  It owns nothing. */
struct wire_row {
    int64_t at_us;
    const char *type, *job; /* job NULL: the event has no job */
    const char *body;
    size_t length; /* of the body */
};

/* Encode an event before it is applied to the cluster.  *ret borrows from the buffer, the cluster
 * and the event.  -EINVAL for an event that decoding would refuse, -EFBIG for one that is larger
 * than the limit, -ENOMEM. */
int wire_event_encode (const struct cluster *cluster, const struct event *event,
                       struct wire_text_buffer *buffer, struct wire_row *ret,
                       struct pollux_error *err);

/* A decoded event and the memory it refers to.  Starts zeroed; is reused for the next event. */
struct wire_event {
    struct event event;
    struct job_spec spec;
    struct oracle oracle;
    struct launch *launch;
    double *iter_s;
    struct report *reports;
    int iter_capacity, report_capacity;
    struct plan plan;
    struct wire_shares shares;
    struct node_group groups[NODE_GROUPS_LIMIT];
};
void wire_event_clear (struct wire_event *event);

/* Decode the row that follows the present state of the cluster.  Messages use name for the body.
 * Whether the event fits (the job runs, ...) is checked by cluster_apply. */
int wire_event_decode (const struct cluster *cluster, const struct wire_row *row, const char *name,
                       struct wire_event *ret, struct pollux_error *err);

#endif
