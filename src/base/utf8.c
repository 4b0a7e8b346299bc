/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8.  Input files are checked once with utf8_valid; later code can count characters, truncate and
 * print without checking again.  Data files are mostly ASCII, so eight bytes at a time are tested
 * for that first.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_continuation (unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the character that starts at p, or 0 if it is malformed.  The second byte's range
 * depends on the first (table 3-7 of the Unicode standard); that alone excludes overlong
 * forms, surrogates and values that are too large. */
static size_t character (const unsigned char *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    size_t need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (left < need)
        return 0;
    unsigned char low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++) {
        if (!is_continuation (p[i]))
            return 0;
    }
    return need;
}

size_t utf8_valid (const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        if (length - at >= sizeof (eight)) {
            memcpy (&eight, bytes + at, sizeof (eight));
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof (eight);
                continue;
            }
        }
        size_t step = character (bytes + at, length - at);
        if (step == 0)
            break;
        at += step;
    }
    return at;
}

/* C0, DEL, and C1, which is U+0080 to U+009F. */
static bool is_control (const unsigned char *p)
{
    return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

void utf8_disarm (char *text)
{
    size_t length = strlen (text);
    for (size_t at = 0, step; at < length; at += step) {
        const unsigned char *p = (const unsigned char *)text + at;
        step = character (p, length - at);
        bool bad = step == 0 || is_control (p);
        step = step ? step : 1;
        if (bad)
            memset (text + at, '?', step);
    }
}

size_t utf8_count (const char *text, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += !is_continuation ((unsigned char)text[i]);
    return count;
}

size_t utf8_skip (const char *text, size_t length, size_t count)
{
    size_t at = 0;
    while (at < length && count-- > 0) {
        do
            at++;
        while (at < length && is_continuation ((unsigned char)text[at]));
    }
    return at;
}
