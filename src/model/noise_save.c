/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The noise estimator as bytes, for a checkpoint that another machine may read.
 *
 *     magic "plxnoise" | version | groups | init_batch | biased | kept_m | weight
 *     | sqr, var of each group | checksum of all before
 *
 * Every field takes eight bytes, little-endian.  The reader checks the length, the checksum, then
 * every field, before it changes the estimator.
 */
#include "model/noise.h"
#include "base/bytes.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { HEAD_FIELDS = 7, FIELD = 8, VERSION = 1 };

static const uint8_t magic[FIELD] = {'p', 'l', 'x', 'n', 'o', 'i', 's', 'e'};

size_t pollux_noise_size (const struct pollux_noise *noise)
{
    return FIELD * (HEAD_FIELDS + 2 * (size_t)noise->groups + 1);
}

int pollux_noise_save (const struct pollux_noise *noise, void *ret, size_t size,
                       struct pollux_error *err)
{
    size_t needed = pollux_noise_size (noise);
    if (size < needed)
        return fail (err, -ENOSPC, "saving the noise estimator needs %zu bytes, got room for %zu",
                     needed, size);
    uint8_t *at = ret;
    memcpy (at, magic, sizeof (magic));
    at = bytes_put_u64 (at + sizeof (magic), VERSION);
    at = bytes_put_u64 (at, (uint64_t)noise->groups);
    at = bytes_put_u64 (at, (uint64_t)noise->init_batch);
    at = bytes_put_u64 (at, noise->biased);
    at = bytes_put_u64 (at, (uint64_t)noise->kept_m);
    at = bytes_put_double (at, noise->weight);
    for (int g = 0; g < noise->groups; g++) {
        at = bytes_put_double (at, noise->average[g].sqr);
        at = bytes_put_double (at, noise->average[g].var);
    }
    bytes_put_u64 (at, bytes_checksum (ret, needed - FIELD));
    return 0;
}

/* The fields between version and averages. */
struct head {
    uint64_t groups, init_batch, biased, kept_m;
    double weight;
};

static const uint8_t *head_read (const uint8_t *at, struct head *ret)
{
    at = bytes_get_u64 (at, &ret->groups);
    at = bytes_get_u64 (at, &ret->init_batch);
    at = bytes_get_u64 (at, &ret->biased);
    at = bytes_get_u64 (at, &ret->kept_m);
    return bytes_get_double (at, &ret->weight);
}

/* Check that the state fits this estimator and is possible. */
static int check_head (const struct pollux_noise *noise, const struct head *head, size_t size,
                       struct pollux_error *err)
{
    if (head->groups != (uint64_t)noise->groups)
        return fail (err, -EINVAL,
                     "saved noise estimator: made for %llu parameter groups, this one has %d",
                     (unsigned long long)head->groups, noise->groups);
    if (head->init_batch != (uint64_t)noise->init_batch)
        return fail (err, -EINVAL,
                     "saved noise estimator: made for initial batch %llu, this one has %lld",
                     (unsigned long long)head->init_batch, (long long)noise->init_batch);
    if (size != pollux_noise_size (noise))
        return fail (err, -EINVAL, "saved noise estimator: %zu bytes, expected %zu", size,
                     pollux_noise_size (noise));
    if (head->biased > 1 || head->kept_m > (uint64_t)POLLUX_BATCH_LIMIT ||
        !(head->weight >= 0 && head->weight <= 1))
        return fail (err, -EINVAL,
                     "saved noise estimator: impossible state (biased %llu, kept m %llu, "
                     "weight %g)",
                     (unsigned long long)head->biased, (unsigned long long)head->kept_m,
                     head->weight);
    return 0;
}

static int check_averages (const uint8_t *at, int groups, double weight, struct pollux_error *err)
{
    for (int g = 0; g < groups; g++) {
        struct pollux_grad grad;
        at = bytes_get_double (at, &grad.sqr);
        at = bytes_get_double (at, &grad.var);
        bool possible = weight > 0 ? isfinite (grad.sqr) && isfinite (grad.var)
                                   : grad.sqr == 0 && grad.var == 0;
        if (!possible)
            return fail (err, -EINVAL,
                         "saved noise estimator: impossible average of group %d (sqr %g, var %g)",
                         g, grad.sqr, grad.var);
    }
    return 0;
}

int pollux_noise_restore (struct pollux_noise *noise, const void *data, size_t size,
                          struct pollux_error *err)
{
    int rc = bytes_check_state (data, size, FIELD * (HEAD_FIELDS + 2 + 1), magic, VERSION,
                                "saved noise estimator", err);
    if (rc < 0)
        return rc;
    struct head head;
    const uint8_t *averages = head_read ((const uint8_t *)data + 2 * FIELD, &head);
    if ((rc = check_head (noise, &head, size, err)) < 0 ||
        (rc = check_averages (averages, noise->groups, head.weight, err)) < 0)
        return rc;

    noise->biased = head.biased;
    noise->kept_m = (int64_t)head.kept_m;
    noise->weight = head.weight;
    for (int g = 0; g < noise->groups; g++) {
        averages = bytes_get_double (averages, &noise->average[g].sqr);
        averages = bytes_get_double (averages, &noise->average[g].var);
    }
    return 0;
}
