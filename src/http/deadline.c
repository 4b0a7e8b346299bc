/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A binary heap of deadlines.  Each deadline has its index in the heap, so that any one can be moved or
 * removed:
 *
 *     heap[0] is the earliest; the children of heap[i] are heap[2i+1] and heap[2i+2]
 */
#include "http/deadline.h"

#include <errno.h>
#include <stdlib.h>

int deadlines_reserve (struct deadlines *deadlines, int count)
{
    if (count <= deadlines->size)
        return 0;
    struct deadline **heap = realloc (deadlines->heap, (size_t)count * sizeof (*heap));
    if (heap == NULL)
        return -ENOMEM;
    deadlines->heap = heap;
    deadlines->size = count;
    return 0;
}

void deadlines_clear (struct deadlines *deadlines)
{
    free (deadlines->heap);
    *deadlines = (struct deadlines){.heap = NULL};
}

static void put (struct deadlines *deadlines, int at, struct deadline *deadline)
{
    deadlines->heap[at] = deadline;
    deadline->place = at + 1;
}

/* Put the deadline into the heap: start at a free index and move up or down. */
static void settle (struct deadlines *deadlines, int at, struct deadline *deadline)
{
    struct deadline **heap = deadlines->heap;
    for (int up; at > 0 && deadline->due_us < heap[up = (at - 1) / 2]->due_us; at = up)
        put (deadlines, at, heap[up]);
    for (int down; (down = 2 * at + 1) < deadlines->count; at = down) {
        if (down + 1 < deadlines->count && heap[down + 1]->due_us < heap[down]->due_us)
            down++;
        if (deadline->due_us <= heap[down]->due_us)
            break;
        put (deadlines, at, heap[down]);
    }
    put (deadlines, at, deadline);
}

void deadline_set (struct deadlines *deadlines, struct deadline *deadline, int64_t due_us)
{
    int at = deadline->place != 0 ? deadline->place - 1 : deadlines->count++;
    deadline->due_us = due_us;
    settle (deadlines, at, deadline);
}

void deadline_clear (struct deadlines *deadlines, struct deadline *deadline)
{
    if (deadline->place == 0)
        return;
    int at = deadline->place - 1;
    struct deadline *last = deadlines->heap[--deadlines->count];
    deadline->place = 0;
    if (last != deadline)
        settle (deadlines, at, last);
}

struct deadline *deadlines_first (const struct deadlines *deadlines)
{
    return deadlines->count > 0 ? deadlines->heap[0] : NULL;
}
