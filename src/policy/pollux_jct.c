/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pollux for the mean completion time, where jobs say how much work is left.
 *
 * Let V be the sum of the times that all jobs still need.  The plan that lowers V fastest
 * maximises sum_j dV/dR_j x rate_j, R_j being the work left.  For jobs that speed up as k^(1/2),
 * sorted by R from the largest (rank 1), V is known (heSRPT, Berg et al. 2020): its derivative is
 * sqrt (2 rank - 1), since a job delays all jobs that end after it.  Real jobs differ in their
 * curves and keep arriving, so that a long job is not alone in the end.  Therefore
 *
 *     value_j = w_j sqrt (S_j)                    S_j  expected goodput / goodput of one replica, of an option
 *     w_j     = weight rank_j^0.45 (R_j / W + 0.1)^-0.25 (1 + age_j / 2 L)^0.5
 *
 * with R in seconds of one replica.  The goodput of one replica is that of the fastest type; a job
 * that needs more replicas has an equal part of what its smallest size has.  On nodes that may be
 * taken back the goodput is the one that policy/revocations.h expects.  The rank accounts for the jobs
 * that are present, the power of R for jobs that arrive later and are mostly short, and ageing
 * prevents starvation.  W is the mean work of a job and L the mean stay, of those that arrive: no
 * constant has seconds, so that ten times as long jobs, restarts and intervals give the same plans.
 * The factors were chosen by simulation of generated workloads, the exponents earlier, with the
 * published ones among them.
 *
 * Moving costs the restart delay d once, and pays while the new placement lasts: until the job has
 * little work left, or enough other jobs have arrived.  The value is multiplied by
 *
 *     kept    = (H - d) / H, H = max (10 d, min (0.4 t, 2 / lambda));  t / (t + d) if that is less
 *     lambda  = sum_j 1 / (age_j + t_j),  L = n / lambda
 *
 * with t the remaining time, of the option, or of job j with its fair share, and n the number of
 * jobs.  lambda is the rate at which jobs arrive: of those present, a job that stays for x is seen x
 * times as often as one that stays for 1, so that the mean of 1/x over them is 1/L, and by Little's
 * law n / L is lambda.  W is found in the same way, from the work of the jobs that report it, past
 * and left.  A waiting job is not charged: it pays the delay whenever it starts.
 *
 * A job that does not report its work, as every job before its first measurements, is taken for a
 * typical one: R is 1.5 W plus the slot-seconds that it has had, since sizes of jobs are spread over many
 * orders of magnitude.  Were it taken for a short one, new jobs would drive out those that have
 * just begun.
 *
 * A job may have at most twice the replicas it was profiled with.  If at this round's price of a
 * slot its model predicts a better size beyond that limit, the value of the limit is raised by the
 * predicted gain (bonus), so that the job grows step by step.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/error.h"
#include "policy/objective.h"
#include "policy/policy_list.h"
#include "policy/solver_memory.h"
#include "policy/speedup.h"
#include "solver/slot_prices.h"

/* 30 years: a limit, so that an absurd report does not make a weight 0. */
static const double work_most_s = 1e9;
/* The exponents and factors above. */
static const double rank_power = 0.45, work_power = -0.25, age_power = 0.5;
static const double short_share = 0.1;   /* of W: jobs below it are nearly equally short */
static const double ageing_stays = 2;    /* of L */
static const double unknown_share = 1.5; /* of W: a new job that does not report its work */
static const double least_delays = 10;  /* a placement lasts for so many restart delays at least, */
static const double lasts_share = 0.4;  /* for this share of the job's remaining time, */
static const double lasts_arrivals = 2; /* or until this many jobs arrive */
static const double first_delays = 50;  /* W in restart delays if no job reports its work */

/* What is known of one job. */
struct prospect {
    double unit;   /* goodput of one replica; 0 if the cluster cannot hold it */
    double work_s; /* R: what is left, in seconds of one replica; NaN while it is unknown */
    double weight; /* w */
    double delay_s;
    bool waits;    /* it has no placement */
    int *limits;   /* by pool: the most replicas of its options */
    double *bonus; /* by pool: added to the value of options with that many: what lies beyond */
};

struct round {
    const struct view *view;
    struct arena *arena;
    struct objective objective;
    struct prospect *prospects;
    double typical_s; /* W */
    double rate;      /* lambda, jobs per second */
};

