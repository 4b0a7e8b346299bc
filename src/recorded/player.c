/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The playing time is a line: at base_now_us it is base_us, and it grows by `speed` per second.  If
 * events cannot be applied fast enough, the line begins again at what was reached: playing is
 * slower than asked for, and nothing is skipped.
 *
 * `next` is an event that was read and lies behind the playing time.
 */
#include "recorded/player.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "store/store.h"
#include "wire/snapshot.h"

/* A step takes this long: short enough for a server to answer in between. */
enum { STEP_US = 20000 };
/* Between steps of a playing journal; pages get three messages per second. */
enum { PLAYING_US = 50000 };

/* A cluster that is being made from the journal. */
struct fold {
    struct moment moment;
    int64_t at_us; /* its time; INT64_MIN: no event is applied */
    bool complete; /* all events up to this time are applied */
    bool has_next;
    struct event next; /* borrows from the store */
};

struct player {
    struct store *store;
    char *name;
    int64_t from_us, until_us, history_until_us;
    struct fold shown;
    struct fold *coming; /* replaces shown when it has reached the playing time; NULL: none */
    int64_t base_us, base_now_us;
    int64_t wanted_us; /* the playing time */
    double speed;
    bool playing;
    bool compacted; /* another program has compacted the journal, which was not reported yet */
    bool broken;    /* it cannot be read any more: the moment stays */
    bool damaged;   /* there is an event at until_us, or soon after, that cannot be read */
};

/* ---- Folding ------------------------------------------------------------------------------ */

static void moment_clear (struct moment *moment)
{
    cluster_clear (&moment->cluster);
    cluster_status_clear (&moment->status);
}

/* What a daemon decides by if nothing else is known. */
static struct round default_round (void)
{
    return (struct round){.policy = "pollux",
                          .interval_s = 60,
                          .restart_delay_s = 30,
                          .p = -1,
                          .search = POLLUX_EXACT};
}

/* Begin with the snapshot. */
static int fold_begin (struct fold *fold, struct store *store, struct pollux_error *err)
{
    struct moment *moment = &fold->moment;
    struct wire_past past = {0};
    cluster_status_init (&moment->status);
    moment->round = default_round ();
    int code = store_restore (store, &moment->cluster, &past, &moment->status.history, err);
    if (code == 0) {
        round_history_restore (&moment->status.rounds, past.rounds, past.round_count);
        change_log_restored (&moment->status.changes, store_snapshot (store));
    }
    if (past.round_count > 0)
        memcpy (moment->round.policy, past.rounds[past.round_count - 1].policy, NAME_SIZE);
    wire_past_clear (&past);
    fold->at_us = store_snapshot (store) > 0 ? moment->cluster.now_us : INT64_MIN;
    return code;
}

static int apply (struct fold *fold, const struct store *store, struct pollux_error *err)
{
    struct moment *moment = &fold->moment;
    const struct event *event = &fold->next;
    cluster_status_take (&moment->status, &moment->cluster, event, store_seq (store));
    if (event->type == EVENT_ROUND && !event->round.fill)
        moment->round = event->round;
    fold->at_us = event->at_us;
    fold->complete = fold->has_next = false;
    return cluster_apply_checked (&moment->cluster, event, err);
}

/* Apply the next event if it is not after that time.  1: applied, 0: there is none. */
static int fold_next (struct fold *fold, struct store *store, int64_t until_us,
                      struct pollux_error *err)
{
    struct source source = store_source (store);
    int code = 1;
    if (!fold->has_next) {
        code = source.next (source.self, &fold->moment.cluster, &fold->next, err);
        fold->has_next = code == 1;
    }
    if (code != 1 || fold->next.at_us > until_us)
        return code < 0 ? code : 0;
    code = apply (fold, store, err);
    return code < 0 ? code : 1;
}

