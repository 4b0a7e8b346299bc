/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FNV-1a with words in place of bytes, in eight lanes so that a processor computes them side by
 * side.  Each step is one-to-one in the lane and in the word, so that one wrong word always ends in
 * a wrong lane; the rotation carries the upper bits down, which multiplying alone never does.
 */
#define _DEFAULT_SOURCE /* le64toh */
#include "agent/checksum.h"

#include <endian.h>
#include <string.h>

static const uint64_t prime = 0x9e3779b185ebca87u;

static inline uint64_t step (uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * prime;
}

/* Least significant byte first on every machine. */
static inline uint64_t word_at (const uint8_t *at)
{
    uint64_t word;
    memcpy (&word, at, sizeof (word));
    return le64toh (word);
}

static inline void add_block (uint64_t lanes[CHECKSUM_LANES], const uint8_t *block)
{
    for (int i = 0; i < CHECKSUM_LANES; i++)
        lanes[i] = step (lanes[i], word_at (block + 8 * i));
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
    uint64_t
        lanes[CHECKSUM_LANES]; /* in registers: bytes might be the lanes themselves otherwise */
    memcpy (lanes, checksum->lanes, sizeof (lanes));
    checksum->size += size;
    for (; size >= CHECKSUM_BLOCK; at += CHECKSUM_BLOCK, size -= CHECKSUM_BLOCK)
        add_block (lanes, at);
    if (size > 0) {
        uint8_t last[CHECKSUM_BLOCK] = {0}; /* the size tells zeros from nothing */
        memcpy (last, at, size);
        add_block (lanes, last);
    }
    memcpy (checksum->lanes, lanes, sizeof (lanes));
}

uint64_t checksum_end (const struct checksum *checksum)
{
    uint64_t sum = step (0, checksum->size);
    for (int i = 0; i < CHECKSUM_LANES; i++)
        sum = step (sum, checksum->lanes[i]);
    return sum ^ (sum >> 32);
}