/* ---- Jobs and their weights ---- */

/* NaN: the job does not report it. */
static double reported_work (const struct job *job, double unit)
{
    double left = job_remaining (job) * (double)job->hints.limits.init_batch / unit;
    /* A job that is past its reported end has reported too little. */
    bool known = job->hints.has_model && left > 0;
    return known ? fmin (left, work_most_s) : NAN;
}

/* Goodput per replica at the smallest size of each pool, the largest of all pools; 0 if there are no sizes.  It
 * does not depend on the order of the pools. */
static double goodput_of_one (const struct allocation_options *options)
{
    double most = 0;
    for (int i = 0, pool = -1; i < options->count; i++) {
        const struct solver_option *option = &options->list[i];
        if (option->replicas == 0 || option->pool == pool)
            continue;
        pool = option->pool; /* its options begin here, the smallest first */
        most = fmax (most, options->speedups[i] * options->fair / option->replicas);
    }
    return most;
}

/* -ENOMEM. */
static int prospect_make (const struct round *round, const struct job *job,
                          const struct allocation_options *options, struct prospect *ret)
{
    size_t pools = (size_t)round->objective.pools.count;
    struct prospect prospect = {
        .delay_s = view_restart_delay (round->view, job),
        .waits = job->placement.count == 0,
        .limits = arena_take (round->arena, pools, sizeof (prospect.limits[0])),
        .bonus = arena_take (round->arena, pools, sizeof (prospect.bonus[0])),
    };
    if (!prospect.limits || !prospect.bonus)
        return -ENOMEM;
    for (int i = 0; i < round->objective.pools.count; i++) {
        prospect.limits[i] = 0;
        prospect.bonus[i] = 0;
    }
    for (int i = 0; i < options->count; i++) {
        const struct solver_option *option = &options->list[i];
        if (option->replicas > prospect.limits[option->pool])
            prospect.limits[option->pool] = option->replicas;
    }
    prospect.unit = goodput_of_one (options);
    prospect.work_s = reported_work (job, prospect.unit);
    *ret = prospect;
    return 0;
}

/* W: the harmonic mean over the jobs that report their work. */
static double typical_work (const struct round *round)
{
    const struct view *view = round->view;
    double inverses = 0, attained_s = 0;
    int known = 0;
    for (int i = 0; i < view->job_count; i++) {
        double had_s = fmin (fmax (view->jobs[i]->attained_s, 0), work_most_s);
        double all_s = had_s + round->prospects[i].work_s;
        attained_s += had_s / view->job_count;
        if (isnan (all_s))
            continue;
        known++;
        inverses += 1 / fmax (all_s, view->interval_s);
    }
    double typical_s =
        known > 0 ? known / inverses : fmax (attained_s, first_delays * view->restart_delay_s);
    return typical_s > 0 ? typical_s : 1; /* any number: all jobs are new */
}

static void guess_unknown_work (const struct round *round)
{
    for (int i = 0; i < round->view->job_count; i++) {
        struct prospect *prospect = &round->prospects[i];
        if (isnan (prospect->work_s))
            prospect->work_s =
                fmin (unknown_share * round->typical_s + fmax (round->view->jobs[i]->attained_s, 0),
                      work_most_s);
    }
}

/* A job and what it is ranked by.  Of equal jobs the older one, which comes first in a view, ranks as
 * the shorter one. */
struct rank {
    double work_s;
    int job;
};

static int by_work_descending (const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    int order = compare_doubles (y->work_s, x->work_s);
    return order ? order : y->job - x->job;
}

static int weigh (const struct round *round)
{
    int count = round->view->job_count;
    double ageing_s = ageing_stays * count / round->rate;
    struct rank *ranks = arena_take (round->arena, (size_t)count, sizeof (ranks[0]));
    if (!ranks)
        return -ENOMEM;
    for (int i = 0; i < count; i++)
        ranks[i] = (struct rank){.work_s = round->prospects[i].work_s, .job = i};
    qsort (ranks, (size_t)count, sizeof (ranks[0]), by_work_descending);
    for (int i = 0; i < count; i++) {
        struct prospect *prospect = &round->prospects[ranks[i].job];
        const struct job *job = round->view->jobs[ranks[i].job];
        prospect->weight = job->spec.weight * pow (i + 1, rank_power) *
                           pow (prospect->work_s / round->typical_s + short_share, work_power) *
                           pow (1 + fmax (job->age_s, 0) / ageing_s, age_power);
    }
    return 0;
}

