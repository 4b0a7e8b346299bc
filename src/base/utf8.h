/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Bytes of the longest prefix that is well-formed UTF-8: length if all of it is.  Overlong
 * forms, surrogates and values past U+10FFFF are not. */
size_t utf8_valid (const char *text, size_t length);

/* Replace what a terminal would obey or could not show, control characters and malformed bytes, by
 * question marks. */
void utf8_disarm (char *text);

/* Characters (code points) in well-formed text of that many bytes. */
size_t utf8_count (const char *text, size_t length);

/* Bytes taken by the first `count` characters of well-formed text, at most length. */
size_t utf8_skip (const char *text, size_t length, size_t count);

#endif
