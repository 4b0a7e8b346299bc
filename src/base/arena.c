/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena: a list of blocks, each at least twice as large as the one before.  A reset replaces all
 * blocks by one of their total size, so that a repeated computation needs only one block.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, BLOCK_LEAST = 1 << 14 };

struct arena_block {
    struct arena_block *older;
    size_t size; /* bytes after this header */
    _Alignas(ALIGNMENT) char bytes[];
};

static int arena_grow (struct arena *arena, size_t size)
{
    size_t least = arena->blocks ? 2 * arena->blocks->size : BLOCK_LEAST;
    size = size > least ? size : least;
    struct arena_block *block = malloc (sizeof (*block) + size);
    if (!block)
        return -1;
    *block = (struct arena_block){.older = arena->blocks, .size = size};
    arena->blocks = block;
    arena->used = 0;
    return 0;
}

void *arena_take (struct arena *arena, size_t count, size_t size)
{
    if (size > 0 && count > (SIZE_MAX / 4) / size)
        return NULL;
    size_t bytes = (count * size + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* never 0 */
    if (!arena->blocks || arena->blocks->size - arena->used < bytes)
        if (arena_grow (arena, bytes) < 0)
            return NULL;
    void *piece = arena->blocks->bytes + arena->used;
    arena->used += bytes;
    return piece;
}

void arena_reset (struct arena *arena)
{
    arena->used = 0;
    if (!arena->blocks || !arena->blocks->older)
        return;
    size_t total = 0;
    for (struct arena_block *block = arena->blocks; block; block = block->older)
        total += block->size;
    arena_clear (arena);
    (void)arena_grow (arena, total); /* if this fails, arena_take tries again */
}

void arena_clear (struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *older; block; block = older) {
        older = block->older;
        free (block);
    }
    *arena = (struct arena){0};
}
