/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumping JSON into memory that grows with the need and no further than a limit.
 */
#include "wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A dump on its way into a buffer, and why it stopped. */
struct dump {
    struct wire_text_buffer *buffer;
    size_t limit;
    int code;
};

static int append (const char *text, size_t length, void *self)
{
    struct dump *dump = self;
    struct wire_text_buffer *buffer = dump->buffer;
    size_t needed = buffer->length + length;
    if (needed > dump->limit) {
        dump->code = -EFBIG;
        return -1;
    }
    if (needed > buffer->capacity) {
        char *bigger = realloc (buffer->text, 2 * needed);
        if (!bigger)
            return -1;
        buffer->text = bigger;
        buffer->capacity = 2 * needed;
    }
    memcpy (buffer->text + buffer->length, text, length);
    buffer->length = needed;
    return 0;
}

int wire_text_dump (const json_t *object, size_t limit, struct wire_text_buffer *buffer,
                    struct pollux_error *err)
{
    struct dump dump = {.buffer = buffer, .limit = limit, .code = -ENOMEM};
    buffer->length = 0;
    if (json_dump_callback (object, append, &dump, JSON_COMPACT) == 0)
        return 0;
    return dump.code == -EFBIG ? fail (err, dump.code, "too large: at most %zu bytes", limit)
                               : fail (err, dump.code, "not enough memory");
}

void wire_text_buffer_clear (struct wire_text_buffer *buffer)
{
    free (buffer->text);
    *buffer = (struct wire_text_buffer){0};
}
