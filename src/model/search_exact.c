/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best of all legal (m, s), in a handful of evaluations.
 *
 * Let A = s+1, L = A m the samples of one replica, x(m) the time of a micro-step, R(m) that of
 * the last one, which overlaps synchronisation, rho = dR/dx <= 1.  One iteration takes
 * T = (A-1) x + R, and goodput is proportional to L / ((v + q K L) T), where v and q are the
 * statistics M0 var and sqr.  Four facts make the search short:
 *
 *  1. For fixed A, T is convex in m, hence goodput unimodal; replacing T by its tangent c + d m
 *     at any point gives an upper bound whose maximum is at m* = sqrt (v c / (q d K A)), and
 *     the true maximum is where m* = m.
 *  2. For fixed m, T is linear in A: goodput is unimodal in A, with the maximum at
 *     A* = sqrt (v (R - x) / (q x K m)).
 *  3. For fixed L, T grows with A: accumulate only as much as hi, the largest m, requires.
 *  4. Let A1 be the first A whose best m does not exceed hi.  This holds for every A >= A1 too
 *     (it is the sign of a convex quadratic in A), so by 3 the best goodput for given A does not
 *     rise from A1 on, while below A1 the best m is hi and 2 applies.
 *
 *         m = hi  x---x---x---x---o                     below A1: one square root
 *                         best A   \ A1
 *                                   o---o---o . . .     from A1 on: falling, so stop as soon as
 *                                                       a tangent's bound is not above the best
 *
 * The same tangents end the search for the best integer m of a given A.
 *
 * A limit of the gain (gain_max) is reached at a total batch C.  Beyond it a batch takes longer and gains
 * no more, so for fixed A goodput is still unimodal, with its maximum at min (m*, C / (K A)), and C
 * keeps m below hi from A = C / (K hi) on, as Mmax does.
 */
#include "model/model.h"

#include <float.h>
#include <math.h>

/* The number of integers above A1 that are tried.  More are needed only if x(0) is near 0 and the
 * micro-batch has a few samples in a batch of billions; the possible gain is then below 1/4096 of
 * the distance between neighbouring totals. */
enum { STEPS_LIMIT = 4096, NEWTON_LIMIT = 8 };

/* Smaller relative differences are rounding errors. */
static const double rounding = 4 * DBL_EPSILON;

struct search {
    const struct pollux_model *model;
    const struct pollux_limits *limits;
    struct pollux_shape shape;
    struct pollux_grad grad;
    double noise, signal; /* v and q, scaled so that their ratio is phi and neither overflows */
    double sync_s, sync_power;
    double guess;       /* an m near the best one, or 0 */
    double limit_total; /* C: the total batch at which the gain reaches its limit */
    struct pollux_best best;
};

/* The last micro-step at a real m: its computation, its time, and the first and second
 * derivatives of that time. */
struct step {
    double m, grad_s, last_s, slope, curve;
};

/* T(m) ~ c + d m */
struct line {
    double c, d;
};

static struct step step_at (const struct search *search, double m)
{
    const struct pollux_model *model = search->model;
    struct step step = {.m = m, .grad_s = model->alpha_grad + model->beta_grad * m};
    double rho = 1, sync_share = 0; /* share of T_sync^gamma in the sum of powers */
    if (model->gamma == 1) {
        step.last_s = step.grad_s + search->sync_s;
    } else {
        double power = pow (step.grad_s, model->gamma);
        double sum = power + search->sync_power;
        if (model_keeps_digits (sum)) {
            step.last_s = pow (sum, 1 / model->gamma);
            sync_share = search->sync_power / sum;
            rho = power / sum * (step.last_s / step.grad_s);
        } else {
            step.last_s = model_overlap (step.grad_s, search->sync_s, model->gamma);
            rho = step.last_s > 0 ? pow (step.grad_s / step.last_s, model->gamma - 1) : 1;
        }
    }
    rho = rho < 1 ? rho : 1;
    step.slope = model->beta_grad * rho;
    step.curve = step.slope * model->beta_grad * (model->gamma - 1) * sync_share / step.grad_s;
    return step;
}

static struct line tangent (const struct search *search, const struct step *step, int64_t a)
{
    double more = (double)(a - 1);
    double d = more * search->model->beta_grad + step->slope;
    double all = more * step->grad_s + step->last_s, c = all - d * step->m;
    /* c >= 0, because T is homogeneous in its parameters; a tiny c is a rounding error. */
    return (struct line){.c = c > rounding * all ? c : 0, .d = d};
}

