/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions in the data: every sample exactly once per pass, with any resizes, in an order that looks
 * random, differs for each pass, and is the same in all versions.
 */
#include "unit.h"

#include <errno.h>

#include "pollux/pollux.h"

/* A whole pass is a permutation. */
static void test_pass_is_a_permutation (void **unused)
{
    (void)unused;
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 1000, 4097};
    for (size_t i = 0; i < COUNT (lengths); i++)
        for (int64_t pass = 0; pass < 3; pass++) {
            bool seen[4097] = {false};
            for (int64_t at = 0; at < lengths[i]; at++) {
                int64_t index = pollux_sampler_index (7, lengths[i], pass, at);
                assert_in_range (index, 0, lengths[i] - 1);
                assert_false (seen[index]);
                seen[index] = true;
            }
        }
}

/* From an independent implementation in Python; checkpoints depend on it. */
static void test_order_is_stable (void **unused)
{
    (void)unused;
    static const struct {
        uint64_t seed;
        int64_t length, pass, first[6];
    } golden[] = {
        {0u, 10ll, 0, {6, 2, 4, 0, 9, 7}},
        {0u, 10ll, 1, {4, 6, 5, 9, 7, 8}},
        {1u, 1000ll, 0, {966, 737, 265, 621, 839, 395}},
        {42u, 50000ll, 3, {24345, 18534, 42091, 20710, 30361, 14234}},
        {18446744073709551615u,
         1099511627776ll,
         5,
         {128697768692, 163947008958, 292754302732, 657021706839, 1067122936922, 177409345128}},
    };
    for (size_t i = 0; i < COUNT (golden); i++)
        for (int64_t at = 0; at < 6; at++)
            assert_int_equal (
                pollux_sampler_index (golden[i].seed, golden[i].length, golden[i].pass, at),
                golden[i].first[at]);
}

/* Over many passes each index comes to each position about equally often. */
static void test_order_is_fair (void **unused)
{
    (void)unused;
    enum { LENGTH = 12 };
    const int passes = 12000;
    int counts[LENGTH][LENGTH] = {{0}}, follows = 0;
    for (int pass = 0; pass < passes; pass++) {
        int64_t before = -2;
        for (int at = 0; at < LENGTH; at++) {
            int64_t index = pollux_sampler_index (3, LENGTH, pass, at);
            counts[index][at]++;
            follows += index == before + 1;
            before = index;
        }
    }
    double expected = (double)passes / LENGTH, chi = 0;
    for (int i = 0; i < LENGTH; i++)
        for (int at = 0; at < LENGTH; at++)
            chi += pow (counts[i][at] - expected, 2) / expected;
    /* 121 degrees of freedom: mean 121, deviation 16. */
    assert_true (chi < 121 + 6 * 16);
    /* Of 11 neighbours, each follows by one in a random order with probability 1/12. */
    double mean = passes * 11. / 12;
    assert_true (fabs (follows - mean) < 8 * sqrt (mean));
}

/* Passes with random batches, resized at random; each pass must have seen each sample once. */
static void test_exactly_once_under_resizes (void **unused)
{
    (void)unused;
    enum { MOST = 600, PASSES = 8 };
    struct rng rng = rng_seed (11);
    for (int round = 0; round < soak_count (400); round++) {
        int64_t length = 1 + (int64_t)rng_below (&rng, MOST);
        struct pollux_sampler sampler = {.seed = rng_next (&rng), .length = length};
        int seen[PASSES + 64] = {0};
        uint8_t counts[PASSES][MOST] = {{0}};
        int64_t begun = 0;
        while (sampler.pass < PASSES) {
            int replicas = 1 + (int)rng_below (&rng, 7);
            struct pollux_batch batch = {1 + (int64_t)rng_below (&rng, 20),
                                         (int64_t)rng_below (&rng, 3)};
            int64_t position = sampler.offset, pass = sampler.pass, indices[20];
            for (int64_t step = 0; step <= batch.s; step++)
                for (int rank = 0; rank < replicas; rank++) {
                    assert_int_equal (
                        pollux_sampler_take (&sampler, replicas, rank, batch, step, indices, NULL),
                        0);
                    for (int64_t i = 0; i < batch.m; i++, position++) {
                        if (position == length) {
                            position = 0;
                            pass++;
                        }
                        assert_in_range (indices[i], 0, length - 1);
                        if (pass < PASSES) {
                            counts[pass][indices[i]]++;
                            seen[pass]++;
                        }
                    }
                }
            /* As four integers through a checkpoint, to another number of replicas. */
            struct pollux_sampler saved = {sampler.seed, sampler.length, sampler.pass,
                                           sampler.offset};
            int64_t passes = pollux_sampler_advance (&saved, replicas, batch, NULL);
            assert_true (passes >= 0);
            begun += passes;
            sampler = saved;
        }
        assert_int_equal (begun, sampler.pass);
        for (int pass = 0; pass < PASSES; pass++) {
            assert_int_equal (seen[pass], length);
            for (int64_t i = 0; i < length; i++)
                assert_int_equal (counts[pass][i], 1);
        }
    }
}

/* The same M on another number of replicas is the same set of samples. */
static void test_same_samples_at_any_count (void **unused)
{
    (void)unused;
    const struct pollux_sampler sampler = {.seed = 5, .length = 1000, .offset = 990};
    int64_t one[24], four[24];
    for (int64_t step = 0; step < 2; step++)
        assert_int_equal (pollux_sampler_take (&sampler, 1, 0, (struct pollux_batch){12, 1}, step,
                                               one + 12 * step, NULL),
                          0);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal (pollux_sampler_take (&sampler, 4, rank, (struct pollux_batch){6, 0}, 0,
                                               four + 6 * rank, NULL),
                          0);
    assert_memory_equal (one, four, sizeof (one));
}

static void test_refusals (void **unused)
{
    (void)unused;
    struct pollux_sampler good = {.seed = 1, .length = 10}, bad = {.length = 10, .offset = 10};
    struct pollux_batch batch = {2, 0}, none = {0, 0}, huge = {POLLUX_BATCH_LIMIT, 4};
    struct pollux_error err;
    int64_t indices[2];
    assert_int_equal (pollux_sampler_take (&bad, 1, 0, batch, 0, indices, &err), -EINVAL);
    assert_int_equal (pollux_sampler_take (&good, 1, 1, batch, 0, indices, &err), -EINVAL);
    assert_int_equal (pollux_sampler_take (&good, 1, 0, batch, 1, indices, &err), -EINVAL);
    assert_int_equal (pollux_sampler_take (&good, 0, 0, batch, 0, indices, &err), -EINVAL);
    assert_int_equal (pollux_sampler_take (&good, 1, 0, none, 0, indices, &err), -EINVAL);
    assert_int_equal (pollux_sampler_advance (&good, 1, huge, &err), -EINVAL);
    bad = (struct pollux_sampler){.length = 10, .pass = INT64_MAX};
    assert_int_equal (pollux_sampler_advance (&bad, 1, batch, &err), -EINVAL);
    assert_int_equal (pollux_sampler_index (1, 10, 0, 10), -1);
    assert_int_equal (pollux_sampler_index (1, 10, -1, 0), -1);
    assert_int_equal (pollux_sampler_index (1, 0, 0, 0), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_pass_is_a_permutation),
        cmocka_unit_test (test_order_is_stable),
        cmocka_unit_test (test_order_is_fair),
        cmocka_unit_test (test_exactly_once_under_resizes),
        cmocka_unit_test (test_same_samples_at_any_count),
        cmocka_unit_test (test_refusals),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
