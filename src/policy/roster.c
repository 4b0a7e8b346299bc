/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following jobs from round to round by their names.
 */
#include "policy/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void roster_find (const struct roster *roster, const struct view *view, int *ret)
{
    int next = 0; /* all before it have been found or are gone */
    for (int i = 0; i < view->job_count; i++) {
        int at = next;
        while (at < roster->count && strcmp (roster->names[at], view->jobs[i]->spec.name) != 0)
            at++;
        ret[i] = at < roster->count ? at : -1;
        if (at < roster->count)
            next = at + 1;
    }
}

int roster_set (struct roster *roster, const struct view *view, struct pollux_error *err)
{
    if (view->job_count > roster->capacity) {
        int capacity = view->job_count + view->job_count / 2;
        char (*names)[NAME_SIZE] = realloc (roster->names, (size_t)capacity * sizeof (names[0]));
        if (!names)
            return fail (err, -ENOMEM, "no memory for the names of %d jobs", view->job_count);
        roster->names = names;
        roster->capacity = capacity;
    }
    for (int i = 0; i < view->job_count; i++)
        memcpy (roster->names[i], view->jobs[i]->spec.name, sizeof (roster->names[i]));
    roster->count = view->job_count;
    return 0;
}

void roster_clear (struct roster *roster)
{
    free (roster->names);
    *roster = (struct roster){0};
}
