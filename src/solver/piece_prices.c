/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small dynamic programs over sizes: the most that a node can hold, the cheapest way to cut a job.
 */
#include "solver/piece_prices.h"

#include <errno.h>
#include <string.h>

int piece_prices_make (int piece_most, int many_most, struct arena *arena, struct piece_prices *ret)
{
    size_t pieces = (size_t)piece_most + 1, counts = (size_t)many_most + 1;
    struct piece_prices prices = {
        .piece_most = piece_most,
        .many_most = many_most,
        .one = arena_take (arena, pieces, sizeof (cost)),
        .piece = arena_take (arena, pieces, sizeof (cost)),
        .many = arena_take (arena, counts, sizeof (cost)),
        .cut = arena_take (arena, counts, sizeof (int)),
        .rest = arena_take (arena, counts, sizeof (cost)),
        .rest_cut = arena_take (arena, counts, sizeof (int)),
        .open = arena_take (arena, pieces, sizeof (cost)),
        .closed = arena_take (arena, pieces, sizeof (cost)),
    };
    if (!prices.one || !prices.piece || !prices.many || !prices.cut || !prices.rest ||
        !prices.rest_cut || !prices.open || !prices.closed)
        return -ENOMEM;
    *ret = prices;
    return 0;
}

void piece_prices_copy (struct piece_prices *to, const struct piece_prices *from)
{
    size_t pieces = (size_t)from->piece_most + 1, counts = (size_t)from->many_most + 1;
    memcpy (to->one, from->one, pieces * sizeof (cost));
    memcpy (to->piece, from->piece, pieces * sizeof (cost));
    memcpy (to->many, from->many, counts * sizeof (cost));
    memcpy (to->cut, from->cut, counts * sizeof (int));
    memcpy (to->rest, from->rest, counts * sizeof (cost));
    memcpy (to->rest_cut, from->rest_cut, counts * sizeof (int));
    memcpy (to->open, from->open, pieces * sizeof (cost));
    memcpy (to->closed, from->closed, pieces * sizeof (cost));
}

/* The dearest set of pieces that fits on a node: of jobs on one node alone, or with one piece of
 * a job on several. */
static void derive_nodes (struct piece_prices *prices)
{
    prices->closed[0] = prices->open[0] = 0;
    for (int r = 1; r <= prices->piece_most; r++) {
        cost most = prices->closed[r - 1];
        for (int k = 1; k <= r; k++) {
            cost with = prices->one[k] + prices->closed[r - k];
            most = with > most ? with : most;
        }
        prices->closed[r] = most;
        for (int k = 1; k <= r; k++) {
            cost with = prices->piece[k] + prices->closed[r - k];
            most = with > most ? with : most;
        }
        prices->open[r] = most;
    }
}

/* The cheapest set of pieces that adds up to k. */
static void derive_many (struct piece_prices *prices)
{
    prices->rest[0] = 0;
    prices->rest_cut[0] = 0;
    for (int k = 1; k <= prices->many_most; k++) {
        int most = k < prices->piece_most ? k : prices->piece_most;
        cost least = COST_MOST;
        for (int s = most; s >= 1; s--) { /* of equally cheap ways the one in fewest pieces */
            cost with = prices->piece[s] + prices->rest[k - s];
            if (with < least) {
                least = with;
                prices->rest_cut[k] = s;
            }
        }
        prices->rest[k] = least;
    }
    for (int k = 0; k <= prices->many_most; k++) {
        int most = k - 1 < prices->piece_most ? k - 1 : prices->piece_most;
        prices->many[k] = COST_MOST;
        prices->cut[k] = 0;
        for (int s = most; s >= 1; s--) {
            cost with = prices->piece[s] + prices->rest[k - s];
            if (with < prices->many[k]) {
                prices->many[k] = with;
                prices->cut[k] = s;
            }
        }
    }
}

void piece_prices_derive (struct piece_prices *prices)
{
    derive_nodes (prices);
    derive_many (prices);
}

cost piece_prices_placement (const struct piece_prices *prices, struct placement placement)
{
    cost sum = 0;
    for (int i = 0; i < placement.count; i++)
        sum += placement.count == 1 ? prices->one[placement.shares[i].replicas]
                                    : prices->piece[placement.shares[i].replicas];
    return sum;
}
