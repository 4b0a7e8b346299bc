/* SPDX-License-Identifier: Apache-2.0 */
/* See raw_head.h.  Only memory between two pieces is read, and never beyond the head's size. */
#include "http/raw_head.h"

#include <microhttpd.h>
#include <string.h>

/* The parser of 0.9.77 and later is another one. */
bool raw_head_is_known (void)
{
    const char *version = MHD_get_version ();
    return strncmp (version, "0.9.7", 5) == 0 && strlen (version) == 6 && version[5] <= '6';
}

/* Are there only so many line ends and other separators, which are NUL now, and some of these blanks, before `to`? */
static bool is_separator (const struct raw_head *head, const char *to, int most, const char *blanks)
{
    int count = 0;
    if (to <= head->at || to > head->end)
        return false;
    for (const char *at = head->at; at < to; at++) {
        if (*at == '\0' || *at == '\r' || *at == '\n')
            count++;
        else if (strchr (blanks, *at) == NULL)
            return false;
    }
    return count >= 1 && count <= most;
}

struct raw_head raw_head_begin (const char *method, const char *target, size_t target_length,
                                const char *version, size_t size)
{
    struct raw_head head = {.at = method + strlen (method), .end = method + size};
    head.wrong = target != head.at + 1 || version != target + target_length + 1 ||
                 version + strlen (version) >= head.end;
    head.at = version + strlen (version);
    return head;
}

void raw_head_add (struct raw_head *head, const char *name, const char *value)
{
    if (head->wrong || !is_separator (head, name, 2, " \t")) {
        head->wrong = true;
        return;
    }
    head->at = name + strlen (name);
    head->wrong = !is_separator (head, value, 1, " \t");
    head->at = value + strlen (value);
}

bool raw_head_end (const struct raw_head *head)
{
    return !head->wrong && is_separator (head, head->end, 4, "");
}
