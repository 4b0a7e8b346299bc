/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal file: events are read as written, also after a crash at any moment; files that are
 * not journals are refused, and the message says what they are.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal_file.h"
#include "random_journal.h"
#include "store/store.h"

/* ---- A folder for each test ----------------------------------------------------------------- */

static bool file_exists (const char *suffix)
{
    char name[128];
    snprintf (name, sizeof (name), "%s%s", journal_path, suffix);
    return access (name, F_OK) == 0;
}

static int files_in_folder (void)
{
    char command[128];
    snprintf (command, sizeof (command), "ls -A %s | wc -l", journal_folder);
    FILE *pipe = popen (command, "r");
    int count = -1;
    assert_non_null (pipe);
    assert_int_equal (1, fscanf (pipe, "%d", &count));
    pclose (pipe);
    return count;
}

/* ---- Writing and reading -------------------------------------------------------------------- */

static const struct random_journal ordinary = {
    .policy = "tiresias", .rounds = 100, .seed = 3, .groups = true};

/* Record the ordinary run.  Returns the cluster at the end. */
static struct cluster record (enum store_mode mode)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct store *store = journal_open (mode);
    if (random_journal_write (&ordinary, store_journal (store), &cluster, &err) < 0)
        fail_msg ("%s", err.text);
    journal_close (store);
    return cluster;
}

static void events_are_read_as_written (void **state)
{
    (void)state;
    static const enum store_mode modes[] = {STORE_RECORD, STORE_DURABLE, STORE_ALONE};
    for (size_t i = 0; i < COUNT (modes); i++) {
        struct cluster recorded = record (modes[i]), folded = {0};
        struct store *store = journal_open (STORE_READ);
        struct pollux_error err = {""};
        int64_t count = journal_fold (store, &folded, &err);
        if (count < 0)
            fail_msg ("%s", err.text);
        assert_true (count > 500 && count == store_count (store) && count == store_seq (store));
        clusters_equal (&recorded, &folded);
        assert_int_equal (0, journal_fold (store, &folded, &err)); /* no more events */
        journal_close (store);
        cluster_clear (&recorded);
        cluster_clear (&folded);

        struct stat status;
        assert_int_equal (0, stat (journal_path, &status));
        assert_int_equal (status.st_mode & 07777, 0600);
        assert_false (file_exists ("-wal"));
        assert_int_equal (files_in_folder (), 1);
        assert_int_equal (0, unlink (journal_path));
    }
}

/* A reopened journal continues after its last event; a reader sees new commits. */
static void reopened_journal_continues (void **state)
{
    (void)state;
    struct cluster cluster = {0}, other = {0};
    struct store *writer = journal_open (STORE_DURABLE), *reader = journal_open (STORE_READ);
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < 10; i++) {
            struct event node = {.at_us = life, .type = EVENT_NODE, .job = -1};
            snprintf (node.node.name, sizeof (node.node.name), "n%d-%d", life, i);
            journal_take (writer, &cluster, &node);
        }
        assert_int_equal (0, journal_fold (reader, &other, NULL)); /* not committed yet */
        assert_int_equal (0, store_commit (writer, NULL));
        assert_int_equal (10, journal_fold (reader, &other, NULL));
        journal_close (writer);
        writer = journal_open (STORE_DURABLE);
        assert_int_equal (store_count (writer), 10 * (life + 1));
    }
    clusters_equal (&cluster, &other);
    journal_close (writer);
    journal_close (reader);
    cluster_clear (&cluster);
    cluster_clear (&other);
}

/* A second writer is refused while the first is open, also in another program; rows inserted by
 * other means are noticed. */
