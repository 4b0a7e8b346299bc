/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs may contain progress bars, colours, or malicious escape sequences.  Bytes arrive in pieces that
 * may end within a character; its first bytes are kept for the next piece.
 */
#include "cli/safe_print.h"

#include <string.h>

#include "base/utf8.h"

struct safe_print safe_print_start (FILE *out, bool to_terminal)
{
    return (struct safe_print){.out = out, .to_terminal = to_terminal};
}

static void put_line_end (struct safe_print *print)
{
    fputc ('\n', print->out);
    print->line_begun = false;
}

/* Print one well-formed character, or one malformed byte. */
static void put_character (struct safe_print *print, const char *at, size_t length)
{
    char text[5] = {0};
    memcpy (text, at, length);
    if (*at == '\n') {
        put_line_end (print); /* "\r\n" is one line end */
    } else if (*at != '\r') {
        if (print->returned && print->line_begun)
            put_line_end (print);
        if (*at != '\t')
            utf8_disarm (text);
        fputs (length == 1 && !*at ? "?" : text, print->out);
        print->line_begun = true;
    }
    print->returned = *at == '\r';
}

/* The length of a character by its first byte. */
static size_t announced (unsigned char first)
{
    return first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
}

/* Print the complete characters.  Returns the number of bytes printed. */
static size_t put_text (struct safe_print *print, const char *text, size_t length, bool last)
{
    size_t at = 0;
    while (at < length) {
        size_t need = announced ((unsigned char)text[at]);
        if (need > length - at && !last)
            break;
        bool whole = need <= length - at && utf8_valid (text + at, need) == need;
        put_character (print, text + at, whole ? need : 1);
        at += whole ? need : 1;
    }
    return at;
}

void safe_print_bytes (struct safe_print *print, const char *bytes, size_t length)
{
    if (!print->to_terminal) {
        fwrite (bytes, 1, length, print->out);
        return;
    }
    while (print->rest_length > 0 && length > 0) {
        print->rest[print->rest_length++] = *bytes++;
        length--;
        size_t done = put_text (print, print->rest, print->rest_length, false);
        print->rest_length -= done;
        memmove (print->rest, print->rest + done, print->rest_length);
    }
    size_t done = put_text (print, bytes, length, false);
    memcpy (print->rest + print->rest_length, bytes + done, length - done);
    print->rest_length += length - done;
}

void safe_print_end (struct safe_print *print)
{
    if (!print->to_terminal)
        return;
    put_text (print, print->rest, print->rest_length, true);
    print->rest_length = 0;
    if (print->line_begun)
        put_line_end (print);
}
