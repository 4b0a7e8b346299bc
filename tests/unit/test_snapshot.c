/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: a compacted journal gives the same cluster as one that is not compacted, also
 * after a crash at any moment; event numbers continue, the file stays small, and a replay gives
 * the same plans.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history_check.h"
#include "journal_file.h"
#include "loop/replay.h"
#include "random_journal.h"
#include "store/reader.h"
#include "wire/snapshot.h"

/* Fewer cases for slow tools (valgrind, sanitizers). */
static bool brief (void)
{
    return soak_count (1000) < 10;
}

/* ---- A journal that compacts itself --------------------------------------------------------- */

struct compactor {
    struct store *store;
    struct journal journal;
    struct cluster *fold;    /* if not NULL, events are applied to it instead of a store */
    struct history *history; /* if not NULL, it takes the events, and is kept in snapshots */
    const struct cluster *cluster;
    int64_t appended, left; /* left: events until -ECANCELED; -1: no limit */
    int commits, every;     /* compact at every `every`-th commit; 0: never */
    bool cold;              /* the next full round is cold */
    int pipe;               /* gets the number of committed events; 0: none */
};

static int compactor_append (void *self, const struct cluster *cluster, const struct event *event,
                             struct pollux_error *err)
{
    struct compactor *compactor = self;
    compactor->cluster = cluster;
    if (compactor->left-- == 0)
        return -ECANCELED;
    compactor->appended++;
    if (compactor->history)
        history_take (compactor->history, cluster, event);
    if (compactor->fold)
        return cluster_apply (compactor->fold, event, err);
    return compactor->journal.append (compactor->journal.self, cluster, event, err);
}

static int compactor_commit (void *self, struct pollux_error *err)
{
    struct compactor *compactor = self;
    bool due = compactor->every > 0 && ++compactor->commits % compactor->every == 0;
    compactor->cold |= due;
    int rc = 0;
    if (compactor->store)
        rc = due ? store_compact (compactor->store, compactor->cluster, NULL, 0, compactor->history,
                                  err)
                 : compactor->journal.commit (compactor->journal.self, err);
    if (rc == 0 && compactor->pipe &&
        write (compactor->pipe, &compactor->appended, sizeof (compactor->appended)) < 0)
        rc = -errno;
    return rc;
}

static struct journal compactor_journal (struct compactor *compactor)
{
    if (compactor->store)
        compactor->journal = store_journal (compactor->store);
    return (struct journal){
        .append = compactor_append, .commit = compactor_commit, .self = compactor};
}

/* Record with compactions into a new file.  Returns the cluster at the end. */
static struct cluster record (const char *policy, int rounds, struct compactor *compactor)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    compactor->store = journal_open (STORE_DURABLE);
    compactor->left = -1;
    struct random_journal options = {.policy = policy,
                                     .rounds = rounds,
                                     .seed = 6,
                                     .real = true,
                                     .groups = true,
                                     .cold = &compactor->cold};
    if (random_journal_write (&options, compactor_journal (compactor), &cluster, &err) < 0 ||
        store_commit (compactor->store, &err) < 0)
        fail_msg ("%s", err.text);
    return cluster;
}

/* ---- Equal to a journal without compaction -------------------------------------------------- */

static void compacted_journal_gives_the_same_cluster (void **state)
{
    (void)state;
    for (int every = 1; every < 300; every = every * 3 + 1) {
        struct compactor compactor = {.every = every};
        struct cluster recorded = record ("tiresias", 40, &compactor);
        assert_int_equal (store_count (compactor.store), compactor.appended);
        assert_true (store_snapshot (compactor.store) > 0 || every > 200);
        journal_close (compactor.store);
        struct cluster folded = journal_cluster ();
        clusters_alike (&recorded, &folded);
        cluster_clear (&folded);

        /* Another writer continues with the next number, and compacts events of the first one. */
        struct pollux_error err = {""};
        struct store *store = journal_open (STORE_DURABLE);
        if (store_restore (store, &folded, NULL, NULL, &err) < 0 ||
            journal_fold (store, &folded, &err) < 0 ||
            store_compact (store, &folded, NULL, 0, NULL, &err) < 0)
            fail_msg ("%s", err.text);
        assert_int_equal (store_count (store), compactor.appended);
        assert_int_equal (store_snapshot (store), compactor.appended);
        struct event node = {
            .at_us = folded.now_us, .type = EVENT_NODE, .job = -1, .node = {.name = "new"}};
        journal_take (store, &folded, &node);
        journal_close (store);
        struct cluster again = journal_cluster ();
        clusters_alike (&folded, &again);
        assert_int_equal (again.node_count, recorded.node_count + 1);
        cluster_clear (&again);
        cluster_clear (&folded);
        cluster_clear (&recorded);
        assert_int_equal (0, unlink (journal_path));
    }
}

