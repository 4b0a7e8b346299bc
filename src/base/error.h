/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "pollux/pollux.h"

/* Write a sentence into err (which may be NULL) and return code:
 *     return fail (err, -EINVAL, "job %s: ...", id);
 * A sentence longer than the buffer is truncated; control characters and malformed UTF-8 become
 * question marks. */
int fail (struct pollux_error *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
