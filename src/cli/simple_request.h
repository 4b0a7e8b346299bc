/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that ask the daemon one thing about what their only operand names. */
#ifndef CLI_SIMPLE_REQUEST_H
#define CLI_SIMPLE_REQUEST_H

#include <jansson.h>

#include "cli/client_options.h"

struct simple_request {
    const char *before, *after; /* the path, around the name */
    bool changes;               /* something: a POST, without a body */
    /* The answer for people; nothing of it moves a terminal's cursor. */
    int (*print) (const json_t *answer, FILE *out, struct pollux_error *err);
};

/* Take the command's options and operand, ask, and print the answer, with --json as it is. */
int simple_request_send (const struct simple_request *request, struct options *options, FILE *out,
                         struct pollux_error *err);

#endif
