/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a code for the program, a sentence for the person.  Sentences quote untrusted input and are
 * often printed on a terminal, so control characters are replaced here.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* A truncated sentence may end within a character: remove its last one. */
static void drop_last_character (char *text)
{
    size_t end = strlen (text);
    while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80)
        end--;
    if (end > 0 && (unsigned char)text[end - 1] >= 0x80)
        text[end - 1] = '\0';
}

int fail (struct pollux_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start (args, format);
        int length = vsnprintf (err->text, sizeof (err->text), format, args);
        va_end (args);
        if (length >= (int)sizeof (err->text))
            drop_last_character (err->text);
        utf8_disarm (err->text);
    }
    return code;
}
