/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that grows by doubling.
 */
#include "api/json_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Make room for length more bytes and a NUL. */
static bool reserve (struct json_text *text, size_t length)
{
    size_t wanted = text->length + length + 1, capacity = text->capacity ? text->capacity : 256;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity == text->capacity || text->failed)
        return !text->failed;
    char *bytes = realloc (text->bytes, capacity);
    text->failed = bytes == NULL;
    if (bytes) {
        text->bytes = bytes;
        text->capacity = capacity;
    }
    return !text->failed;
}

void json_text_add (struct json_text *text, const char *bytes, size_t length)
{
    if (!reserve (text, length))
        return;
    memcpy (text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void json_text_put (struct json_text *text, const char *format, ...)
{
    char piece[256];
    va_list arguments, again;
    va_start (arguments, format);
    va_copy (again, arguments);
    int length = vsnprintf (piece, sizeof (piece), format, arguments);
    va_end (arguments);
    if (length >= 0 && length < (int)sizeof (piece)) {
        json_text_add (text, piece, (size_t)length);
    } else if (length >= 0 && reserve (text, (size_t)length)) {
        vsnprintf (text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end (again);
}

static void put_character (struct json_text *text, unsigned char byte)
{
    if (byte == '"' || byte == '\\')
        json_text_add (text, (char[]){'\\', (char)byte}, 2);
    else if (byte < ' ' || byte == 0x7f)
        json_text_put (text, "\\u%04x", byte);
    else
        json_text_add (text, (const char *)&byte, 1);
}

/* The length of the text's start that needs no backslash. */
static size_t plain (const char *string, size_t length)
{
    size_t at = 0;
    for (; at < length; at++) {
        unsigned char byte = (unsigned char)string[at];
        if (byte == '"' || byte == '\\' || byte < ' ' || byte == 0x7f)
            break;
    }
    return at;
}

void json_text_string (struct json_text *text, const char *string)
{
    if (!string || !string[0]) {
        json_text_add (text, "null", 4);
        return;
    }
    json_text_add (text, "\"", 1);
    for (size_t left = strlen (string); left > 0;) {
        size_t valid = utf8_valid (string, left);
        for (size_t at = 0; at < valid;) {
            size_t length = plain (string + at, valid - at);
            json_text_add (text, string + at, length);
            at += length;
            if (at < valid)
                put_character (text, (unsigned char)string[at++]);
        }
        string += valid;
        left -= valid;
        if (left > 0) {
            json_text_add (text, "?", 1);
            string++;
            left--;
        }
    }
    json_text_add (text, "\"", 1);
}

void json_text_number (struct json_text *text, double number, int digits)
{
    if (isfinite (number))
        json_text_put (text, "%.*g", digits, number);
    else
        json_text_add (text, "null", 4);
}

void json_text_time (struct json_text *text, int64_t us)
{
    json_text_number (text, us >= 0 ? (double)us * 1e-6 : NAN, 16);
}
