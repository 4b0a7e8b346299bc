/* SPDX-License-Identifier: Apache-2.0 */
/* Who was there in the last round, so that what a policy remembers of a job or of a node finds
 * it again. */
#ifndef POLICY_NAME_INDEX_H
#define POLICY_NAME_INDEX_H

#include "cluster/view.h"

/* Names in the order of a view.  Zero for nobody. */
struct name_index {
    char (*names)[NAME_SIZE];
    int count, capacity;
};

/* The index of a name, looked for from *next on, where the search after a hit goes on; -1 for a
 * newcomer.  Successive views have what both have in the same order; what is out of order counts
 * as new. */
int name_index_seek (const struct name_index *index, const char *name, int *next);

/* Make it the view's jobs or nodes.  0, or -ENOMEM with the roster as it was. */
int name_index_set_jobs (struct name_index *index, const struct view *view,
                         struct pollux_error *err);
int name_index_set_nodes (struct name_index *index, const struct view *view,
                          struct pollux_error *err);

void name_index_clear (struct name_index *index);

#endif