/* The m at which the gain reaches its limit; infinite without a limit. */
static double limit_m (const struct search *search, int64_t a)
{
    return search->limit_total / ((double)search->shape.replicas * (double)a);
}

/* The best m if an iteration takes c + d m; infinite if more is always better. */
static double summit (const struct search *search, struct line line, int64_t a)
{
    if (!(search->noise > 0) || !(line.c > 0))
        return 0;
    double per_m = search->signal * line.d * search->shape.replicas * (double)a;
    double free_m = per_m > 0 ? sqrt (search->noise * line.c / per_m) : INFINITY;
    return fmin (free_m, limit_m (search, a));
}

/* Upper bound of goodput for given A and least <= m <= most, by the tangent. */
static double bound (const struct search *search, struct line line, int64_t a, double least,
                     double most)
{
    double m = fmin (fmax (summit (search, line, a), least), most);
    double total = (double)search->shape.replicas * (double)a * m;
    return total / (line.c + line.d * m) *
           pollux_efficiency (search->grad, search->limits->init_batch,
                              fmax (total, (double)search->limits->init_batch));
}

/* Keep (m, A) if it is the best so far.  Same arithmetic as pollux_goodput. */
static void consider (struct search *search, const struct step *step, int64_t a)
{
    struct pollux_batch batch = {.m = (int64_t)step->m, .s = a - 1};
    double total = pollux_total_batch (search->shape, batch);
    double iter_s = (double)batch.s * step->grad_s + step->last_s;
    struct pollux_best option = {
        .batch = batch,
        .goodput =
            total / iter_s * pollux_efficiency (search->grad, search->limits->init_batch, total),
    };
    if (option.goodput > 0 && best_precedes (&option, &search->best))
        search->best = option;
}

