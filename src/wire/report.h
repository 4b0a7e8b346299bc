/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent's report on its job: the body of POST /v1/jobs/NAME/hints, version 1.
 *
 *     {
 *       "version": 1, "generation": 3,
 *       "model": {...}, "grad": {"sqr": 0.3, "var": 4.1},
 *       "init_batch": 128, "max_batch": 8192, "min_local": 16, "max_local": 512,
 *       "accumulation": true, "max_profiled_replicas": 4,
 *       "progress": 1000.5, "total": 20000, "m": 64, "s": 1,
 *       "step_s": 0.21, "rate_factor": 3.4
 *     }
 *
 * Version and generation are required; null means absent; unknown fields are ignored, so that newer
 * agents can add fields.  The current version and the one before are read; version 0 never existed.
 * Refused are numbers outside of their ranges, a model without all that wire/spec.h requires with
 * it, and m without s or s without m.  Progress above the total is accepted: the last iteration may
 * exceed it.
 */
#ifndef WIRE_REPORT_H
#define WIRE_REPORT_H

#include "cluster/event.h"
#include "wire/json.h"

enum { WIRE_REPORT_VERSION = 1, WIRE_REPORT_OLDEST = 1 };

/* 16 KiB: thirty numbers with their names take less than 2 KiB; the rest is for new fields. */
#define WIRE_REPORT_LIMIT ((size_t)16 << 10)

struct wire_report {
    int version, generation;
    struct report report; /* job is -1: the caller sets it; oracle_remaining is NaN */
};

/* Decode a report.  -EINVAL: refused; -EPROTO: unknown version. */
int wire_report_decode (const struct wire_place *object, struct wire_report *ret,
                        struct pollux_error *err);
/* Parse the text of a body. */
int wire_report_parse (const char *name, const char *text, size_t length, struct wire_report *ret,
                       struct pollux_error *err);

#endif
