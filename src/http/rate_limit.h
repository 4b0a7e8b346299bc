/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_RATE_LIMIT_H
#define HTTP_RATE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rate limits by token buckets, one per key: a bucket holds up to burst tokens, gains rate tokens per
 * second, and each request takes one. */
struct rate_limit;

enum {
    RATE_LIMIT_BUCKETS = 4096, /* in total, of 24 bytes each */
    RATE_LIMIT_PROBES = 8,     /* buckets that a key can be in */
};

/* NULL: no memory.  A secret seed prevents clients from choosing keys that collide. */
struct rate_limit *rate_limit_new (double rate, double burst, uint64_t seed);
void rate_limit_free (struct rate_limit *limit);

/* Take one token from the key's bucket; false if it is empty.  If the table is full, the fullest bucket
 * nearby is replaced: its key may then exceed its rate, but no key gets less than its rate. */
bool rate_limit_take (struct rate_limit *limit, const void *key, size_t length, int64_t now_us);

#endif
