/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_SEEK_H
#define WIRE_JSON_SEEK_H

#include <stddef.h>

/* Positions of values in the text of a document.  The text is well-formed JSON with a NUL at the
 * end; the offset of a value is that of its first byte. */

/* The value after the blanks at an offset; the first byte after a value. */
size_t wire_seek_value (const char *text, size_t at);
size_t wire_seek_end (const char *text, size_t value);

/* The key in the object at an offset; its value; an element of the array at an offset.  If it is
 * missing, or the key is written with escapes: the offset of the object or array itself, which is
 * less exact but not wrong. */
size_t wire_seek_key (const char *text, size_t object, const char *key); /* its opening quote */
size_t wire_seek_field (const char *text, size_t object, const char *key);
size_t wire_seek_element (const char *text, size_t array, size_t index);

#endif
