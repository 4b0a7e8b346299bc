/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JSON_OUTPUT_H
#define CLI_JSON_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Write a JSON document and take it over.  -ENOMEM for NULL or a document that cannot be encoded, so
 * that the calls that built it need no check. */
int output_json (json_t *document, FILE *out, struct pollux_error *err);

/* The same to a file; "-": to out.  A regular file is replaced by rename, after all is written; a
 * device, pipe or link is opened and written. */
int output_json_file (json_t *document, const char *path, FILE *out, struct pollux_error *err);

#endif
