/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

/* The whole text as a decimal integer: an optional sign, then digits.
 * -EINVAL if it is anything else, -ERANGE if it does not fit. */
int number_int64 (const char *text, int64_t *ret);

/* The whole text as a finite decimal number, rounded to the nearest double: an optional sign,
 * digits with an optional point, an optional exponent.  No hexadecimal, no inf, no nan.
 * -EINVAL if it is anything else, -ERANGE if it is too large; what is too small becomes 0.
 * Long numbers go through strtod: LC_NUMERIC must be the C locale's. */
int number_double (const char *text, double *ret);

#endif
