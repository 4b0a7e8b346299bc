/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_EXPLAIN_JSON_H
#define API_EXPLAIN_JSON_H

#include "api/describe.h"
#include "policy/explain.h"

/* The answer of GET /v1/jobs/{name}/explain.  NULL: not enough memory. */
json_t *describe_explanation (const struct present *present, int job,
                              const struct explanation *explanation);

#endif
