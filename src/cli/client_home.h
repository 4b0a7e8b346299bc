/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command finds its daemon, and the token that it may show it. */
#ifndef CLI_CLIENT_HOME_H
#define CLI_CLIENT_HOME_H

#include <limits.h>
#include <stdbool.h>

#include "pollux/pollux.h"

enum { CLIENT_ADDRESS_SIZE = 256, CLIENT_TOKEN_SIZE = 512 };

struct client_home {
    char state[PATH_MAX];               /* the daemon's state directory, by default */
    char address[CLIENT_ADDRESS_SIZE];  /* as it was given, for messages */
    char url[CLIENT_ADDRESS_SIZE + 16]; /* what paths are put behind */
    char socket[108];                   /* of a Unix socket; "": none */
    char token[CLIENT_TOKEN_SIZE];      /* "": none */
    char no_token[200];                 /* why there is none: part of a sentence */
};

/* Find both; see client_open.  The token is in POLLUX_TOKEN_FILE, or else in the state directory's
 * admin.token, which is shown to daemons of this machine only.  -EINVAL if an address is none,
 * or if the file that is named has no token; a missing token alone is no failure. */
int client_home_find (const char *server, struct client_home *ret, struct pollux_error *err);

#endif
