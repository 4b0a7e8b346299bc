/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two small dynamic programs over sizes: the most that the pieces on a node can cost, and the
 * cheapest split of a job into pieces.
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
        .open = arena_take (arena, pieces, sizeof (cost)),
        .closed = arena_take (arena, pieces, sizeof (cost)),
        .many = arena_take (arena, counts, sizeof (cost)),
        .many_piece = arena_take (arena, counts, sizeof (int)),
        .rest = arena_take (arena, counts, sizeof (cost)),
        .rest_piece = arena_take (arena, counts, sizeof (int)),
    };
    if (!prices.one || !prices.piece || !prices.open || !prices.closed || !prices.many ||
        !prices.many_piece || !prices.rest || !prices.rest_piece)
        return -ENOMEM;
    *ret = prices;
    return 0;
}

void piece_prices_copy (struct piece_prices *to, const struct piece_prices *from)
{
    size_t pieces = (size_t)from->piece_most + 1, counts = (size_t)from->many_most + 1;
    memcpy (to->one, from->one, pieces * sizeof (cost));
    memcpy (to->piece, from->piece, pieces * sizeof (cost));
    memcpy (to->open, from->open, pieces * sizeof (cost));
    memcpy (to->closed, from->closed, pieces * sizeof (cost));
    memcpy (to->many, from->many, counts * sizeof (cost));
    memcpy (to->many_piece, from->many_piece, counts * sizeof (int));
    memcpy (to->rest, from->rest, counts * sizeof (cost));
    memcpy (to->rest_piece, from->rest_piece, counts * sizeof (int));
}

/* The larger of `least` and the most that one piece plus a full rest of r slots can cost. */
static cost dearest (const cost *piece, const cost *rest, int r, cost least)
{
    cost most = least;
    for (int k = 1; k <= r; k++) {
        cost with = piece[k] + rest[r - k];
        most = with > most ? with : most;
    }
    return most;
}

/* A node holds pieces of jobs on one node, and if it is open at most one piece of a job on
 * several. */
static void derive_nodes (struct piece_prices *prices)
{
    prices->closed[0] = prices->open[0] = 0;
    for (int r = 1; r <= prices->piece_most; r++) {
        prices->closed[r] = dearest (prices->one, prices->closed, r, prices->closed[r - 1]);
        prices->open[r] = dearest (prices->piece, prices->closed, r, prices->closed[r]);
    }
}

/* The cheapest split of k replicas whose first piece has at most `most`; on equal prices the one
 * with the largest first piece.  COST_MOST and 0: there is none. */
static cost cheapest (const struct piece_prices *prices, int k, int most, int *ret_piece)
{
    cost least = COST_MOST;
    *ret_piece = 0;
    for (int s = most < prices->piece_most ? most : prices->piece_most; s >= 1; s--) {
        cost with = prices->piece[s] + prices->rest[k - s];
        if (with < least) {
            least = with;
            *ret_piece = s;
        }
    }
    return least;
}

static void derive_splits (struct piece_prices *prices)
{
    prices->rest[0] = 0;
    prices->rest_piece[0] = 0;
    for (int k = 1; k <= prices->many_most; k++)
        prices->rest[k] = cheapest (prices, k, k, &prices->rest_piece[k]);
    for (int k = 0; k <= prices->many_most; k++)
        prices->many[k] = cheapest (prices, k, k - 1, &prices->many_piece[k]);
}

void piece_prices_derive (struct piece_prices *prices)
{
    derive_nodes (prices);
    derive_splits (prices);
}

cost piece_prices_placement (const struct piece_prices *prices, struct placement placement)
{
    cost sum = 0;
    for (int i = 0; i < placement.count; i++)
        sum += placement.count == 1 ? prices->one[placement.shares[i].replicas]
                                    : prices->piece[placement.shares[i].replicas];
    return sum;
}
