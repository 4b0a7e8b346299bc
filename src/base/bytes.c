/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convert numbers to bytes and bytes to numbers, for states that another machine may read.
 */
#include "base/bytes.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

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

int bytes_check_state (const uint8_t *data, size_t size, size_t least, const void *magic,
                       unsigned version, const char *what, struct pollux_error *err)
{
    enum { FIELD = 8 };
    uint64_t found, checksum;
    if (size < least || memcmp (data, magic, FIELD) != 0)
        return fail (err, -EINVAL, "not a %s (%zu bytes)", what, size);
    bytes_get_u64 (data + FIELD, &found);
    if (found != version)
        return fail (err, -EINVAL, "%s: version %llu, but this library reads version %u", what,
                     (unsigned long long)found, version);
    bytes_get_u64 (data + size - FIELD, &checksum);
    if (checksum != bytes_checksum (data, size - FIELD))
        return fail (err, -EINVAL, "%s: damaged or cut (%zu bytes, wrong checksum)", what, size);
    return 0;
}
