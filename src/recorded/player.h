/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays a journal: the cluster as it was at the playing time, which runs, stands still or jumps.
 *
 *     snapshot ----event--event-------event--+---event--event----> until
 *     from                                   at
 *
 * Forwards, events are applied one after the other.  Backwards, the cluster is made again from the
 * snapshot; the present one is shown until then.  Both take time, so they are done in steps of some
 * milliseconds:
 *
 *     player_open (path, &player, err)
 *     for (;;) {
 *         wait until player_due_us, or for requests
 *         player_step (player, now_us, &moved, err)
 *     }
 *
 * The journal is opened for reading and is not changed.
 */
#ifndef RECORDED_PLAYER_H
#define RECORDED_PLAYER_H

#include "api/playback.h"
#include "loop/cluster_status.h"

struct player;
struct store;

/* The cluster at a moment.  Its address stays; player_step changes the contents. */
struct moment {
    struct cluster cluster;
    struct cluster_status status;
    struct round round; /* of the last full round, or defaults */
};

/* Open a journal at its beginning, paused, at speed 1.  On success the caller frees *ret
 * (player_close).  Errors as of store_open and store_restore. */
int player_open (const char *path, struct player **ret, struct pollux_error *err);
void player_close (struct player *player);

const struct moment *player_moment (const struct player *player);
/* For readers of single events (store/reader.h). */
struct store *player_store (struct player *player);

/* The time of the moment: at most the playing time. */
int64_t player_now_us (const struct player *player);

/* How it is played, and to play it otherwise.  now_us: any monotonic clock, the same for all calls.
 * A time outside of the journal means its beginning or end; playing from the end begins again. */
struct playback player_playback (const struct player *player);
void player_play (struct player *player, const struct playback_change *change, int64_t now_us);

/* When the next step is due: INT64_MIN if there is work, INT64_MAX if it is paused. */
int64_t player_due_us (const struct player *player, int64_t now_us);

/* What a step has done. */
enum player_moved {
    PLAYER_STAYED,
    PLAYER_FORWARDS,  /* events were applied */
    PLAYER_REPLACED,  /* the moment is an earlier one, or was made again */
    PLAYER_COMPACTED, /* the same; a daemon has compacted its journal, which begins later now */
};

/* Go on towards the playing time, for some milliseconds.  -EINVAL: the journal is damaged there,
 * and from now on it ends before that event. */
int player_step (struct player *player, int64_t now_us, enum player_moved *ret,
                 struct pollux_error *err);

#endif
