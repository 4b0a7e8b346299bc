/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in a hash table of fixed size, so that a client with many names cannot make it grow.
 * Replacing a bucket permits too many requests, never too few.
 */
#include "http/rate_limit.h"

#include <stdlib.h>

struct token_bucket {
    uint64_t key; /* a hash; 0: unused.  Two keys with one hash share a bucket: 1 in 2^64 */
    int64_t at_us;
    double tokens; /* at at_us */
};

struct rate_limit {
    double rate, burst;
    uint64_t seed;
    struct token_bucket items[RATE_LIMIT_BUCKETS];
};

struct rate_limit *rate_limit_new (double rate, double burst, uint64_t seed)
{
    struct rate_limit *limit = calloc (1, sizeof (*limit));
    if (limit != NULL) {
        limit->rate = rate;
        limit->burst = burst;
        limit->seed = seed;
    }
    return limit;
}

void rate_limit_free (struct rate_limit *limit)
{
    free (limit);
}

/* FNV-1a with a secret start value, then mixed, so that all bits depend on the last byte. */
static uint64_t hash (uint64_t seed, const unsigned char *key, size_t length)
{
    uint64_t sum = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ key[i]) * 0x100000001b3u;
    sum = (sum ^ (sum >> 33)) * 0xff51afd7ed558ccdu;
    sum ^= sum >> 33;
    return sum != 0 ? sum : 1;
}

static double filled (const struct rate_limit *limit, const struct token_bucket *bucket,
                      int64_t now_us)
{
    double tokens = bucket->tokens;
    if (now_us > bucket->at_us)
        tokens += (double)(now_us - bucket->at_us) * 1e-6 * limit->rate;
    return tokens < limit->burst ? tokens : limit->burst;
}

bool rate_limit_take (struct rate_limit *limit, const void *key, size_t length, int64_t now_us)
{
    uint64_t sum = hash (limit->seed, key, length);
    struct token_bucket *found = NULL, *fullest = NULL;
    double most = -1;
    for (size_t i = 0; i < RATE_LIMIT_PROBES && found == NULL; i++) {
        struct token_bucket *bucket = &limit->items[(sum + i) % RATE_LIMIT_BUCKETS];
        double tokens = bucket->key == 0 ? limit->burst + 1 : filled (limit, bucket, now_us);
        if (bucket->key == sum)
            found = bucket;
        if (tokens > most) {
            most = tokens;
            fullest = bucket;
        }
    }
    if (found == NULL) {
        found = fullest;
        *found = (struct token_bucket){.key = sum, .at_us = now_us, .tokens = limit->burst};
    }
    double tokens = filled (limit, found, now_us);
    bool enough = tokens >= 1;
    found->tokens = enough ? tokens - 1 : tokens;
    found->at_us = now_us;
    return enough;
}
