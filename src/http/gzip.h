/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compression of answers, by zlib.
 *
 *     a whole text     gzip_compress
 *     a stream         GZIP_HEAD, the blocks of each message (gzip_blocks), gzip_tail at its end
 *
 * The blocks of a message refer to nothing before them and end at a byte, so the same ones can go into any
 * number of streams: a message is compressed once for all clients, and a stream needs no memory for it.
 */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stddef.h>
#include <stdint.h>

/* Compress a text.  On success *ret is the caller's (free).  -ENOMEM. */
int gzip_compress (const void *bytes, size_t length, char **ret, size_t *ret_length);

/* Decompress a whole gzip file of at most limit bytes when decompressed.  On success *ret is the caller's
 * (free).  -EINVAL: it is malformed or longer; -ENOMEM. */
int gzip_expand (const void *bytes, size_t length, size_t limit, char **ret, size_t *ret_length);

/* The first bytes of a stream. */
enum { GZIP_HEAD_SIZE = 10, GZIP_TAIL_SIZE = 10 };
extern const unsigned char gzip_head[GZIP_HEAD_SIZE];

/* What a stream has contained so far.  Zero at its start. */
struct gzip_sum {
    uint32_t crc, length;
};

/* The blocks of a message and its sum.  On success *ret is the caller's (free).  -ENOMEM. */
int gzip_blocks (const void *bytes, size_t length, char **ret, size_t *ret_length,
                 struct gzip_sum *ret_sum);

/* Add a message's sum to that of its stream. */
void gzip_add (struct gzip_sum *stream, const struct gzip_sum *message);

/* The last bytes of a stream. */
void gzip_tail (const struct gzip_sum *stream, unsigned char ret[GZIP_TAIL_SIZE]);

#endif
