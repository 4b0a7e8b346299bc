/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CHECKSUM_H
#define AGENT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Checksums of a checkpoint's files.  They detect accidental damage, not forgery. */
enum checksum_algorithm {
    CHECKSUM_XXH3_64,  /* XXH3, 64 bits, seed 0: of all checkpoints that are written */
    CHECKSUM_VERSION1, /* of checkpoints of version 1: only read */
};

/* Of one block of memory. */
uint64_t checksum_of (const void *data, size_t size);

/* Of data that comes in pieces.  With CHECKSUM_VERSION1 every piece but the last one has a multiple
 * of 64 bytes.  NULL: no memory.  The caller frees it (checksum_free, which accepts NULL). */
struct checksum;
struct checksum *checksum_new (enum checksum_algorithm algorithm);
void checksum_add (struct checksum *checksum, const void *data, size_t size);
uint64_t checksum_end (const struct checksum *checksum);
void checksum_free (struct checksum *checksum);

#endif
