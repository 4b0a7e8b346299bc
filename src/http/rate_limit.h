/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_RATE_LIMIT_H
#define HTTP_RATE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bounded number of token buckets, found by key: each holds up to burst tokens, gets rate more
 * per second, and every request takes one. */
struct rate_limit;

enum {
    RATE_LIMIT_BUCKETS = 4096, /* in all: 24 bytes each */
    RATE_LIMIT_PROBES = 8,     /* of which a key can be in so many */
};

/* NULL if there is no memory.  The seed keeps strangers from choosing keys that meet. */
struct rate_limit *rate_limit_new (double rate, double burst, uint64_t seed);
void rate_limit_free (struct rate_limit *limit);

/* Take one token of the key's bucket; false if it is empty.  When more keys are in use than there
 * is room for, the fullest bucket nearby is forgotten: that key can take more than its share, and
 * nobody gets less. */
bool rate_limit_take (struct rate_limit *limit, const void *key, size_t length, int64_t now_us);

#endif
