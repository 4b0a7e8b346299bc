/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The player of journals: at every time its cluster is the fold of all events up to then, however
 * it got there.
 */
#include "unit.h"

#include <errno.h>

#include "base/clock.h"
#include "journal_file.h"
#include "random_journal.h"
#include "recorded/player.h"

/* ---- Helpers ---- */

static void write_journal (int rounds, uint64_t seed)
{
    struct cluster cluster = {0};
    struct store *store = journal_open (STORE_DURABLE);
    struct random_journal options = {
        .policy = "fifo", .rounds = rounds, .seed = seed, .real = true};
    assert_int_equal (0, random_journal_write (&options, store_journal (store), &cluster, NULL));
    journal_close (store);
    cluster_clear (&cluster);
}

/* The reference: all events up to a time. */
static struct cluster cluster_at (int64_t at_us)
{
    struct cluster cluster = {0};
    struct store *store = journal_open (STORE_READ);
    struct source source = store_source (store);
    struct event event;
    assert_int_equal (0, store_restore (store, &cluster, NULL, NULL, NULL));
    while (source.next (source.self, &cluster, &event, NULL) == 1 && event.at_us <= at_us)
        assert_int_equal (0, cluster_apply_checked (&cluster, &event, NULL));
    store_close (store, NULL);
    return cluster;
}

static struct player *open_player (void)
{
    struct player *player = NULL;
    struct pollux_error err = {""};
    if (player_open (journal_path, &player, &err) < 0)
        fail_msg ("%s", err.text);
    return player;
}

/* Step until nothing is left to do.  Returns what the steps did most. */
static enum player_moved settle (struct player *player, int64_t now_us)
{
    enum player_moved most = PLAYER_STAYED, moved;
    struct pollux_error err;
    while (player_due_us (player, now_us) == INT64_MIN) {
        assert_int_equal (0, player_step (player, now_us, &moved, &err));
        most = moved > most ? moved : most;
    }
    return most;
}

static void check_at (struct player *player, int64_t at_us)
{
    struct cluster expected = cluster_at (at_us);
    assert_int_equal (player_now_us (player), at_us);
    clusters_equal (&player_moment (player)->cluster, &expected);
    assert_int_equal (player_moment (player)->status.changes.number > 0,
                      expected.node_count > 0 || expected.job_count > 0);
    cluster_clear (&expected);
}

static void jump (struct player *player, int64_t at_us)
{
    struct playback_change change = {.has_at = true, .at_us = at_us};
    player_play (player, &change, 0);
    settle (player, 0);
}

/* ---- Tests ---- */

static void jumps (void **state)
{
    (void)state;
    struct rng rng = rng_seed (5);
    write_journal (60, 3);
    struct player *player = open_player ();
    settle (player, 0);
    struct playback playback = player_playback (player);
    assert_true (!playback.playing && !playback.ended && playback.until_us > playback.from_us);
    assert_int_equal (playback.history_until_us, INT64_MIN);
    assert_string_equal (playback.name, strrchr (journal_path, '/') + 1);
    check_at (player, playback.from_us);
    int64_t length_us = playback.until_us - playback.from_us;
    for (int i = 0; i < 40; i++) {
        int64_t at_us = playback.from_us + (int64_t)(rng_uniform (&rng) * (double)length_us);
        jump (player, at_us);
        check_at (player, at_us);
    }
    jump (player, INT64_MAX / 2);
    check_at (player, playback.until_us);
    assert_true (player_playback (player).ended);
    jump (player, 0);
    check_at (player, playback.from_us);
    player_close (player);
}

static void plays (void **state)
{
    (void)state;
    write_journal (40, 4);
    struct player *player = open_player ();
    struct playback_change begin = {
        .has_playing = true, .playing = true, .has_speed = true, .speed = 60};
    int64_t from_us = player_playback (player).from_us,
            until_us = player_playback (player).until_us;
    player_play (player, &begin, 1000);
    for (int64_t passed_us = 0; passed_us < 30000000; passed_us += 700000) {
        enum player_moved moved;
        int64_t now_us = 1000 + passed_us;
        do /* a step may end early on a busy machine; then the rest is later */
            assert_int_equal (0, player_step (player, now_us, &moved, NULL));
        while (player_due_us (player, now_us) == INT64_MIN);
        assert_true (player_now_us (player) <= from_us + 60 * passed_us);
        check_at (player, player_now_us (player));
    }
    struct playback_change pause = {.has_playing = true, .playing = false};
    int64_t now_us = 40000000;
    player_play (player, &pause, now_us);
    settle (player, now_us);
    int64_t at_us = player_now_us (player);
    assert_int_equal (player_due_us (player, now_us), INT64_MAX);
    settle (player, now_us + 1000000000);
    assert_int_equal (player_now_us (player), at_us);
    /* To the end, and from there to the beginning. */
    begin.speed = 1e6;
    player_play (player, &begin, now_us);
    for (int i = 0; i < 100000 && !player_playback (player).ended; i++) {
        enum player_moved moved;
        now_us += 50000;
        assert_int_equal (0, player_step (player, now_us, &moved, NULL));
    }
    check_at (player, until_us);
    assert_true (player_playback (player).ended && !player_playback (player).playing);
    begin.has_speed = false;
    player_play (player, &begin, now_us);
    assert_int_equal (settle (player, now_us), PLAYER_REPLACED);
    check_at (player, from_us);
    player_close (player);
}