static void second_writer_is_refused (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct event node = {.type = EVENT_NODE, .job = -1, .node = {.name = "n0"}};
    struct store *first = journal_open (STORE_DURABLE);
    struct journal journal = store_journal (first);
    assert_int_equal (0, journal.append (journal.self, &cluster, &node, NULL));
    assert_int_equal (0, journal.commit (journal.self, NULL));
    pid_t child = fork ();
    if (child == 0) {
        struct store *second = NULL;
        struct pollux_error err = {""};
        int rc = store_open (journal_path, STORE_DURABLE, &second, &err);
        if (rc == -EBUSY && strstr (err.text, "run.db: another program writes to it"))
            raise (SIGKILL); /* success; SIGKILL, so that no tool reports leaks of the child */
        _exit (1);
    }
    int status;
    assert_int_equal (child, waitpid (child, &status, 0));
    assert_true (WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL);
    struct store *reader = journal_open (STORE_READ); /* readers are allowed */
    journal_close (reader);
    journal_sql ("INSERT INTO events SELECT 2, at_us, type, job, body FROM events");
    struct pollux_error err = {""};
    assert_int_equal (-EBUSY, journal.append (journal.self, &cluster, &node, &err));
    assert_non_null (strstr (err.text, "run.db: cannot append: another program writes to it"));
    assert_int_equal (
        -EIO, journal.append (journal.self, &cluster, &node, &err)); /* the failure is final */
    assert_int_equal (-EIO, store_close (first, &err));
    journal_close (journal_open (STORE_DURABLE));
}

static void unwritable_event_is_final (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct event good = {.type = EVENT_NODE, .job = -1, .node = {.name = "n0"}};
    struct event bad = {.type = EVENT_NODE, .job = -1};
    struct store *store = journal_open (STORE_RECORD);
    struct journal journal = store_journal (store);
    struct pollux_error err = {""};
    assert_int_equal (0, journal.append (journal.self, &cluster, &good, NULL));
    assert_int_equal (-EINVAL, journal.append (journal.self, &cluster, &bad, &err));
    assert_non_null (strstr (err.text, "run.db: cannot append: NODE: name: expected a name"));
    assert_int_equal (-EIO, journal.append (journal.self, &cluster, &good, &err));
    assert_int_equal (-EIO, store_close (store, &err));
    assert_int_equal (0, store_close (NULL, NULL));
}

static void recording_never_overwrites (void **state)
{
    (void)state;
    static const char *const what[] = {"a file", "a link to nowhere", "a folder"};
    for (size_t i = 0; i < COUNT (what); i++) {
        if (i == 0)
            close (open (journal_path, O_CREAT | O_WRONLY, 0644));
        else if (i == 1)
            assert_int_equal (0, symlink ("nowhere", journal_path));
        else
            assert_int_equal (0, mkdir (journal_path, 0700));
        struct store *store = NULL;
        struct pollux_error err = {""};
        assert_int_equal (-EEXIST, store_open (journal_path, STORE_RECORD, &store, &err));
        assert_non_null (strstr (err.text, "run.db: there is a file of that name"));
        assert_null (store);
        assert_int_equal (files_in_folder (), 1);
        assert_int_equal (0, remove (journal_path));
    }
}

/* ---- Killed at any moment ------------------------------------------------------------------- */

/* Writes the number of confirmed events to a pipe. */
struct confirming {
    struct store *store;
    struct journal journal;
    int pipe;
    int64_t appended;
    int every; /* commit after so many events; 0: the store commits */
};

static int confirming_append (void *self, const struct cluster *cluster, const struct event *event,
                              struct pollux_error *err)
{
    struct confirming *confirming = self;
    int rc = confirming->journal.append (confirming->journal.self, cluster, event, err);
    if (rc < 0)
        return rc;
    confirming->appended++;
    bool confirmed = confirming->appended % STORE_RECORD_EVENTS == 0;
    if (confirming->every > 0) {
        confirmed = confirming->appended % confirming->every == 0;
        rc = confirmed ? store_commit (confirming->store, err) : 0;
    }
    if (rc == 0 && confirmed &&
        write (confirming->pipe, &confirming->appended, sizeof (confirming->appended)) < 0)
        return -errno;
    return rc;
}

