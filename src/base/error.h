/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "pollux/pollux.h"

/* Write the sentence into err (which may be NULL) and return code, so that a refusal is one
 * statement:   return fail (err, -EINVAL, "job %s: ...", id);
 * A sentence longer than the buffer is cut; control characters and malformed UTF-8 in it become
 * question marks. */
int fail (struct pollux_error *err, int code, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
