/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON written as text into memory that grows, for what is too frequent for a tree of objects: a row of a job takes
 * a tenth of the time.  A missing allocation is noted and checked once, at the end.
 */
#ifndef API_JSON_TEXT_H
#define API_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero to begin with; free (bytes) at the end.  bytes ends with a NUL, which length does not count. */
struct json_text {
    char *bytes;
    size_t length, capacity;
    bool failed; /* no memory: bytes is incomplete */
};

/* Append bytes as they are, and formatted text. */
void json_text_add (struct json_text *text, const char *bytes, size_t length);
void json_text_put (struct json_text *text, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Append a value: a string of UTF-8 (malformed bytes become question marks), null if it is NULL or empty; a number
 * with so many digits, null if it is not finite; a time in seconds, null if it is negative, as describe_time. */
void json_text_string (struct json_text *text, const char *string);
void json_text_number (struct json_text *text, double number, int digits);
void json_text_time (struct json_text *text, int64_t us);

#endif
