/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EXCERPT_H
#define BASE_EXCERPT_H

#include <stddef.h>

/* A stranger's text in single quotes, cut to what a sentence can bear. */
struct excerpt {
    char text[80];
};

/* Of UTF-8; anything else is quoted, too, for fail() to disarm. */
struct excerpt excerpt (const char *text, size_t length);
struct excerpt quote (const char *text); /* all of a string */

#endif
