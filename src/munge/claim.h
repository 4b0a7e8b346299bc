/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a munge credential says: the request that it is for.  Its text has six lines:
 *
 *     pollux-request 1
 *     POST
 *     /v1/jobs/a/cancel?x=1       the target, as in the request line
 *     1763304000                  seconds since 1970, when it was signed
 *     0123456789abcdef0123...     32 random digits: no two claims are equal
 *     e3b0c44298fc1c149afbf...    SHA-256 of the body, 64 digits
 */
#ifndef MUNGE_CLAIM_H
#define MUNGE_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

enum {
    MUNGE_METHOD_SIZE = 16, /* with the NUL, like the others */
    MUNGE_TARGET_SIZE = 2048,
    MUNGE_NONCE_SIZE = 33,
    MUNGE_HASH_SIZE = 65,
    MUNGE_CLAIM_SIZE = 2304, /* of the text: 17 + 16 + 2048 + 21 + 33 + 65 = 2200 bytes at most */
    MUNGE_AGE_S = 300,       /* a claim is accepted this long before and after its time */
};

struct munge_claim {
    char method[MUNGE_METHOD_SIZE];
    char target[MUNGE_TARGET_SIZE];
    int64_t time_s;
    char nonce[MUNGE_NONCE_SIZE];
    char hash[MUNGE_HASH_SIZE];
};

/* Make the claim of a request.  -EINVAL: the method or the target has an impossible byte or is too long. */
int munge_claim_make (const char *method, const char *target, const void *body, size_t length,
                      int64_t now_s, struct munge_claim *ret, struct pollux_error *err);

/* Write its text, and return the length. */
size_t munge_claim_format (const struct munge_claim *claim, char ret[MUNGE_CLAIM_SIZE]);

/* Read a text.  -EACCES: it is no claim. */
int munge_claim_parse (const char *text, size_t length, struct munge_claim *ret,
                       struct pollux_error *err);

/* Is the claim of this request, and of this time?  -EACCES if not, and the sentence says what differs. */
int munge_claim_check (const struct munge_claim *claim, const char *method, const char *target,
                       const void *body, size_t length, int64_t now_s, struct pollux_error *err);

#endif
