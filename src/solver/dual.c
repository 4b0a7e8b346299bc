/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subgradient ascent on the Lagrangian dual: the price of an overdemanded resource rises, of an
 * underused one falls.
 *
 * The resources are cuts, valid inequalities over the pieces on a node:
 *
 *     slots       a piece of k replicas needs k; a node has its slots
 *     fractions   a piece of k replicas needs a fraction of a node, more than k/c for sizes that
 *                 fit badly; a node has 1 (dual feasible functions of bin packing)
 *     exclusive   large pieces, and pieces of jobs on several nodes: at most one per node
 *     parts       k rounded down to a multiple of a part of the node
 *
 *     node of 8:  k            1    2    3    4    5    6    7    8
 *     p = 2       fraction     0    0   1/2  1/2  1/2   1    1    1     two of 3..5, or one
 *
 * The price of a piece is the sum over cuts of price x need.  Every pool has its own cuts.  In every
 * round each job demands its best option at the prices, in any pool.  All prices >= 0 give a lower
 * bound of the loss; the best one is kept.
 */
#include "solver/dual.h"

#include <errno.h>
#include <math.h>

enum { FRACTIONS_MOST = 8, EXCLUSIVES = 4, PARTS_MOST = 4, PIECE_LIMIT = 64 };
enum { CUTS_MOST = 1 + FRACTIONS_MOST + EXCLUSIVES + PARTS_MOST };

struct cut {
    double *one, *piece; /* [size]: need of a piece of a job on one node, on several */
    double supply;
    double price; /* in units of value */
    double price_most;
    double step;   /* of the price */
    double excess; /* of demand over supply in the last round, relative and limited to -1..1 */
};

/* The cuts of a pool and the demand there. */
struct pool_dual {
    const struct supply *supply;
    struct cut cuts[CUTS_MOST];
    int cut_count;
    struct piece_prices *now;
    int64_t *ones, *pieces; /* [size]: demanded pieces of jobs on one node, on several */
    int size_most;
};

/* What a round reads of an option. */
struct dual_option {
    int64_t loss; /* in units, without the low bits */
    int price;    /* index in dual.prices */
};

struct dual_job {
    struct dual_option *options; /* as in its list */
    int keep_pool;               /* of its option WHERE_KEEP; -1: it has none */
};

/* The first entries of dual.prices: of WHERE_NONE, and of WHERE_KEEP for the job at hand. */
enum { PRICE_NONE, PRICE_KEEP, PRICES_FIXED };

struct dual {
    const struct option_lists *lists;
    struct dual_job *jobs;
    const struct supply *supplies; /* by pool, as pools and now */
    struct pool_dual *pools;
    struct piece_prices *now;
    int pool_count;
    /* In units; behind the fixed ones for every pool: one [size], many and beyond [replicas]. */
    int64_t *prices;
};

cost supply_price (const struct supply *supplies, const struct piece_prices *prices, int pool_count)
{
    cost sum = 0;
    for (int i = 0; i < pool_count; i++)
        for (int r = 1; r <= supplies[i].most; r++)
            sum += supplies[i].open[r] * prices[i].open[r] +
                   supplies[i].closed[r] * prices[i].closed[r];
    return sum;
}

/* ---- Cuts ---- */

/* The larger of `least` and the largest need of one piece plus a full rest of r slots. */
static double largest_need (const double *piece, const double *rest, int r, double least)
{
    double most = least;
    for (int k = 1; k <= r; k++)
        most = fmax (most, piece[k] + rest[r - k]);
    return most;
}

/* Lift the cut from jobs on one node to jobs on several (the largest need that stays valid on the
 * largest node), and add up what nodes of all sizes supply. */
static int cut_complete (const struct pool_dual *dual, struct cut *cut, struct arena *arena)
{
    int most = dual->size_most;
    double *held = arena_take (arena, (size_t)most + 1, sizeof (double));
    cut->piece = arena_take (arena, (size_t)most + 1, sizeof (double));
    if (!held || !cut->piece)
        return -ENOMEM;
    held[0] = cut->piece[0] = 0;
    for (int r = 1; r <= most; r++)
        held[r] = largest_need (cut->one, held, r, held[r - 1]);
    for (int k = 1; k <= most; k++)
        cut->piece[k] = held[most] - held[most - k];
    cut->supply = 0;
    for (int r = 1; r <= most; r++) {
        double open = largest_need (cut->piece, held, r, held[r]);
        cut->supply += dual->supply->open[r] * open + dual->supply->closed[r] * held[r];
    }
    return 0;
}

