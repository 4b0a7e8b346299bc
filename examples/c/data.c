/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated datasets that a small network can learn, but not completely: some labels are wrong.  So
 * gradients of single samples stay noisy while their mean goes to 0, and the noise scale grows during
 * training, as in practice.
 *
 *     mlp    normal inputs; the class is the largest output of a random network with one layer
 *     cnn    pixels of noise, and somewhere in them one of eight random patterns of 4 x 4
 *     mean   normal inputs, no labels
 */
#include "data.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HELD = 2048, SIDE = 12, PATTERN = 4 };
static const double wrong_labels = 0.1, pattern_strength = 2;

/* splitmix64 */
uint64_t random_bits (uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static double random_uniform (uint64_t *state)
{
    return ((double)(random_bits (state) >> 11) + 0.5) * 0x1p-53;
}

static int random_below (uint64_t *state, int limit)
{
    return (int)(random_uniform (state) * limit);
}

double random_normal (uint64_t *state)
{
    double radius = sqrt (-2 * log (random_uniform (state)));
    return radius * cos (2 * M_PI * random_uniform (state));
}

/* The class of an input: the row of the teacher with the largest product. */
static int teach (const float *teacher, const float *x, int inputs, int classes)
{
    int best = 0;
    double best_value = -INFINITY;
    for (int c = 0; c < classes; c++) {
        double value = 0;
        for (int i = 0; i < inputs; i++)
            value += teacher[c * inputs + i] * x[i];
        if (value > best_value) {
            best = c;
            best_value = value;
        }
    }
    return best;
}

static void draw_pattern (const float *pattern, uint64_t *state, float *x)
{
    int down = random_below (state, SIDE - PATTERN + 1);
    int right = random_below (state, SIDE - PATTERN + 1);
    for (int i = 0; i < PATTERN * PATTERN; i++)
        x[(down + i / PATTERN) * SIDE + right + i % PATTERN] +=
            (float)pattern_strength * pattern[i];
}

struct data data_make (const struct network *network, int64_t count, uint64_t seed)
{
    int inputs = network->inputs, classes = network->classes;
    struct data data = {.count = count, .held = HELD, .inputs = inputs};
    bool image = strcmp (network->name, "cnn") == 0;
    int width = image ? PATTERN * PATTERN : inputs; /* length of a row of the teacher */
    float *teacher = allocate (classes * width + 1, sizeof (float));
    data.x = allocate ((count + HELD) * inputs, sizeof (float));
    data.labels = allocate (count + HELD, sizeof (int));
    for (int i = 0; i < classes * width; i++)
        teacher[i] = (float)random_normal (&seed);
    for (int64_t i = 0; i < count + HELD; i++) {
        float *x = data.x + i * inputs;
        for (int j = 0; j < inputs; j++)
            x[j] = (float)random_normal (&seed);
        if (classes == 0)
            continue;
        data.labels[i] =
            image ? random_below (&seed, classes) : teach (teacher, x, inputs, classes);
        if (image)
            draw_pattern (teacher + data.labels[i] * width, &seed, x);
        if (random_uniform (&seed) < wrong_labels)
            data.labels[i] = random_below (&seed, classes);
    }
    free (teacher);
    return data;
}

void data_free (struct data *data)
{
    free (data->x);
    free (data->labels);
}

void data_gather (const struct data *data, const int64_t *indices, int64_t m, float *ret_x,
                  int *ret_labels)
{
    for (int64_t i = 0; i < m; i++) {
        memcpy (ret_x + i * data->inputs, data->x + indices[i] * data->inputs,
                (size_t)data->inputs * sizeof (ret_x[0]));
        ret_labels[i] = data->labels[indices[i]];
    }
}
