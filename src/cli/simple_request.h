/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that send one request and print its answer. */
#ifndef CLI_SIMPLE_REQUEST_H
#define CLI_SIMPLE_REQUEST_H

#include <jansson.h>

#include "cli/client_options.h"

/* Print an answer, which is disarmed, as text. */
typedef int answer_printer (const json_t *answer, FILE *out, struct pollux_error *err);

struct simple_request {
    const char *before, *after; /* path before and after the operand */
    bool changes;               /* POST without a body; else GET */
    answer_printer *print;
};

/* The run function of these commands; their subject is the struct simple_request.  Parse options and operand, send the
 * request, and print the answer; with --json as JSON. */
int simple_request_run (struct options *options, FILE *out, struct pollux_error *err);

/* Send one request, POST or GET, and print the answer.  body, or NULL: of a POST. */
int simple_request_path (const struct client_options *given, const char *path, bool changes,
                         const json_t *body, answer_printer *print, FILE *out,
                         struct pollux_error *err);

#endif
