/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write JSON into a buffer that grows up to a limit.
 */
#include "wire/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A buffer that is being filled, and the reason why it stopped. */
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

/* Append to the text. */
static int dump (const json_t *object, size_t limit, size_t flags, struct wire_text_buffer *buffer,
                 struct pollux_error *err)
{
    struct dump dump = {.buffer = buffer, .limit = limit, .code = -ENOMEM};
    if (json_dump_callback (object, append, &dump, JSON_COMPACT | flags) == 0)
        return 0;
    return dump.code == -EFBIG ? fail (err, dump.code, "too large: at most %zu bytes", limit)
                               : fail (err, dump.code, "not enough memory");
}

static int put (struct wire_text_buffer *buffer, const char *text, struct pollux_error *err)
{
    struct dump dump = {.buffer = buffer, .limit = SIZE_MAX};
    return append (text, 1, &dump) == 0 ? 0 : fail (err, -ENOMEM, "not enough memory");
}

int wire_text_dump (const json_t *object, size_t limit, struct wire_text_buffer *buffer,
                    struct pollux_error *err)
{
    buffer->length = 0;
    return dump (object, limit, 0, buffer, err);
}

int wire_text_begin (struct wire_text_buffer *buffer, struct pollux_error *err)
{
    buffer->length = 0;
    return put (buffer, "{", err);
}

int wire_text_add (const json_t *fields, size_t limit, struct wire_text_buffer *buffer,
                   struct pollux_error *err)
{
    int code = buffer->length > 1 ? put (buffer, ",", err) : 0;
    return code < 0 ? code : dump (fields, limit, JSON_EMBED, buffer, err);
}

int wire_text_end (struct wire_text_buffer *buffer, struct pollux_error *err)
{
    return put (buffer, "}", err);
}

void wire_text_buffer_clear (struct wire_text_buffer *buffer)
{
    free (buffer->text);
    *buffer = (struct wire_text_buffer){0};
}
