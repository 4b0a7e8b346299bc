/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds NUL bytes in the head of a request.  libmicrohttpd cuts the head in place: it ends each piece (method,
 * target, version, names and values of headers) with a NUL, and a NUL that the client has sent looks the same, so
 * that the rest of that piece is lost.  But the pieces still lie in memory in the order of the head:
 *
 *     GET /open HTTP/1.1 \r \n Host :   localhost \r \n \r \n
 *     --- ----- --------       ----     ---------               pieces; what is between them must be
 *        0     0         0 0       0 _            0  0  \r \n   separators only
 *
 * A piece that lies elsewhere was put together by libmicrohttpd: a header over several lines, which is obsolete and
 * refused, too.
 */
#ifndef HTTP_RAW_HEAD_H
#define HTTP_RAW_HEAD_H

#include <stdbool.h>
#include <stddef.h>

struct raw_head {
    const char *at, *end; /* after the last piece; of the head */
    bool wrong;
};

/* Is this libmicrohttpd known to cut heads like this?  Otherwise nothing here may be used. */
bool raw_head_is_known (void);

/* Begin with the request line.  size: bytes of the whole head, from the method on. */
struct raw_head raw_head_begin (const char *method, const char *target, size_t target_length,
                                const char *version, size_t size);
void raw_head_add (struct raw_head *head, const char *name, const char *value);
/* True if the head has only these pieces and the separators between them. */
bool raw_head_end (const struct raw_head *head);

#endif
