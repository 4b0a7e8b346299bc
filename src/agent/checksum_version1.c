/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checksum of checkpoints of version 1, for reading only.  Its result is part of files on disk:
 * this code must not change.
 *
 * It is FNV-1a with 64-bit words in place of bytes and a rotation before each multiplication.
 * Word i of a block of eight goes to lane i; the lanes are combined at the end.
 */
#define _DEFAULT_SOURCE /* le64toh */
#include "agent/checksum_version1.h"

#include <endian.h>
#include <string.h>

enum { LANES = CHECKSUM_VERSION1_LANES, BLOCK = CHECKSUM_VERSION1_BLOCK };

static const uint64_t prime = 0x9e3779b185ebca87u;

static inline uint64_t step (uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * prime;
}

/* Little-endian on every machine. */
static inline uint64_t word_at (const uint8_t *at)
{
    uint64_t word;
    memcpy (&word, at, sizeof (word));
    return le64toh (word);
}

static inline void add_block (uint64_t lanes[LANES], const uint8_t *block)
{
    for (int i = 0; i < LANES; i++)
        lanes[i] = step (lanes[i], word_at (block + 8 * i));
}

struct checksum_version1 checksum_version1_start (void)
{
    struct checksum_version1 checksum = {.size = 0};
    for (int i = 0; i < LANES; i++)
        checksum.lanes[i] = (uint64_t)(i + 1) * 0xd6e8feb86659fd93u;
    return checksum;
}

void checksum_version1_add (struct checksum_version1 *checksum, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint64_t lanes[LANES]; /* a local copy cannot alias the data: it stays in registers */
    memcpy (lanes, checksum->lanes, sizeof (lanes));
    checksum->size += size;
    for (; size >= BLOCK; at += BLOCK, size -= BLOCK)
        add_block (lanes, at);
    if (size > 0) {
        uint8_t last[BLOCK] = {0}; /* the size, added at the end, tells padding from data */
        memcpy (last, at, size);
        add_block (lanes, last);
    }
    memcpy (checksum->lanes, lanes, sizeof (lanes));
}

uint64_t checksum_version1_end (const struct checksum_version1 *checksum)
{
    uint64_t sum = step (0, checksum->size);
    for (int i = 0; i < LANES; i++)
        sum = step (sum, checksum->lanes[i]);
    return sum ^ (sum >> 32);
}