/* In a child: record until killed.  Never returns. */
static void record_until_killed (enum store_mode mode, int pipe)
{
    struct confirming confirming = {.pipe = pipe, .every = mode == STORE_DURABLE ? 7 : 0};
    struct random_journal endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    struct cluster cluster;
    if (store_open (journal_path, mode, &confirming.store, NULL) < 0)
        _exit (1);
    confirming.journal = store_journal (confirming.store);
    random_journal_write (&endless,
                          (struct journal){.append = confirming_append, .self = &confirming},
                          &cluster, NULL);
    _exit (1);
}

/* A fold of the first `count` events that the child would have written. */
struct prefix {
    struct cluster cluster;
    int64_t left;
};

static int prefix_append (void *self, const struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    (void)cluster;
    struct prefix *prefix = self;
    if (prefix->left-- == 0)
        return -ECANCELED;
    return cluster_apply (&prefix->cluster, event, err);
}

static void killed_while_writing (enum store_mode mode, unsigned delay_us)
{
    int pipes[2];
    assert_int_equal (0, pipe (pipes));
    pid_t child = fork ();
    if (child == 0)
        record_until_killed (mode, pipes[1]);
    close (pipes[1]);
    int64_t confirmed = 0, count;
    assert_int_equal (sizeof (count), read (pipes[0], &count, sizeof (count)));
    usleep (delay_us);
    kill (child, SIGKILL);
    int status;
    assert_int_equal (child, waitpid (child, &status, 0));
    assert_true (WIFSIGNALED (status));
    do {
        confirmed = count;
    } while (read (pipes[0], &count, sizeof (count)) == sizeof (count));
    close (pipes[0]);

    struct cluster folded = {0}, unused;
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_READ);
    int64_t found = journal_fold (store, &folded, &err);
    if (found < 0)
        fail_msg ("%s", err.text);
    assert_true (found >= confirmed);
    if (mode == STORE_RECORD)
        assert_int_equal (found % STORE_RECORD_EVENTS, 0);
    struct random_journal endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    struct prefix prefix = {.left = found};
    assert_int_equal (
        -ECANCELED,
        random_journal_write (&endless, (struct journal){.append = prefix_append, .self = &prefix},
                              &unused, &err));
    clusters_equal (&prefix.cluster, &folded);
    journal_close (store);
    cluster_clear (&folded);
    cluster_clear (&prefix.cluster);

    store = journal_open (STORE_DURABLE); /* it can be continued */
    assert_int_equal (store_count (store), found);
    journal_close (store);
    assert_int_equal (0, unlink (journal_path));
}

static void killed_recording_is_a_prefix (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < soak_count (50); i++)
        killed_while_writing (STORE_RECORD, (unsigned)rng_below (&rng, 20000));
}

static void killed_daemon_keeps_what_it_confirmed (void **state)
{
    (void)state;
    struct rng rng = rng_seed (2);
    for (int i = 0; i < soak_count (50); i++)
        killed_while_writing (STORE_DURABLE, (unsigned)rng_below (&rng, 20000));
}

/* ---- Files that are not journals ------------------------------------------------------------ */

static void write_file (const void *bytes, size_t size)
{
    FILE *file = fopen (journal_path, "w");
    assert_non_null (file);
    assert_int_equal (size, fwrite (bytes, 1, size, file));
    assert_int_equal (0, fclose (file));
}

