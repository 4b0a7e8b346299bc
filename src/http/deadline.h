/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_DEADLINE_H
#define HTTP_DEADLINE_H

#include <stdint.h>

/* A moment by which something must have happened; lies inside of what waits for it.  Zero is one
 * that is not set. */
struct deadline {
    int64_t due_us;
    int place; /* in the heap, from 1; 0: not set */
};

/* The earliest one is found at once; setting and clearing costs log2 of their number.  Zero is an
 * empty queue. */
struct deadlines {
    struct deadline **heap;
    int count, size;
};

/* Room for so many deadlines, all in all.  -ENOMEM. */
int deadlines_reserve (struct deadlines *deadlines, int count);
void deadlines_clear (struct deadlines *deadlines);

/* Set or move; there is room for it.  Clear one that is not set: fine. */
void deadline_set (struct deadlines *deadlines, struct deadline *deadline, int64_t due_us);
void deadline_clear (struct deadlines *deadlines, struct deadline *deadline);

/* The earliest; NULL if none is set. */
struct deadline *deadlines_first (const struct deadlines *deadlines);

#endif
