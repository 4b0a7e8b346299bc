/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings in the text of scontrol.  Each function scans the whole text: it is called a few times for a
 * few hundred lines.
 */
#define _GNU_SOURCE
#include "backend/slurm/slurm_settings.h"

#include <stdio.h>
#include <string.h>

static bool blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool give (const char *value, size_t length, char *ret, size_t size)
{
    while (length > 0 && blank (*value)) {
        value++;
        length--;
    }
    while (length > 0 && blank (value[length - 1]))
        length--;
    if (length == strlen ("(null)") && memcmp (value, "(null)", length) == 0)
        length = 0;
    length = length < size ? length : size - 1;
    memcpy (ret, value, length);
    ret[length] = '\0';
    return true;
}

bool slurm_config_value (const char *text, size_t length, const char *key, char *ret, size_t size)
{
    size_t key_length = strlen (key);
    const char *end = text + length, *next;
    ret[0] = '\0';
    for (const char *line = text; line < end; line = next) {
        const char *line_end = memchr (line, '\n', (size_t)(end - line));
        line_end = line_end ? line_end : end;
        next = line_end < end ? line_end + 1 : end;
        if ((size_t)(line_end - line) <= key_length || memcmp (line, key, key_length) != 0)
            continue;
        const char *at = line + key_length;
        while (at < line_end && blank (*at))
            at++;
        if (at < line_end && *at == '=')
            return give (at + 1, (size_t)(line_end - at - 1), ret, size);
    }
    return false;
}

bool slurm_word_value (const char *text, size_t length, const char *key, char *ret, size_t size)
{
    size_t key_length = strlen (key);
    ret[0] = '\0';
    for (size_t i = 0; i + key_length < length; i++) {
        if (i > 0 && !blank (text[i - 1]) && text[i - 1] != '\n')
            continue;
        if (memcmp (text + i, key, key_length) != 0 || text[i + key_length] != '=')
            continue;
        size_t begin = i + key_length + 1, end = begin;
        while (end < length && !blank (text[end]) && text[end] != '\n')
            end++;
        return give (text + begin, end - begin, ret, size);
    }
    return false;
}

bool slurm_list_value (const char *list, const char *key, char *ret, size_t size)
{
    size_t key_length = strlen (key);
    ret[0] = '\0';
    for (const char *at = list; *at;) {
        size_t length = strcspn (at, ",");
        if (length >= key_length && strncasecmp (at, key, key_length) == 0) {
            if (length == key_length)
                return true;
            if (at[key_length] == '=')
                return give (at + key_length + 1, length - key_length - 1, ret, size);
        }
        at += length + (at[length] == ',');
    }
    return false;
}

int slurm_version (const char *text, size_t length)
{
    char copy[64];
    unsigned year, month;
    const char *end = memchr (text, '\n', length);
    give (text, end ? (size_t)(end - text) : length, copy, sizeof (copy));
    const char *number = strpbrk (copy, "0123456789");
    if (strncmp (copy, "slurm", 5) != 0 || !number ||
        sscanf (number, "%2u.%2u", &year, &month) != 2)
        return 0;
    return (int)(year * 100 + month);
}
