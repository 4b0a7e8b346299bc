/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_CHECKSUM_H
#define AGENT_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Tells damage from health in large files, at the speed of memory: every change within eight
 * neighbouring bytes is noticed, and all but one in 2^64 of others.  Not against forgery.
 * Fed in pieces, all but the last of CHECKSUM_BLOCK bytes or a multiple. */
enum { CHECKSUM_LANES = 8, CHECKSUM_BLOCK = 8 * CHECKSUM_LANES };

struct checksum {
    uint64_t lanes[CHECKSUM_LANES];
    uint64_t size;
};

struct checksum checksum_start (void);
void checksum_add (struct checksum *checksum, const void *data, size_t size);
uint64_t checksum_end (const struct checksum *checksum);

#endif
