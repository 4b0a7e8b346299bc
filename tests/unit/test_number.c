/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing numbers: the fast paths give the same double as strtod, also close to the middle of two
 * doubles.  Refusals are tested in test_csv.c.
 */
#include "unit.h"

#include <errno.h>

#include "base/number.h"
#include "base/rng.h"

static void same_as_strtod (const char *text)
{
    double value = -99;
    if (number_double (text, &value) != 0 || value != strtod (text, NULL) ||
        signbit (value) != signbit (strtod (text, NULL)))
        fail_msg ("%s: got %.17g, strtod has %.17g", text, value, strtod (text, NULL));
}

static void test_known (void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "0.1",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.000000000000000001",
        "123456789012345678",
        "18446744073709551615",
        "99999999999999999999",
        "0.000000000000000000000000000000000001",
        "1e-27",
        "1e-400",
        "5e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1e00000000000000000001",
        "0e999999999999",
        "0.30000000000000004",
        "8.41e21",
        "9223372036854775807e-5",
    };
    for (size_t i = 0; i < COUNT (texts); i++)
        same_as_strtod (texts[i]);
    double value;
    assert_int_equal (number_double ("1.7976931348623159e308", &value), -ERANGE);
    assert_int_equal (number_double ("1e999999999999", &value), -ERANGE);
    assert_int_equal (number_double ("nan", &value), -EINVAL);
}

/* Any double with all its digits; decimal fractions; whole numbers with exponents; and numbers
 * at or beside the middle between two doubles. */
static void test_random (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    int cases = soak_count (10000000);
    for (int i = 0; i < cases; i++) {
        char text[64];
        uint64_t bits = rng_next (&rng), kind = rng_next (&rng);
        double value;
        memcpy (&value, &bits, sizeof (value));
        switch (kind & 3) {
        case 0:
            if (!isfinite (value))
                continue;
            snprintf (text, sizeof (text), "%.17g", value);
            break;
        case 1:
            snprintf (text, sizeof (text), "%.*f", (int)(kind >> 8 & 15),
                      (double)bits * 0x1p-64 * (double)(kind >> 32));
            break;
        case 2:
            snprintf (text, sizeof (text), "%llue%d",
                      (unsigned long long)(bits >> (kind >> 8 & 63)), (int)(kind >> 16 & 63) - 32);
            break;
        default:
            snprintf (text, sizeof (text), "%llu.5%llu",
                      (unsigned long long)(bits >> 12 | 1ull << 52),
                      (unsigned long long)(kind >> 8 & 1));
        }
        same_as_strtod (text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_known),
        cmocka_unit_test (test_random),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
