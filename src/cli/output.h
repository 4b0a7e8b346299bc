/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Write a JSON document, which is taken over; NULL and a document that cannot be encoded are
 * -ENOMEM, so that the calls that built it need no check. */
int output_json (json_t *document, FILE *out, struct pollux_error *err);

#endif
