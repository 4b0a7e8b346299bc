/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of the last minutes, so that none is accepted twice.  munged remembers credentials, too, but forgets
 * them when it restarts.
 */
#ifndef MUNGE_USED_CLAIMS_H
#define MUNGE_USED_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "munge/claim.h"

struct used_claims;

struct used_claims *used_claims_new (void);
void used_claims_free (struct used_claims *used);

/* Remember a claim of uid; true if it was remembered before.  now_s: any clock that does not go back. */
bool used_claims_seen (struct used_claims *used, uid_t uid, const struct munge_claim *claim,
                       int64_t now_s);

#endif
