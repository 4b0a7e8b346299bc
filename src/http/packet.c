/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets are counted references: of their maker, and of each stream that has not sent them completely.
 */
#include "http/packet.h"

#include <stdlib.h>

struct http_packet *http_packet_new (char *text, size_t length)
{
    struct http_packet *packet = text != NULL ? calloc (1, sizeof (*packet)) : NULL;
    if (packet == NULL) {
        free (text);
        return NULL;
    }
    *packet = (struct http_packet){.references = 1, .text = text, .length = length};
    return packet;
}

struct http_packet *packet_hold (struct http_packet *packet)
{
    packet->references++;
    return packet;
}

void http_packet_free (struct http_packet *packet)
{
    if (packet == NULL || --packet->references > 0)
        return;
    free (packet->text);
    free (packet->blocks);
    free (packet);
}

int packet_compress (struct http_packet *packet)
{
    return packet->blocks != NULL ? 0
                                  : gzip_blocks (packet->text, packet->length, &packet->blocks,
                                                 &packet->blocks_length, &packet->sum);
}
