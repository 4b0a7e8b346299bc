/* SPDX-License-Identifier: Apache-2.0 */
/* Who was there in the last round, so that what a policy remembers of a job finds it again. */
#ifndef POLICY_ROSTER_H
#define POLICY_ROSTER_H

#include "cluster/view.h"

/* The jobs of a view by name, in its order.  Zero for nobody. */
struct roster {
    char (*names)[NAME_SIZE];
    int count, capacity;
};

/* For each job of the view its index in the roster, or -1 for a new one.  Jobs that both have are
 * in the same order in both, as successive views are; one out of order counts as new. */
void roster_find (const struct roster *roster, const struct view *view, int *ret);

/* Make it the view's.  0, or -ENOMEM with the roster as it was. */
int roster_set (struct roster *roster, const struct view *view, struct pollux_error *err);

void roster_clear (struct roster *roster);

#endif