/* Rounds after a snapshot are decided as before, also by policies with a memory. */
static void replay_after_a_snapshot (void **state)
{
    (void)state;
    static const char *const policies_with_memory[] = {"tiresias", "pollux"};
    for (size_t i = 0; i < COUNT (policies_with_memory); i++) {
        struct compactor compactor = {.every = 40};
        struct cluster recorded = record (policies_with_memory[i], 40, &compactor);
        cluster_clear (&recorded);
        journal_close (compactor.store);
        struct replay replay = {0};
        struct event event;
        struct pollux_error err = {""};
        struct store *store = journal_open (STORE_READ);
        struct source source = store_source (store);
        int rc = store_restore (store, &replay.cluster, NULL, NULL, &err);
        while (rc == 0 && (rc = source.next (source.self, &replay.cluster, &event, &err)) == 1)
            rc = replay.differs ? -EINVAL : replay_event (&replay, &event, &err);
        if (rc < 0)
            fail_msg ("%s", err.text);
        assert_true (store_snapshot (store) > 0 && replay.rounds > 5);
        assert_false (replay.differs);
        journal_close (store);
        replay_clear (&replay);
        assert_int_equal (0, unlink (journal_path));
    }
}

/* The size of the file depends on the data that it keeps, not on the number of events. */
static void file_stays_small (void **state)
{
    (void)state;
    struct compactor compactor = {.every = 20};
    struct cluster cluster = record ("fifo", 40, &compactor);
    cluster_clear (&cluster);
    journal_close (compactor.store);
    struct store *store = journal_open (STORE_DURABLE);
    struct pollux_error err = {""};
    assert_int_equal (0, store_restore (store, &cluster, NULL, NULL, &err));
    assert_true (journal_fold (store, &cluster, &err) >= 0);
    struct event node = {.at_us = cluster.now_us, .type = EVENT_NODE, .job = -1};
    int64_t size = 0;
    int each = brief () ? 100 : 1000;
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < each; j++) {
            snprintf (node.node.name, sizeof (node.node.name), "n%d", j % 8);
            journal_take (store, &cluster, &node);
        }
        assert_false (store_compact_due (store, 0) || store_compact_due (store, 2 * each));
        assert_true (store_compact_due (store, each - 1));
        assert_int_equal (0, store_compact (store, &cluster, NULL, 0, NULL, &err));
        assert_false (store_compact_due (store, 1));
        if (i == 40) /* SQLite has copied its log to the file a few times */
            size = journal_size ();
    }
    journal_close (store);
    assert_true (journal_size () <= size + size / 4 && size < 1 << 20);
    cluster_clear (&cluster);
}

