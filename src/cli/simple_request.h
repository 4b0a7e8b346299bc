/* SPDX-License-Identifier: Apache-2.0 */
/* Commands with one operand that send one request and print its answer. */
#ifndef CLI_SIMPLE_REQUEST_H
#define CLI_SIMPLE_REQUEST_H

#include <jansson.h>

#include "cli/client_options.h"

struct simple_request {
    const char *before, *after; /* path before and after the operand */
    bool changes;               /* POST without a body; else GET */
    /* Print the answer, which is disarmed, as text. */
    int (*print) (const json_t *answer, FILE *out, struct pollux_error *err);
};

/* Parse options and operand, send the request, and print the answer; with --json as JSON. */
int simple_request_send (const struct simple_request *request, struct options *options, FILE *out,
                         struct pollux_error *err);

#endif