/* An estimate of how many jobs arrive per second, lambda above. */
static double arrival_rate (const struct round *round)
{
    double rate = 0;
    for (int i = 0; i < round->view->job_count; i++) {
        const struct prospect *prospect = &round->prospects[i];
        double fair = round->objective.options[i].fair;
        double left_s = prospect->work_s * (fair > 0 ? prospect->unit / fair : 1);
        /* No stay is shorter than the time between two decisions. */
        rate +=
            1 / (fmax (round->view->jobs[i]->age_s, 0) + fmax (left_s, round->view->interval_s));
    }
    return rate;
}

/* ---- Values of options ---- */

/* Share of an option's value that is left if the job has to restart for it. */
static double kept_share (const struct round *round, const struct prospect *prospect,
                          double speedup)
{
    if (prospect->waits || !(speedup > 0))
        return 1;
    double delay_s = prospect->delay_s, left_s = prospect->work_s / speedup;
    double lasts_s =
        fmax (least_delays * delay_s, fmin (lasts_share * left_s, lasts_arrivals / round->rate));
    return fmin (fmax (lasts_s - delay_s, 0) / lasts_s, left_s / (left_s + delay_s));
}

static double value_of (const struct round *round, const struct prospect *prospect, double speedup,
                        bool moves)
{
    double value = prospect->weight * sqrt (speedup);
    return moves ? value * kept_share (round, prospect, speedup) : value;
}

static void value_options (const struct round *round, int job)
{
    const struct prospect *prospect = &round->prospects[job];
    const struct allocation_options *options = &round->objective.options[job];
    double scale = prospect->unit > 0 ? options->fair / prospect->unit : 0;
    for (int i = 0; i < options->count; i++)
        options->list[i].value =
            value_of (round, prospect, options->speedups[i] * options->kept[i] * scale,
                      options->list[i].where != WHERE_KEEP);
}

/* The most replicas that a job could have in a pool without the limit of its profile; 0 if the options
 * already have them, or if nothing is known of the job in this pool. */
static int hidden_most (const struct round *round, int job, int pool)
{
    const struct job *it = round->view->jobs[job];
    int slots = round->objective.pools.list[pool].slots;
    int limit = round->prospects[job].limits[pool];
    int most = it->spec.max_replicas < slots ? it->spec.max_replicas : slots;
    bool known = round->objective.options[job].models[pool].source != MODEL_GUESSED;
    bool hides = it->hints.has_model && known && limit > 0 && most > limit && !job_pinned (it);
    return hides ? most : 0;
}

/* The value, minus the price of the slots, of moving to a shape of a pool. */
static double surplus_of (const struct round *round, int job, int pool, struct pollux_shape shape,
                          double goodput, double price)
{
    const struct prospect *prospect = &round->prospects[job];
    double kept = allocation_options_kept (&round->objective.options[job], pool, shape);
    return value_of (round, prospect, goodput * kept / prospect->unit, true) -
           price * shape.replicas;
}

/* The surplus of a sample. */
static double sample_surplus (const struct round *round, int job, int pool,
                              const struct goodput_samples *curve, int i, double price)
{
    const struct goodput_sample *sample = &curve->samples[i];
    struct pollux_shape shape = {.nodes = curve->nodes, .replicas = sample->replicas};
    return surplus_of (round, job, pool, shape, sample->goodput, price);
}

/* An upper bound of the surplus of the counts between sample i and the next; -INFINITY: there are none.  The value of a
 * job that moves rises with its speed until the work left takes as long as the delay. */
static double gap_surplus (const struct round *round, int job, int pool,
                           const struct goodput_samples *curve, int i, double price)
{
    const struct prospect *prospect = &round->prospects[job];
    const struct goodput_sample *sample = &curve->samples[i];
    struct pollux_shape shape = {.nodes = curve->nodes, .replicas = sample->replicas + 1};
    if (!(sample->bound > 0))
        return -INFINITY;
    double kept = allocation_options_kept (&round->objective.options[job], pool, shape);
    double summit = prospect->unit * prospect->work_s / (prospect->delay_s * kept);
    double goodput = prospect->waits ? sample->bound : fmin (sample->bound, summit);
    return surplus_of (round, job, pool, shape, goodput, price);
}

