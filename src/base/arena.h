/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

/* Memory that is allocated in pieces and freed all at once.  A zeroed arena is empty. */
struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used;                /* bytes of the newest block */
};

/* Room for count elements of size bytes, not cleared, aligned for any type.  NULL: no memory.
 * Valid until arena_reset. */
void *arena_take (struct arena *arena, size_t count, size_t size);

/* Free all pieces; the memory is kept for the next ones. */
void arena_reset (struct arena *arena);

/* Free everything. */
void arena_clear (struct arena *arena);

#endif
