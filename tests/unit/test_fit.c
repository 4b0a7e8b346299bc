/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit: compared with the losses of the published implementation and with random starts on its
 * measurements; then its contract for all legal samples, and its refusals.
 */
#include "unit.h"
#include "base/rng.h"
#include "model/fit.h"
#include "pollux/pollux.h"

#include <errno.h>
#include <jansson.h>

static struct pollux_fit fit (const struct pollux_sample *samples, size_t count,
                              const struct pollux_model *last)
{
    struct pollux_fit ret;
    struct pollux_error err = {""};
    if (pollux_fit (samples, count, last, &ret, &err) < 0)
        fail_msg ("refused: %s", err.text);
    return ret;
}

/* The model before the last prior was applied, to which the loss belongs. */
static struct pollux_model model_of_loss (const struct pollux_sample *samples, size_t count,
                                          struct pollux_model model)
{
    for (size_t i = 0; i < count; i++)
        if (samples[i].shape.nodes > 1)
            return model;
    model.alpha_node = model.beta_node = 1e-8;
    return model;
}

/* Properties of every fit. */
static void check_fit (const struct pollux_sample *samples, size_t count,
                       const struct pollux_fit *got)
{
    const struct pollux_model *m = &got->model;
    const double times[] = {m->alpha_grad, m->beta_grad,   m->alpha_node,
                            m->beta_node,  m->alpha_local, m->beta_local};
    for (size_t i = 0; i < COUNT (times); i++)
        assert_true (times[i] >= 1e-8 || (i == 0 && times[i] >= 0.5e-9));
    for (size_t i = 0; i < COUNT (times); i++)
        assert_true (times[i] <= 1.1e10);
    assert_true (m->gamma >= 1 && m->gamma <= 10);
    assert_true (got->grad_error >= 0 && got->step_error >= 0);
    assert_true (got->loss >= got->grad_error + got->step_error);

    struct pollux_model before = model_of_loss (samples, count, *m);
    double oracle = pollux_fit_loss (samples, count, &before);
    assert_true (fabs (got->loss - oracle) <= 1e-9 * (1 + oracle));
}

/* ---- Measurements published with the paper ---------------------------------------------- */

static double number_at (const json_t *object, const char *key)
{
    const json_t *value = json_object_get (object, key);
    assert_true (json_is_number (value));
    return json_number_value (value);
}

static void golden_fits (void **state)
{
    (void)state;
    FILE *file = golden_open (TEST_DATA "golden/fits.json");
    json_t *cases = json_loadf (file, 0, NULL);
    fclose (file);
    assert_true (json_array_size (cases) >= 40);

    size_t index;
    json_t *it;
    json_array_foreach (cases, index, it)
    {
        struct pollux_sample samples[64];
        const json_t *list = json_object_get (it, "samples");
        size_t count = json_array_size (list);
        assert_true (count >= 1 && count <= COUNT (samples));
        for (size_t i = 0; i < count; i++) {
            const json_t *s = json_array_get (list, i);
            samples[i] = (struct pollux_sample){
                .shape = {(int)number_at (s, "nodes"), (int)number_at (s, "replicas")},
                .m = (int64_t)number_at (s, "local_bsz"),
                .grad_s = number_at (s, "grad_s"),
                .step_s = number_at (s, "step_s"),
                .weight = 1,
            };
        }
        double expected = number_at (it, "reference_loss");
        const json_t *r = json_object_get (it, "reference");
        struct pollux_model reference = {
            number_at (r, "alpha_grad"), number_at (r, "beta_grad"),   number_at (r, "alpha_node"),
            number_at (r, "beta_node"),  number_at (r, "alpha_local"), number_at (r, "beta_local"),
            number_at (r, "gamma"),
        };
        reference = model_of_loss (samples, count, reference);
        assert_true (fabs (pollux_fit_loss (samples, count, &reference) - expected) <= 1e-12);

        struct pollux_fit got = fit (samples, count, NULL);
        check_fit (samples, count, &got);
        if (!(got.loss <= expected + 1e-6))
            fail_msg ("fit %zu: loss %.9f, the reference has %.9f", index, got.loss, expected);
    }
    json_decref (cases);
}

