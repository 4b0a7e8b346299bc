/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packing problem's dual, by the oldest method there is: what is asked for more than there is
 * of becomes dearer, what is left becomes cheaper.
 *
 * What is traded are rights that every node hands out, each of them a valid inequality:
 *
 *     slots        a piece of k replicas needs k; a node has as many as slots
 *     fractions    a piece of k replicas needs a fraction of a node that is a little more than
 *                  k/c if pieces of that size fit badly; a node has 1.  (Dual feasible functions
 *                  of bin packing: whatever fits on the node needs at most 1 together.)
 *     exclusives   large pieces and pieces of jobs on several nodes: at most one per node
 *
 *     node of 8:   k            1    2    3    4    5    6    7    8
 *     p = 2        fraction     0    0   1/2  1/2  1/2   1    1    1     two of 3..5, or one
 *
 * A job's price for a piece is the sum over rights.  Every round each job takes what is best for it
 * at the prices; the prices then follow the excess of demand over supply.  Whatever the prices, they
 * give a bound; the best one counts.
 */
#include "solver/dual.h"

#include <errno.h>
#include <math.h>

enum { FRACTIONS_MOST = 8, EXCLUSIVES = 4, PARTS_MOST = 4, PIECE_LIMIT = 64 };
enum { CUTS_MOST = 1 + FRACTIONS_MOST + EXCLUSIVES + PARTS_MOST };

/* What pieces need of it, and how much of it there is. */
struct cut {
    double *one, *piece; /* [size] */
    double supply;
    double price; /* units of value */
    double price_most;
    double step;   /* of the price */
    double excess; /* of demand, in the last round */
};

struct dual {
    const struct option_lists *lists;
    const struct supply *supply;
    struct cut cuts[CUTS_MOST];
    int cut_count;
    struct piece_prices now;
    int64_t *ones, *pieces; /* [size]: how many of these are asked for */
    int size_most;
};

cost supply_room (const struct supply *supply, const struct piece_prices *prices)
{
    cost room = 0;
    for (int r = 1; r <= supply->most; r++)
        room += supply->open[r] * prices->open[r] + supply->closed[r] * prices->closed[r];
    return room;
}

/* ---- Rights ---- */

/* From what pieces of jobs on one node need follows what other pieces can at most be made to
 * need, and how much of it nodes of all sizes hand out. */
static int right_complete (struct dual *dual, struct cut *right, struct arena *arena)
{
    int most = dual->size_most;
    double *held = arena_take (arena, (size_t)most + 1, sizeof (double));
    right->piece = arena_take (arena, (size_t)most + 1, sizeof (double));
    if (!held || !right->piece)
        return -ENOMEM;
    held[0] = right->piece[0] = 0;
    for (int r = 1; r <= most; r++) {
        held[r] = held[r - 1];
        for (int k = 1; k <= r; k++)
            held[r] = fmax (held[r], right->one[k] + held[r - k]);
    }
    for (int k = 1; k <= most; k++)
        right->piece[k] = held[most] - held[most - k];
    right->supply = 0;
    for (int r = 1; r <= most; r++) {
        double open = held[r];
        for (int k = 1; k <= r; k++)
            open = fmax (open, right->piece[k] + held[r - k]);
        right->supply += dual->supply->open[r] * open + dual->supply->closed[r] * held[r];
    }
    return 0;
}

/* Is one a multiple of the other? */
static bool same_needs (const struct cut *a, const struct cut *b, int most)
{
    for (int k = 1; k <= most; k++)
        if (fabs (a->one[k] * b->one[most] - b->one[k] * a->one[most]) > 1e-12)
            return false;
    return true;
}

/* Add the right that was filled in at the end, unless it is there already. */
static int right_add (struct dual *dual, struct arena *arena)
{
    struct cut *right = &dual->cuts[dual->cut_count];
    for (int i = 0; i < dual->cut_count; i++)
        if (same_needs (&dual->cuts[i], right, dual->size_most))
            return 0;
    if (right_complete (dual, right, arena) < 0)
        return -ENOMEM;
    dual->cut_count++;
    return 0;
}

static int cuts_make (struct dual *dual, struct arena *arena)
{
    int most = dual->size_most;
    size_t room = (size_t)most + 1;
    struct cut *right;
#define NEXT_RIGHT()                                                                               \
    (right = &dual->cuts[dual->cut_count],                                                         \
     *right = (struct cut){.one = arena_take (arena, room, sizeof (double))}, right->one != NULL)
    if (!NEXT_RIGHT ())
        return -ENOMEM;
    for (int k = 0; k <= most; k++)
        right->one[k] = k;
    if (right_add (dual, arena) < 0)
        return -ENOMEM;
    /* Pieces that fit badly: just above a part of the node. */
    for (int p = 1; p < most && p <= FRACTIONS_MOST; p++) {
        if (!NEXT_RIGHT ())
            return -ENOMEM;
        for (int k = 0; k <= most; k++)
            right->one[k] =
                (p + 1) * k % most == 0 ? (double)k / most : floor ((p + 1.0) * k / most) / p;
        if (right_add (dual, arena) < 0)
            return -ENOMEM;
    }
    /* Pieces of which a node has one at most. */
    for (int t = most; t > most / 2 && t > most - EXCLUSIVES; t--) {
        if (!NEXT_RIGHT ())
            return -ENOMEM;
        for (int k = 0; k <= most; k++)
            right->one[k] = k >= t;
        if (right_add (dual, arena) < 0)
            return -ENOMEM;
    }
    /* Parts of a node, rounded down: it is pieces of jobs on several nodes that break them. */
    for (int q = 2; q < most && q <= PARTS_MOST; q++) {
        if (!NEXT_RIGHT ())
            return -ENOMEM;
        for (int k = 0; k <= most; k++)
            right->one[k] = floor ((double)q * k / most) / q;
        if (right_add (dual, arena) < 0)
            return -ENOMEM;
    }
    return 0;
#undef NEXT_RIGHT
}

