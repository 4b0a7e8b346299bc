/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view in which jobs know what other jobs of their application have measured: those of view.experience, and those
 * that train now.  A job without a model gets that of a typical one, type by type, and the noise of its
 * progress.  A job with a model keeps it, and gets models of the types that it has not trained on, scaled by its own speed.
 * The more jobs there are, and the more alike they are, the more replicas both may have at once.
 */
#ifndef POLICY_INFORMED_VIEW_H
#define POLICY_INFORMED_VIEW_H

#include "base/arena.h"
#include "cluster/view.h"

struct informed_view {
    struct view view; /* its experience is NULL */
    struct arena arena;
};

/* The view must outlive it.  Without experience the jobs are those of the view.  0 or -ENOMEM; on success *ret
 * belongs to the caller (informed_view_clear). */
int informed_view_new (const struct view *view, struct informed_view *ret);
void informed_view_clear (struct informed_view *informed);

#endif