/* While the cluster is made again, the present one is shown; another jump changes the aim. */
static void changes_its_mind (void **state)
{
    (void)state;
    write_journal (60, 6);
    struct player *player = open_player ();
    struct playback playback = player_playback (player);
    int64_t middle_us = (playback.from_us + playback.until_us) / 2;
    jump (player, playback.until_us);
    struct playback_change back = {.has_at = true, .at_us = middle_us};
    player_play (player, &back, 0);
    assert_int_equal (player_playback (player).at_us, middle_us);
    check_at (player, playback.until_us);
    back.at_us = playback.from_us + 1;
    player_play (player, &back, 0);
    assert_int_equal (settle (player, 0), PLAYER_REPLACED);
    check_at (player, playback.from_us + 1);
    player_close (player);
}

static void from_a_snapshot (void **state)
{
    (void)state;
    write_journal (30, 7);
    struct cluster cluster = {0};
    struct history history;
    struct store *store = journal_open (STORE_DURABLE);
    struct source source = store_source (store);
    struct event event;
    assert_int_equal (0, store_restore (store, &cluster, NULL, &history, NULL));
    while (source.next (source.self, &cluster, &event, NULL) == 1) {
        history_take (&history, &cluster, &event);
        assert_int_equal (0, cluster_apply_checked (&cluster, &event, NULL));
    }
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, NULL));
    int64_t snapshot_us = cluster.now_us;
    event = (struct event){.type = EVENT_NODE,
                           .job = -1,
                           .at_us = snapshot_us + 1000000,
                           .node = {.name = "late", .slots = 2, .available = true}};
    journal_take (store, &cluster, &event);
    journal_close (store);
    struct player *player = open_player ();
    settle (player, 0);
    struct playback playback = player_playback (player);
    assert_int_equal (playback.from_us, snapshot_us);
    assert_int_equal (playback.history_until_us, snapshot_us);
    assert_int_equal (playback.until_us, event.at_us);
    check_at (player, snapshot_us);
    const struct series *before = &history.past.minutes;
    const struct series *shown = &player_moment (player)->status.history.past.minutes;
    assert_true (series_count (before) > 10);
    assert_int_equal (series_count (shown), series_count (before));
    assert_int_equal (series_get (shown, 0).at_us, series_get (before, 0).at_us);
    jump (player, event.at_us);
    check_at (player, event.at_us);
    assert_true (cluster_find_node (&player_moment (player)->cluster, "late") >= 0);
    jump (player, snapshot_us);
    check_at (player, snapshot_us);
    assert_true (cluster_find_node (&player_moment (player)->cluster, "late") < 0);
    player_close (player);
    history_clear (&history);
    cluster_clear (&cluster);
}

/* A daemon compacts the journal that is played: it begins with the new snapshot, forwards and
 * backwards. */
static void compacted_meanwhile (void **state)
{
    (void)state;
    for (int forwards = 0; forwards < 2; forwards++) {
        struct cluster cluster = {0};
        write_journal (40, 9);
        struct store *store = journal_open (STORE_DURABLE);
        assert_true (journal_fold (store, &cluster, NULL) > 0);
        struct player *player = open_player ();
        struct playback playback = player_playback (player);
        int64_t middle_us = (playback.from_us + playback.until_us) / 2;
        jump (player, forwards ? middle_us : playback.until_us);
        assert_int_equal (0, store_compact (store, &cluster, NULL, 0, NULL, NULL));
        struct playback_change change = {.has_at = true,
                                         .at_us = forwards ? playback.until_us - 1 : middle_us};
        player_play (player, &change, 0);
        enum player_moved moved = PLAYER_STAYED;
        int steps = 0, reported = 0;
        for (; player_due_us (player, 0) == INT64_MIN && steps < 1000; steps++) {
            assert_int_equal (0, player_step (player, 0, &moved, NULL));
            reported += moved == PLAYER_COMPACTED;
        }
        assert_true (steps < 1000 && reported == 1);
        playback = player_playback (player);
        assert_int_equal (playback.from_us, cluster.now_us);
        assert_int_equal (playback.history_until_us, cluster.now_us);
        assert_int_equal (playback.at_us, cluster.now_us);
        check_at (player, cluster.now_us);
        player_close (player);
        journal_close (store);
        cluster_clear (&cluster);
        assert_int_equal (0, remove (journal_path));
    }
}