/* All measurements of one application, both files. */
static size_t read_traces (const char *application, struct pollux_sample *samples, size_t limit)
{
    size_t count = 0;
    for (int kind = 0; kind < 2; kind++) {
        char path[256], header[256];
        snprintf (path, sizeof (path), TEST_DATA "osdi21/traces/%s/%s.csv", application,
                  kind == 0 ? "placements" : "scalability");
        FILE *file = golden_open (path);
        assert_non_null (fgets (header, sizeof (header), file));
        double v[5];
        while (golden_row (file, v + (kind == 0), kind == 0 ? 4 : 5)) {
            struct pollux_shape shape = {(int)v[0], (int)v[1]};
            if (kind == 0) { /* "431": four replicas on one node, three, and one */
                shape = (struct pollux_shape){0, 0};
                for (int64_t digits = (int64_t)v[1]; digits > 0; digits /= 10) {
                    shape.nodes++;
                    shape.replicas += (int)(digits % 10);
                }
            }
            assert_true (count < limit);
            samples[count++] = (struct pollux_sample){shape, (int64_t)v[2], v[3] - v[4], v[3], 1};
        }
        fclose (file);
    }
    return count;
}

/* Descend from one random point, without smoothing worth the name at the end. */
static double random_descent (struct rng *rng, const struct fit_data *data, const struct box *box)
{
    double x[PARAMS];
    for (int i = 0; i < PARAMS; i++) {
        x[i] = i == INV_GAMMA ? 0.1 + 0.9 * rng_uniform (rng) : log_uniform (rng, 1e-7, 2);
        x[i] = fmin (fmax (x[i], box->lower[i]), box->upper[i]);
    }
    for (double smoothing = 1e-2; smoothing > 1e-8; smoothing /= 10) {
        struct rounded_loss loss = {data, smoothing, true};
        descend (rounded_loss_expand, &loss, box, 1e-10, x);
    }
    return fit_score (data, x).loss;
}

static void no_random_start_is_better (void **state)
{
    (void)state;
    static const char *const applications[] = {"bert",     "cifar10", "deepspeech2",
                                               "imagenet", "ncf",     "yolov3"};
    static struct pollux_sample all[4096];
    struct rng rng = rng_seed (7);
    for (size_t a = 0; a < COUNT (applications); a++) {
        size_t known = read_traces (applications[a], all, COUNT (all));
        for (int round = 0; round < soak_count (300); round++) {
            struct pollux_sample samples[30];
            size_t count = 1 + rng_below (&rng, COUNT (samples));
            for (size_t i = 0; i < count; i++)
                samples[i] = all[rng_below (&rng, known)];
            struct pollux_fit got = fit (samples, count, NULL);
            check_fit (samples, count, &got);

            struct fit_data data;
            assert_int_equal (fit_data_init (&data, samples, count, NULL), 0);
            struct box box = fit_box (&data);
            double best = got.loss;
            for (int i = 0; i < 20; i++)
                best = fmin (best, random_descent (&rng, &data, &box));
            fit_data_free (&data);
            if (got.loss > best + 1e-5)
                fail_msg ("%s, %zu samples: loss %.9f, a random start finds %.9f", applications[a],
                          count, got.loss, best);
        }
    }
}

/* ---- Random samples --------------------------------------------------------------------- */

static struct pollux_model random_model (struct rng *rng)
{
    return (struct pollux_model){
        .alpha_grad = log_uniform (rng, 1e-3, 1),
        .beta_grad = log_uniform (rng, 1e-5, 1e-2),
        .alpha_node = log_uniform (rng, 1e-2, 1),
        .beta_node = log_uniform (rng, 1e-5, 1e-2),
        .alpha_local = log_uniform (rng, 1e-3, 1),
        .beta_local = log_uniform (rng, 1e-5, 1e-2),
        .gamma = 1 + 4 * rng_uniform (rng),
    };
}

/* A sample of a model, its logarithms off by `noise`. */
static struct pollux_sample random_sample (struct rng *rng, const struct pollux_model *model,
                                           double noise)
{
    struct pollux_sample s = {.shape = {1, 1 + (int)rng_below (rng, 16)}, .weight = 1};
    if (s.shape.replicas > 1 && rng_below (rng, 2))
        s.shape.nodes = 2 + (int)rng_below (rng, (uint64_t)s.shape.replicas - 1);
    s.m = 1 + (int64_t)rng_below (rng, 256);
    s.grad_s = pollux_grad_time (model, s.m) * exp (noise * rng_gaussian (rng));
    s.step_s = pollux_iter_time (model, s.shape, (struct pollux_batch){s.m, 0}) *
               exp (noise * rng_gaussian (rng));
    return s;
}

/* Any legal sample. */
static struct pollux_sample random_extreme (struct rng *rng)
{
    int replicas = (int)log_uniform (rng, 1, POLLUX_REPLICAS_LIMIT);
    return (struct pollux_sample){
        .shape = {rng_below (rng, 2) ? 1 : (int)log_uniform (rng, 1, replicas), replicas},
        .m = (int64_t)log_uniform (rng, 1, (double)POLLUX_BATCH_LIMIT),
        .grad_s = log_uniform (rng, 1e-9, 1e9),
        .step_s = log_uniform (rng, 1e-9, 1e9),
        .weight = log_uniform (rng, 1e-6, 1e6),
    };
}

static void any_legal_samples_fit (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    for (int round = 0; round < soak_count (20000); round++) {
        struct pollux_sample samples[12];
        size_t count = 1 + rng_below (&rng, COUNT (samples));
        for (size_t i = 0; i < count; i++) {
            samples[i] = random_extreme (&rng);
            if (i > 0 && rng_below (&rng, 3) == 0)
                samples[i] = samples[rng_below (&rng, i)];
        }
        struct pollux_fit got = fit (samples, count, NULL);
        check_fit (samples, count, &got);
    }
}

#define MANY POLLUX_REPLICAS_LIMIT
#define LARGE POLLUX_BATCH_LIMIT

static void extremes (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t count;
        struct pollux_sample samples[4];
        double
            loss; /* upper bound: 1e-2 per kind of placement without samples, and what the samples require */
    } cases[] = {
        {"one sample, one replica", 1, {{{1, 1}, 32, 0.1, 0.1, 1}}, 0.0201},
        {"one sample, one node", 1, {{{1, 2}, 32, 0.1, 0.15, 1}}, 0.0101},
        {"one sample, two nodes", 1, {{{2, 8}, 32, 0.1, 0.15, 1}}, 0.0101},
        {"step not longer than compute", 1, {{{2, 8}, 32, 0.1, 0.1, 1}}, 0.0101},
        {"step shorter than compute", 1, {{{2, 8}, 32, 0.1, 0.09, 1}}, 0.12},
        {"shortest times", 1, {{{2, 8}, 1, 1e-9, 1e-9, 1}}, 7},
        {"longest times", 1, {{{2, 8}, 1, 1e9, 1e9, 1}}, 0.0101},
        {"long step, short compute", 1, {{{2, 8}, 1, 1e-9, 1e9, 1}}, 3.1},
        {"short step, long compute", 1, {{{2, 8}, 1, 1e9, 1e-9, 1}}, 42},
        {"identical",
         3,
         {{{2, 8}, 9, 1, 2, 1}, {{2, 8}, 9, 1, 2, 1}, {{2, 8}, 9, 1, 2, 1}},
         0.0101},
        {"contradictory", 2, {{{1, 1}, 9, 1, 1, 1}, {{1, 1}, 9, 4, 4, 1}}, 1.42},
        {"light and heavy", 2, {{{1, 1}, 9, 1, 1, 1e-6}, {{1, 1}, 9, 4, 4, 1e6}}, 0.0201},
        {"lightest and heaviest", 2, {{{1, 1}, 9, 1, 1, 1e-9}, {{1, 1}, 9, 4, 4, 1e9}}, 0.0201},
        {"largest batches",
         2,
         {{{1, 2}, LARGE, 1e5, 2e5, 1}, {{1, 2}, LARGE - 1, 1e5, 2e5, 1}},
         0.0101},
        {"smallest and largest batch",
         2,
         {{{1, 1}, 1, 1, 1, 1}, {{1, 1}, LARGE, 2e4, 2e4, 1}},
         0.0201},
        {"many replicas", 2, {{{1, MANY}, 9, 1, 2, 1}, {{MANY, MANY}, 99, 1.1, 4, 1}}, 1e-4},
        {"times fall with m", 2, {{{1, 1}, 1, 2, 2, 1}, {{1, 1}, 100, 1, 1, 1}}, 0.72},
        {"times fall with replicas", 2, {{{1, 2}, 9, 1, 4, 1}, {{1, 9}, 9, 1, 2, 1}}, 0.36},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct pollux_fit got = fit (cases[i].samples, cases[i].count, NULL);
        check_fit (cases[i].samples, cases[i].count, &got);
        if (!(got.loss <= cases[i].loss))
            fail_msg ("%s: loss %g, want at most %g", cases[i].name, got.loss, cases[i].loss);
    }
}

/* Samples without noise are on the cusps of the loss. */
static void exact_samples_are_met (void **state)
{
    (void)state;
    struct rng rng = rng_seed (2);
    struct pollux_sample samples[30];
    for (int round = 0; round < soak_count (2000); round++) {
        /* The penalties may cause a small error, but the true model never has a smaller loss. */
        struct pollux_model truth = random_model (&rng);
        for (size_t i = 0; i < COUNT (samples); i++)
            samples[i] = random_sample (&rng, &truth, 0);
        double loss = pollux_fit_loss (samples, COUNT (samples), &truth);
        assert_true (fit (samples, COUNT (samples), NULL).loss <= loss + 1e-6);
        assert_true (fit (samples, COUNT (samples), &truth).loss <= loss + 1e-9);

        /* No penalty: the fit is the true model. */
        truth.gamma = 1;
        truth.beta_node = truth.beta_local = 1e-8;
        for (size_t i = 0; i < COUNT (samples); i++)
            samples[i] = random_sample (&rng, &truth, 0);
        struct pollux_fit got = fit (samples, COUNT (samples), NULL);
        for (size_t i = 0; i < COUNT (samples); i++) {
            struct pollux_batch batch = {samples[i].m, 0};
            double grad_s = pollux_grad_time (&got.model, batch.m);
            double step_s = pollux_iter_time (&got.model, samples[i].shape, batch);
            assert_true (relative (grad_s, samples[i].grad_s) < 1e-6);
            assert_true (relative (step_s, samples[i].step_s) < 1e-6);
        }
    }
}

/* ---- Order, weights, warm starts -------------------------------------------------------- */

static void order_does_not_matter (void **state)
{
    (void)state;
    struct rng rng = rng_seed (3);
    for (int round = 0; round < soak_count (2000); round++) {
        struct pollux_model truth = random_model (&rng);
        struct pollux_sample samples[20];
        for (size_t i = 0; i < COUNT (samples); i++)
            samples[i] = random_sample (&rng, &truth, 0.1);
        struct pollux_fit first = fit (samples, COUNT (samples), NULL);
        struct pollux_fit again = fit (samples, COUNT (samples), NULL);
        assert_memory_equal (&first, &again, sizeof (first));
        for (size_t i = COUNT (samples) - 1; i > 0; i--) {
            size_t other = rng_below (&rng, i + 1);
            struct pollux_sample moved = samples[i];
            samples[i] = samples[other];
            samples[other] = moved;
        }
        struct pollux_fit shuffled = fit (samples, COUNT (samples), NULL);
        assert_memory_equal (&first, &shuffled, sizeof (first));
    }
}

static void weight_counts_like_copies (void **state)
{
    (void)state;
    struct rng rng = rng_seed (4);
    for (int round = 0; round < soak_count (2000); round++) {
        struct pollux_model truth = random_model (&rng);
        struct pollux_sample weighted[8], copies[24];
        size_t count = 0;
        for (size_t i = 0; i < COUNT (weighted); i++) {
            weighted[i] = random_sample (&rng, &truth, 0.1);
            int times = 1 + (int)rng_below (&rng, 3);
            for (int c = 0; c < times; c++)
                copies[count++] = weighted[i];
            weighted[i].weight = times;
        }
        struct pollux_fit a = fit (weighted, COUNT (weighted), NULL);
        struct pollux_fit b = fit (copies, count, NULL);
        check_fit (copies, count, &b);
        assert_true (fabs (a.loss - b.loss) < 1e-7);
    }
}

/* With many samples the fit starts from the last model only, which sometimes leads to a local minimum;
 * the model of another job never does. */
static void warm_start_is_no_worse (void **state)
{
    (void)state;
    struct rng rng = rng_seed (5);
    int rounds = soak_count (3000), misled = 0;
    for (int round = 0; round < rounds; round++) {
        struct pollux_model truth = random_model (&rng), other = random_model (&rng);
        struct pollux_sample samples[20];
        size_t count = 2 + rng_below (&rng, COUNT (samples) - 1);
        for (size_t i = 0; i < count; i++)
            samples[i] = random_sample (&rng, &truth, 0.1);
        struct pollux_fit before = fit (samples, count - 1, NULL);
        double cold = fit (samples, count, NULL).loss;
        double warm = fit (samples, count, &before.model).loss;
        assert_true (warm <= cold + 5e-3);
        misled += warm > cold + 1e-6;
        assert_true (fit (samples, count, &other).loss <= cold + 1e-6);
    }
    assert_true (misled <= rounds / 50);
}

static void warm_start_survives_anything (void **state)
{
    (void)state;
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, 5e-324};
    const struct pollux_sample samples[] = {{{1, 2}, 8, 1, 1.5, 1}, {{2, 4}, 16, 2, 4, 1}};
    double cold = fit (samples, COUNT (samples), NULL).loss;
    for (size_t i = 0; i < COUNT (values); i++) {
        double v = values[i];
        struct pollux_model last = {v, v, v, v, v, v, v};
        struct pollux_fit got = fit (samples, COUNT (samples), &last);
        check_fit (samples, COUNT (samples), &got);
        assert_true (got.loss <= cold + 1e-6);
    }
}

static void last_model_stays_if_samples_agree (void **state)
{
    (void)state;
    /* One sample on one node does not determine gamma and alpha_local separately; the penalty on
     * gamma does.  Only the split between alpha_grad and beta_grad is the prior's. */
    const struct pollux_sample one = {{1, 1}, 10, 1, 1 + 1e-8, 1};
    struct pollux_fit first = fit (&one, 1, NULL);
    struct pollux_fit again = fit (&one, 1, &first.model);
    assert_true (relative (first.model.beta_grad, again.model.beta_grad) < 1e-7);
    assert_true (again.loss <= first.loss + 1e-8);
}

/* ---- Priors ----------------------------------------------------------------------------- */

static void priors (void **state)
{
    (void)state;
    const double nothing_s = 1e-8;
    struct pollux_sample samples[] = {
        {{1, 1}, 8, 1.0, 1.1, 1}, {{1, 1}, 8, 3.0, 3.1, 3}, /* mean 2.5 */
        {{1, 2}, 8, 2.5, 3.0, 1}, {{1, 4}, 8, 2.5, 3.5, 1},  {{2, 2}, 8, 2.5, 4.0, 1},
        {{2, 4}, 8, 2.5, 5.0, 1}, {{1, 1}, 16, 4.0, 4.1, 1},
    };

    /* One m: the time is halved between alpha_grad and beta_grad. */
    struct pollux_model m = fit (samples, 2, NULL).model;
    assert_true (relative (m.alpha_grad, 1.25) < 1e-12);
    /* One replica: no synchronisation is known; several nodes cost more than one. */
    assert_true (m.alpha_local == nothing_s && m.beta_local == nothing_s);
    assert_true (m.alpha_node == 1.1 * nothing_s && m.beta_node == 1.1 * nothing_s);

    /* Two replicas on one node: the betas remain unknown. */
    m = fit (samples, 3, NULL).model;
    assert_true (m.alpha_local > 0.1 && m.beta_local == nothing_s);
    assert_true (m.alpha_node == 1.1 * m.alpha_local && m.beta_node == 1.1 * nothing_s);

    /* Four on one node. */
    m = fit (samples, 4, NULL).model;
    assert_true (m.alpha_local > 0.1 && m.beta_local > 0.01);
    assert_true (m.alpha_node == 1.1 * m.alpha_local && m.beta_node == 1.1 * m.beta_local);

    /* Two on two nodes, and nothing on one. */
    m = fit (&samples[4], 1, NULL).model;
    assert_true (m.alpha_node > 0.1 && m.beta_node == nothing_s);
    assert_true (m.alpha_local == nothing_s && m.beta_local == nothing_s);

    /* Everything seen. */
    m = fit (samples, COUNT (samples), NULL).model;
    assert_true (m.alpha_node > m.alpha_local && m.beta_node > nothing_s);
}

/* ---- Refusals --------------------------------------------------------------------------- */

static void illegal_samples_are_named (void **state)
{
    (void)state;
    const struct pollux_sample legal = {{1, 2}, 8, 1, 2, 1};
    static const struct {
        struct pollux_sample sample;
        const char *word;
    } cases[] = {
        {{{0, 2}, 8, 1, 2, 1}, "nodes"},
        {{{-1, 2}, 8, 1, 2, 1}, "nodes"},
        {{{3, 2}, 8, 1, 2, 1}, "replicas"},
        {{{1, 0}, 8, 1, 2, 1}, "replicas"},
        {{{1, POLLUX_REPLICAS_LIMIT + 1}, 8, 1, 2, 1}, "replicas"},
        {{{1, 2}, 0, 1, 2, 1}, "micro-batch"},
        {{{1, 2}, INT64_MIN, 1, 2, 1}, "micro-batch"},
        {{{1, 2}, POLLUX_BATCH_LIMIT + 1, 1, 2, 1}, "micro-batch"},
        {{{1, 2}, 8, 0, 2, 1}, "micro-step"},
        {{{1, 2}, 8, -1, 2, 1}, "micro-step"},
        {{{1, 2}, 8, NAN, 2, 1}, "micro-step"},
        {{{1, 2}, 8, 0.9e-9, 2, 1}, "micro-step"},
        {{{1, 2}, 8, 1.1e9, 2, 1}, "micro-step"},
        {{{1, 2}, 8, 1, NAN, 1}, "full step"},
        {{{1, 2}, 8, 1, -2, 1}, "full step"},
        {{{1, 2}, 8, 1, INFINITY, 1}, "full step"},
        {{{1, 2}, 8, 1, 2, 0}, "weight"},
        {{{1, 2}, 8, 1, 2, -1}, "weight"},
        {{{1, 2}, 8, 1, 2, NAN}, "weight"},
        {{{1, 2}, 8, 1, 2, INFINITY}, "weight"},
    };
    const struct pollux_model model = {1, 1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < COUNT (cases); i++) {
        const struct pollux_sample samples[] = {legal, legal, cases[i].sample, legal};
        struct pollux_fit ret = {.loss = 42};
        struct pollux_error err = {""};
        assert_int_equal (pollux_fit (samples, COUNT (samples), NULL, &ret, &err), -EINVAL);
        assert_int_equal (pollux_fit (samples, COUNT (samples), NULL, &ret, NULL), -EINVAL);
        assert_true (ret.loss == 42);
        if (!strstr (err.text, "sample 3") || !strstr (err.text, cases[i].word))
            fail_msg ("case %zu: \"%s\" lacks sample 3 or %s", i, err.text, cases[i].word);
        assert_true (isnan (pollux_fit_loss (samples, COUNT (samples), &model)));
    }
    struct pollux_fit ret = {.loss = 42};
    struct pollux_error err = {""};
    assert_int_equal (pollux_fit (NULL, 0, NULL, &ret, &err), -EINVAL);
    assert_non_null (strstr (err.text, "no samples"));
    assert_true (isnan (pollux_fit_loss (NULL, 0, &model)));
    const struct pollux_sample single = {{1, 1}, 8, 0.1, 0.1, 1};
    const struct pollux_model illegal[] = {
        {0.1, 0.01, -0.2, 0.02, 0.1, 0.01, 2}, {0.1, 0.01, 0, 0, 0.1, 0.01, 2},
        {0.1, 0.01, 0.2, 0.02, 0.1, NAN, 2},   {0.1, 0.01, INFINITY, 0.02, 0.1, 0.01, 2},
        {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 0},  {0.1, 0.01, 0.2, 0.02, 0.1, 0.01, 0.5},
    };
    for (size_t i = 0; i < COUNT (illegal); i++)
        assert_true (isnan (pollux_fit_loss (&single, 1, &illegal[i])));
}

/* ---- Inside ----------------------------------------------------------------------------- */

/* Noisy samples of a random model; the caller frees them (fit_data_free). */
static struct fit_data random_data (struct rng *rng)
{
    struct pollux_model truth = random_model (rng);
    struct pollux_sample samples[15];
    for (size_t i = 0; i < COUNT (samples); i++)
        samples[i] = random_sample (rng, &truth, 0.1);
    struct fit_data data;
    assert_int_equal (fit_data_init (&data, samples, COUNT (samples), NULL), 0);
    return data;
}

static void gradient_is_the_slope (void **state)
{
    (void)state;
    struct rng rng = rng_seed (6);
    for (int round = 0; round < soak_count (2000); round++) {
        struct pollux_model elsewhere = random_model (&rng);
        struct fit_data data = random_data (&rng);
        struct rounded_loss loss = {&data, log_uniform (&rng, 1e-4, 1e-1), rng_below (&rng, 2)};
        double x[PARAMS];
        fit_vector (&elsewhere, x);
        struct expansion here, more, less;
        rounded_loss_expand (&loss, x, &here);
        for (int i = 0; i < PARAMS; i++) {
            double at = x[i], step = 1e-5 * at;
            x[i] = at + step;
            rounded_loss_expand (&loss, x, &more);
            x[i] = at - step;
            rounded_loss_expand (&loss, x, &less);
            x[i] = at;
            double slope = (more.value - less.value) / (2 * step);
            /* Relative to the parameter, so that all have the same tolerance. */
            assert_true (fabs (slope - here.gradient[i]) * at <= 1e-7 * (1 + here.value));
        }
        fit_data_free (&data);
    }
}

static double along (double hessian[PARAMS][PARAMS], const double *d)
{
    double sum = 0;
    for (int i = 0; i < PARAMS; i++)
        for (int j = 0; j <= i; j++)
            sum += (i == j ? 1 : 2) * hessian[i][j] * d[i] * d[j];
    return sum;
}

static void curvature_is_bounded (void **state)
{
    (void)state;
    struct rng rng = rng_seed (8);
    for (int round = 0; round < soak_count (2000); round++) {
        struct pollux_model elsewhere = random_model (&rng);
        struct fit_data data = random_data (&rng);
        double x[PARAMS], d[PARAMS];
        fit_vector (&elsewhere, x);
        for (int i = 0; i < PARAMS; i++)
            d[i] = x[i] * rng_gaussian (&rng);
        struct expansion plain, bounding;
        rounded_loss_expand (&(struct rounded_loss){&data, 1e-3, false}, x, &plain);
        rounded_loss_expand (&(struct rounded_loss){&data, 1e-3, true}, x, &bounding);
        double most = along (bounding.hessian, d);
        assert_true (along (plain.hessian, d) >= -1e-12 * most);
        assert_true (along (plain.hessian, d) <= most * (1 + 1e-12));
        fit_data_free (&data);
    }
}

/* A convex quadratic; the signs of its slopes identify the minimum in a box. */
struct bowl {
    double matrix[DESCENT_DIM][DESCENT_DIM], slope[DESCENT_DIM];
};

static void bowl_expand (const void *context, const double *x, struct expansion *ret)
{
    const struct bowl *bowl = context;
    *ret = (struct expansion){0};
    for (int i = 0; i < DESCENT_DIM; i++) {
        ret->gradient[i] = bowl->slope[i];
        ret->scale[i] = bowl->matrix[i][i];
        for (int j = 0; j < DESCENT_DIM; j++) {
            ret->hessian[i][j] = bowl->matrix[i][j];
            ret->gradient[i] += bowl->matrix[i][j] * x[j];
        }
        ret->value += (bowl->slope[i] + ret->gradient[i]) * x[i] / 2;
    }
}

static void descent_ends_at_the_minimum_in_the_box (void **state)
{
    (void)state;
    struct rng rng = rng_seed (9);
    for (int round = 0; round < soak_count (20000); round++) {
        struct bowl bowl = {0};
        struct box box;
        double x[DESCENT_DIM], roots[DESCENT_DIM][DESCENT_DIM];
        for (int i = 0; i < DESCENT_DIM; i++)
            for (int j = 0; j < DESCENT_DIM; j++)
                roots[i][j] = rng_gaussian (&rng);
        for (int i = 0; i < DESCENT_DIM; i++) {
            for (int j = 0; j < DESCENT_DIM; j++)
                for (int k = 0; k < DESCENT_DIM; k++)
                    bowl.matrix[i][j] += roots[i][k] * roots[j][k];
            bowl.matrix[i][i] += 0.01;
            bowl.slope[i] = 10 * rng_gaussian (&rng);
            box.lower[i] = rng_gaussian (&rng);
            box.upper[i] = box.lower[i] + (rng_below (&rng, 5) ? rng_uniform (&rng) : 0);
            x[i] = rng_below (&rng, 2) ? box.lower[i] : box.upper[i];
        }
        descend (bowl_expand, &bowl, &box, 1e-14, x);
        struct expansion end;
        bowl_expand (&bowl, x, &end);
        for (int i = 0; i < DESCENT_DIM; i++) {
            assert_true (x[i] >= box.lower[i] && x[i] <= box.upper[i]);
            if (x[i] > box.lower[i])
                assert_true (end.gradient[i] <= 1e-4);
            if (x[i] < box.upper[i])
                assert_true (end.gradient[i] >= -1e-4);
        }
    }
}

static void many_samples_become_few_configs (void **state)
{
    (void)state;
    struct rng rng = rng_seed (10);
    struct pollux_model truth = random_model (&rng);
    const size_t count = 30000;
    struct pollux_sample *samples = calloc (count, sizeof (*samples));
    assert_non_null (samples);
    for (size_t i = 0; i < count; i++) {
        samples[i] = random_sample (&rng, &truth, 0.05);
        samples[i].m = 8 * (samples[i].m / 32) + 8;
        samples[i].grad_s =
            pollux_grad_time (&truth, samples[i].m) * exp (0.05 * rng_gaussian (&rng));
    }
    struct fit_data data;
    assert_int_equal (fit_data_init (&data, samples, count, NULL), 0);
    assert_true (data.count <= 31 * 9);
    double weight = 0;
    for (size_t i = 0; i < data.count; i++)
        weight += data.configs[i].weight;
    assert_true (fabs (weight - 1) < 1e-12);
    fit_data_free (&data);
    struct pollux_fit got = fit (samples, count, NULL);
    check_fit (samples, count, &got);
    assert_true (fabs (got.grad_error - 0.05) < 0.005);
    free (samples);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (golden_fits),
        cmocka_unit_test (no_random_start_is_better),
        cmocka_unit_test (any_legal_samples_fit),
        cmocka_unit_test (extremes),
        cmocka_unit_test (exact_samples_are_met),
        cmocka_unit_test (order_does_not_matter),
        cmocka_unit_test (weight_counts_like_copies),
        cmocka_unit_test (warm_start_is_no_worse),
        cmocka_unit_test (warm_start_survives_anything),
        cmocka_unit_test (last_model_stays_if_samples_agree),
        cmocka_unit_test (priors),
        cmocka_unit_test (illegal_samples_are_named),
        cmocka_unit_test (gradient_is_the_slope),
        cmocka_unit_test (curvature_is_bounded),
        cmocka_unit_test (descent_ends_at_the_minimum_in_the_box),
        cmocka_unit_test (many_samples_become_few_configs),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