static void rounds_are_kept (void **state)
{
    (void)state;
    struct round_summary rounds[] = {
        {.seq = 3,
         .at_us = 60,
         .policy = "pollux",
         .p = -INFINITY,
         .settings = {.items = {{"quantum", 3600}, {"ageing", 0.5}}, .count = 2},
         .fitness = 0.1,
         .bound = INFINITY,
         .price = NAN,
         .decide_s = 1e-3,
         .jobs = 7,
         .restarts = 2,
         .used_slots = 11,
         .changed = 3,
         .text = "3 jobs changed: a 1 -> 2, b stops, 1 more"},
        {.seq = 9,
         .at_us = 70,
         .policy = "fifo",
         .p = NAN,
         .fill = true,
         .fitness = NAN,
         .price = NAN,
         .changed = -1},
    };
    struct cluster cluster = {0};
    struct wire_past past = {0};
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_DURABLE);
    assert_int_equal (0, store_compact (store, &cluster, rounds, (int)COUNT (rounds), NULL, &err));
    journal_close (store);
    store = journal_open (STORE_READ);
    assert_int_equal (0, store_restore (store, &cluster, &past, NULL, &err));
    assert_int_equal (past.round_count, (int)COUNT (rounds));
    for (size_t i = 0; i < COUNT (rounds); i++) {
        const struct round_summary *a = &rounds[i], *b = &past.rounds[i];
        assert_true (a->seq == b->seq && a->at_us == b->at_us && a->fill == b->fill);
        assert_string_equal (a->policy, b->policy);
        assert_memory_equal (&a->p, &b->p, sizeof (a->p));
        assert_int_equal (a->settings.count, b->settings.count);
        for (int j = 0; j < a->settings.count; j++) {
            const char *name = a->settings.items[j].name;
            assert_true (policy_settings_get (&b->settings, name, NAN) ==
                         a->settings.items[j].value);
        }
        assert_memory_equal (&a->fitness, &b->fitness, 4 * sizeof (double));
        assert_true (a->jobs == b->jobs && a->restarts == b->restarts);
        assert_int_equal (a->used_slots, b->used_slots);
        assert_int_equal (a->changed, b->changed);
        assert_string_equal (a->text, b->text);
    }
    wire_past_clear (&past);
    journal_close (store);
}

/* ---- Readers during a compaction ------------------------------------------------------------ */

static bool count_rows (void *self, int64_t seq, const struct wire_row *row)
{
    int64_t *last = self;
    assert_non_null (row->body);
    *last = seq;
    return true;
}

static void readers_notice_compaction (void **state)
{
    (void)state;
    struct cluster cluster = {0}, other = {0};
    struct pollux_error err = {""};
    struct store *writer = journal_open (STORE_DURABLE), *follower = journal_open (STORE_READ);
    struct reader *reader = NULL;
    struct journal journal = store_journal (writer);
    struct event node = {.type = EVENT_NODE, .job = -1};
    int64_t first = -1, last = -1;
    assert_int_equal (0, reader_open (journal_path, &reader, &err));
    assert_int_equal (0, reader_range (reader, &first, &last, &err));
    assert_true (first == 1 && last == 0);
    assert_int_equal (0, store_restore (follower, &other, NULL, NULL, &err));
    for (int i = 0; i < 10; i++) {
        snprintf (node.node.name, sizeof (node.node.name), "n%d", i);
        journal_take (writer, &cluster, &node);
        if (i == 4) {
            assert_int_equal (0, store_commit (writer, &err));
            assert_int_equal (5, journal_fold (follower, &other, &err));
        }
    }
    assert_int_equal (0, store_compact (writer, &cluster, NULL, 0, NULL, &err));
    assert_int_equal (0, reader_range (reader, &first, &last, &err));
    assert_true (first == 11 && last == 10);
    assert_int_equal (-ESTALE, journal_fold (follower, &other, &err));
    assert_non_null (strstr (err.text, "run.db: events up to 10 are in a snapshot now"));
    assert_int_equal (0, journal.append (journal.self, &cluster, &node, &err));
    assert_int_equal (0, store_commit (writer, &err));
    assert_int_equal (-ESTALE, journal_fold (follower, &other, &err));
    assert_int_equal (0, reader_range (reader, &first, &last, &err));
    assert_true (first == 11 && last == 11);
    assert_int_equal (1, reader_rows (reader, 0, 100, count_rows, &last, &err));
    assert_int_equal (last, 11);
    reader_close (reader);
    journal_close (follower);
    follower = journal_open (STORE_READ); /* without restoring the snapshot */
    assert_int_equal (-ESTALE, journal_fold (follower, &other, &err));
    journal_close (follower);
    journal_close (writer);
    cluster_clear (&cluster);
    cluster_clear (&other);
}

/* ---- Refusals ------------------------------------------------------------------------------- */

