/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a command line as text that a shell reads as the same words.
 */
#define _GNU_SOURCE /* open_memstream */
#include "cli/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char plain[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:=@_";

static void print_word (const char *word, FILE *out)
{
    if (*word && word[strspn (word, plain)] == '\0') {
        fputs (word, out);
        return;
    }
    fputc ('\'', out);
    for (; *word; word++)
        fputs (*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc ('\'', out);
}

/* Cut well-formed text so that the end fits, too. */
static void cut (char *text, size_t limit)
{
    static const char end[] = " ...";
    if (strlen (text) <= limit)
        return;
    memcpy (text + utf8_valid (text, limit - strlen (end)), end, sizeof (end));
}

char *command_line (int argc, char *const *argv, size_t limit)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream (&text, &length);
    if (!out)
        return NULL;
    fputs ("pollux", out);
    for (int i = 0; i < argc; i++) {
        fputc (' ', out);
        print_word (argv[i], out);
    }
    if (fclose (out) != 0) {
        free (text);
        return NULL;
    }
    utf8_disarm (text);
    cut (text, limit);
    return text;
}
