/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JSON_SEEK_H
#define WIRE_JSON_SEEK_H

#include <stddef.h>

/* Where values stand in the text of a document.  The text is well-formed JSON, with a NUL behind
 * it; offsets are those of a value's first byte. */

/* The value that starts at or after the blanks at an offset, and the first byte behind a value. */
size_t wire_seek_value (const char *text, size_t at);
size_t wire_seek_end (const char *text, size_t value);

/* The key in the object at an offset, its value, or the one of an index in the array there.  Where there
 * is none, or the key is written with escapes, the offset of the object or array itself: a place
 * for a message may be less exact, never wrong. */
size_t wire_seek_key (const char *text, size_t object, const char *key); /* its opening quote */
size_t wire_seek_field (const char *text, size_t object, const char *key);
size_t wire_seek_element (const char *text, size_t array, size_t index);

#endif
