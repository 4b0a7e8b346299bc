/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's address, and the token to send. */
#ifndef CLI_DAEMON_ACCESS_H
#define CLI_DAEMON_ACCESS_H

#include <limits.h>
#include <stdbool.h>

#include "pollux/pollux.h"

/* How requests prove who sends them (POLLUX_AUTH).  AUTO: by the token if there is one; without, by munge if the
 * daemon takes it. */
enum daemon_auth { DAEMON_AUTH_AUTO, DAEMON_AUTH_TOKEN, DAEMON_AUTH_MUNGE, DAEMON_AUTHS };

enum { DAEMON_ADDRESS_SIZE = 256, DAEMON_TOKEN_SIZE = 512 };

struct daemon_access {
    char state[PATH_MAX];               /* the daemon's default state directory */
    char address[DAEMON_ADDRESS_SIZE];  /* as given, for messages */
    char url[DAEMON_ADDRESS_SIZE + 16]; /* prefix of request paths */
    char socket[108];                   /* path of a Unix socket; "": none */
    char ca[PATH_MAX];                  /* file of trusted certificates; "": the system's */
    const char *ca_from;                /* what names it, for messages: "--ca", ... */
    bool from_state;                    /* the address is the state directory's */
    enum daemon_auth auth;
    char token[DAEMON_TOKEN_SIZE]; /* "": none */
    char no_token[200];            /* why there is no token: part of a sentence */
};

/* Find address, certificates (see client_open) and token.  The token is in the file POLLUX_TOKEN_FILE, or in
 * the state directory's admin.token, which is sent to daemons of this machine only, and to the https address
 * of the same state directory.  -EINVAL: the address is malformed, or POLLUX_TOKEN_FILE has no token.  Without a
 * token: 0, and no_token. */
int daemon_access_find (const char *server, const char *ca, struct daemon_access *ret,
                        struct pollux_error *err);

#endif
