/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Numbers as eight bytes, least significant first, the same on every machine; a double as its
 * IEEE 754 bits, so that it returns bit by bit.  Each call returns the position behind the
 * number; the caller knows that eight bytes are there. */
uint8_t *bytes_put_u64 (uint8_t *at, uint64_t value);
uint8_t *bytes_put_double (uint8_t *at, double value);
const uint8_t *bytes_get_u64 (const uint8_t *at, uint64_t *ret);
const uint8_t *bytes_get_double (const uint8_t *at, double *ret);

/* Tells damage from health, not forgery: FNV-1a, which notices every change of one byte and all
 * but one in 2^64 of other changes. */
uint64_t bytes_checksum (const uint8_t *data, size_t size);

#endif
