/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and nodes as rows of GET /v1/watch: arrays without names of fields (docs/api.md has the columns).  The values
 * are those of describe_job and describe_node.
 */
#ifndef API_ROWS_H
#define API_ROWS_H

#include "api/describe.h"
#include "api/json_text.h"

/* The parts of a job's row that time alone changes: the run time [run, rest), and when the row was made with
 * the cost at that time [made, price).
 * Offsets from the row's start. */
struct row_parts {
    uint32_t run, rest, made, price;
};

/* Append a row. */
void row_put_job (struct json_text *text, const struct present *present, int job,
                  struct row_parts *ret_parts);
void row_put_node (struct json_text *text, const struct cluster *cluster, int node);

#endif