/* No compaction between a round and its plan: the plan refers to the round's jobs. */
static void no_compaction_before_the_plan (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct plan plan = {0};
    struct pollux_error err = {""};
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = {.policy = "fifo", .p = -1}};
    struct event answer = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    struct store *store = journal_open (STORE_DURABLE);
    assert_int_equal (0, plan_reset (&plan, 0));
    for (int i = 0; i < 3; i++) {
        journal_take (store, &cluster, &round);
        assert_false (store_compact_due (store, 1));
        assert_int_equal (-EBUSY, store_compact (store, &cluster, NULL, 0, NULL, &err));
        journal_take (store, &cluster, &answer);
        assert_true (store_compact_due (store, 1));
        assert_int_equal (0, store_compact (store, &cluster, NULL, 0, NULL, &err));
    }
    journal_close (store);
    plan_clear (&plan);
    cluster_clear (&cluster);
}

/* A cluster that cannot be encoded: the compaction fails, and the journal stays usable. */
static void unwritable_cluster (void **state)
{
    (void)state;
    struct compactor compactor = {.every = 15};
    struct cluster cluster = record ("fifo", 20, &compactor);
    struct pollux_error err = {""};
    struct store *store = compactor.store;
    int64_t snapshot = store_snapshot (store);
    double weight = cluster.live.jobs[0]->spec.weight;
    cluster.live.jobs[0]->spec.weight = NAN;
    assert_int_equal (-EINVAL, store_compact (store, &cluster, NULL, 0, NULL, &err));
    assert_non_null (strstr (err.text, "run.db: cannot compact it: job "));
    assert_non_null (strstr (err.text, "weight: expected a number"));
    cluster.live.jobs[0]->spec.weight = weight;
    assert_int_equal (snapshot, store_snapshot (store));
    assert_false (store_compact_due (store, 1)); /* not retried at once */
    struct event node = {
        .at_us = cluster.now_us, .type = EVENT_NODE, .job = -1, .node = {.name = "new"}};
    journal_take (store, &cluster, &node);
    journal_close (store);
    struct cluster folded = journal_cluster ();
    clusters_alike (&cluster, &folded);
    cluster_clear (&folded);
    cluster_clear (&cluster);
}

/* Events after which node n0, of a group, is up. */
static void bring_up (struct store *store, struct cluster *cluster)
{
    struct event power = {.at_us = cluster->now_us, .type = EVENT_POWER, .job = -1};
    struct event node = {.at_us = cluster->now_us,
                         .type = EVENT_NODE,
                         .job = -1,
                         .node = {.name = "n0", .slots = 4, .available = true}};
    const struct node_power *now = &cluster->node_power[0];
    snprintf (power.power.node, sizeof (power.power.node), "n0");
    while (now->state == POWER_DRAINING || now->state == POWER_STOPPING) {
        power.power.state = now->state == POWER_DRAINING ? POWER_STOPPING : POWER_OFF;
        journal_take (store, cluster, &power);
    }
    journal_take (store, cluster, &node);
    assert_int_equal (now->state, POWER_UP);
}

