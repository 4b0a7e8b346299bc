/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims are kept in two hash tables: a claim is added to the newer one, and looked up in both.  After 2 x MUNGE_AGE_S the older one
 * is emptied and becomes the newer one, so a claim is kept for at least as long as it can be accepted: from
 * MUNGE_AGE_S before its time to MUNGE_AGE_S after it.
 *
 * A full table is exchanged early; then munged's memory alone protects the oldest claims.  2^17 claims in ten
 * minutes are 218 per second.  A table has at most 2^18 places of 16 bytes: 4 MiB.
 */
#include "munge/used_claims.h"

#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES_FIRST = 1 << 10,
    PLACES_MOST = 1 << 18,
    PERIOD_S = 2 * MUNGE_AGE_S,
};

struct key {
    uint64_t half[2]; /* both 0: an empty place */
};

struct table {
    struct key *places; /* NULL: none yet; size is a power of two; at most half of them are used */
    size_t size, used;
};

struct used_claims {
    struct table tables[2];
    int newer;
    int64_t begin_s; /* when the newer table began; INT64_MIN: it is empty */
};

struct used_claims *used_claims_new (void)
{
    struct used_claims *used = calloc (1, sizeof (*used));
    if (used != NULL)
        used->begin_s = INT64_MIN;
    return used;
}

void used_claims_free (struct used_claims *used)
{
    if (used == NULL)
        return;
    free (used->tables[0].places);
    free (used->tables[1].places);
    free (used);
}

static struct key key_of (uid_t uid, const struct munge_claim *claim)
{
    struct sha256_ctx hash;
    struct key key;
    sha256_init (&hash);
    sha256_update (&hash, sizeof (uid), (const uint8_t *)&uid);
    sha256_update (&hash, strlen (claim->nonce), (const uint8_t *)claim->nonce);
    sha256_digest (&hash, sizeof (key), (uint8_t *)&key);
    key.half[0] |= 1; /* no key looks like an empty place */
    return key;
}

/* The place of the key, or the empty one where it belongs. */
static struct key *find (const struct table *table, struct key key)
{
    size_t mask = table->size - 1;
    for (size_t i = (size_t)key.half[1] & mask;; i = (i + 1) & mask) {
        struct key *place = &table->places[i];
        if (place->half[0] == 0 || memcmp (place, &key, sizeof (key)) == 0)
            return place;
    }
}

static bool has (const struct table *table, struct key key)
{
    return table->places != NULL && find (table, key)->half[0] != 0;
}

/* Make room for one more key.  False: it cannot grow any more. */
static bool reserve (struct table *table)
{
    struct table larger = {.size = table->places != NULL ? 2 * table->size : PLACES_FIRST,
                           .used = table->used};
    if (table->places != NULL && 2 * (table->used + 1) <= table->size)
        return true;
    if (larger.size > PLACES_MOST ||
        (larger.places = calloc (larger.size, sizeof (larger.places[0]))) == NULL)
        return false;
    for (size_t i = 0; i < table->size; i++)
        if (table->places[i].half[0] != 0)
            *find (&larger, table->places[i]) = table->places[i];
    free (table->places);
    *table = larger;
    return true;
}

static void exchange (struct used_claims *used, int64_t now_s)
{
    used->newer = !used->newer;
    free (used->tables[used->newer].places);
    used->tables[used->newer] = (struct table){.size = 0};
    used->begin_s = now_s;
}

bool used_claims_seen (struct used_claims *used, uid_t uid, const struct munge_claim *claim,
                       int64_t now_s)
{
    struct key key = key_of (uid, claim);
    if (has (&used->tables[0], key) || has (&used->tables[1], key))
        return true;
    if (used->begin_s == INT64_MIN || now_s - used->begin_s >= PERIOD_S)
        exchange (used, now_s);
    if (!reserve (&used->tables[used->newer]))
        exchange (used, now_s);
    struct table *table = &used->tables[used->newer];
    if (reserve (table)) { /* without memory, munged's own is left */
        *find (table, key) = key;
        table->used++;
    }
    return false;
}
