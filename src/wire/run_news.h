/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a supervisor tells the daemon about its run by POST /v1/jobs/JOB/runs:
 *
 *     {"generation": 3, "rank": 0, "state": "running"}
 *     {"generation": 3, "rank": 0, "state": "ended", "status": {"version": 1, "code": 0, ...}}
 *
 * The status is the document of wire/run.h.  Unknown fields are ignored.
 */
#ifndef WIRE_RUN_NEWS_H
#define WIRE_RUN_NEWS_H

#include "wire/run.h"

struct run_news {
    int generation, rank;
    bool ended;               /* false: the command runs */
    struct run_status status; /* valid if ended */
};

/* Encode to text, the caller's (free).  -EINVAL for what the decoder would refuse, -ENOMEM. */
int run_news_encode (const struct run_news *news, char **ret, size_t *ret_length,
                     struct pollux_error *err);
/* As run_status_decode. */
int run_news_decode (const char *name, const char *text, size_t length, struct run_news *ret,
                     struct pollux_error *err);

#endif
