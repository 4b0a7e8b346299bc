/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks.  Parameters and gradients are one array of floats each. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stddef.h>
#include <stdint.h>

struct network {
    const char *name;
    int inputs, classes;
    size_t parameters;
    /* Initial parameters. */
    void (*init) (uint64_t seed, float *ret_weights);
    /* Mean loss of m samples, x with a row of `inputs` for each; its gradient too unless
     * ret_gradient is NULL. */
    double (*loss) (const float *weights, const float *x, const int *labels, int64_t m,
                    float *ret_gradient);
};

/* mlp, cnn or mean; NULL for another name. */
const struct network *network_by_name (const char *name);

/* Zeroed memory for count elements; exits if there is none. */
void *allocate (int64_t count, size_t size);

#endif
