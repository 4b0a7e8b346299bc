/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples a replica trains on.  All passes form one sequence of positions.  An update takes the
 * next M of them: micro-step by micro-step, and within a micro-step replica by replica:
 *
 *     offset --> | step 0: rank 0 | rank 1 | ... | step 1: rank 0 | rank 1 | ...  --> offset + M
 *
 * The sequence does not depend on the number of replicas: a resize between two updates leaves no gap
 * and no overlap, and two numbers of replicas with the same M train on the same samples.
 */
#include <errno.h>

#include "agent/permutation.h"
#include "base/error.h"

static int check_sampler (const struct pollux_sampler *sampler, struct pollux_error *err)
{
    /* pass is bounded so that a damaged saved value cannot overflow. */
    if (sampler->length < 1 || sampler->length > POLLUX_BATCH_LIMIT || sampler->offset < 0 ||
        sampler->offset >= sampler->length || sampler->pass < 0 ||
        sampler->pass > INT64_MAX - 4 * POLLUX_BATCH_LIMIT)
        return fail (err, -EINVAL,
                     "sampler: expected 0 <= offset < length <= 2^40 and pass >= 0, got offset "
                     "%lld, length %lld, pass %lld",
                     (long long)sampler->offset, (long long)sampler->length,
                     (long long)sampler->pass);
    return 0;
}

static int check_batch (int replicas, struct pollux_batch batch, struct pollux_error *err)
{
    double total = pollux_total_batch ((struct pollux_shape){1, replicas}, batch);
    if (replicas < 1 || replicas > POLLUX_REPLICAS_LIMIT || batch.m < 1 || batch.s < 0 ||
        !(total <= 2 * (double)POLLUX_BATCH_LIMIT))
        return fail (err, -EINVAL,
                     "sampler: no batch of %d replicas, m = %lld and s = %lld: expected 2^40 "
                     "samples at most",
                     replicas, (long long)batch.m, (long long)batch.s);
    return 0;
}

int64_t pollux_sampler_index (uint64_t seed, int64_t length, int64_t pass, int64_t position)
{
    if (length < 1 || length > POLLUX_BATCH_LIMIT || pass < 0 || position < 0 || position >= length)
        return -1;
    struct permutation permutation = permutation_make (seed, (uint64_t)pass, (uint64_t)length);
    return (int64_t)permutation_at (&permutation, (uint64_t)position);
}

int pollux_sampler_take (const struct pollux_sampler *sampler, int replicas, int rank,
                         struct pollux_batch batch, int64_t micro_step, int64_t *ret,
                         struct pollux_error *err)
{
    int code = check_sampler (sampler, err);
    if (code == 0)
        code = check_batch (replicas, batch, err);
    if (code == 0 && (rank < 0 || rank >= replicas || micro_step < 0 || micro_step > batch.s))
        code =
            fail (err, -EINVAL, "sampler: no micro-step %lld of replica %d: there are %lld of %d",
                  (long long)micro_step, rank, (long long)batch.s + 1, replicas);
    if (code < 0)
        return code;
    int64_t ahead = sampler->offset + (micro_step * replicas + rank) * batch.m;
    int64_t pass = sampler->pass + ahead / sampler->length, position = ahead % sampler->length;
    uint64_t length = (uint64_t)sampler->length;
    struct permutation permutation = permutation_make (sampler->seed, (uint64_t)pass, length);
    for (int64_t i = 0; i < batch.m; i++) {
        if (position == sampler->length) {
            permutation = permutation_make (sampler->seed, (uint64_t)++pass, length);
            position = 0;
        }
        ret[i] = (int64_t)permutation_at (&permutation, (uint64_t)position++);
    }
    return 0;
}

int64_t pollux_sampler_advance (struct pollux_sampler *sampler, int replicas,
                                struct pollux_batch batch, struct pollux_error *err)
{
    int code = check_sampler (sampler, err);
    if (code == 0)
        code = check_batch (replicas, batch, err);
    if (code < 0)
        return code;
    int64_t ahead = sampler->offset + replicas * batch.m * (batch.s + 1);
    int64_t passes = ahead / sampler->length;
    sampler->pass += passes;
    sampler->offset = ahead % sampler->length;
    return passes;
}
