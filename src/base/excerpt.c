/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quote untrusted text in an error message.  A message has 256 bytes: the quotation is truncated so
 * that the place and what was expected fit too.
 */
#include "base/excerpt.h"
#include <stdarg.h>

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct excerpt excerpt (const char *text, size_t length)
{
    struct excerpt ret;
    /* 18 characters of at most 4 bytes leave room for the quotes and the dots. */
    size_t keep = length < 72 ? length : utf8_skip (text, length, 18);
    keep = keep < 72 ? keep : 72; /* malformed text may have no characters */
    snprintf (ret.text, sizeof (ret.text), "'%.*s%s'", (int)keep, text, keep < length ? "..." : "");
    return ret;
}

struct excerpt quote (const char *text)
{
    return excerpt (text, strlen (text));
}

void append (char *text, size_t size, const char *format, ...)
{
    size_t used = strlen (text);
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (text + used, size - used, format, arguments);
    va_end (arguments);
}
