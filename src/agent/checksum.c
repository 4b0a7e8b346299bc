/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a with words in place of bytes, in eight lanes so that a processor computes them side by
 * side.  Each step is one-to-one in the lane and in the word, so that one wrong word always ends in
 * a wrong lane; the rotation carries the upper bits down, which multiplying alone never does.
 */
#include "agent/checksum.h"

#include <string.h>

static const uint64_t prime = 0x9e3779b185ebca87u;

static inline uint64_t step (uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * prime;
}

/* Least significant byte first on every machine; compilers see one load. */
static inline uint64_t word_at (const uint8_t *at)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

static void add_block (struct checksum *checksum, const uint8_t *block)
{
    for (int i = 0; i < CHECKSUM_LANES; i++)
        checksum->lanes[i] = step (checksum->lanes[i], word_at (block + 8 * i));
}

struct checksum checksum_start (void)
{
    struct checksum checksum = {.size = 0};
    for (int i = 0; i < CHECKSUM_LANES; i++)
        checksum.lanes[i] = (uint64_t)(i + 1) * 0xd6e8feb86659fd93u;
    return checksum;
}

void checksum_add (struct checksum *checksum, const void *data, size_t size)
{
    const uint8_t *at = data;
    checksum->size += size;
    for (; size >= CHECKSUM_BLOCK; at += CHECKSUM_BLOCK, size -= CHECKSUM_BLOCK)
        add_block (checksum, at);
    if (size > 0) {
        uint8_t last[CHECKSUM_BLOCK] = {0}; /* the size tells zeros from nothing */
        memcpy (last, at, size);
        add_block (checksum, last);
    }
}

uint64_t checksum_end (const struct checksum *checksum)
{
    uint64_t sum = step (0, checksum->size);
    for (int i = 0; i < CHECKSUM_LANES; i++)
        sum = step (sum, checksum->lanes[i]);
    return sum ^ (sum >> 32);
}