/* Raise *least to the largest surplus of a curve.  Counts whose bound is not larger are not evaluated.  -ENOMEM. */
static int best_surplus (const struct round *round, int job, int pool,
                         struct goodput_samples *curve, double price, double *least)
{
    for (int i = 0; i < curve->count; i++)
        *least = fmax (*least, sample_surplus (round, job, pool, curve, i, price));
    for (int i = 0; i < curve->count;) {
        if (gap_surplus (round, job, pool, curve, i, price) <= *least) {
            i++;
            continue;
        }
        if (goodput_samples_split (curve, i, round->arena) < 0)
            return -ENOMEM;
        *least = fmax (*least, sample_surplus (round, job, pool, curve, i + 1, price));
    }
    return 0;
}

/* The same for the counts beyond the limit of the profile, on one node and on several. */
static int best_beyond (const struct round *round, int job, int pool, int most, double price,
                        double *least, struct pollux_error *err)
{
    const struct job *it = round->view->jobs[job];
    const struct pool *size = &round->objective.pools.list[pool];
    int first = round->prospects[job].limits[pool] + 1;
    int one_most = most < size->node_slots ? most : size->node_slots;
    for (int nodes = 1; nodes <= 2 && nodes <= size->nodes; nodes++) {
        struct goodput_samples curve;
        int rc = goodput_samples_make (
            it, &round->objective.options[job].models[pool], round->view->search, nodes, first,
            nodes == 1 ? one_most : most, 0, 0, round->arena, &curve, err);
        if (rc < 0)
            return rc;
        if (best_surplus (round, job, pool, &curve, price, least) < 0)
            return fail (err, -ENOMEM, "no memory for the curve of job %s", it->spec.name);
    }
    return 0;
}

/* If a size beyond the limit has a larger value, after the price of its slots, than all options, raise
 * the value of the limit to it.  Only options that move are compared: staying looks best to a job that
 * has to restart for every step.  prices: by pool. */
static int explore (const struct round *round, int job, int pool, const double *prices,
                    struct pollux_error *err)
{
    struct prospect *prospect = &round->prospects[job];
    const struct allocation_options *options = &round->objective.options[job];
    int most = hidden_most (round, job, pool), limit = prospect->limits[pool];
    if (most == 0)
        return 0;
    double offered = 0, at_limit = -INFINITY;
    for (int i = 0; i < options->count; i++) {
        const struct solver_option *option = &options->list[i];
        double surplus = option->value - prices[option->pool] * option->replicas;
        if (option->where != WHERE_KEEP)
            offered = fmax (offered, surplus);
        if (option->pool == pool && option->replicas == limit)
            at_limit = fmax (at_limit, surplus);
    }
    double hidden = offered;
    int rc = best_beyond (round, job, pool, most, prices[pool], &hidden, err);
    if (rc == 0)
        prospect->bonus[pool] = hidden > offered ? hidden - at_limit : 0;
    return rc;
}

/* Raise the values of the limits.  Only after all pools were looked at: the bonus of one must not hide what lies beyond
 * the limit of another, or a job would move to and fro between them. */
static void add_bonuses (const struct round *round, int job)
{
    const struct prospect *prospect = &round->prospects[job];
    const struct allocation_options *options = &round->objective.options[job];
    for (int i = 0; i < options->count; i++) {
        struct solver_option *option = &options->list[i];
        if (option->replicas > 0 && option->replicas == prospect->limits[option->pool])
            option->value += prospect->bonus[option->pool];
    }
}

