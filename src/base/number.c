/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parse decimal numbers strictly: the whole text must be one.  The libc functions accept leading
 * blanks, hexadecimal, "inf" and "nan", which do not belong in a data file, and strtod is slow:
 * reading a million rows of measurements would spend most of its time there.
 * Numbers with few digits need one multiplication or division of two exact doubles for the
 * correctly rounded result (Clinger, 1990); those with up to 19 need the same in the 64 bits
 * of an x86 long double, if the machine has one.  strtod does the rest.
 */
#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

int number_int64 (const char *text, int64_t *ret)
{
    const char *p = text;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit (*p))
        return -EINVAL;
    /* Summed as a negative number, because INT64_MIN has no positive counterpart. */
    int64_t value = 0;
    bool overflow = false;
    for (; is_digit (*p); p++) {
        overflow |= __builtin_mul_overflow (value, 10, &value);
        overflow |= __builtin_sub_overflow (value, *p - '0', &value);
    }
    if (*p)
        return -EINVAL;
    if (!negative)
        overflow |= __builtin_sub_overflow (0, value, &value);
    if (overflow)
        return -ERANGE;
    *ret = value;
    return 0;
}

/* A decimal number: mantissa x 10^exponent, exact if digits <= 19 (10^19 < 2^64). */
struct decimal {
    bool negative;
    uint64_t mantissa;
    int digits; /* significant digits, without leading zeros */
    int exponent;
};

/* False if the text is not a decimal number.  A very large exponent saturates: strtod handles these
 * cases. */
static bool decimal_read (const char *p, struct decimal *ret)
{
    struct decimal d = {.negative = *p == '-'};
    if (*p == '-' || *p == '+')
        p++;
    bool any = false, point = false;
    for (;; p++) {
        if (*p == '.' && !point) {
            point = true;
        } else if (is_digit (*p)) {
            any = true;
            if (d.digits < 19)
                d.mantissa = d.mantissa * 10 + (uint64_t)(*p - '0');
            if (d.mantissa != 0 && d.digits < 20)
                d.digits++;
            d.exponent -= point;
        } else {
            break;
        }
    }
    if (!any)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        int sign = *p == '-' ? -1 : 1;
        if (*p == '-' || *p == '+')
            p++;
        if (!is_digit (*p))
            return false;
        int value = 0;
        for (; is_digit (*p); p++)
            value = value < 100000 ? value * 10 + (*p - '0') : value;
        d.exponent += sign * value;
    }
    *ret = d;
    return *p == '\0';
}

/* Convert with two exact doubles; false if they do not suffice. */
static bool decimal_short (struct decimal d, double *ret)
{
    /* The powers of ten that a double holds exactly. */
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d.digits > 15 || d.exponent < -22 || d.exponent > 22)
        return false;
    double value = (double)d.mantissa;
    value = d.exponent < 0 ? value / power[-d.exponent] : value * power[d.exponent];
    *ret = d.negative ? -value : value;
    return true;
}

/* Convert with two exact long doubles of 64 bits; false if they do not suffice.  Their quotient or product is off
 * by at most half a unit in its last place.  Rounding it to a double goes wrong only if a point
 * midway between two doubles lies within that half.  Midpoints are 64-bit values whose last 11 bits
 * are 100 0000 0000: only such a result is rejected. */
static bool decimal_long (struct decimal d, double *ret)
{
#if LDBL_MANT_DIG == 64
    static const long double power[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                        1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                        1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                        1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
    if (d.digits > 19 || d.exponent < -27 || d.exponent > 27)
        return false;
    long double value = (long double)d.mantissa;
    value = d.exponent < 0 ? value / power[-d.exponent] : value * power[d.exponent];
    uint64_t bits;
    memcpy (&bits, &value, sizeof (bits));
    if ((bits & 0x7ff) == 0x400)
        return false;
    *ret = (double)(d.negative ? -value : value);
    return true;
#else
    (void)d;
    (void)ret;
    return false;
#endif
}

int number_double (const char *text, double *ret)
{
    struct decimal d;
    double value;
    if (!decimal_read (text, &d))
        return -EINVAL;
    if (!decimal_short (d, &value) && !decimal_long (d, &value))
        value = strtod (text, NULL);
    if (!isfinite (value))
        return -ERANGE;
    *ret = value;
    return 0;
}
