/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small dynamic programs over sizes: the most that a node can hold, the cheapest way to cut a job.
 */
#include "policy/tariff.h"

#include <errno.h>
#include <string.h>

int tariff_make (int piece_most, int many_most, struct arena *arena, struct tariff *ret)
{
    size_t pieces = (size_t)piece_most + 1, counts = (size_t)many_most + 1;
    struct tariff tariff = {
        .piece_most = piece_most,
        .many_most = many_most,
        .one = arena_take (arena, pieces, sizeof (worth)),
        .piece = arena_take (arena, pieces, sizeof (worth)),
        .many = arena_take (arena, counts, sizeof (worth)),
        .cut = arena_take (arena, counts, sizeof (int)),
        .rest = arena_take (arena, counts, sizeof (worth)),
        .rest_cut = arena_take (arena, counts, sizeof (int)),
        .open = arena_take (arena, pieces, sizeof (worth)),
        .closed = arena_take (arena, pieces, sizeof (worth)),
    };
    if (!tariff.one || !tariff.piece || !tariff.many || !tariff.cut || !tariff.rest ||
        !tariff.rest_cut || !tariff.open || !tariff.closed)
        return -ENOMEM;
    *ret = tariff;
    return 0;
}

void tariff_copy (struct tariff *to, const struct tariff *from)
{
    size_t pieces = (size_t)from->piece_most + 1, counts = (size_t)from->many_most + 1;
    memcpy (to->one, from->one, pieces * sizeof (worth));
    memcpy (to->piece, from->piece, pieces * sizeof (worth));
    memcpy (to->many, from->many, counts * sizeof (worth));
    memcpy (to->cut, from->cut, counts * sizeof (int));
    memcpy (to->rest, from->rest, counts * sizeof (worth));
    memcpy (to->rest_cut, from->rest_cut, counts * sizeof (int));
    memcpy (to->open, from->open, pieces * sizeof (worth));
    memcpy (to->closed, from->closed, pieces * sizeof (worth));
}

/* The dearest set of pieces that fits on a node: of jobs on one node alone, or with one piece of
 * a job on several. */
static void derive_nodes (struct tariff *tariff)
{
    tariff->closed[0] = tariff->open[0] = 0;
    for (int r = 1; r <= tariff->piece_most; r++) {
        worth most = tariff->closed[r - 1];
        for (int k = 1; k <= r; k++) {
            worth with = tariff->one[k] + tariff->closed[r - k];
            most = with > most ? with : most;
        }
        tariff->closed[r] = most;
        for (int k = 1; k <= r; k++) {
            worth with = tariff->piece[k] + tariff->closed[r - k];
            most = with > most ? with : most;
        }
        tariff->open[r] = most;
    }
}

/* The cheapest set of pieces that adds up to k. */
static void derive_many (struct tariff *tariff)
{
    tariff->rest[0] = 0;
    tariff->rest_cut[0] = 0;
    for (int k = 1; k <= tariff->many_most; k++) {
        int most = k < tariff->piece_most ? k : tariff->piece_most;
        worth least = WORTH_MOST;
        for (int s = most; s >= 1; s--) { /* of equally cheap ways the one in fewest pieces */
            worth with = tariff->piece[s] + tariff->rest[k - s];
            if (with < least) {
                least = with;
                tariff->rest_cut[k] = s;
            }
        }
        tariff->rest[k] = least;
    }
    for (int k = 0; k <= tariff->many_most; k++) {
        int most = k - 1 < tariff->piece_most ? k - 1 : tariff->piece_most;
        tariff->many[k] = WORTH_MOST;
        tariff->cut[k] = 0;
        for (int s = most; s >= 1; s--) {
            worth with = tariff->piece[s] + tariff->rest[k - s];
            if (with < tariff->many[k]) {
                tariff->many[k] = with;
                tariff->cut[k] = s;
            }
        }
    }
}

void tariff_derive (struct tariff *tariff)
{
    derive_nodes (tariff);
    derive_many (tariff);
}

worth tariff_placement (const struct tariff *tariff, struct placement placement)
{
    worth cost = 0;
    for (int i = 0; i < placement.count; i++)
        cost += placement.count == 1 ? tariff->one[placement.shares[i].replicas]
                                     : tariff->piece[placement.shares[i].replicas];
    return cost;
}