/* Changes of a valid snapshot. */
static void changed_snapshots_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE snapshot SET body = '{'", "run.db, snapshot:1:1: not well-formed JSON"},
        {"UPDATE snapshot SET body = '{}'", "run.db, snapshot:1:1: now_us: expected"},
        {"UPDATE snapshot SET body = json_set (body, '$.jobs', 3)", "damaged: "},
        {"UPDATE snapshot SET body = json_set (body, '$.now_us', 5)", "after the snapshot"},
        {"UPDATE states SET body = json_set (body, '$.charged_us', 9000000000000000) WHERE job = 1",
         "its times are not between"},
        {"UPDATE states SET body = json_set (body, '$.cost', -1) WHERE job = 1", "cost: expected"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups', 5)", "groups: expected an object"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.goal', 'more')", "expected fixed"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.wanted.spot', 7)",
         "group spot: 7 nodes are wanted, expected 0 to 6"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.utilities', json ('[-1]'))",
         "utilities[0]: expected a number from 0"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.resized_us', 9000000000000000)",
         "changed after the snapshot"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.complete_us.spot', "
         "8000000000000000)",
         "group spot: it was complete after the snapshot"},
        {"UPDATE snapshot SET body = json_set (body, '$.groups.complete_us', 'never')",
         "complete_us: expected"},
        {"UPDATE snapshot SET body = json_remove (body, '$.groups')",
         "it has a state, but no group"},
        {"UPDATE snapshot SET body = json_remove (body, '$.nodes[0].state')",
         "its group is known, but not its state"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[7].state', 'up')",
         "it has a state, but no group"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[0].slots', 0)",
         "it is up, but has no slots"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[0].state', 'off')",
         "it is off, but has slots"},
        {"UPDATE snapshot SET body = json_remove (body, '$.nodes[0].came')",
         "whether it has come contradicts its state"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[0].deadline_us', 7)",
         "it has a deadline, but waits for nothing"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[0].failures', 1)",
         "its failures contradict its state"},
        {"UPDATE snapshot SET body = json_set (body, '$.ledger[0].month', '1970-13')",
         "ledger[0].month: expected a month as 2026-01"},
        {"UPDATE snapshot SET body = json_set (body, '$.ledger[0].month', '1970-02')",
         "ledger[0]: costs that events do not make"},
        {"UPDATE snapshot SET body = json_insert (body, '$.ledger[#]', "
         "json_extract (body, '$.ledger[0]'))",
         "costs that events do not make"},
        {"UPDATE snapshot SET body = json_set (body, '$.ledger[0].cost', -1)",
         "ledger[0].cost: expected"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes', 5)", "nodes: expected an array"},
        {"UPDATE snapshot SET body = json_set (body, '$.nodes[1].name', 'n0')",
         "nodes[1]: node n0: expected every node once"},
        {"UPDATE snapshot SET body = json_set (body, '$.rounds', 5)", "rounds: expected an array"},
        {"UPDATE snapshot SET body = body || char (0)", "damaged: its snapshot is no text"},
        {"DELETE FROM jobs WHERE job = 2", "damaged: job 2 of the snapshot is missing"},
        {"DELETE FROM jobs WHERE job > 2", "damaged: 3 jobs in the snapshot of"},
        {"UPDATE jobs SET name = '' WHERE job = 1", "run.db, job 1: SUBMIT: expected the name"},
        {"UPDATE jobs SET name = 'job 0' WHERE job = 1", "a job with this name exists already"},
        {"UPDATE jobs SET at_us = -1 WHERE job = 0", "run.db, job 0: at -1 us"},
        {"UPDATE jobs SET body = '[]' WHERE job = 1", "run.db, job 1:1:1: expected an object"},
        {"UPDATE states SET body = '' WHERE job = 1", "run.db, job 1:1:1: empty"},
        {"UPDATE states SET body = json_set (body, '$.phase', 'lost') WHERE job = 1",
         "phase: expected \"pending\""},
        {"UPDATE states SET body = json_remove (body, '$.hints') WHERE job = 1", "hints: expected"},
        {"UPDATE states SET body = json_set (body, '$.placement', json ('{\"n99\":1}')) WHERE job "
         "= 1",
         "placement.n99: expected a node that is known"},
        {"UPDATE states SET body = json_set (json_remove (body, '$.placement', '$.desired'), "
         "'$.phase', 'running', '$.generation', 0) WHERE job = 1",
         "job 1: it runs, but has no generation"},
        {"UPDATE states SET body = json_set (body, '$.phase', 'pending', '$.placement', "
         "json ('{\"n0\":1}')) WHERE job = 1",
         "it has slots, but does not run"},
        {"UPDATE states SET body = json_set (json_remove (body, '$.placement'), '$.phase', "
         "'finished', '$.end_us', 9e15) WHERE job = 1",
         "its end is not between"},
    };
    struct compactor compactor = {.every = 15};
    struct cluster cluster = record ("fifo", 20, &compactor);
    struct pollux_error err = {""};
    bring_up (compactor.store, &cluster);
    assert_int_equal (0, store_compact (compactor.store, &cluster, NULL, 0, NULL, &err));
    cluster_clear (&cluster);
    journal_close (compactor.store);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", journal_path);
    journal_shell ("cp %s %s", journal_path, good);
    for (size_t i = 0; i < COUNT (cases); i++) {
        journal_shell ("cp %s %s", good, journal_path);
        journal_sql (cases[i].sql);
        struct store *store = journal_open (STORE_READ);
        assert_int_equal (-EINVAL, store_restore (store, &cluster, NULL, NULL, &err));
        if (!strstr (err.text, cases[i].says))
            fail_msg ("%s: expected '%s' in: %s", cases[i].sql, cases[i].says, err.text);
        journal_close (store);
        cluster_clear (&cluster);
    }
}

