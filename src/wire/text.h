/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as text, in memory that is used again and again. */
#ifndef WIRE_TEXT_H
#define WIRE_TEXT_H

#include <jansson.h>

#include "pollux/pollux.h"

/* Zero to begin with. */
struct wire_text_buffer {
    char *text;
    size_t length, capacity;
};
void wire_text_buffer_clear (struct wire_text_buffer *buffer);

/* Put the object's text in place of what was there.  -EFBIG past the limit, -ENOMEM. */
int wire_text_dump (const json_t *object, size_t limit, struct wire_text_buffer *buffer,
                    struct pollux_error *err);

/* An object of many fields, a few at a time, so that they need not be in memory together: begin,
 * add the fields of any number of objects, end. */
int wire_text_begin (struct wire_text_buffer *buffer, struct pollux_error *err);
int wire_text_add (const json_t *fields, size_t limit, struct wire_text_buffer *buffer,
                   struct pollux_error *err);
int wire_text_end (struct wire_text_buffer *buffer, struct pollux_error *err);

#endif
