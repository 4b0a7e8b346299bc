/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one way to refuse: an errno value for the program, a sentence for the person.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int fail (struct pollux_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start (args, format);
        vsnprintf (err->text, sizeof (err->text), format, args);
        va_end (args);
    }
    return code;
}
