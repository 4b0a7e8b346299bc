/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library on one page: the speedup of a job with more GPUs, and its best batch.
 *
 *     cc advise.c $(pkg-config --cflags --libs pollux) -o advise && ./advise
 */
#include <pollux/pollux.h>

#include <stdio.h>

int main (void)
{
    /* A step takes 80 ms plus 4 ms per sample; gradients are summed in 30 ms within a node. */
    const struct pollux_model model = {
        .alpha_grad = 0.08,
        .beta_grad = 0.004,
        .alpha_node = 0.3,
        .beta_node = 0.004,
        .alpha_local = 0.03,
        .beta_local = 0.001,
        .gamma = 2,
    };
    const struct pollux_grad grad = {.sqr = 0.1, .var = 0.5};
    const struct pollux_limits limits = {
        .init_batch = 128,
        .max_batch = 4096,
        .min_local = 16,
        .max_local = 128,
        .accumulation = true,
    };

    enum { GPUS = 8 };
    struct pollux_best best[GPUS];
    struct pollux_error err;
    if (pollux_curve (&model, grad, &limits, POLLUX_EXACT, GPUS, best, NULL, &err) < 0) {
        fprintf (stderr, "advise: %s\n", err.text);
        return 1;
    }
    printf ("libpollux %s\nGPUs  batch  goodput  speedup\n", pollux_version ());
    for (int k = 1; k <= GPUS; k++) {
        const struct pollux_shape shape = {.nodes = 1, .replicas = k};
        const struct pollux_best *at = &best[k - 1];
        printf ("%4d  %5.0f  %7.1f  %7.2f\n", k, pollux_total_batch (shape, at->batch), at->goodput,
                at->goodput / best[0].goodput);
    }
    return 0;
}
