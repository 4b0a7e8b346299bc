/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splitting of lines into fields.  With a key, a text that a user put into a field can break a line in
 * two, but cannot make a line of its own.
 */
#include "backend/slurm/lines.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"

int slurm_lines_next (struct slurm_lines *lines, char **fields, int least, int count)
{
    size_t key_length = strlen (lines->key);
    while (lines->at < lines->end) {
        char *line = (char *)lines->at;
        char *end = memchr (line, '\n', (size_t)(lines->end - line));
        end = end ? end : (char *)lines->end;
        lines->at = end < lines->end ? end + 1 : end;
        lines->number++;
        if (line == end)
            continue;
        if (key_length > 0) {
            if ((size_t)(end - line) <= key_length || memcmp (line, lines->key, key_length) != 0 ||
                line[key_length] != '|')
                continue;
            line += key_length + 1;
        }
        *end = '\0';
        for (int i = 0; i < count; i++) {
            char *separator = memchr (line, '|', (size_t)(end - line));
            fields[i] = line;
            if (i == count - 1)
                break;
            if (!separator && i + 1 < least)
                return -EPROTO;
            if (separator)
                *separator = '\0';
            line = separator ? separator + 1 : end;
        }
        return 1;
    }
    return 0;
}

int64_t slurm_field_number (const char *field, int64_t max)
{
    int64_t number;
    if (number_int64 (field, &number) < 0 || number < 0 || number > max)
        return -1;
    return number;
}

const char *slurm_field_text (const char *field)
{
    static const char *const missing[] = {"(null)", "N/A", "n/a", "None assigned"};
    for (size_t i = 0; i < sizeof (missing) / sizeof (missing[0]); i++)
        if (strcmp (field, missing[i]) == 0)
            return "";
    return field;
}
