/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved state of the noise estimator: the same bytes on every machine; a restored estimator
 * continues with the same bits; other bytes are refused with a message.
 */
#include "unit.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "pollux/pollux.h"

enum { GROUPS = 3, SIZE = 64 + 16 * GROUPS };

static struct pollux_noise *noise_new (int groups, int64_t init_batch)
{
    struct pollux_noise *noise;
    assert_int_equal (pollux_noise_new (groups, init_batch, &noise, NULL), 0);
    return noise;
}

/* One random update of either kind. */
static void update (struct pollux_noise *noise, struct rng *rng)
{
    double a[GROUPS], b[GROUPS];
    int64_t m = 1 + (int64_t)rng_below (rng, 2);
    bool many = rng_below (rng, 8) == 0;
    for (int g = 0; g < GROUPS; g++) {
        a[g] = 1 + rng_uniform (rng);
        b[g] = rng_uniform (rng);
    }
    if (many)
        assert_int_equal (pollux_noise_update (noise, 2, (struct pollux_batch){m, 1}, a, b, NULL),
                          0);
    else
        assert_int_equal (pollux_noise_update_single (noise, m, a, b, NULL), 0);
}

static void save (const struct pollux_noise *noise, uint8_t ret[SIZE])
{
    assert_int_equal (pollux_noise_size (noise), SIZE);
    assert_int_equal (pollux_noise_save (noise, ret, SIZE, NULL), 0);
}

static void test_restored_goes_on_bit_by_bit (void **unused)
{
    (void)unused;
    struct rng rng = rng_seed (3);
    struct pollux_noise *noise = noise_new (GROUPS, 7);
    for (int i = 0; i < 200; i++) {
        uint8_t saved[SIZE], one[SIZE], other[SIZE];
        struct pollux_noise *restored = noise_new (GROUPS, 7);
        save (noise, saved);
        assert_int_equal (pollux_noise_restore (restored, saved, SIZE, NULL), 0);
        save (restored, other);
        assert_memory_equal (saved, other, SIZE);
        assert_int_equal (pollux_noise_biased (noise), pollux_noise_biased (restored));
        assert_int_equal (pollux_noise_paired (noise, 1), pollux_noise_paired (restored, 1));

        struct rng again = rng;
        for (int j = 0; j < 5; j++)
            update (restored, &again);
        struct rng once = rng;
        for (int j = 0; j < 5; j++)
            update (noise, &once);
        save (noise, one);
        save (restored, other);
        assert_memory_equal (one, other, SIZE);
        struct pollux_grad a = pollux_noise_grad (noise), b = pollux_noise_grad (restored);
        assert_true (a.sqr == b.sqr && a.var == b.var);
        pollux_noise_free (restored);
        rng = once;
    }
    pollux_noise_free (noise);
}

/* The full window: rounding must not make the weight larger than restore accepts. */
static void test_full_window (void **unused)
{
    (void)unused;
    struct rng rng = rng_seed (4);
    struct pollux_noise *noise = noise_new (1, 64);
    for (int i = 0; i < 20000; i++) {
        double micro_sqr = 2, mean_sqr = 1;
        struct pollux_batch batch = {1 + (int64_t)rng_below (&rng, 1 << (i % 20)), 0};
        pollux_noise_update (noise, 2, batch, &micro_sqr, &mean_sqr, NULL);
        uint8_t saved[80];
        assert_int_equal (pollux_noise_save (noise, saved, sizeof (saved), NULL), 0);
        assert_int_equal (pollux_noise_restore (noise, saved, sizeof (saved), NULL), 0);
    }
    assert_true (relative (pollux_noise_weight (noise), 1) < 1e-12);
    pollux_noise_free (noise);
}

/* Version 1 as it was first written: one group, M0 = 64, S = 7, T = 5 at K = 2, m = 32, then a
 * single update of m = 16.  It must stay readable, on machines of either byte order. */
static const uint8_t version_1[80] = {
    /* clang-format off */
    'p',  'l',  'x',  'n',  'o',  'i',  's',  'e',
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* version */
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* groups */
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* init_batch */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* biased */
    0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* kept_m */
    0x00, 0xaa, 0xf1, 0xd2, 0x4d, 0x62, 0x50, 0x3f, /* weight 0.001 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40, /* sqr 3 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, /* var 2 */
    0xf8, 0x94, 0x96, 0x62, 0x45, 0x07, 0x04, 0x6c, /* checksum */
    /* clang-format on */
};

static void test_version_1 (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (1, 64);
    uint8_t saved[80];
    double micro_sqr = 7, mean_sqr = 5;
    assert_int_equal (pollux_noise_restore (noise, version_1, sizeof (version_1), NULL), 0);
    struct pollux_grad grad = pollux_noise_grad (noise);
    assert_true (grad.sqr == 3 && grad.var == 2);
    assert_true (relative (pollux_noise_weight (noise), 0.001) < 1e-12);
    assert_false (pollux_noise_biased (noise));
    assert_true (pollux_noise_paired (noise, 16));
    pollux_noise_free (noise);

    noise = noise_new (1, 64);
    pollux_noise_update (noise, 2, (struct pollux_batch){32, 0}, &micro_sqr, &mean_sqr, NULL);
    pollux_noise_update_single (noise, 16, NULL, NULL, NULL);
    pollux_noise_save (noise, saved, sizeof (saved), NULL);
    /* All but weight, whose last bit depends on libm, and the checksum over it. */
    assert_memory_equal (saved, version_1, 48);
    assert_memory_equal (saved + 56, version_1 + 56, 16);
    pollux_noise_free (noise);
}

