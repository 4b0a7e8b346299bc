/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs: one daemon at a time on a state directory that several hosts share, without locks and clocks.
 *
 *     STATE/epochs/00000007/     one directory per claim; the greatest number is the daemon in charge
 *         owner                  host, process and a random number: text for people
 *         journal.db             the journal of this epoch; no other epoch writes to it
 *         closed                 its daemon has closed the journal and ended
 *         order                  number of the Slurm job that it runs in, if it does
 *
 * A daemon claims the directory by making such a directory under a temporary name and renaming it to the
 * next number.  rename(2) does not replace a directory that is not empty, so one of several claimers
 * gets the number.  Then it takes over the journal of the epoch before: renames it if that was closed,
 * else copies it (store/copy.h).
 *
 * A daemon may be suspended at any moment and continue later.  So it checks that it is still in charge
 * before each commit, after it, and once a second:
 *
 *     old   check   commit          check   answer       the check found no claim, so the claim came later,
 *     new                    ...                   claim   copy       and the copy has the commit
 *
 *     old   check                          commit   check: superseded; nothing was answered
 *     new           claim   copy                          its journal is another file
 */
#ifndef DAEMON_EPOCH_H
#define DAEMON_EPOCH_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "pollux/pollux.h"

/* The code of "another daemon is in charge now".  NFS uses ESTALE, too: other failures with that code
 * become EIO here. */
#define EPOCH_LOST (-ESTALE)

struct epoch {
    int64_t number; /* 0: none is claimed */
    char state[PATH_MAX];
    char owner[160];
};

/* Has a daemon with epochs used this state directory? */
bool epoch_used (const char *state);

/* Claim the next epoch.  order, if it is not 0, is the number of the Slurm job in which this daemon runs: it is
 * not given an epoch while a daemon of a later Slurm job is in charge, because a script of an old job that
 * restarts its daemon must not take the state back.
 * EPOCH_LOST: that is the case, or another daemon claimed the epoch at the same moment. */
int epoch_claim (const char *state, int64_t order, struct epoch *ret, struct pollux_error *err);

/* 0 if the epoch is the newest.  EPOCH_LOST: another daemon has claimed a newer one; the sentence names it. */
int epoch_check (const struct epoch *epoch, struct pollux_error *err);

/* Take over the journal of the epoch before, or STATE/journal.db of a daemon without epochs; then ret is
 * its path in this epoch, where store_open makes a new one if there was none.
 * -EBUSY: STATE/journal.db was not closed. */
int epoch_take_journal (const struct epoch *epoch, char ret[PATH_MAX], struct pollux_error *err);

/* Remove epochs before the last one, and what was left of claims.  Call it when the journal of this
 * epoch is open and epoch_check has returned 0. */
void epoch_tidy (const struct epoch *epoch);

/* The journal was closed, and nothing will be written to it any more. */
int epoch_close (struct epoch *epoch, struct pollux_error *err);

#endif
