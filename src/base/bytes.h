/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

/* Numbers as eight bytes, little-endian on every machine; a double as its IEEE 754 bits.  Each call
 * returns the position after the number.  The caller guarantees eight bytes. */
uint8_t *bytes_put_u64 (uint8_t *at, uint64_t value);
uint8_t *bytes_put_double (uint8_t *at, double value);
const uint8_t *bytes_get_u64 (const uint8_t *at, uint64_t *ret);
const uint8_t *bytes_get_double (const uint8_t *at, double *ret);

/* A checksum against accidental damage, not against forgery: FNV-1a, 64 bits.  It detects every
 * change of one byte. */
uint64_t bytes_checksum (const uint8_t *data, size_t size);

/* Check a saved state: eight bytes of magic, a version, the content, and a checksum of all before
 * it; at least `least` bytes.  -EINVAL, with a sentence that calls it `what`. */
int bytes_check_state (const uint8_t *data, size_t size, size_t least, const void *magic,
                       unsigned version, const char *what, struct pollux_error *err);

#endif