static void other_files_are_refused (void **state)
{
    (void)state;
    static const enum store_mode modes[] = {STORE_READ, STORE_DURABLE};
    char noise[8192];
    struct rng rng = rng_seed (9);
    for (size_t i = 0; i < sizeof (noise); i++)
        noise[i] = (char)rng_next (&rng);
    journal_refused (STORE_READ, -ENOENT, "cannot open it: No such file");
    for (size_t i = 0; i < COUNT (modes); i++) {
        write_file ("", 0);
        journal_refused (modes[i], -EINVAL, "empty, which a journal never is");
        write_file ("job,time\n", 9);
        journal_refused (modes[i], -EINVAL, "no journal: expected an SQLite database");
        write_file (noise, sizeof (noise));
        journal_refused (modes[i], -EINVAL, "no journal: expected an SQLite database");
        assert_int_equal (0, unlink (journal_path));
        assert_int_equal (0, mkdir (journal_path, 0700));
        journal_refused (modes[i], -EINVAL, "expected a file");
        assert_int_equal (0, rmdir (journal_path));
        assert_int_equal (0, mkfifo (journal_path, 0700));
        journal_refused (modes[i], -EINVAL, "expected a file");
        assert_int_equal (0, unlink (journal_path));
    }
    memcpy (journal_path + strlen (journal_folder), "/no/run.db", sizeof ("/no/run.db"));
    journal_refused (STORE_RECORD, -ENOENT, "cannot create it: No such file");
    journal_refused (STORE_DURABLE, -ENOENT, "cannot create it: No such file");
}

/* Changes of a valid journal that are found when it is opened. */
static void changed_tables_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE meta SET value = '5' WHERE key = 'version'", "its version is 5"},
        {"UPDATE meta SET value = '1' WHERE key = 'version'", "its tables are not those"},
        {"UPDATE meta SET value = '999999999999' WHERE key = 'version'", "use a newer one"},
        {"UPDATE meta SET value = 'one' WHERE key = 'version'", "has no version"},
        {"UPDATE meta SET value = '-1' WHERE key = 'version'", "has no version"},
        {"DELETE FROM meta", "has no version"},
        {"DROP TABLE meta", "no journal of pollux"},
        {"DROP TABLE meta; CREATE TABLE meta (key, value)", "no journal of pollux"},
        {"DROP TABLE meta; CREATE VIEW meta AS SELECT 'version' AS key, '1' AS value",
         "no journal of pollux"},
        {"DROP TABLE events", "its tables are not those"},
        {"CREATE INDEX extra ON events (job)", "its tables are not those"},
        {"CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM events; END",
         "its tables are not those"},
        {"DELETE FROM events WHERE seq = 50", "damaged: event 50 is missing; restore"},
        {"DELETE FROM events WHERE seq = 1", "damaged: event 1 is missing"},
        {"UPDATE events SET seq = -5 WHERE seq = 1", "it begins with event -5, expected 1"},
        {"INSERT INTO snapshot VALUES (7, '{}')", "it begins with event 1, expected 8"},
    };
    struct cluster cluster = record (STORE_RECORD);
    cluster_clear (&cluster);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", journal_path);
    journal_shell ("cp %s %s", journal_path, good);
    for (size_t i = 0; i < COUNT (cases); i++) {
        journal_shell ("cp %s %s", good, journal_path);
        journal_sql (cases[i].sql);
        journal_refused (STORE_READ, -EINVAL, cases[i].says);
        journal_refused (STORE_DURABLE, -EINVAL, cases[i].says);
    }
}

/* Changes that are found when the row is read. */
static void changed_rows_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE events SET type = 'MERGE' WHERE seq = 50",
         "run.db, event 50: the type is 'MERGE', which this version does not know"},
        {"UPDATE events SET type = 'NODE' || char (0) WHERE seq = 1", "event 1 is no event"},
        {"UPDATE events SET body = '{' WHERE seq = 50", "run.db, event 50:1:1: not well-formed"},
        {"UPDATE events SET body = '{}' WHERE seq = 1", "run.db, event 1:1:1: name: expected"},
        {"UPDATE events SET at_us = -1 WHERE seq = 1", "run.db, event 1: at -1 us"},
        {"UPDATE events SET job = 'x' WHERE seq = 1", "run.db, event 1: NODE of job 'x'"},
    };
    struct cluster cluster = record (STORE_RECORD);
    cluster_clear (&cluster);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", journal_path);
    journal_shell ("cp %s %s", journal_path, good);
    for (size_t i = 0; i < COUNT (cases); i++) {
        journal_shell ("cp %s %s", good, journal_path);
        journal_sql (cases[i].sql);
        struct store *store = journal_open (STORE_READ);
        struct cluster folded = {0};
        struct pollux_error err = {""};
        assert_int_equal (-EINVAL, journal_fold (store, &folded, &err));
        if (!strstr (err.text, cases[i].says))
            fail_msg ("%s: expected '%s' in: %s", cases[i].sql, cases[i].says, err.text);
        journal_close (store);
        cluster_clear (&folded);
    }
}

