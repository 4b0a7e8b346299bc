/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_DEADLINE_H
#define HTTP_DEADLINE_H

#include <stdint.h>

/* A deadline, a member of the object that it belongs to.  Zero: not set. */
struct deadline {
    int64_t due_us;
    int place; /* index in the heap plus 1; 0: not set */
};

/* A priority queue of deadlines: the earliest in O(1), set and clear in O(log n).  Zero is an empty
 * queue. */
struct deadlines {
    struct deadline **heap;
    int count, size;
};

/* Reserve space for count deadlines in total.  -ENOMEM. */
int deadlines_reserve (struct deadlines *deadlines, int count);
void deadlines_clear (struct deadlines *deadlines);

/* Set or move a deadline, for which space was reserved; or clear it, also if it is not set. */
void deadline_set (struct deadlines *deadlines, struct deadline *deadline, int64_t due_us);
void deadline_clear (struct deadlines *deadlines, struct deadline *deadline);

/* The earliest; NULL if none is set. */
struct deadline *deadlines_first (const struct deadlines *deadlines);

#endif
