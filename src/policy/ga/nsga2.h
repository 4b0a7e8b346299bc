/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NSGA-II (Deb et al., 2002) for two objectives, both maximised: comparison and selection of
 * points.
 */
#ifndef POLICY_GA_NSGA2_H
#define POLICY_GA_NSGA2_H

enum { NSGA2_LIMIT = 256 }; /* points at once */

struct nsga2_point {
    double first, second; /* objectives, finite */
    int rank;        /* its front: 0 is dominated by no point, 1 by points of rank 0 only, ... */
    double crowding; /* distance to its neighbours in the front, infinite at the ends */
};

/* Compute rank and crowding of all points, and write the indices of the `keep` selected points to
 * ret: lower ranks first, of the last front the least crowded.  O(n log n). */
void nsga2_select (struct nsga2_point *points, int count, int keep, int *ret);

/* > 0 if a wins a tournament against b: it dominates b, or neither does and it is less crowded;
 * < 0 if b wins; 0 on a tie. */
int nsga2_compare (const struct nsga2_point *a, const struct nsga2_point *b);

#endif