/* A truncated file, or random bytes at any place: refused when opened or read, or accepted if a
 * body changed into another legal one; never a crash, never silently empty. */
static void damaged_pages (void **state)
{
    (void)state;
    struct cluster recorded = record (STORE_RECORD);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", journal_path);
    journal_shell ("cp %s %s", journal_path, good);
    int64_t size = journal_size ();
    int refusals = 0, tries = soak_count (1000);
    struct rng rng = rng_seed (4);
    for (int i = 0; i < tries; i++) {
        journal_shell ("cp %s %s", good, journal_path);
        bool cut = i % 4 == 0;
        if (cut) {
            assert_int_equal (0, truncate (journal_path, (off_t)rng_below (&rng, (uint64_t)size)));
        } else {
            FILE *file = fopen (journal_path, "r+");
            assert_non_null (file);
            /* Every second time in the header of a page. */
            long at = i % 2 ? 4096 * (long)rng_below (&rng, (uint64_t)size / 4096)
                            : (long)rng_below (&rng, (uint64_t)size - 16);
            uint64_t noise[2] = {rng_next (&rng), rng_next (&rng)};
            fseek (file, at, SEEK_SET);
            fwrite (noise, 1, 1 + rng_below (&rng, 16), file);
            assert_int_equal (0, fclose (file));
        }
        struct store *store = NULL;
        struct cluster folded = {0};
        struct pollux_error err = {""};
        int64_t rc = store_open (journal_path, STORE_READ, &store, &err);
        if (rc == 0)
            rc = journal_fold (store, &folded, &err);
        store_close (store, NULL);
        refusals += rc < 0;
        if (rc < 0)
            assert_true (strlen (err.text) > 20);
        else
            assert_int_equal (folded.node_count, recorded.node_count);
        if (cut)
            assert_true (rc < 0);
        cluster_clear (&folded);
    }
    assert_true (refusals > tries / 2);
    cluster_clear (&recorded);
}

/* ---- Permissions and disks ------------------------------------------------------------------ */

/* In a child that is not root: the number of the step that failed, or 0. */
static int as_nobody (int (*steps) (void))
{
    pid_t child = fork ();
    if (child == 0) {
        bool root = geteuid () == 0;
        _exit (root && (setgid (65534) < 0 || setuid (65534) < 0) ? 99 : steps ());
    }
    int status;
    assert_int_equal (child, waitpid (child, &status, 0));
    assert_true (WIFEXITED (status));
    return WEXITSTATUS (status);
}

static int write_steps (void)
{
    struct store *store = NULL;
    struct cluster cluster = {0};
    int rc = store_open (journal_path, STORE_DURABLE, &store, NULL);
    if (rc == 0)
        rc = random_journal_write (&ordinary, store_journal (store), &cluster, NULL);
    cluster_clear (&cluster);
    return rc < 0 || store_close (store, NULL) < 0 ? 1 : 0;
}

static int read_only_steps (void)
{
    struct store *store = NULL;
    struct cluster cluster = {0};
    if (store_open (journal_path, STORE_READ, &store, NULL) < 0)
        return 1;
    if (journal_fold (store, &cluster, NULL) < 500)
        return 2;
    cluster_clear (&cluster);
    if (store_close (store, NULL) < 0 || files_in_folder () != 1)
        return 3; /* a reader leaves nothing behind */
    struct pollux_error err = {""};
    if (store_open (journal_path, STORE_DURABLE, &store, &err) != -EROFS ||
        !strstr (err.text, "it may only be read; check"))
        return 4;
    memcpy (journal_path + strlen (journal_folder), "/new.db", sizeof ("/new.db"));
    if (store_open (journal_path, STORE_RECORD, &store, &err) != -EACCES ||
        !strstr (err.text, "new.db: cannot create it: Permission denied"))
        return 5;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) != -EACCES)
        return 6;
    return 0;
}

