/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Length of the longest well-formed prefix in bytes.  Overlong forms, surrogates and values above
 * U+10FFFF are malformed. */
size_t utf8_valid (const char *text, size_t length);

/* Replace control characters and malformed bytes by question marks, for output on a terminal. */
void utf8_disarm (char *text);

/* Number of code points in a well-formed text of length bytes. */
size_t utf8_count (const char *text, size_t length);

/* Bytes of the first `count` characters of a well-formed text, at most length. */
size_t utf8_skip (const char *text, size_t length, size_t count);

#endif
