/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CHECKSUM_VERSION1_H
#define AGENT_CHECKSUM_VERSION1_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of the files of checkpoints of version 1.  For reading those only: new checkpoints
 * have XXH3-64 (agent/checksum.h).
 * Every call of _add but the last one takes a multiple of CHECKSUM_VERSION1_BLOCK bytes. */
enum { CHECKSUM_VERSION1_LANES = 8, CHECKSUM_VERSION1_BLOCK = 8 * CHECKSUM_VERSION1_LANES };

struct checksum_version1 {
    uint64_t lanes[CHECKSUM_VERSION1_LANES];
    uint64_t size;
};

struct checksum_version1 checksum_version1_start (void);
void checksum_version1_add (struct checksum_version1 *checksum, const void *data, size_t size);
uint64_t checksum_version1_end (const struct checksum_version1 *checksum);

#endif
