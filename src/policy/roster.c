/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following jobs and nodes from round to round by their names.
 */
#include "policy/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int roster_seek (const struct roster *roster, const char *name, int *next)
{
    for (int i = *next; i < roster->count; i++)
        if (strcmp (roster->names[i], name) == 0) {
            *next = i + 1;
            return i;
        }
    return -1;
}

static int make_room (struct roster *roster, int count, struct pollux_error *err)
{
    if (count > roster->capacity) {
        int capacity = count + count / 2;
        char (*names)[NAME_SIZE] = realloc (roster->names, (size_t)capacity * sizeof (names[0]));
        if (!names)
            return fail (err, -ENOMEM, "no memory for %d names", count);
        roster->names = names;
        roster->capacity = capacity;
    }
    roster->count = count;
    return 0;
}

int roster_set_jobs (struct roster *roster, const struct view *view, struct pollux_error *err)
{
    int rc = make_room (roster, view->job_count, err);
    for (int i = 0; i < view->job_count && rc == 0; i++)
        memcpy (roster->names[i], view->jobs[i]->spec.name, sizeof (roster->names[i]));
    return rc;
}

int roster_set_nodes (struct roster *roster, const struct view *view, struct pollux_error *err)
{
    int rc = make_room (roster, view->node_count, err);
    for (int i = 0; i < view->node_count && rc == 0; i++)
        memcpy (roster->names[i], view->nodes[i].name, sizeof (roster->names[i]));
    return rc;
}

void roster_clear (struct roster *roster)
{
    free (roster->names);
    *roster = (struct roster){0};
}
