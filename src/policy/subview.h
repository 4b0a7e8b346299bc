/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a view: some of its jobs, and the nodes without what the others hold.  What is decided
 * there is put beside the others.
 */
#ifndef POLICY_SUBVIEW_H
#define POLICY_SUBVIEW_H

#include "cluster/plan.h"
#include "cluster/view.h"

struct subview {
    struct view view; /* borrows the arrays below, and the jobs */
    struct node *nodes;
    const struct job **jobs;
    int *indices; /* of its jobs in the whole view */
};

/* The jobs of which takes_part is true.  All others hold where they are and where they are to be.
 * 0 or -ENOMEM; on success *ret is the caller's (rest_clear). */
int subview_new (const struct view *view,
                 bool (*takes_part) (const struct view *view, const struct job *job),
                 struct subview *ret);
void subview_clear (struct subview *rest);

/* Put what was decided for the rest into the plan of the whole view.  0 or -ENOMEM. */
int subview_place (const struct subview *rest, const struct plan *decided, struct plan *plan);

#endif
