/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command finds its daemon, and the token that it may show it. */
#ifndef CLI_DAEMON_ACCESS_H
#define CLI_DAEMON_ACCESS_H

#include <limits.h>
#include <stdbool.h>

#include "pollux/pollux.h"

enum { DAEMON_ADDRESS_SIZE = 256, DAEMON_TOKEN_SIZE = 512 };

struct daemon_access {
    char state[PATH_MAX];               /* the daemon's state directory, by default */
    char address[DAEMON_ADDRESS_SIZE];  /* as it was given, for messages */
    char url[DAEMON_ADDRESS_SIZE + 16]; /* what paths are put behind */
    char socket[108];                   /* of a Unix socket; "": none */
    char token[DAEMON_TOKEN_SIZE];      /* "": none */
    char no_token[200];                 /* why there is none: part of a sentence */
};

/* Find both; see client_open.  The token is in POLLUX_TOKEN_FILE, or else in the state directory's
 * admin.token, which is shown to daemons of this machine only.  -EINVAL if an address is none,
 * or if the file that is named has no token; a missing token alone is no failure. */
int daemon_access_find (const char *server, struct daemon_access *ret, struct pollux_error *err);

#endif
