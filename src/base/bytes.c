/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert numbers to bytes and bytes to numbers, for states that another machine may read.
 */
#include "base/bytes.h"

#include <string.h>

uint8_t *bytes_put_u64 (uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

uint8_t *bytes_put_double (uint8_t *at, double value)
{
    uint64_t bits;
    memcpy (&bits, &value, sizeof (bits));
    return bytes_put_u64 (at, bits);
}

const uint8_t *bytes_get_u64 (const uint8_t *at, uint64_t *ret)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)*at++ << (8 * i);
    *ret = value;
    return at;
}

const uint8_t *bytes_get_double (const uint8_t *at, double *ret)
{
    uint64_t bits;
    at = bytes_get_u64 (at, &bits);
    memcpy (ret, &bits, sizeof (bits));
    return at;
}

uint64_t bytes_checksum (const uint8_t *data, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 0x100000001b3u;
    return hash;
}