static int value_all (struct round *round, struct pollux_error *err)
{
    const struct view *view = round->view;
    const struct objective *objective = &round->objective;
    struct slot_prices relaxed; /* before any bonus */
    for (int i = 0; i < view->job_count; i++)
        if (prospect_make (round, view->jobs[i], &objective->options[i], &round->prospects[i]) < 0)
            return fail (err, -ENOMEM, "no memory for the prospects of %d jobs", view->job_count);
    round->typical_s = typical_work (round);
    guess_unknown_work (round);
    round->rate = arrival_rate (round);
    if (weigh (round) < 0)
        return fail (err, -ENOMEM, "no memory for the ranks of %d jobs", view->job_count);
    for (int i = 0; i < view->job_count; i++)
        value_options (round, i);
    if (slot_prices_find (objective->jobs, objective->count, objective->slots,
                          objective->pools.count, round->arena, &relaxed) < 0)
        return fail (err, -ENOMEM, "no memory for the price of %d jobs", view->job_count);
    int rc = 0;
    for (int i = 0; i < view->job_count; i++)
        for (int pool = 0; pool < objective->pools.count && rc == 0; pool++)
            rc = explore (round, i, pool, relaxed.prices, err);
    for (int i = 0; i < view->job_count && rc == 0; i++)
        add_bonuses (round, i);
    return rc;
}

/* ---- The decision ---- */

/* All options of all jobs, with their values.  The arena must be empty; the round uses it. */
static int round_make (const struct view *view, struct arena *arena, struct round *ret,
                       struct pollux_error *err)
{
    struct round round = {
        .view = view,
        .arena = arena,
    };
    round.prospects = arena_take (arena, (size_t)view->job_count, sizeof (round.prospects[0]));
    if (!round.prospects)
        return fail (err, -ENOMEM, "no memory for %d jobs", view->job_count);
    int rc = objective_make (view, arena, &round.objective, err);
    if (rc == 0)
        rc = value_all (&round, err);
    if (rc == 0)
        *ret = round;
    return rc;
}

static int jct_decide (const struct view *view, void *memory, struct plan *plan,
                       struct pollux_error *err)
{
    struct solver_memory *scratch = memory;
    struct round round;
    arena_reset (&scratch->arena);
    if (view->job_count == 0)
        return 0;
    int rc = round_make (view, &scratch->arena, &round, err);
    struct solver_result result;
    if (rc == 0)
        rc = objective_solve (&round.objective, view, scratch->solver, plan, NULL, &result, err);
    if (rc < 0)
        return rc;
    plan->fitness = result.value;
    plan->bound = fmax (result.bound, result.value); /* rounding */
    plan->price = objective_price (&round.objective, result.prices);
    return 0;
}

/* ---- Values, for explanations ---- */

struct jct_values {
    struct arena arena;
    struct round round;
};

static void jct_values_release (void *prepared)
{
    struct jct_values *values = prepared;
    if (!values)
        return;
    arena_clear (&values->arena);
    free (values);
}

static int jct_values_prepare (const struct view *view, void **ret, struct pollux_error *err)
{
    struct jct_values *values = calloc (1, sizeof (*values));
    if (!values)
        return fail (err, -ENOMEM, "no memory for the values of %d jobs", view->job_count);
    values->round.view = view;
    int rc = view->job_count > 0 ? round_make (view, &values->arena, &values->round, err) : 0;
    if (rc < 0)
        jct_values_release (values);
    else
        *ret = values;
    return rc;
}

static struct job_value jct_value (const void *prepared, int job, int pool, int replicas,
                                   double goodput, bool moves)
{
    const struct jct_values *values = prepared;
    const struct prospect *prospect = &values->round.prospects[job];
    double speedup = prospect->unit > 0 ? goodput / prospect->unit : 0;
    double value = value_of (&values->round, prospect, speedup, moves);
    if (replicas > 0 && replicas == prospect->limits[pool])
        value += prospect->bonus[pool];
    return (struct job_value){.x = value, .term = value};
}

static double jct_fitness (const void *prepared, const struct job_value *values)
{
    const struct jct_values *self = prepared;
    double sum = 0;
    for (int i = 0; i < self->round.view->job_count; i++)
        sum += values[i].x;
    return sum;
}

static const struct policy_values jct_policy_values = {
    .prepare = jct_values_prepare,
    .release = jct_values_release,
    .value = jct_value,
    .fitness = jct_fitness,
};

static const char *const jct_retired[] = {"ageing", "least_hold", "unknown_work", NULL};

const struct policy policy_pollux_jct = {
    .name = "pollux-jct",
    .summary = "shorter mean completion time, if jobs report how much work is left",
    .adaptive = true,
    .elastic = true,
    .revocations = true,
    .search = POLLUX_EXACT,
    .retired = jct_retired,
    .values = &jct_policy_values,
    SOLVER_MEMORY,
    .decide = jct_decide,
};
