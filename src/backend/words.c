/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of words for command lines.  A failed allocation is kept in the list, so that a function that
 * adds many words checks once.
 */
#define _GNU_SOURCE
#include "backend/words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void words_add (struct words *words, const char *format, ...)
{
    va_list arguments;
    char *word = NULL;
    if (words->failed)
        return;
    /* The capacity is the next power of two of count + 2: it changes when count + 1 is one. */
    if (words->count == 0 || ((words->count + 1) & words->count) == 0) {
        char **list = realloc (words->list, 2 * (words->count + 1) * sizeof (*list));
        words->failed = !list;
        if (list)
            words->list = list;
    }
    va_start (arguments, format);
    if (!words->failed && vasprintf (&word, format, arguments) < 0)
        words->failed = true;
    va_end (arguments);
    if (words->failed)
        return;
    words->list[words->count++] = word;
    words->list[words->count] = NULL;
}

int words_check (struct words *words)
{
    if (!words->failed)
        return 0;
    words_clear (words);
    return -ENOMEM;
}

void words_clear (struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free (words->list[i]);
    free (words->list);
    *words = (struct words){0};
}
