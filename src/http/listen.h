/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

#include "pollux/pollux.h"

enum { ADDRESS_SIZE = 128 }; /* "unix:" and the 107 bytes of the longest path of a socket */

/* An address, as text and as a sockaddr. */
struct address {
    char text[ADDRESS_SIZE]; /* with its port: "127.0.0.1:7467", "[::1]:7467", "unix:/path" */
    struct sockaddr_storage sockaddr;
    socklen_t length;
};

/* Read "127.0.0.1:7467", "[::1]:7467", "localhost:7467" or "unix:/path".  -EINVAL. */
int address_parse (const char *text, struct address *ret, struct pollux_error *err);

/* Can only this machine reach it: a Unix socket, or a loopback address? */
bool address_is_local (const struct address *address);

/* Make a listening socket; address->text then has the real port.  Returns the descriptor, or a negative
 * errno value.  An existing file at the path of a Unix socket is removed only if it is a socket on which no
 * process listens. */
int address_listen (struct address *address, struct pollux_error *err);

/* Close the descriptor (-1 is fine) and unlink a Unix socket. */
void address_close (const struct address *address, int fd);

/* The host alone, as Host headers name it without brackets: "127.0.0.1", "::1"; an IPv4 address
 * inside an IPv6 one as IPv4; "unix" for a Unix socket. */
struct address_host {
    char text[64];
};
struct address_host address_host (const struct sockaddr *sockaddr);

#endif
