/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: saved states of a noise estimator.  The bytes are restored unchanged, and with the
 * checksum corrected so that all fields are reached.  An accepted state is saved as the same bytes,
 * and reading and updates with any numbers must work after it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "pollux/pollux.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

enum { GROUPS = 2, SIZE = 64 + 16 * GROUPS };

static void demand (bool truth)
{
    if (!truth)
        abort ();
}

static void check_readable (const struct pollux_noise *noise)
{
    for (int g = 0; g < GROUPS; g++) {
        struct pollux_grad grad = pollux_noise_group (noise, g);
        demand (isfinite (grad.sqr) && grad.sqr >= 0 && isfinite (grad.var) && grad.var >= 0);
    }
    struct pollux_grad sum = pollux_noise_grad (noise);
    demand (sum.sqr >= 0 && sum.var >= 0);
    double weight = pollux_noise_weight (noise);
    demand (weight >= 0 && weight <= 1);
}

/* Every saved state can be restored. */
static void check_restorable (struct pollux_noise *noise)
{
    uint8_t bytes[SIZE];
    demand (pollux_noise_save (noise, bytes, SIZE, NULL) == 0);
    demand (pollux_noise_restore (noise, bytes, SIZE, NULL) == 0);
}

static void restore (const uint8_t *data, size_t size)
{
    struct pollux_noise *noise;
    struct pollux_error err = {.text = ""};
    demand (pollux_noise_new (GROUPS, 64, &noise, NULL) == 0);
    int rc = pollux_noise_restore (noise, data, size, &err);
    demand (rc == 0 || (rc == -EINVAL && *err.text));
    check_readable (noise);
    if (rc == 0) {
        uint8_t bytes[SIZE];
        demand (size == SIZE && pollux_noise_save (noise, bytes, SIZE, NULL) == 0);
        demand (memcmp (bytes, data, SIZE) == 0);
    }
    /* Continue with updates made from the same bytes. */
    for (size_t at = 0; at + 5 * 8 <= size; at += 8) {
        uint64_t batch;
        double x[GROUPS], y[GROUPS];
        const uint8_t *next = bytes_get_u64 (data + at, &batch);
        for (int g = 0; g < GROUPS; g++) {
            next = bytes_get_double (next, &x[g]);
            next = bytes_get_double (next, &y[g]);
        }
        int64_t m = (int64_t)(batch >> 16), s = (int64_t)(batch & 7);
        int replicas = (int)((batch >> 3) & 31);
        rc = pollux_noise_update_single (noise, m, x, y, NULL);
        demand (rc == 0 || rc == -EDOM || rc == -EINVAL);
        check_readable (noise);
        check_restorable (noise);
        rc = pollux_noise_update (noise, replicas, (struct pollux_batch){m, s}, x, y, NULL);
        demand (rc == 0 || rc == -EDOM || rc == -EINVAL);
        check_readable (noise);
        check_restorable (noise);
    }
    pollux_noise_free (noise);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    restore (data, size);
    if (size >= 8) {
        uint8_t *right = malloc (size);
        if (!right)
            return 0;
        memcpy (right, data, size);
        bytes_put_u64 (right + size - 8, bytes_checksum (right, size - 8));
        restore (right, size);
        free (right);
    }
    return 0;
}
