/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JSON_OUTPUT_H
#define CLI_JSON_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Write a JSON document, which is taken over; NULL and a document that cannot be encoded are
 * -ENOMEM, so that the calls that built it need no check. */
int output_json (json_t *document, FILE *out, struct pollux_error *err);

/* The same into a file, "-" for out.  An ordinary file is replaced once all of it is written; a
 * device, pipe or link is written into. */
int output_json_file (json_t *document, const char *path, FILE *out, struct pollux_error *err);

#endif