static void assert_refused (struct pollux_noise *noise, const void *data, size_t size,
                            const char *says)
{
    uint8_t before[SIZE], after[SIZE];
    struct pollux_error err = {.text = ""};
    save (noise, before);
    assert_int_equal (pollux_noise_restore (noise, data, size, &err), -EINVAL);
    assert_int_equal (pollux_noise_restore (noise, data, size, NULL), -EINVAL);
    if (!strstr (err.text, says))
        fail_msg ("want a word of '%s', got: %s", says, err.text);
    save (noise, after);
    assert_memory_equal (before, after, SIZE);
}

static void test_damage (void **unused)
{
    (void)unused;
    struct rng rng = rng_seed (5);
    struct pollux_noise *noise = noise_new (GROUPS, 7);
    uint8_t saved[SIZE + 16] = {0};
    for (int i = 0; i < 30; i++)
        update (noise, &rng);
    save (noise, saved);
    for (size_t size = 0; size < SIZE; size++) {
        uint8_t *cut =
            malloc (size ? size : 1); /* of exact size, so that the sanitizer detects an overrun */
        memcpy (cut, saved, size);
        assert_refused (noise, cut, size, "noise estimator");
        free (cut);
    }
    assert_refused (noise, NULL, 0, "not a saved noise estimator");
    assert_refused (noise, saved, SIZE + 16, "checksum");
    for (size_t at = 0; at < SIZE; at++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t damaged[SIZE];
            memcpy (damaged, saved, SIZE);
            damaged[at] ^= (uint8_t)(1 << bit);
            assert_refused (noise, damaged, SIZE, "noise estimator");
        }
    uint8_t garbage[SIZE];
    for (int i = 0; i < 1000; i++) {
        for (size_t at = 0; at < SIZE; at++)
            garbage[at] = (uint8_t)rng_next (&rng);
        assert_refused (noise, garbage, SIZE, "not a saved noise estimator");
    }
    pollux_noise_free (noise);
}

/* Bytes with a right checksum and wrong contents. */
static void test_impossible_states (void **unused)
{
    (void)unused;
    static const struct {
        int field;
        uint64_t value;
        const char *says;
    } cases[] = {
        {1, 0, "version"},
        {1, 2, "version 2"},
        {2, 0, "groups"},
        {2, GROUPS + 1, "made for 4 parameter groups, this one has 3"},
        {2, UINT64_MAX, "groups"},
        {3, 8, "made for initial batch 8, this one has 7"},
        {3, UINT64_MAX, "initial batch"},
        {4, 2, "impossible"},
        {5, ((uint64_t)1 << 40) + 1, "impossible"},
        {5, UINT64_MAX, "impossible"},
        {6, 0x7ff8000000000000u, "impossible"}, /* NaN */
        {6, 0xbff0000000000000u, "impossible"}, /* -1 */
        {6, 0x4000000000000000u, "impossible"}, /* 2 */
        {6, 0, "group 0"},                      /* averages of nothing */
        {7, 0x7ff0000000000000u, "group 0"},    /* inf */
        {12, 0x7ff8000000000000u, "group 2"},   /* NaN */
    };
    struct rng rng = rng_seed (6);
    struct pollux_noise *noise = noise_new (GROUPS, 7);
    uint8_t saved[SIZE];
    for (int i = 0; i < 30; i++)
        update (noise, &rng);
    save (noise, saved);
    for (size_t i = 0; i < COUNT (cases); i++) {
        uint8_t forged[SIZE];
        memcpy (forged, saved, SIZE);
        bytes_put_u64 (forged + 8 * cases[i].field, cases[i].value);
        bytes_put_u64 (forged + SIZE - 8, bytes_checksum (forged, SIZE - 8));
        assert_refused (noise, forged, SIZE, cases[i].says);
    }
    /* Legal states of other estimators, shorter and longer. */
    for (int groups = 1; groups <= 5; groups += 2) {
        struct pollux_noise *other = noise_new (groups, groups == GROUPS ? 8 : 7);
        uint8_t bytes[64 + 16 * 5];
        assert_int_equal (pollux_noise_save (other, bytes, sizeof (bytes), NULL), 0);
        assert_refused (noise, bytes, pollux_noise_size (other), "this one has");
        pollux_noise_free (other);
    }
    pollux_noise_free (noise);
}

static void test_no_room (void **unused)
{
    (void)unused;
    struct pollux_noise *noise = noise_new (GROUPS, 7);
    struct pollux_error err;
    uint8_t bytes[SIZE];
    memset (bytes, 0xaa, SIZE);
    assert_int_equal (pollux_noise_save (noise, bytes, SIZE - 1, &err), -ENOSPC);
    assert_non_null (strstr (err.text, "112 bytes"));
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal (bytes[i], 0xaa);
    pollux_noise_free (noise);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_restored_goes_on_bit_by_bit),
        cmocka_unit_test (test_full_window),
        cmocka_unit_test (test_version_1),
        cmocka_unit_test (test_damage),
        cmocka_unit_test (test_impossible_states),
        cmocka_unit_test (test_no_room),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