/* Apply events up to a time, but not longer than a step.  *ret_done: there are no more. */
static int fold_until (struct fold *fold, struct store *store, int64_t until_us, bool *ret_done,
                       int *ret_count, struct pollux_error *err)
{
    int64_t stop_us = clock_monotonic_us () + STEP_US;
    int code, count = 0;
    while ((code = fold_next (fold, store, until_us, err)) == 1) {
        count++;
        if (count % 8 == 0 && clock_monotonic_us () >= stop_us)
            break;
    }
    store_pause (store);
    *ret_done = fold->complete = code == 0;
    *ret_count = count;
    if (code == 0 && fold->at_us < until_us)
        fold->at_us = until_us;
    return code < 0 ? code : 0;
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* Take the times of a fold that begins with a snapshot. */
static int take_snapshot_times (struct player *player, const struct fold *fold,
                                struct pollux_error *err)
{
    int64_t last_us = 0;
    int code = store_last_us (player->store, &last_us, err);
    if (code < 0)
        return code;
    player->from_us = player->history_until_us = fold->at_us;
    player->until_us = last_us > player->from_us ? last_us : player->from_us;
    return 0;
}

/* The times of a journal: from its snapshot, or else its first event, to its last event. */
static int find_times (struct player *player, struct pollux_error *err)
{
    struct fold *shown = &player->shown;
    int code;
    player->history_until_us = INT64_MIN;
    if (store_snapshot (player->store) > 0) {
        code = take_snapshot_times (player, shown, err);
    } else {
        code = store_last_us (player->store, &player->until_us, err);
        if (code == 0)
            code = fold_next (shown, player->store, INT64_MIN, err);
        player->from_us = shown->has_next ? shown->next.at_us : player->until_us;
        store_pause (player->store);
    }
    player->wanted_us = player->base_us = player->from_us;
    return code;
}

int player_open (const char *path, struct player **ret, struct pollux_error *err)
{
    struct player *player = calloc (1, sizeof (*player));
    if (!player)
        return fail (err, -ENOMEM, "not enough memory to play a journal");
    const char *slash = strrchr (path, '/');
    player->speed = 1;
    player->name = strdup (slash ? slash + 1 : path);
    int code = player->name ? store_open_recorded (path, &player->store, err)
                            : fail (err, -ENOMEM, "not enough memory to play a journal");
    if (code == 0)
        code = fold_begin (&player->shown, player->store, err);
    if (code == 0)
        code = find_times (player, err);
    if (code < 0)
        player_close (player);
    else
        *ret = player;
    return code;
}

static void drop_coming (struct player *player)
{
    if (player->coming)
        moment_clear (&player->coming->moment);
    free (player->coming);
    player->coming = NULL;
}

void player_close (struct player *player)
{
    if (!player)
        return;
    drop_coming (player);
    moment_clear (&player->shown.moment);
    store_close (player->store, NULL);
    free (player->name);
    free (player);
}

const struct moment *player_moment (const struct player *player)
{
    return &player->shown.moment;
}

struct store *player_store (struct player *player)
{
    return player->store;
}

int64_t player_now_us (const struct player *player)
{
    int64_t at_us = player->shown.at_us;
    return at_us > player->from_us ? at_us : player->from_us;
}

/* ---- The playing time --------------------------------------------------------------------- */

static void set_base (struct player *player, int64_t at_us, int64_t now_us)
{
    player->base_us = player->wanted_us = at_us;
    player->base_now_us = now_us;
}

static int64_t playing_time (const struct player *player, int64_t now_us)
{
    if (!player->playing)
        return player->wanted_us;
    double passed_us = (double)(now_us - player->base_now_us) * player->speed;
    double left_us = (double)(player->until_us - player->base_us);
    return player->base_us + (int64_t)fmin (fmax (passed_us, 0), left_us);
}

/* The moment that is shown, or will be, is not that of the playing time. */
static bool has_work (const struct player *player)
{
    return !player->broken &&
           (player->coming || !player->shown.complete || player->wanted_us != player->shown.at_us);
}

struct playback player_playback (const struct player *player)
{
    return (struct playback){.name = player->name,
                             .from_us = player->from_us,
                             .until_us = player->until_us,
                             .at_us = player->wanted_us,
                             .speed = player->speed,
                             .playing = player->playing,
                             .ended = player->wanted_us >= player->until_us && !has_work (player),
                             .history_until_us = player->history_until_us};
}

void player_play (struct player *player, const struct playback_change *change, int64_t now_us)
{
    int64_t at_us = playing_time (player, now_us);
    if (change->has_at)
        at_us = change->at_us < player->from_us    ? player->from_us
                : change->at_us > player->until_us ? player->until_us
                                                   : change->at_us;
    if (change->has_speed)
        player->speed = change->speed;
    if (change->has_playing) {
        if (change->playing && !player->playing && !change->has_at && at_us >= player->until_us)
            at_us = player->from_us;
        player->playing = change->playing;
    }
    set_base (player, at_us, now_us);
}

int64_t player_due_us (const struct player *player, int64_t now_us)
{
    if (has_work (player))
        return INT64_MIN;
    return player->playing ? now_us + PLAYING_US : INT64_MAX;
}

/* ---- Steps -------------------------------------------------------------------------------- */

/* The journal begins later now: a daemon has compacted it.  So does the playing time. */
static int take_compaction (struct player *player, int64_t now_us, struct pollux_error *err)
{
    int code = take_snapshot_times (player, player->coming, err);
    if (code < 0)
        return code;
    player->compacted = true;
    int64_t at_us = player->wanted_us > player->from_us ? player->wanted_us : player->from_us;
    set_base (player, at_us < player->until_us ? at_us : player->until_us, now_us);
    return 0;
}

/* The snapshot cannot be read: show what is shown, and nothing else. */
static void give_up (struct player *player, int64_t now_us)
{
    drop_coming (player);
    player->broken = true;
    player->playing = false;
    player->from_us = player->until_us = player_now_us (player);
    set_base (player, player->until_us, now_us);
}

/* Make the cluster again from the snapshot. */
static int begin_again (struct player *player, int64_t now_us, struct pollux_error *err)
{
    int64_t snapshot = store_snapshot (player->store);
    drop_coming (player);
    player->coming = calloc (1, sizeof (*player->coming));
    store_rewind (player->store);
    int code = player->coming ? fold_begin (player->coming, player->store, err)
                              : fail (err, -ENOMEM, "not enough memory to play a journal");
    if (code == 0 && store_snapshot (player->store) != snapshot)
        code = take_compaction (player, now_us, err);
    if (code < 0)
        give_up (player, now_us);
    return code;
}

/* An event cannot be read: the journal ends before it. */
static void end_here (struct player *player, struct fold *fold, int64_t now_us)
{
    fold->at_us = fold->at_us > player->from_us ? fold->at_us : player->from_us;
    fold->complete = player->damaged = true;
    player->until_us = fold->at_us;
    player->playing = false;
    set_base (player, player->until_us, now_us);
}

/* The playing time is before that of the fold. */
static bool is_past (const struct player *player, const struct fold *fold)
{
    return fold->at_us > player->wanted_us;
}

/* Fold up to the playing time. */
static int go_on (struct player *player, struct fold *fold, int64_t now_us, bool *ret_done,
                  int *ret_count, struct pollux_error *err)
{
    int code = fold_until (fold, player->store, player->wanted_us, ret_done, ret_count, err);
    if (code == -ESTALE) /* the next events were compacted */
        return begin_again (player, now_us, err);
    if (code == 0)
        return 0;
    bool known = player->damaged; /* and was reported */
    end_here (player, fold, now_us);
    *ret_done = known;
    return known ? 0 : code;
}

/* Show the cluster that was made again. */
static enum player_moved show_coming (struct player *player)
{
    moment_clear (&player->shown.moment);
    player->shown = *player->coming;
    free (player->coming);
    player->coming = NULL;
    bool compacted = player->compacted;
    player->compacted = false;
    return compacted ? PLAYER_COMPACTED : PLAYER_REPLACED;
}

int player_step (struct player *player, int64_t now_us, enum player_moved *ret,
                 struct pollux_error *err)
{
    bool done = false;
    int count = 0, code = 0;
    *ret = PLAYER_STAYED;
    if (player->broken)
        return 0;
    player->wanted_us = playing_time (player, now_us);
    if (player->wanted_us >= player->until_us && player->playing)
        player->playing = false;
    if (is_past (player, player->coming ? player->coming : &player->shown))
        code = begin_again (player, now_us, err);
    struct fold *fold = player->coming ? player->coming : &player->shown;
    if (code == 0)
        code = go_on (player, fold, now_us, &done, &count, err);
    fold = player->coming ? player->coming : &player->shown;
    if (code == 0 && !done && player->playing)
        set_base (player, fold->at_us > player->from_us ? fold->at_us : player->from_us, now_us);
    if (player->coming && (done || code < 0))
        *ret = show_coming (player);
    else if (!player->coming && count > 0)
        *ret = PLAYER_FORWARDS;
    return code;
}