static int64_t ceil_div (int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The first A >= from whose best m is at most hi: q(s) >= 0 of fact 4, solved for s = A-1. */
static double first_interior (const struct search *search, const struct step *at_hi, double from)
{
    double hi = at_hi->m, k = search->shape.replicas;
    double v = search->noise, q = search->signal;
    double a = search->model->alpha_grad, b = search->model->beta_grad;
    double square = q * b * hi * hi * k;
    double linear = q * b * hi * hi * k + q * k * hi * hi * at_hi->slope - v * a;
    double constant = q * k * hi * hi * at_hi->slope - v * tangent (search, at_hi, 1).c;
    double s = from - 1;
    if ((square * s + linear) * s + constant >= 0)
        return from;
    if (!(square > 0))
        return INFINITY;
    double root = sqrt (fmax (linear * linear - 4 * square * constant, 0));
    s = linear > 0 ? -2 * constant / (linear + root) : (root - linear) / (2 * square);
    return fmax (ceil (s) + 1, from);
}

/* Below A1: m = hi, only A is free. */
static void search_full (struct search *search, const struct step *at_hi, int64_t least,
                         int64_t most)
{
    double per_a = search->signal * at_hi->grad_s * search->shape.replicas * at_hi->m;
    double summit_a = sqrt (search->noise * (at_hi->last_s - at_hi->grad_s) / per_a);
    int64_t a = summit_a >= (double)most   ? most
                : summit_a > (double)least ? (int64_t)summit_a
                                           : least;
    consider (search, at_hi, a);
    if (a < most)
        consider (search, at_hi, a + 1);
    if (a > least)
        consider (search, at_hi, least); /* of equal ones the smallest */
}

/* Where the tangent's summit meets m, by one step of Newton's method on log m* - log m as a
 * function of log m. */
static double newton (const struct step *step, struct line line, double ratio)
{
    double bend = step->m * step->curve * (step->m / line.c + 1 / line.d);
    if (fabs (ratio - 1) < 0.1) /* saves a power */
        return step->m * (1 + (ratio - 1) * 2 / (2 + bend));
    return isfinite (bend) ? step->m * pow (ratio, 2 / (2 + bend)) : step->m * ratio;
}

/* For a given A >= A1: narrow [low, high] around the best integer from both sides, until a tangent
 * shows that no remaining integer is better.  Returns the last step evaluated. */
static struct step search_partial (struct search *search, struct step from, int64_t a, double low,
                                   double high)
{
    double guess = search->guess >= low && search->guess <= high ? search->guess : high;
    struct step step = from.m == guess ? from : step_at (search, guess);
    double floor_m = low, ceil_m = high; /* the best is in [floor_m, ceil_m] */
    for (int i = 0;; i++) {
        consider (search, &step, a);
        struct line line = tangent (search, &step, a);
        double ratio = summit (search, line, a) / step.m;
        if (ratio < 1)
            ceil_m = step.m - 1; /* m is already considered */
        else
            floor_m = step.m + 1;
        if (floor_m > ceil_m)
            return step;
        /* A smaller m may have the same goodput; it is preferred. */
        double enough = ratio < 1 ? search->best.goodput * (1 - rounding) : search->best.goodput;
        if (bound (search, line, a, floor_m, ceil_m) <= enough)
            return step;
        double next = i < NEWTON_LIMIT ? newton (&step, line, ratio) : (floor_m + ceil_m) / 2;
        next = floor (next + 0.5);
        step = step_at (search, next > ceil_m ? ceil_m : next > floor_m ? next : floor_m);
    }
}

struct pollux_best search_exact (const struct pollux_model *model, struct pollux_grad grad,
                                 const struct pollux_limits *limits, struct pollux_shape shape,
                                 int64_t guess)
{
    double statistics = grad.sqr + grad.var;
    struct search search = {
        .model = model,
        .limits = limits,
        .shape = shape,
        .grad = grad,
        .noise = statistics > 0 ? (double)limits->init_batch * (grad.var / statistics) : 0,
        .signal = statistics > 0 ? grad.sqr / statistics : 1,
        .sync_s = model_sync_time (model, shape),
        .guess = (double)guess,
        .limit_total = model_gain_limit_total (grad, limits->init_batch),
    };
    if (isnan (search.sync_s)) /* overflow */
        return search.best;
    search.sync_power = model->gamma == 1 ? search.sync_s : pow (search.sync_s, model->gamma);

    int64_t k = shape.replicas, lo = limits->min_local, hi = limits->max_local;
    int64_t a_least = ceil_div (limits->init_batch, k * hi);
    int64_t a_most = limits->accumulation ? limits->max_batch / k / lo : 1;
    if (k == 1 && limits->accumulation && !(grad.gain_max > 0)) {
        /* One sample of gradient noise needs two micro-batches, except at the user's batch.  Jobs with
         * a limit of the gain probe their noise instead. */
        if (lo <= limits->init_batch && limits->init_batch <= hi) {
            struct step plain = step_at (&search, (double)limits->init_batch);
            consider (&search, &plain, 1);
        }
        a_least = a_least < 2 ? 2 : a_least;
    }
    if (a_least > a_most || k * lo > limits->max_batch)
        return search.best;

    /* From ceil (Mmax / (K hi)) on it is Mmax that keeps m below hi, and likewise C. */
    struct step step = step_at (&search, (double)hi);
    double a_interior = first_interior (&search, &step, (double)a_least);
    a_interior = fmin (a_interior, ceil (search.limit_total / ((double)k * (double)hi)));
    int64_t a_first = ceil_div (limits->max_batch, k * hi);
    a_first = a_interior < (double)a_first ? (int64_t)a_interior : a_first;
    a_first = a_first < a_least ? a_least : a_first;
    if (a_first > a_least)
        search_full (&search, &step, a_least, (a_first < a_most + 1 ? a_first : a_most + 1) - 1);

    for (int64_t a = a_first; a <= a_most && a - a_first < STEPS_LIMIT; a++) {
        int64_t most = limits->max_batch / (k * a);
        if (most < lo || k * a * most < limits->init_batch)
            continue; /* no total batch in the limits; a division is faster than a bound */
        int64_t least = ceil_div (limits->init_batch, k * a);
        least = least < lo ? lo : least;
        most = most > hi ? hi : most;
        double enough = ceil (limit_m (&search, a)); /* a larger m gains no more */
        if (enough < (double)most && least <= most)
            most = enough > (double)least ? (int64_t)enough : least;
        double reach = fmin ((double)limits->max_batch / (double)(k * a), (double)hi);
        double from = fmax ((double)limits->init_batch / (double)(k * a), (double)lo);
        if (bound (&search, tangent (&search, &step, a), a, from, reach) <= search.best.goodput)
            break;
        if (least <= most)
            step = search_partial (&search, step, a, (double)least, (double)most);
    }
    return search.best;
}