/* A damaged event ends the journal. */
static void damaged (void **state)
{
    (void)state;
    write_journal (30, 8);
    journal_sql ("UPDATE events SET body = '{}' WHERE seq ="
                 " (SELECT seq FROM events WHERE type = 'START' ORDER BY seq LIMIT 1 OFFSET 9)");
    struct player *player = open_player ();
    struct pollux_error err = {""};
    enum player_moved moved;
    int code = 0;
    struct playback_change change = {.has_at = true, .at_us = INT64_MAX / 2};
    player_play (player, &change, 0);
    while (code == 0 && player_due_us (player, 0) == INT64_MIN)
        code = player_step (player, 0, &moved, &err);
    assert_int_equal (code, -EINVAL);
    assert_non_null (strstr (err.text, "event "));
    /* It is played up to there, backwards and forwards. */
    struct playback playback = player_playback (player);
    assert_int_equal (playback.until_us, playback.at_us);
    assert_true (playback.ended && player_due_us (player, 0) == INT64_MAX);
    for (int i = 0; i < 2; i++) {
        jump (player, playback.from_us);
        assert_int_equal (player_now_us (player), playback.from_us);
        jump (player, INT64_MAX / 2);
        assert_int_equal (player_now_us (player), playback.until_us);
        assert_true (player_playback (player).ended);
    }
    player_close (player);
}

/* The snapshot cannot be read again: the moment stays as it is. */
static void snapshot_lost (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    write_journal (20, 10);
    struct store *store = journal_open (STORE_DURABLE);
    assert_true (journal_fold (store, &cluster, NULL) > 0);
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, NULL, NULL));
    int64_t snapshot_us = cluster.now_us;
    struct event event = {.type = EVENT_NODE,
                          .job = -1,
                          .at_us = snapshot_us + 5,
                          .node = {.name = "late", .slots = 2, .available = true}};
    journal_take (store, &cluster, &event);
    journal_close (store);
    struct player *player = open_player ();
    jump (player, event.at_us);
    journal_sql ("UPDATE snapshot SET body = '{}'");
    struct playback_change change = {.has_at = true, .at_us = snapshot_us};
    enum player_moved moved;
    struct pollux_error err = {""};
    player_play (player, &change, 0);
    assert_int_equal (-EINVAL, player_step (player, 0, &moved, &err));
    assert_non_null (strstr (err.text, "snapshot"));
    assert_int_equal (moved, PLAYER_STAYED);
    assert_int_equal (player_due_us (player, 0), INT64_MAX);
    clusters_alike (&player_moment (player)->cluster, &cluster);
    player_play (player, &change, 0);
    assert_int_equal (player_now_us (player), event.at_us);
    assert_true (player_playback (player).ended);
    player_close (player);
    cluster_clear (&cluster);
}

static void requests (void **state)
{
    (void)state;
    static const char *const refused[] = {"{\"at\": 1, \"x\": 1}",
                                          "",
                                          "[]",
                                          "{}",
                                          "{\"at\": -1}",
                                          "{\"at\": 1e300}",
                                          "{\"speed\": 0}",
                                          "{\"speed\": -3}",
                                          "{\"speed\": \"x\"}",
                                          "{\"playing\": 1}"};
    struct playback_change change;
    struct pollux_error err;
    for (size_t i = 0; i < COUNT (refused); i++)
        assert_int_equal (-EINVAL,
                          playback_change_parse (refused[i], strlen (refused[i]), &change, &err));
    static const char all[] = "{\"at\": 12.5, \"speed\": 0.5, \"playing\": true}";
    assert_int_equal (0, playback_change_parse (all, strlen (all), &change, &err));
    assert_true (change.has_at && change.has_speed && change.has_playing && change.playing);
    assert_true (change.at_us == 12500000 && change.speed == 0.5);
}

/* A copy of a journal without its -wal file. */
static void without_events (void **state)
{
    (void)state;
    struct player *player;
    struct pollux_error err;
    journal_close (journal_open (STORE_DURABLE));
    assert_int_equal (-ENODATA, player_open (journal_path, &player, &err));
    assert_non_null (strstr (err.text, "no events; of a journal that is in use"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (jumps, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (plays, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (changes_its_mind, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (from_a_snapshot, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (compacted_meanwhile, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (without_events, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (damaged, journal_set_up, journal_tear_down),
        cmocka_unit_test_setup_teardown (snapshot_lost, journal_set_up, journal_tear_down),
        cmocka_unit_test (requests),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
