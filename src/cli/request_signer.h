/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signs the requests of a client with munge, if it has no token and the daemon takes signatures, or if POLLUX_AUTH
 * is munge.  The daemon's answer to GET /healthz has its uid, to which the credentials are restricted.
 */
#ifndef CLI_REQUEST_SIGNER_H
#define CLI_REQUEST_SIGNER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/daemon_access.h"

struct munge;

/* All zero at the beginning. */
struct request_signer {
    bool known;          /* whether to sign */
    struct munge *munge; /* NULL: requests are not signed */
    uid_t reader;        /* polluxd's */
};

/* Find out whether to sign, with the first request only.  easy: a handle with the options of all requests, which
 * is not in use.  -EREMOTEIO: munge is wanted and cannot be used. */
int request_signer_find (struct request_signer *signer, struct daemon_access *access, CURL *easy,
                         struct pollux_error *err);

/* Are requests signed? */
bool request_signer_active (const struct request_signer *signer);

/* *ret is a header "Authorization: ...", the caller's (free); unchanged if requests are not signed. */
int request_signer_sign (struct request_signer *signer, const char *method, const char *target,
                         const void *body, size_t length, char **ret, struct pollux_error *err);

void request_signer_clear (struct request_signer *signer);

#endif
