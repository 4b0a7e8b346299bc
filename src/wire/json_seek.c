/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the position of a value in the text of a JSON document.  jansson does not keep positions;
 * storing them would slow down every reader.  Only when a message needs a position, the text is
 * scanned again along one path.  The parser has accepted the text, so only its end is checked.
 */
#include "wire/json_seek.h"

#include <stdbool.h>
#include <string.h>

size_t wire_seek_value (const char *text, size_t at)
{
    return at + strspn (text + at, " \t\r\n");
}

/* The offset after the closing quote of the string at an offset. */
static size_t string_end (const char *text, size_t at)
{
    at++;
    while (text[at] && text[at] != '"')
        at += text[at] == '\\' && text[at + 1] ? 2 : 1;
    return text[at] ? at + 1 : at;
}

size_t wire_seek_end (const char *text, size_t value)
{
    size_t at = value, depth = 0;
    do {
        if (!text[at])
            return at;
        if (text[at] == '"') {
            at = string_end (text, at);
            continue;
        }
        bool open = text[at] == '{' || text[at] == '[';
        bool close = text[at] == '}' || text[at] == ']';
        if (!open && !close) {
            /* A number, a word, or a separator. */
            size_t word = strcspn (text + at, " \t\r\n,:\"{}[]");
            at += word ? word : 1;
            continue;
        }
        depth += open;
        depth -= close && depth > 0;
        at++;
    } while (depth > 0);
    return at;
}

/* From the end of a member or element to the start of the next one; 0: it was the last. */
static size_t next (const char *text, size_t end)
{
    end = wire_seek_value (text, end);
    return text[end] == ',' ? wire_seek_value (text, end + 1) : 0;
}

/* The value of the key at an offset. */
static size_t after_key (const char *text, size_t key)
{
    return wire_seek_value (text, wire_seek_value (text, string_end (text, key)) + 1);
}

size_t wire_seek_key (const char *text, size_t object, const char *key)
{
    if (text[object] != '{')
        return object;
    size_t length = strlen (key), at = wire_seek_value (text, object + 1);
    while (at && text[at] == '"') {
        size_t end = string_end (text, at);
        if (end - at == length + 2 && memcmp (text + at + 1, key, length) == 0)
            return at;
        at = next (text, wire_seek_end (text, after_key (text, at)));
    }
    return object;
}

size_t wire_seek_field (const char *text, size_t object, const char *key)
{
    size_t at = wire_seek_key (text, object, key);
    return at == object ? object : after_key (text, at);
}

size_t wire_seek_element (const char *text, size_t array, size_t index)
{
    if (text[array] != '[')
        return array;
    size_t at = wire_seek_value (text, array + 1);
    for (; at && text[at] && text[at] != ']'; index--) {
        if (index == 0)
            return at;
        at = next (text, wire_seek_end (text, at));
    }
    return array;
}