/* Is one cut a multiple of the other? */
static bool same_cut (const struct cut *a, const struct cut *b, int most)
{
    for (int k = 1; k <= most; k++)
        if (fabs (a->one[k] * b->one[most] - b->one[k] * a->one[most]) > 1e-12)
            return false;
    return true;
}

/* What a piece of k replicas needs, on nodes of at most `most` slots. */
typedef double need_function (int k, int parameter, int most);

static double need_slots (int k, int parameter, int most)
{
    (void)parameter, (void)most;
    return k;
}

static double need_fraction (int k, int p, int most)
{
    return (p + 1) * k % most == 0 ? (double)k / most : floor ((p + 1.0) * k / most) / p;
}

static double need_exclusive (int k, int least, int most)
{
    (void)most;
    return k >= least;
}

static double need_parts (int k, int parts, int most)
{
    return floor ((double)parts * k / most) / parts;
}

/* Add a cut, unless there is the same one.  -ENOMEM. */
static int cut_add (struct pool_dual *dual, need_function *need, int parameter, struct arena *arena)
{
    int most = dual->size_most;
    struct cut *cut = &dual->cuts[dual->cut_count];
    *cut = (struct cut){.one = arena_take (arena, (size_t)most + 1, sizeof (double))};
    if (!cut->one)
        return -ENOMEM;
    for (int k = 0; k <= most; k++)
        cut->one[k] = need (k, parameter, most);
    for (int i = 0; i < dual->cut_count; i++)
        if (same_cut (&dual->cuts[i], cut, most))
            return 0;
    if (cut_complete (dual, cut, arena) < 0)
        return -ENOMEM;
    dual->cut_count++;
    return 0;
}

static int cuts_make (struct pool_dual *dual, struct arena *arena)
{
    int most = dual->size_most;
    int rc = cut_add (dual, need_slots, 0, arena);
    for (int p = 1; p < most && p <= FRACTIONS_MOST && rc == 0; p++)
        rc = cut_add (dual, need_fraction, p, arena);
    for (int t = most; t > most / 2 && t > most - EXCLUSIVES && rc == 0; t--)
        rc = cut_add (dual, need_exclusive, t, arena);
    for (int q = 2; q < most && q <= PARTS_MOST && rc == 0; q++)
        rc = cut_add (dual, need_parts, q, arena);
    return rc;
}

/* ---- Rounds ---- */

