/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an agent reports of its job: the body of POST /v1/jobs/NAME/hints, version 1.
 *
 *     {
 *       "version": 1, "generation": 3,
 *       "model": {...}, "grad": {"sqr": 0.3, "var": 4.1},
 *       "init_batch": 128, "max_batch": 8192, "min_local": 16, "max_local": 512,
 *       "accumulation": true, "max_profiled_replicas": 4,
 *       "progress": 1000.5, "total": 20000, "m": 64, "s": 1
 *     }
 *
 * Version and generation must be there; null means absent; unknown fields are ignored, so that a
 * newer agent can say more.  The current version is read and the one before, of which there is none
 * yet: 0 is refused.  Refused is what cannot be (wire/spec.h has the ranges and what a model needs
 * beside it), and m without s or s without m.  A progress past the total is none of it: the last
 * iteration may go further than it had to.
 */
#ifndef WIRE_REPORT_H
#define WIRE_REPORT_H

#include "cluster/event.h"
#include "wire/json.h"

enum { WIRE_REPORT_VERSION = 1, WIRE_REPORT_OLDEST = 1 };

/* 16 KiB: thirty numbers with their names take less than 2 KiB; the rest is for newer agents. */
#define WIRE_REPORT_LIMIT ((size_t)16 << 10)

struct wire_report {
    int version, generation;
    struct report report; /* of the job -1: the caller knows which; the oracle knows nothing */
};

/* -EINVAL for nonsense, -EPROTO for a version that is not known here. */
int wire_report_decode (const struct wire_place *object, struct wire_report *ret,
                        struct pollux_error *err);
/* The same for the text of a body. */
int wire_report_parse (const char *name, const char *text, size_t length, struct wire_report *ret,
                       struct pollux_error *err);

#endif
