/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command line, built one after the other. */
#ifndef BACKEND_WORDS_H
#define BACKEND_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "pollux/pollux.h"

/* A zeroed one is empty.  The caller frees it with words_clear. */
struct words {
    char **list; /* NULL-terminated, once a word was added */
    size_t count;
    bool failed; /* no memory for one of them */
};

/* Add a word.  Failures are kept: words_check tells. */
void words_add (struct words *words, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

/* 0, or -ENOMEM and the words are cleared. */
int words_check (struct words *words);

void words_clear (struct words *words);

/* The list for struct command_request. */
static inline const char *const *words_list (const struct words *words)
{
    return (const char *const *)words->list;
}

#endif