/* Earlier versions left nodes available that were off; older ones did not write when a group was complete. */
static void older_snapshots_are_read (void **state)
{
    (void)state;
    struct compactor compactor = {.every = 15};
    struct cluster cluster = record ("fifo", 20, &compactor);
    bring_up (compactor.store, &cluster);
    assert_int_equal (0, store_compact (compactor.store, &cluster, NULL, 0, NULL, NULL));
    cluster_clear (&cluster);
    journal_close (compactor.store);
    journal_sql (
        "UPDATE snapshot SET body = json_remove (json_set (body, '$.nodes[0].state', 'off', "
        "'$.nodes[0].slots', 0, '$.nodes[0].available', json ('true')), "
        "'$.nodes[0].came', '$.groups.complete_us')");
    struct store *store = journal_open (STORE_READ);
    struct pollux_error err = {""};
    if (store_restore (store, &cluster, NULL, NULL, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (cluster.node_power[0].state, POWER_OFF);
    assert_false (cluster.nodes[0].available);
    journal_close (store);
    cluster_clear (&cluster);
}

/* ---- Killed at any moment ------------------------------------------------------------------- */

static const struct random_journal endless = {
    .policy = "fifo", .rounds = 1 << 20, .seed = 5, .real = true, .groups = true};

static const struct cluster no_cluster;

/* In a child: record with a compaction at every third commit until it is killed.  Never returns. */
static void record_until_killed (int pipe, int64_t events)
{
    struct history history;
    struct compactor compactor = {.every = 3, .pipe = pipe, .left = events, .history = &history};
    struct random_journal options = endless;
    history_begin (&history, &no_cluster);
    options.cold = &compactor.cold;
    struct cluster cluster;
    if (store_open (journal_path, STORE_DURABLE, &compactor.store, NULL) < 0)
        _exit (1);
    random_journal_write (&options, compactor_journal (&compactor), &cluster, NULL);
    store_close (compactor.store, NULL);
    _exit (2);
}

/* The cluster, and its history, after the first `events` of its events. */
static struct cluster prefix (int64_t events, struct history *ret)
{
    struct cluster cluster = {0}, unused;
    struct compactor compactor = {.every = 3, .left = events, .fold = &cluster, .history = ret};
    history_begin (ret, &no_cluster);
    struct random_journal options = endless;
    options.cold = &compactor.cold;
    assert_int_equal (
        -ECANCELED, random_journal_write (&options, compactor_journal (&compactor), &unused, NULL));
    return cluster;
}

/* After a child died: the journal has all confirmed events, is a prefix of the events that the
 * child wrote, and can be continued. */
static void check_journal (int64_t confirmed)
{
    struct pollux_error err = {""};
    struct cluster cluster = {0};
    struct history history, expected_history;
    struct store *store = journal_open (STORE_DURABLE);
    struct source source = store_source (store);
    struct event event;
    int rc = store_restore (store, &cluster, NULL, &history, &err);
    while (rc == 0 && (rc = source.next (source.self, &cluster, &event, &err)) == 1) {
        history_take (&history, &cluster, &event);
        rc = cluster_apply_checked (&cluster, &event, &err);
    }
    if (rc < 0)
        fail_msg ("%s", err.text);
    int64_t found = store_count (store);
    assert_true (found >= confirmed);
    struct cluster expected = prefix (found, &expected_history);
    clusters_alike (&expected, &cluster);
    histories_equal (&expected, &expected_history, &cluster, &history);
    /* It may have died between a round and its plan; a compaction is possible again. */
    assert_int_equal (0, store_compact (store, &cluster, NULL, 0, &history, &err));
    journal_close (store);
    history_clear (&history);
    history_clear (&expected_history);
    cluster_clear (&expected);
    cluster_clear (&cluster);
}

/* Fork a child that records; kill it after a while, or let a fault point kill it.  Returns its wait
 * status. */
static int run_child (int64_t events, const char *fault, unsigned kill_after_us)
{
    int pipes[2], status;
    int64_t confirmed = 0, count;
    assert_int_equal (0, pipe (pipes));
    pid_t child = fork ();
    if (child == 0) {
        setenv ("POLLUX_FAULT", fault, 1);
        record_until_killed (pipes[1], events);
    }
    close (pipes[1]);
    if (kill_after_us > 0) {
        assert_int_equal (sizeof (confirmed), read (pipes[0], &confirmed, sizeof (confirmed)));
        usleep (kill_after_us);
        kill (child, SIGKILL);
    }
    while (read (pipes[0], &count, sizeof (count)) == sizeof (count))
        confirmed = count;
    close (pipes[0]);
    assert_int_equal (child, waitpid (child, &status, 0));
    check_journal (confirmed);
    assert_int_equal (0, unlink (journal_path));
    return status;
}

static void killed_at_random (void **state)
{
    (void)state;
    struct rng rng = rng_seed (2);
    for (int i = 0; i < soak_count (100); i++)
        assert_true (WIFSIGNALED (run_child (-1, "", 1 + (unsigned)rng_below (&rng, 20000))));
}

/* At every visit of every fault point, or some of them for slow tools; only in builds with fault
 * points. */
static void killed_at_every_point (void **state)
{
    (void)state;
#ifdef POLLUX_FAULTS
    static const char *const points[] = {"append",  "commit",         "committed",
                                         "compact", "compact-commit", "compacted"};
    int stride = brief () ? 19 : 1;
    for (size_t i = 0; i < COUNT (points); i++) {
        int visit = 1 - stride, status;
        do {
            char fault[64];
            snprintf (fault, sizeof (fault), "%s:%d", points[i], visit += stride);
            status = run_child (60, fault, 0);
        } while (WIFSIGNALED (status));
        assert_true (visit > 3 && WIFEXITED (status) && WEXITSTATUS (status) == 2);
    }
#else
    fprintf (stderr, "SKIPPED: this build has no fault points; FLAVOUR=gcc does\n");
    skip ();
#endif
}

/* A limit on the file size simulates a full disk. */
static void full_disk (void **state)
{
    (void)state;
    struct compactor compactor = {.every = 0};
    struct cluster cluster = record ("fifo", 60, &compactor);
    struct rlimit before, small;
    struct pollux_error err = {""};
    signal (SIGXFSZ, SIG_IGN);
    assert_int_equal (0, getrlimit (RLIMIT_FSIZE, &before));
    small = (struct rlimit){.rlim_cur = 32 << 10, .rlim_max = before.rlim_max};
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &small));
    int rc = store_compact (compactor.store, &cluster, NULL, 0, NULL, &err);
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &before));
    signal (SIGXFSZ, SIG_DFL);
    assert_int_equal (rc, -EIO);
    assert_non_null (
        strstr (err.text, "run.db: cannot compact it: writing failed; check the disk"));
    assert_int_equal (-EIO, store_compact (compactor.store, &cluster, NULL, 0, NULL, &err));
    assert_int_equal (-EIO, store_close (compactor.store, &err));
    struct cluster folded = journal_cluster (); /* all events are kept */
    clusters_equal (&cluster, &folded);
    cluster_clear (&folded);
    cluster_clear (&cluster);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, journal_set_up, journal_tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (compacted_journal_gives_the_same_cluster),
        TEST (replay_after_a_snapshot),
        TEST (file_stays_small),
        TEST (rounds_are_kept),
        TEST (readers_notice_compaction),
        TEST (no_compaction_before_the_plan),
        TEST (unwritable_cluster),
        TEST (changed_snapshots_are_refused),
        TEST (older_snapshots_are_read),
        TEST (killed_at_random),
        TEST (killed_at_every_point),
        TEST (full_disk),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
