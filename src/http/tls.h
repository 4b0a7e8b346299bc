/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate and the key of a server, in PEM: read from files of an administrator, or made.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include <stdint.h>

#include "pollux/pollux.h"

/* The names of the files that tls_make writes. */
#define TLS_CERT_NAME "tls.pem"
#define TLS_KEY_NAME "tls.key"

struct tls {
    char *cert, *key;        /* PEM; cert may have the certificates of its issuers behind it */
    int64_t from_s, until_s; /* the certificate is valid in this time; seconds since 1970 */
};

/* Read both files and check that they belong together.  On success *ret is the caller's (tls_clear).
 * -EACCES: users other than the owner can read the key; -EINVAL: no certificate or key, or not a pair;
 * else the error of open(2). */
int tls_read (const char *cert, const char *key, struct tls *ret, struct pollux_error *err);

/* Erase and free.  Zero is fine. */
void tls_clear (struct tls *tls);

/* Make sure that DIRECTORY/tls.pem and DIRECTORY/tls.key are a self-signed certificate for all names
 * (addresses as in 10.0.0.1 or ::1, or names of hosts) and its key.  What is there is kept if it covers all
 * names and is valid for another month; otherwise both files are replaced: a new key, valid for a year.
 * The directory must be closed to other users.  Returns 1 if they are new, 0 if kept. */
int tls_make (const char *directory, const char *const *names, int count, int64_t now_s,
              struct pollux_error *err);

#endif
