/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums of a checkpoint's files: XXH3 from xxhash.h, and the one of checkpoints of version 1.
 * XXH_INLINE_ALL compiles XXH3 into this file: libpollux needs no libxxhash at run time.
 */
#include "agent/checksum.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "agent/checksum_version1.h"

struct checksum {
    enum checksum_algorithm algorithm;
    union {
        XXH3_state_t xxh3; /* aligned to 64 bytes */
        struct checksum_version1 version1;
    } state;
};

uint64_t checksum_of (const void *data, size_t size)
{
    return XXH3_64bits (data, size);
}

struct checksum *checksum_new (enum checksum_algorithm algorithm)
{
    struct checksum *checksum = aligned_alloc (_Alignof(struct checksum), sizeof (*checksum));
    if (!checksum)
        return NULL;
    checksum->algorithm = algorithm;
    if (algorithm == CHECKSUM_VERSION1) {
        checksum->state.version1 = checksum_version1_start ();
    } else {
        XXH3_INITSTATE (&checksum->state.xxh3);
        XXH3_64bits_reset (&checksum->state.xxh3);
    }
    return checksum;
}

void checksum_add (struct checksum *checksum, const void *data, size_t size)
{
    if (checksum->algorithm == CHECKSUM_VERSION1)
        checksum_version1_add (&checksum->state.version1, data, size);
    else
        XXH3_64bits_update (&checksum->state.xxh3, data, size);
}

uint64_t checksum_end (const struct checksum *checksum)
{
    return checksum->algorithm == CHECKSUM_VERSION1
               ? checksum_version1_end (&checksum->state.version1)
               : XXH3_64bits_digest (&checksum->state.xxh3);
}

void checksum_free (struct checksum *checksum)
{
    free (checksum);
}