static void set_prices (struct pool_dual *dual)
{
    struct piece_prices *prices = dual->now;
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

/* Count the pieces of an option as demand. */
static void add_demand (struct pool_dual *dual, const struct option_list *list,
                        const struct priced_option *option)
{
    const struct piece_prices *prices = dual->now;
    struct placement current = list->job->current;
    int replicas = option->replicas;
    switch (option->where) {
    case WHERE_NONE:
        return;
    case WHERE_KEEP:
        for (int i = 0; i < current.count; i++)
            (current.count == 1 ? dual->ones : dual->pieces)[current.shares[i].replicas]++;
        return;
    case WHERE_ONE:
        dual->ones[replicas]++;
        return;
    case WHERE_MANY:
    case WHERE_BEYOND:
        if (replicas < 2)
            return;
        dual->pieces[prices->many_piece[replicas]]++;
        for (int k = replicas - prices->many_piece[replicas]; k > 0; k -= prices->rest_piece[k])
            dual->pieces[prices->rest_piece[k]]++;
        return;
    }
}

/* Prices are whole units. */
static int64_t units_of (cost price)
{
    const int64_t never = INT64_MAX / 4; /* no such split; plus a loss it does not overflow */
    return price == COST_MOST ? never : cost_units (price);
}

/* Write the prices of all pools into one table. */
static void list_prices (struct dual *dual)
{
    int64_t *at = &dual->prices[PRICES_FIXED];
    for (int i = 0; i < dual->pool_count; i++) {
        const struct piece_prices *prices = &dual->now[i];
        int64_t *one = at, *many = one + prices->piece_most + 1;
        int64_t *beyond = many + prices->many_most + 1;
        for (int k = 0; k <= prices->piece_most; k++)
            one[k] = units_of (prices->one[k]);
        for (int k = 0; k <= prices->many_most; k++) {
            many[k] = units_of (prices->many[k]);
            beyond[k] = k <= prices->piece_most && one[k] < many[k] ? one[k] : many[k];
        }
        at = beyond + prices->many_most + 1;
    }
}

/* The option with the least loss plus price, low bits included; the first of equal ones. */
static const struct priced_option *best_option (const struct dual *dual, int job, cost *ret_total)
{
    const struct option_list *list = &dual->lists->lists[job];
    const struct dual_job *mine = &dual->jobs[job];
    if (mine->keep_pool >= 0)
        dual->prices[PRICE_KEEP] =
            units_of (piece_prices_placement (&dual->now[mine->keep_pool], list->job->current));
    int best = 0;
    int64_t least = mine->options[0].loss + dual->prices[mine->options[0].price];
    for (int i = 1; i < list->count; i++) {
        int64_t total = mine->options[i].loss + dual->prices[mine->options[i].price];
        if (total > least || (total == least && cost_low_bits (list->options[i].loss) >=
                                                    cost_low_bits (list->options[best].loss)))
            continue;
        best = i;
        least = total;
    }
    *ret_total = least * COST_UNIT + cost_low_bits (list->options[best].loss);
    return &list->options[best];
}

/* Add up the demand of all jobs at the prices.  Returns the bound. */
static cost find_demand (struct dual *dual)
{
    cost bound = -supply_price (dual->supplies, dual->now, dual->pool_count);
    for (int i = 0; i < dual->pool_count; i++)
        for (int k = 0; k <= dual->pools[i].size_most; k++)
            dual->pools[i].ones[k] = dual->pools[i].pieces[k] = 0;
    list_prices (dual);
    for (int i = 0; i < dual->lists->count; i++) {
        const struct option_list *list = &dual->lists->lists[i];
        if (option_list_pinned (list)) {
            bound += list->options[0].loss;
            continue;
        }
        cost total;
        const struct priced_option *best = best_option (dual, i, &total);
        bound += total;
        add_demand (&dual->pools[best->pool], list, best);
    }
    return bound;
}

/* Move every price of a pool by the excess of demand.  Each cut has its own step, which shrinks when
 * the sign of the excess changes and grows otherwise.  False: every cut with a price is in balance and
 * no other is scarce, so the prices are optimal. */
static bool adjust (struct pool_dual *dual)
{
    const double full = 0.05; /* relative excess that moves the price by a whole step */
    bool changed = false;
    for (int i = 0; i < dual->cut_count; i++) {
        struct cut *cut = &dual->cuts[i];
        double demand = 0;
        for (int k = 1; k <= dual->size_most; k++)
            demand += (double)dual->ones[k] * cut->one[k] + (double)dual->pieces[k] * cut->piece[k];
        if (!(cut->supply > 0))
            continue;
        double excess = fmax (fmin ((demand / cut->supply - 1) / full, 1), -1);
        if (fabs (excess) < 1e-9 || (excess < 0 && cut->price == 0)) {
            cut->excess = 0;
            continue;
        }
        changed = true;
        if (excess * cut->excess < 0)
            cut->step *= 0.4;
        else if (cut->price > 0)
            cut->step *= 1.3;
        cut->excess = excess;
        cut->price = fmin (fmax (cut->price + cut->step * excess, 0), cut->price_most);
    }
    return changed;
}

/* The largest number of replicas of an option in a pool. */
static int most_replicas (const struct option_lists *lists, int pool)
{
    int most = 0;
    for (int i = 0; i < lists->count; i++)
        for (int j = 0; j < lists->lists[i].count; j++) {
            const struct priced_option *option = &lists->lists[i].options[j];
            if (option->pool == pool && option->replicas > most)
                most = option->replicas;
        }
    return most;
}

/* Cuts and prices of a pool.  units: the price of a slot; step_units: what the first steps of the
 * prices are measured by.  best has the same sizes as dual->now.  -ENOMEM. */
static int pool_dual_make (const struct dual *dual, int pool, double units, double step_units,
                           struct arena *arena, struct piece_prices *best)
{
    const struct supply *supply = &dual->supplies[pool];
    struct pool_dual *ret = &dual->pools[pool];
    size_t sizes = (size_t)supply->most + 1;
    int many_most = most_replicas (dual->lists, pool);
    *ret = (struct pool_dual){
        .supply = supply,
        .now = &dual->now[pool],
        .ones = arena_take (arena, sizes, sizeof (ret->ones[0])),
        .pieces = arena_take (arena, sizes, sizeof (ret->pieces[0])),
        .size_most = supply->most,
    };
    if (!ret->ones || !ret->pieces || cuts_make (ret, arena) < 0 ||
        piece_prices_make (supply->most, many_most, arena, ret->now) < 0 ||
        piece_prices_make (supply->most, many_most, arena, best) < 0)
        return -ENOMEM;
    ret->cuts[0].price = units;
    for (int i = 0; i < ret->cut_count; i++) {
        ret->cuts[i].step = 0.05 * step_units * (i == 0 ? 1 : supply->most);
        /* No job loses more than the cap.  With these limits the prices of all slots and of all
         * nodes together do not overflow a cost. */
        ret->cuts[i].price_most =
            dual->lists->cap / dual->lists->unit / (i == 0 ? 1 : ret->cut_count);
    }
    return 0;
}

/* The index of an option's price; first: of the first price of its pool. */
static int price_index (const struct priced_option *option, const struct piece_prices *prices,
                        int first)
{
    int many = first + prices->piece_most + 1, beyond = many + prices->many_most + 1;
    switch (option->where) {
    case WHERE_NONE:
        return PRICE_NONE;
    case WHERE_KEEP:
        return PRICE_KEEP;
    case WHERE_ONE:
        return first + option->replicas;
    case WHERE_MANY:
        return many + option->replicas;
    case WHERE_BEYOND:
        return beyond + option->replicas;
    }
    return PRICE_NONE;
}

/* What rounds read of a job; firsts: by pool, the index of its first price. */
static int dual_job_make (const struct dual *dual, int job, const int *firsts, struct arena *arena)
{
    const struct option_list *list = &dual->lists->lists[job];
    struct dual_job *ret = &dual->jobs[job];
    ret->keep_pool = -1;
    ret->options = arena_take (arena, (size_t)list->count, sizeof (ret->options[0]));
    if (!ret->options)
        return -ENOMEM;
    for (int i = 0; i < list->count; i++) {
        const struct priced_option *option = &list->options[i];
        ret->options[i].loss = cost_units (option->loss);
        ret->options[i].price =
            price_index (option, &dual->now[option->pool], firsts[option->pool]);
        if (option->where == WHERE_KEEP)
            ret->keep_pool = option->pool;
    }
    return 0;
}

/* The table of prices and the jobs, once the prices of all pools have their sizes. */
static int dual_jobs_make (struct dual *dual, struct arena *arena)
{
    int *firsts = arena_take (arena, (size_t)dual->pool_count, sizeof (firsts[0]));
    size_t count = PRICES_FIXED;
    for (int i = 0; firsts && i < dual->pool_count; i++) {
        firsts[i] = (int)count;
        count += (size_t)dual->now[i].piece_most + 1 + 2 * ((size_t)dual->now[i].many_most + 1);
    }
    dual->prices = arena_take (arena, count, sizeof (dual->prices[0]));
    dual->jobs = arena_take (arena, (size_t)dual->lists->count, sizeof (dual->jobs[0]));
    if (!firsts || !dual->prices || !dual->jobs)
        return -ENOMEM;
    dual->prices[PRICE_NONE] = dual->prices[PRICE_KEEP] = 0;
    for (int i = 0; i < dual->lists->count; i++)
        if (dual_job_make (dual, i, firsts, arena) < 0)
            return -ENOMEM;
    return 0;
}

int dual_ascend (const struct option_lists *lists, const struct supply *supplies, int pool_count,
                 const double *slot_prices, int rounds, struct arena *arena,
                 struct piece_prices *ret)
{
    size_t count = (size_t)pool_count;
    struct dual dual = {
        .lists = lists,
        .supplies = supplies,
        .pools = arena_take (arena, count, sizeof (dual.pools[0])),
        .now = arena_take (arena, count, sizeof (dual.now[0])),
        .pool_count = pool_count,
    };
    if (!dual.pools || !dual.now)
        return -ENOMEM;
    double most_price = 0;
    for (int i = 0; i < pool_count; i++)
        most_price = fmax (most_price, slot_prices[i]);
    for (int i = 0; i < pool_count; i++) {
        /* A pool whose slots have no price in the relaxation may be scarce all the same. */
        double price = slot_prices[i] > 0 ? slot_prices[i] : most_price;
        if (pool_dual_make (&dual, i, slot_prices[i] / lists->unit, price / lists->unit, arena,
                            &ret[i]) < 0)
            return -ENOMEM;
        rounds = supplies[i].most <= PIECE_LIMIT ? rounds : 0;
    }
    if (dual_jobs_make (&dual, arena) < 0)
        return -ENOMEM;
    cost most = 0;
    rounds = most_price > 0 ? rounds : 0;
    for (int i = 0; i <= rounds; i++) {
        for (int j = 0; j < pool_count; j++)
            set_prices (&dual.pools[j]);
        cost bound = find_demand (&dual);
        if (i == 0 || bound > most) {
            most = bound;
            for (int j = 0; j < pool_count; j++)
                piece_prices_copy (&ret[j], &dual.now[j]);
        }
        bool changed = false;
        for (int j = 0; j < pool_count; j++)
            changed |= adjust (&dual.pools[j]);
        if (!changed)
            break;
    }
    return 0;
}
