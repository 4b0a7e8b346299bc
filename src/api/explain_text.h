/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation in words and as JSON. */
#ifndef API_EXPLAIN_TEXT_H
#define API_EXPLAIN_TEXT_H

#include "api/describe.h"
#include "policy/explain.h"

/* The answer of GET /v1/jobs/{name}/explain.  NULL: not enough memory. */
json_t *describe_explanation (const struct present *present, int job,
                              const struct explanation *explanation);

/* "40 s", "12 min", "3 h 20 min", "5 days"; for any number of seconds. */
struct duration_text {
    char text[32];
};
struct duration_text duration_text (double seconds);

#endif
