/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of measuring the gradient noise on a CPU: the norms, in GB/s of the arrays that are read, for a
 * gradient in the cache and one of 64 MB in memory; and the update of the estimator.
 */
#include "bench.h"

#include "base/rng.h"
#include "pollux/pollux.h"

enum { CACHED = 1 << 14, LENGTH = 1 << 24, GROUPS = 16 };

struct work {
    float *g0, *g1, *exp_avg_sq;
    double *wide;
    size_t length;
    struct pollux_noise *noise;
};

static const struct pollux_adam adam = {0.999, 1e-8, 1000};

static void sqr_f32 (void *arg)
{
    const struct work *work = arg;
    bench_keep (pollux_sqr_f32 (work->g0, work->length, NULL, NULL));
}

static void sqr_f64 (void *arg)
{
    const struct work *work = arg;
    bench_keep (pollux_sqr_f64 (work->wide, work->length, NULL, NULL));
}

static void pair_f32 (void *arg)
{
    const struct work *work = arg;
    bench_keep (pollux_pair_f32 (work->g0, work->g1, work->length, NULL, NULL).dot);
}

static void sqr_f32_adam (void *arg)
{
    const struct work *work = arg;
    bench_keep (pollux_sqr_f32 (work->g0, work->length, work->exp_avg_sq, &adam));
}

static void pair_f32_adam (void *arg)
{
    const struct work *work = arg;
    bench_keep (pollux_pair_f32 (work->g0, work->g1, work->length, work->exp_avg_sq, &adam).dot);
}

static void update (void *arg)
{
    const struct work *work = arg;
    static const double micro_sqr[GROUPS] = {2}, mean_sqr[GROUPS] = {1};
    const struct pollux_batch batch = {32, 1};
    if (pollux_noise_update (work->noise, 8, batch, micro_sqr, mean_sqr, NULL) < 0)
        exit (1);
    bench_keep (pollux_noise_grad (work->noise).var);
}

static void print_rate (const char *name, void (*call) (void *), struct work *work, size_t bytes)
{
    static const struct {
        const char *name;
        size_t length;
    } places[] = {{"cached", CACHED}, {"memory", LENGTH}};
    for (int i = 0; i < 2; i++) {
        char title[64];
        work->length = places[i].length;
        snprintf (title, sizeof (title), "%s-%s", name, places[i].name);
        bench_print (title, 1e-9 * (double)(bytes * work->length) / bench_seconds (call, work),
                     "GB/s");
    }
}

int main (void)
{
    struct work work = {
        .g0 = malloc (LENGTH * sizeof (float)),
        .g1 = malloc (LENGTH * sizeof (float)),
        .exp_avg_sq = malloc (LENGTH * sizeof (float)),
        .wide = malloc (LENGTH * sizeof (double)),
    };
    if (!work.g0 || !work.g1 || !work.exp_avg_sq || !work.wide ||
        pollux_noise_new (GROUPS, 64, &work.noise, NULL) < 0)
        return 1;
    struct rng rng = rng_seed (1);
    for (size_t i = 0; i < LENGTH; i++) {
        work.wide[i] = rng_uniform (&rng) - 0.5;
        work.g0[i] = (float)work.wide[i];
        work.g1[i] = (float)(rng_uniform (&rng) - 0.5);
        work.exp_avg_sq[i] = work.g0[i] * work.g0[i];
    }
    print_rate ("sqr-f32", sqr_f32, &work, 4);
    print_rate ("sqr-f64", sqr_f64, &work, 8);
    print_rate ("pair-f32", pair_f32, &work, 8);
    print_rate ("sqr-f32-adam", sqr_f32_adam, &work, 8);
    print_rate ("pair-f32-adam", pair_f32_adam, &work, 12);
    bench_print ("noise-update-16-groups", 1e9 * bench_seconds (update, &work), "ns");
    pollux_noise_free (work.noise);
    free (work.g0);
    free (work.g1);
    free (work.exp_avg_sq);
    free (work.wide);
    return 0;
}
