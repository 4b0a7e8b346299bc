/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The claims of the last minutes, so that none is accepted twice.  munged remembers credentials, too, but forgets
 * them when it restarts.
 */
#ifndef MUNGE_REPLAY_H
#define MUNGE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "munge/claim.h"

struct munge_replay;

struct munge_replay *munge_replay_new (void);
void munge_replay_free (struct munge_replay *replay);

/* Remember a claim of uid; true if it was remembered before.  now_s: any clock that does not go back. */
bool munge_replay_seen (struct munge_replay *replay, uid_t uid, const struct munge_claim *claim,
                        int64_t now_s);

#endif
