/* SPDX-License-Identifier: Apache-2.0 */
/* A text that several streams send (http_packet of http.h): shared, and compressed when the first stream needs it. */
#ifndef HTTP_PACKET_H
#define HTTP_PACKET_H

#include "http/gzip.h"
#include "http/http.h"

struct http_packet {
    int references;
    char *text, *blocks; /* plain; compressed, NULL until it is needed */
    size_t length, blocks_length;
    struct gzip_sum sum; /* of the text, once it is compressed */
};

struct http_packet *packet_hold (struct http_packet *packet);

/* Make sure that it is compressed.  -ENOMEM. */
int packet_compress (struct http_packet *packet);

#endif
