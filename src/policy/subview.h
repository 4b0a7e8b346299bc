/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a view: some of its jobs, and the nodes without the slots that the other jobs hold.
 * A policy decides on it as on any view; the result is then copied into the plan of the whole view.
 */
#ifndef POLICY_SUBVIEW_H
#define POLICY_SUBVIEW_H

#include "cluster/plan.h"
#include "cluster/view.h"

struct subview {
    struct view view; /* borrows the arrays below, the jobs, and the whole view */
    struct node *nodes;
    const struct job **jobs;
    int *indices; /* of its jobs in the whole view */
};

/* The jobs for which takes_part is true.  All others hold their current and their desired
 * placements.  0 or -ENOMEM; on success *ret belongs to the caller (subview_clear). */
int subview_new (const struct view *view,
                 bool (*takes_part) (const struct view *view, const struct job *job),
                 struct subview *ret);
void subview_clear (struct subview *subview);

/* Copy what was decided for the subview into the plan of the whole view.  0 or -ENOMEM. */
int subview_place (const struct subview *subview, const struct plan *decided, struct plan *plan);

#endif
