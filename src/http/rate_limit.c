/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token buckets in a table of fixed size: a stranger who comes under many names cannot make it
 * grow, and forgetting a bucket errs on the side of serving.
 */
#include "http/rate_limit.h"

#include <stdlib.h>

struct bucket {
    uint64_t key; /* a hash; 0: unused.  Two keys with one hash share a bucket: 1 in 2^64 */
    int64_t at_us;
    double tokens; /* at at_us */
};

struct buckets {
    double rate, burst;
    uint64_t seed;
    struct bucket items[BUCKETS];
};

struct buckets *buckets_new (double rate, double burst, uint64_t seed)
{
    struct buckets *buckets = calloc (1, sizeof (*buckets));
    if (buckets != NULL) {
        buckets->rate = rate;
        buckets->burst = burst;
        buckets->seed = seed;
    }
    return buckets;
}

void buckets_free (struct buckets *buckets)
{
    free (buckets);
}

/* FNV-1a from a secret start, then mixed, so that all bits depend on the last byte. */
static uint64_t hash (uint64_t seed, const unsigned char *key, size_t length)
{
    uint64_t sum = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ key[i]) * 0x100000001b3u;
    sum = (sum ^ (sum >> 33)) * 0xff51afd7ed558ccdu;
    sum ^= sum >> 33;
    return sum != 0 ? sum : 1;
}

static double filled (const struct buckets *buckets, const struct bucket *bucket, int64_t now_us)
{
    double tokens = bucket->tokens;
    if (now_us > bucket->at_us)
        tokens += (double)(now_us - bucket->at_us) * 1e-6 * buckets->rate;
    return tokens < buckets->burst ? tokens : buckets->burst;
}

bool buckets_take (struct buckets *buckets, const void *key, size_t length, int64_t now_us)
{
    uint64_t sum = hash (buckets->seed, key, length);
    struct bucket *found = NULL, *fullest = NULL;
    double most = -1;
    for (size_t i = 0; i < BUCKETS_PROBES && found == NULL; i++) {
        struct bucket *bucket = &buckets->items[(sum + i) % BUCKETS];
        double tokens = bucket->key == 0 ? buckets->burst + 1 : filled (buckets, bucket, now_us);
        if (bucket->key == sum)
            found = bucket;
        if (tokens > most) {
            most = tokens;
            fullest = bucket;
        }
    }
    if (found == NULL) {
        found = fullest;
        *found = (struct bucket){.key = sum, .at_us = now_us, .tokens = buckets->burst};
    }
    double tokens = filled (buckets, found, now_us);
    bool enough = tokens >= 1;
    found->tokens = enough ? tokens - 1 : tokens;
    found->at_us = now_us;
    return enough;
}
