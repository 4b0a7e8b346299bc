/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file really says, quoted in the sentence that refuses it.  An error has room for 256
 * bytes, and the place and the expectation must fit beside the quotation, however long it is.
 */
#include "base/excerpt.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct excerpt excerpt (const char *text, size_t length)
{
    struct excerpt ret;
    /* 18 characters of at most 4 bytes leave room for the quotes and the dots. */
    size_t keep = length < 72 ? length : utf8_skip (text, length, 18);
    keep = keep < 72 ? keep : 72; /* of malformed text, which may have no characters */
    snprintf (ret.text, sizeof (ret.text), "'%.*s%s'", (int)keep, text, keep < length ? "..." : "");
    return ret;
}

struct excerpt quote (const char *text)
{
    return excerpt (text, strlen (text));
}
