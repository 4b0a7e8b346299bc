/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and protects the lines of headers.  A text comes in blocks, so "==>" may be divided between two of them: what may become one is held
 * back.
 */
#include "api/log_headers.h"

#include <string.h>

static const char mark[] = "==>";
enum { MARK = sizeof (mark) - 1 };

/* Write what was held back, which is no mark. */
static size_t release (struct log_lines *lines, char *ret)
{
    size_t length = lines->held > 0 ? (size_t)lines->held : 0;
    memcpy (ret, mark, length);
    lines->held = -1;
    return length;
}

size_t log_lines_copy (struct log_lines *lines, const char *bytes, size_t length, char *ret)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (lines->held >= 0 && bytes[i] == mark[lines->held]) {
            if (++lines->held == MARK) {
                ret[used++] = ' ';
                used += release (lines, ret + used);
            }
            continue;
        }
        used += release (lines, ret + used);
        ret[used++] = bytes[i];
        lines->held = bytes[i] == '\n' ? 0 : -1;
    }
    return used;
}

size_t log_lines_end (struct log_lines *lines, char *ret)
{
    if (lines->held == 0)
        return 0;
    size_t used = release (lines, ret);
    ret[used++] = '\n';
    lines->held = 0;
    return used;
}
