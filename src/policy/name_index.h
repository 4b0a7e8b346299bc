/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the jobs or nodes of the last round, by which a policy's records are found again in
 * the next one. */
#ifndef POLICY_NAME_INDEX_H
#define POLICY_NAME_INDEX_H

#include "cluster/view.h"

/* Names in the order of a view.  Zero-initialised: empty. */
struct name_index {
    char (*names)[NAME_SIZE];
    int count, capacity;
};

/* The index of a name at or after *next; -1 if it is not there.  A hit sets *next behind it, so
 * that all names of the next view are found in one pass: successive views list common names in the
 * same order.  A name out of order counts as new. */
int name_index_seek (const struct name_index *index, const char *name, int *next);

/* Replace the names by those of the view's jobs or nodes.  -ENOMEM: the index is unchanged. */
int name_index_set_jobs (struct name_index *index, const struct view *view,
                         struct pollux_error *err);
int name_index_set_nodes (struct name_index *index, const struct view *view,
                          struct pollux_error *err);

void name_index_clear (struct name_index *index);

#endif
