/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following jobs and nodes from round to round by their names.
 */
#include "policy/name_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int name_index_seek (const struct name_index *index, const char *name, int *next)
{
    for (int i = *next; i < index->count; i++)
        if (strcmp (index->names[i], name) == 0) {
            *next = i + 1;
            return i;
        }
    return -1;
}

static int make_room (struct name_index *index, int count, struct pollux_error *err)
{
    if (count > index->capacity) {
        int capacity = count + count / 2;
        char (*names)[NAME_SIZE] = realloc (index->names, (size_t)capacity * sizeof (names[0]));
        if (!names)
            return fail (err, -ENOMEM, "no memory for %d names", count);
        index->names = names;
        index->capacity = capacity;
    }
    index->count = count;
    return 0;
}

static const char *job_name (const struct view *view, int job)
{
    return view->jobs[job]->spec.name;
}

static const char *node_name (const struct view *view, int node)
{
    return view->nodes[node].name;
}

static int set_names (struct name_index *index, const struct view *view, int count,
                      const char *(*name) (const struct view *, int), struct pollux_error *err)
{
    int rc = make_room (index, count, err);
    for (int i = 0; i < count && rc == 0; i++)
        memcpy (index->names[i], name (view, i), sizeof (index->names[i]));
    return rc;
}

int name_index_set_jobs (struct name_index *index, const struct view *view,
                         struct pollux_error *err)
{
    return set_names (index, view, view->job_count, job_name, err);
}

int name_index_set_nodes (struct name_index *index, const struct view *view,
                          struct pollux_error *err)
{
    return set_names (index, view, view->node_count, node_name, err);
}

void name_index_clear (struct name_index *index)
{
    free (index->names);
    *index = (struct name_index){0};
}
