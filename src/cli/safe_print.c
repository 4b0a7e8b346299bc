/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs are written by programs that draw progress bars and colours, or by people who would like to
 * rewrite the reader's screen.  Pieces end anywhere, also within a character: its beginning waits
 * for the next piece.
 */
#include "cli/safe_print.h"

#include <string.h>

#include "base/utf8.h"

struct safe_print safe_print_start (FILE *out, bool tame)
{
    return (struct safe_print){.out = out, .tame = tame};
}

static void put_line_end (struct safe_print *pour)
{
    fputc ('\n', pour->out);
    pour->line_begun = false;
}

/* One well-formed character, or one byte that is none. */
static void put_character (struct safe_print *pour, const char *at, size_t length)
{
    char text[5] = {0};
    memcpy (text, at, length);
    if (*at == '\n') {
        put_line_end (pour); /* also behind a return: "\r\n" is one end */
    } else if (*at != '\r') {
        if (pour->returned && pour->line_begun)
            put_line_end (pour);
        if (*at != '\t')
            utf8_disarm (text);
        fputs (length == 1 && !*at ? "?" : text, pour->out);
        pour->line_begun = true;
    }
    pour->returned = *at == '\r';
}

/* Bytes of a character that a first byte announces. */
static size_t announced (unsigned char first)
{
    return first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
}

/* Put all that is complete; how many bytes that was. */
static size_t put_text (struct safe_print *pour, const char *text, size_t length, bool last)
{
    size_t at = 0;
    while (at < length) {
        size_t need = announced ((unsigned char)text[at]);
        if (need > length - at && !last)
            break;
        bool whole = need <= length - at && utf8_valid (text + at, need) == need;
        put_character (pour, text + at, whole ? need : 1);
        at += whole ? need : 1;
    }
    return at;
}

void safe_print_bytes (struct safe_print *pour, const char *bytes, size_t length)
{
    if (!pour->tame) {
        fwrite (bytes, 1, length, pour->out);
        return;
    }
    while (pour->rest_length > 0 && length > 0) {
        pour->rest[pour->rest_length++] = *bytes++;
        length--;
        size_t done = put_text (pour, pour->rest, pour->rest_length, false);
        pour->rest_length -= done;
        memmove (pour->rest, pour->rest + done, pour->rest_length);
    }
    size_t done = put_text (pour, bytes, length, false);
    memcpy (pour->rest + pour->rest_length, bytes + done, length - done);
    pour->rest_length += length - done;
}

void safe_print_end (struct safe_print *pour)
{
    if (!pour->tame)
        return;
    put_text (pour, pour->rest, pour->rest_length, true);
    pour->rest_length = 0;
    if (pour->line_begun)
        put_line_end (pour);
}
