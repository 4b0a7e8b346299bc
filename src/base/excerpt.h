/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EXCERPT_H
#define BASE_EXCERPT_H

#include <stddef.h>

/* Untrusted text in single quotes, truncated to fit into a message. */
struct excerpt {
    char text[80];
};

/* Quote a text.  Malformed UTF-8 stays as it is: fail() replaces it. */
struct excerpt excerpt (const char *text, size_t length);
struct excerpt quote (const char *text); /* of a NUL-terminated text */

/* Append to a text in a buffer of `size` bytes; what does not fit is cut. */
void append (char *text, size_t size, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif
