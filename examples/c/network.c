/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The networks of the example; OpenBLAS computes the matrix products.
 *
 *     mlp    32 inputs, 128 hidden units (ReLU), 10 classes
 *     cnn    12 x 12 pixels, 8 filters of 3 x 3 (ReLU), maximum over 2 x 2, 8 classes
 *     mean   a quadratic function, |w - x|^2 / 2 over samples x ~ N(0, 1) in 256 dimensions: at the
 *            start its noise scale is 256 / |w|^2 = 128 samples, by construction
 *
 * Matrices are row-major.  A parameter array holds the layers one after the other, each its
 * matrix and then its biases.
 */
#include "network.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

void *allocate (int64_t count, size_t size)
{
    void *memory = calloc ((size_t)count, size);
    if (!memory) {
        fprintf (stderr, "not enough memory for %lld x %zu bytes\n", (long long)count, size);
        exit (1);
    }
    return memory;
}

/* ---- Parts of a network ------------------------------------------------------------------- */

/* Normal numbers of variance 2 / fan-in, and no bias (He's rule for ReLU). */
static void dense_init (uint64_t *state, int inputs, int outputs, float *ret)
{
    double scale = sqrt (2.0 / inputs);
    for (int i = 0; i < inputs * outputs; i++)
        ret[i] = (float)(scale * random_normal (state));
    memset (ret + inputs * outputs, 0, (size_t)outputs * sizeof (ret[0]));
}

/* y = x W + b, for rows of x. */
static void dense (const float *weights, int inputs, int outputs, const float *x, int64_t rows,
                   float *ret)
{
    const float *bias = weights + inputs * outputs;
    for (int64_t i = 0; i < rows; i++)
        memcpy (ret + i * outputs, bias, (size_t)outputs * sizeof (ret[0]));
    cblas_sgemm (CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, outputs, inputs, 1, x,
                 inputs, weights, outputs, 1, ret, outputs);
}

/* From dy: the gradient of W and b, and dx unless it is NULL. */
static void dense_back (const float *weights, int inputs, int outputs, const float *x,
                        const float *dy, int64_t rows, float *ret_gradient, float *ret_dx)
{
    float *bias = ret_gradient + inputs * outputs;
    cblas_sgemm (CblasRowMajor, CblasTrans, CblasNoTrans, inputs, outputs, (int)rows, 1, x, inputs,
                 dy, outputs, 0, ret_gradient, outputs);
    memset (bias, 0, (size_t)outputs * sizeof (bias[0]));
    for (int64_t i = 0; i < rows; i++)
        cblas_saxpy (outputs, 1, dy + i * outputs, 1, bias, 1);
    if (ret_dx)
        cblas_sgemm (CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, inputs, outputs, 1, dy,
                     outputs, weights, outputs, 0, ret_dx, inputs);
}

static void relu (float *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = y[i] > 0 ? y[i] : 0;
}

static void relu_back (const float *y, int64_t count, float *dy)
{
    for (int64_t i = 0; i < count; i++)
        if (y[i] <= 0)
            dy[i] = 0;
}

/* Mean cross-entropy of softmax (logits), which become its gradient. */
static double softmax_loss (float *logits, const int *labels, int64_t m, int classes)
{
    double loss = 0;
    for (int64_t i = 0; i < m; i++) {
        float *row = logits + i * classes, top = row[0];
        for (int c = 1; c < classes; c++)
            top = row[c] > top ? row[c] : top;
        loss += top - row[labels[i]];
        double sum = row[0] = expf (row[0] - top);
        for (int c = 1; c < classes; c++)
            sum += row[c] = expf (row[c] - top);
        loss += log (sum);
        for (int c = 0; c < classes; c++)
            row[c] = (float)((row[c] / sum - (c == labels[i])) / (double)m);
    }
    return loss / (double)m;
}

/* ---- mlp ---------------------------------------------------------------------------------- */

enum { MLP_IN = 32, MLP_HIDDEN = 128, MLP_OUT = 10 };
enum { MLP_FIRST = (MLP_IN + 1) * MLP_HIDDEN, MLP_SIZE = MLP_FIRST + (MLP_HIDDEN + 1) * MLP_OUT };

static void mlp_init (uint64_t seed, float *ret)
{
    dense_init (&seed, MLP_IN, MLP_HIDDEN, ret);
    dense_init (&seed, MLP_HIDDEN, MLP_OUT, ret + MLP_FIRST);
}

static double mlp_loss (const float *w, const float *x, const int *labels, int64_t m, float *ret)
{
    float *hidden = allocate (2 * m * MLP_HIDDEN + m * MLP_OUT, sizeof (float));
    float *back = hidden + m * MLP_HIDDEN, *logits = back + m * MLP_HIDDEN;
    dense (w, MLP_IN, MLP_HIDDEN, x, m, hidden);
    relu (hidden, m * MLP_HIDDEN);
    dense (w + MLP_FIRST, MLP_HIDDEN, MLP_OUT, hidden, m, logits);
    double loss = softmax_loss (logits, labels, m, MLP_OUT);
    if (ret) {
        dense_back (w + MLP_FIRST, MLP_HIDDEN, MLP_OUT, hidden, logits, m, ret + MLP_FIRST, back);
        relu_back (hidden, m * MLP_HIDDEN, back);
        dense_back (w, MLP_IN, MLP_HIDDEN, x, back, m, ret, NULL);
    }
    free (hidden);
    return loss;
}

/* ---- cnn ---------------------------------------------------------------------------------- */

enum { CNN_SIDE = 12, CNN_KERNEL = 3, CNN_FILTERS = 8, CNN_OUT = 8 };
enum { CNN_MAP = CNN_SIDE - CNN_KERNEL + 1, CNN_POOLED = CNN_MAP / 2 };
enum { CNN_PATCH = CNN_KERNEL * CNN_KERNEL, CNN_PIXELS = CNN_MAP * CNN_MAP };
enum { CNN_FEATURES = CNN_POOLED * CNN_POOLED * CNN_FILTERS };
enum { CNN_FIRST = (CNN_PATCH + 1) * CNN_FILTERS };
enum { CNN_SIZE = CNN_FIRST + (CNN_FEATURES + 1) * CNN_OUT };

static void cnn_init (uint64_t seed, float *ret)
{
    dense_init (&seed, CNN_PATCH, CNN_FILTERS, ret);
    dense_init (&seed, CNN_FEATURES, CNN_OUT, ret + CNN_FIRST);
}

/* One row per pixel with the patch around it: the convolution becomes a matrix product. */
static void cnn_patches (const float *x, int64_t m, float *ret)
{
    for (int64_t i = 0; i < m; i++)
        for (int y = 0; y < CNN_MAP; y++)
            for (int z = 0; z < CNN_MAP; z++)
                for (int k = 0; k < CNN_KERNEL; k++, ret += CNN_KERNEL)
                    memcpy (ret, x + (i * CNN_SIDE + y + k) * CNN_SIDE + z,
                            CNN_KERNEL * sizeof (ret[0]));
}

/* The index of the maximum of a 2 x 2 square; maps are stored as [pixel][filter]. */
static int64_t cnn_top (const float *maps, int64_t sample, int y, int z, int filter)
{
    int64_t top = -1;
    for (int k = 0; k < 4; k++) {
        int64_t pixel = sample * CNN_PIXELS + (2 * y + k / 2) * CNN_MAP + 2 * z + k % 2;
        int64_t at = pixel * CNN_FILTERS + filter;
        if (top < 0 || maps[at] > maps[top])
            top = at;
    }
    return top;
}

static void cnn_pool (const float *maps, int64_t m, float *ret_pooled, int64_t *ret_tops)
{
    int64_t at = 0;
    for (int64_t i = 0; i < m; i++)
        for (int y = 0; y < CNN_POOLED; y++)
            for (int z = 0; z < CNN_POOLED; z++)
                for (int f = 0; f < CNN_FILTERS; f++, at++) {
                    ret_tops[at] = cnn_top (maps, i, y, z, f);
                    ret_pooled[at] = maps[ret_tops[at]];
                }
}

static double cnn_loss (const float *w, const float *x, const int *labels, int64_t m, float *ret)
{
    int64_t pixels = m * CNN_PIXELS, features = m * CNN_FEATURES;
    float *patches = allocate (pixels * (CNN_PATCH + CNN_FILTERS), sizeof (float));
    float *maps = patches + pixels * CNN_PATCH;
    float *pooled = allocate (2 * features + m * CNN_OUT, sizeof (float));
    float *back = pooled + features, *logits = back + features;
    int64_t *tops = allocate (features, sizeof (int64_t));
    cnn_patches (x, m, patches);
    dense (w, CNN_PATCH, CNN_FILTERS, patches, pixels, maps);
    relu (maps, pixels * CNN_FILTERS);
    cnn_pool (maps, m, pooled, tops);
    dense (w + CNN_FIRST, CNN_FEATURES, CNN_OUT, pooled, m, logits);
    double loss = softmax_loss (logits, labels, m, CNN_OUT);
    if (ret) {
        dense_back (w + CNN_FIRST, CNN_FEATURES, CNN_OUT, pooled, logits, m, ret + CNN_FIRST, back);
        relu_back (pooled, features, back);
        memset (maps, 0, (size_t)(pixels * CNN_FILTERS) * sizeof (maps[0]));
        for (int64_t i = 0; i < features; i++)
            maps[tops[i]] = back[i];
        dense_back (w, CNN_PATCH, CNN_FILTERS, patches, maps, pixels, ret, NULL);
    }
    free (patches);
    free (pooled);
    free (tops);
    return loss;
}

/* ---- mean --------------------------------------------------------------------------------- */

enum { MEAN_SIZE = 256, MEAN_NOISE_SCALE = 128 };

static void mean_init (uint64_t seed, float *ret)
{
    (void)seed;
    for (int i = 0; i < MEAN_SIZE; i++)
        ret[i] = (float)sqrt (1.0 / MEAN_NOISE_SCALE);
}

static double mean_loss (const float *w, const float *x, const int *labels, int64_t m, float *ret)
{
    float difference[MEAN_SIZE];
    double loss = 0;
    (void)labels;
    if (ret)
        memset (ret, 0, MEAN_SIZE * sizeof (ret[0]));
    for (int64_t i = 0; i < m; i++) {
        for (int j = 0; j < MEAN_SIZE; j++)
            difference[j] = w[j] - x[i * MEAN_SIZE + j];
        loss += cblas_dsdot (MEAN_SIZE, difference, 1, difference, 1) / 2;
        if (ret)
            cblas_saxpy (MEAN_SIZE, 1 / (float)m, difference, 1, ret, 1);
    }
    return loss / (double)m;
}

/* ------------------------------------------------------------------------------------------- */

static const struct network networks[] = {
    {"mlp", MLP_IN, MLP_OUT, MLP_SIZE, mlp_init, mlp_loss},
    {"cnn", CNN_SIDE *CNN_SIDE, CNN_OUT, CNN_SIZE, cnn_init, cnn_loss},
    {"mean", MEAN_SIZE, 0, MEAN_SIZE, mean_init, mean_loss},
};

const struct network *network_by_name (const char *name)
{
    for (size_t i = 0; i < sizeof (networks) / sizeof (networks[0]); i++)
        if (strcmp (networks[i].name, name) == 0)
            return &networks[i];
    return NULL;
}