static int unreadable_steps (void)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    if (store_open (journal_path, STORE_READ, &store, &err) != -EACCES ||
        !strstr (err.text, "run.db: cannot open it: Permission denied"))
        return 1;
    return 0;
}

static void permissions (void **state)
{
    (void)state;
    assert_int_equal (0, chmod (journal_folder, 0777));
    assert_int_equal (0, as_nobody (write_steps));
    /* A closed journal, and a copy of a journal in use. */
    static const char *const modes[] = {"DELETE", "WAL"};
    for (size_t i = 0; i < COUNT (modes); i++) {
        char statement[64];
        snprintf (statement, sizeof (statement), "PRAGMA journal_mode = %s", modes[i]);
        journal_sql (statement);
        assert_int_equal (0, chmod (journal_path, 0444));
        assert_int_equal (0, chmod (journal_folder, 0555));
        assert_int_equal (0, as_nobody (read_only_steps));
        assert_int_equal (0, chmod (journal_path, 0600));
        assert_int_equal (0, chmod (journal_folder, 0777));
    }
    assert_int_equal (0, chmod (journal_path, 0000));
    assert_int_equal (0, as_nobody (unreadable_steps));
    assert_int_equal (0, chmod (journal_folder, 0777));
}

/* A limit on the file size simulates a full disk. */
static void full_disk (void **state)
{
    (void)state;
    struct store *store = journal_open (STORE_RECORD);
    signal (SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {.rlim_cur = 256 << 10};
    assert_int_equal (0, getrlimit (RLIMIT_FSIZE, &before));
    small.rlim_max = before.rlim_max;
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &small));
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct random_journal endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    int rc = random_journal_write (&endless, store_journal (store), &cluster, &err);
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &before));
    signal (SIGXFSZ, SIG_DFL);
    assert_int_equal (rc, -EIO);
    assert_non_null (strstr (err.text, "run.db: cannot commit: writing failed; check the disk"));
    assert_int_equal (-EIO, store_close (store, &err));
    store = journal_open (STORE_READ); /* earlier commits are kept */
    int64_t count = journal_fold (store, &cluster, &err);
    assert_true (count > 0 && count % STORE_RECORD_EVENTS == 0);
    journal_close (store);
    cluster_clear (&cluster);
}

/* Names that have a special meaning for SQLite. */
static void strange_names (void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "a?mode=ro", "x%20y", "file:z.db", "#1"};
    char before[256];
    assert_non_null (getcwd (before, sizeof (before)));
    assert_int_equal (0, chdir (journal_folder));
    for (size_t i = 0; i < COUNT (names); i++) {
        struct store *store = NULL;
        assert_int_equal (0, store_open (names[i], STORE_RECORD, &store, NULL));
        assert_int_equal (0, store_close (store, NULL));
        assert_int_equal (0, access (names[i], F_OK));
        assert_int_equal (0, store_open (names[i], STORE_READ, &store, NULL));
        assert_int_equal (0, store_close (store, NULL));
    }
    assert_int_equal (files_in_folder (), (int)COUNT (names));
    assert_int_equal (0, chdir (before));
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, journal_set_up, journal_tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (events_are_read_as_written),
        TEST (reopened_journal_continues),
        TEST (second_writer_is_refused),
        TEST (unwritable_event_is_final),
        TEST (recording_never_overwrites),
        TEST (killed_recording_is_a_prefix),
        TEST (killed_daemon_keeps_what_it_confirmed),
        TEST (other_files_are_refused),
        TEST (changed_tables_are_refused),
        TEST (changed_rows_are_refused),
        TEST (damaged_pages),
        TEST (permissions),
        TEST (full_disk),
        TEST (strange_names),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
