/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

/* Memory that is taken piece by piece and given back all at once.  Zero is an empty arena. */
struct arena {
    struct arena_block *blocks; /* the newest first */
    size_t used;                /* of the newest */
};

/* Room for count elements of size bytes, not cleared, aligned for any type; NULL if there is no
 * memory.  Pieces stay where they are until arena_reset. */
void *arena_take (struct arena *arena, size_t count, size_t size);

/* Give back all pieces.  The memory is kept for the next ones. */
void arena_reset (struct arena *arena);

/* Free everything. */
void arena_clear (struct arena *arena);

#endif
