/* SPDX-License-Identifier: Apache-2.0 */
/* JSON objects as text, in a buffer that is reused. */
#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include <jansson.h>

#include "pollux/pollux.h"

/* Starts zeroed. */
struct wire_text_buffer {
    char *text;
    size_t length, capacity;
};
void wire_text_buffer_clear (struct wire_text_buffer *buffer);

/* Write an object; earlier text is replaced.  -EFBIG: larger than limit; -ENOMEM. */
int wire_text_dump (const json_t *object, size_t limit, struct wire_text_buffer *buffer,
                    struct pollux_error *err);

/* Write one large object in parts, so that it need not be in memory as a whole: begin, add the
 * fields of any number of objects, end. */
int wire_text_begin (struct wire_text_buffer *buffer, struct pollux_error *err);
int wire_text_add (const json_t *fields, size_t limit, struct wire_text_buffer *buffer,
                   struct pollux_error *err);
int wire_text_end (struct wire_text_buffer *buffer, struct pollux_error *err);

#endif