/* ---- Rounds ---- */

static void set_prices (struct dual *dual)
{
    struct piece_prices *prices = &dual->now;
    for (int k = 0; k <= dual->size_most; k++) {
        double one = 0, piece = 0;
        for (int i = 0; i < dual->cut_count; i++) {
            one += dual->cuts[i].price * dual->cuts[i].one[k];
            piece += dual->cuts[i].price * dual->cuts[i].piece[k];
        }
        prices->one[k] = (cost)llround (one) * COST_UNIT;
        prices->piece[k] = (cost)llround (piece) * COST_UNIT;
    }
    piece_prices_derive (prices);
}

static void ask (struct dual *dual, const struct option_list *list,
                 const struct priced_option *option)
{
    const struct piece_prices *prices = &dual->now;
    struct placement current = list->job->current;
    switch (option->where) {
    case WHERE_NONE:
        return;
    case WHERE_KEEP:
        for (int i = 0; i < current.count; i++)
            (current.count == 1 ? dual->ones : dual->pieces)[current.shares[i].replicas]++;
        return;
    case WHERE_ONE:
        dual->ones[option->replicas]++;
        return;
    case WHERE_MANY:
    case WHERE_BEYOND:
        if (option->replicas < 2)
            return;
        dual->pieces[prices->cut[option->replicas]]++;
        for (int k = option->replicas - prices->cut[option->replicas]; k > 0;
             k -= prices->rest_cut[k])
            dual->pieces[prices->rest_cut[k]]++;
        return;
    }
}

/* Everybody asks for what is best at the prices.  Returns the bound. */
static cost ask_all (struct dual *dual)
{
    cost bound = -supply_room (dual->supply, &dual->now);
    for (int k = 0; k <= dual->size_most; k++)
        dual->ones[k] = dual->pieces[k] = 0;
    for (int i = 0; i < dual->lists->count; i++) {
        const struct option_list *list = &dual->lists->lists[i];
        const struct priced_option *best = NULL;
        cost least = 0;
        if (option_list_pinned (list)) {
            bound += list->options[0].loss;
            continue;
        }
        for (int j = 0; j < list->count; j++) {
            cost total =
                list->options[j].loss + option_list_cost (list, &list->options[j], &dual->now);
            if (!best || total < least) {
                best = &list->options[j];
                least = total;
            }
        }
        bound += least;
        ask (dual, list, best);
    }
    return bound;
}

/* Prices follow the excess of demand, each in steps of its own, which become smaller whenever they
 * went too far.  False: all that has a price is in balance, and nothing else is scarce, so no other
 * prices give a higher bound. */
static bool adjust (struct dual *dual)
{
    const double full = 0.05; /* relative excess that is worth a whole step */
    bool changed = false;
    for (int i = 0; i < dual->cut_count; i++) {
        struct cut *right = &dual->cuts[i];
        double demand = 0;
        for (int k = 1; k <= dual->size_most; k++)
            demand +=
                (double)dual->ones[k] * right->one[k] + (double)dual->pieces[k] * right->piece[k];
        if (!(right->supply > 0))
            continue;
        double excess = fmax (fmin ((demand / right->supply - 1) / full, 1), -1);
        if (fabs (excess) < 1e-9 || (excess < 0 && right->price == 0)) {
            right->excess = 0;
            continue;
        }
        changed = true;
        if (excess * right->excess < 0)
            right->step *= 0.4;
        else if (right->price > 0)
            right->step *= 1.3;
        right->excess = excess;
        right->price = fmin (fmax (right->price + right->step * excess, 0), right->price_most);
    }
    return changed;
}

int dual_ascend (const struct option_lists *lists, const struct supply *supply, double price,
                 int rounds, struct arena *arena, struct piece_prices *ret)
{
    struct dual dual = {.lists = lists, .supply = supply, .size_most = supply->most};
    size_t sizes = (size_t)supply->most + 1;
    int many_most = 0;
    for (int i = 0; i < lists->count; i++)
        for (int j = 0; j < lists->lists[i].count; j++)
            if (lists->lists[i].options[j].replicas > many_most)
                many_most = lists->lists[i].options[j].replicas;
    struct piece_prices best;
    dual.ones = arena_take (arena, sizes, sizeof (dual.ones[0]));
    dual.pieces = arena_take (arena, sizes, sizeof (dual.pieces[0]));
    if (!dual.ones || !dual.pieces || cuts_make (&dual, arena) < 0 ||
        piece_prices_make (supply->most, many_most, arena, &dual.now) < 0 ||
        piece_prices_make (supply->most, many_most, arena, &best) < 0)
        return -ENOMEM;
    double units = price / lists->unit;
    dual.cuts[0].price = units;
    for (int i = 0; i < dual.cut_count; i++) {
        dual.cuts[i].step = 0.05 * units * (i == 0 ? 1 : supply->most);
        /* Nobody loses more than the cap; and all slots at the cap, and all nodes once more, add up
         * to what a worth can hold. */
        dual.cuts[i].price_most = lists->cap / lists->unit / (i == 0 ? 1 : dual.cut_count);
    }
    cost most = 0;
    rounds = units > 0 && supply->most <= PIECE_LIMIT ? rounds : 0;
    for (int i = 0; i <= rounds; i++) {
        set_prices (&dual);
        cost bound = ask_all (&dual);
        if (i == 0 || bound > most) {
            most = bound;
            piece_prices_copy (&best, &dual.now);
        }
        if (!adjust (&dual))
            break;
    }
    *ret = best;
    return 0;
}
