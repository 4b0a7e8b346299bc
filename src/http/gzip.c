/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zlib behind functions over whole texts.  Memory is taken for the time of a call: 256 KiB for zlib's window and
 * tables, and the result.  The event loop waits for it, so small texts, of which there are many, are compressed with level 1.
 * Large ones, above all snapshots of clusters, which new clients share, take level 4: for 5,000 jobs 196 instead of
 * 238 kB, in 14 instead of 7 ms; the default would take 63 ms for 173 kB.
 */
#include "http/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { LARGE = 256 << 10, LARGE_LEVEL = 4 };
enum { GZIP_FORMAT = 16, MEMORY_LEVEL = 8 }; /* the format is added to the bits of the window */

/* The method "deflate", no flags, no time, an unknown system (RFC 1952). */
const unsigned char gzip_head[GZIP_HEAD_SIZE] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};

/* window: its bits; negative: blocks without a head and a tail. */
static int compress_text (const void *bytes, size_t length, int window, int flush, char **ret,
                          size_t *ret_length)
{
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)length};
    int level = length < LARGE ? Z_BEST_SPEED : LARGE_LEVEL;
    if (length > UINT_MAX / 2 ||
        deflateInit2 (&stream, level, Z_DEFLATED, window, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    size_t size = deflateBound (&stream, (uLong)length) + GZIP_TAIL_SIZE;
    char *text = malloc (size);
    stream.next_out = (Bytef *)text;
    stream.avail_out = (uInt)size;
    int end = text != NULL ? deflate (&stream, flush) : Z_MEM_ERROR;
    size_t used = size - stream.avail_out;
    deflateEnd (&stream);
    if ((end != Z_OK && end != Z_STREAM_END) || stream.avail_out == 0) {
        free (text);
        return -ENOMEM;
    }
    *ret = realloc (text, used > 0 ? used : 1);
    if (!*ret) /* it keeps its size */
        *ret = text;
    *ret_length = used;
    return 0;
}

int gzip_compress (const void *bytes, size_t length, char **ret, size_t *ret_length)
{
    return compress_text (bytes, length, MAX_WBITS + GZIP_FORMAT, Z_FINISH, ret, ret_length);
}

int gzip_blocks (const void *bytes, size_t length, char **ret, size_t *ret_length,
                 struct gzip_sum *ret_sum)
{
    int code = compress_text (bytes, length, -MAX_WBITS, Z_SYNC_FLUSH, ret, ret_length);
    if (code == 0)
        *ret_sum = (struct gzip_sum){(uint32_t)crc32 (0, bytes, (uInt)length), (uint32_t)length};
    return code;
}

void gzip_add (struct gzip_sum *stream, const struct gzip_sum *message)
{
    stream->crc = (uint32_t)crc32_combine (stream->crc, message->crc, (z_off_t)message->length);
    stream->length += message->length;
}

void gzip_tail (const struct gzip_sum *stream, unsigned char ret[GZIP_TAIL_SIZE])
{
    memcpy (ret, "\3\0", 2); /* an empty last block */
    for (int i = 0; i < 4; i++) {
        ret[2 + i] = (unsigned char)(stream->crc >> 8 * i);
        ret[6 + i] = (unsigned char)(stream->length >> 8 * i);
    }
}

int gzip_expand (const void *bytes, size_t length, size_t limit, char **ret, size_t *ret_length)
{
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)length};
    char *text = length <= UINT_MAX && limit <= UINT_MAX ? malloc (limit + 1) : NULL;
    if (text == NULL || inflateInit2 (&stream, MAX_WBITS + GZIP_FORMAT) != Z_OK) {
        free (text);
        return -ENOMEM;
    }
    stream.next_out = (Bytef *)text;
    stream.avail_out = (uInt)limit;
    int end = inflate (&stream, Z_FINISH);
    size_t size = stream.total_out;
    inflateEnd (&stream);
    if (end != Z_STREAM_END) {
        free (text);
        return -EINVAL;
    }
    *ret = text;
    *ret_length = size;
    return 0;
}
