/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal in its file: what is written is read again, also after a crash at any moment, and
 * files that are not journals are refused with a word about what they are.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recording.h"
#include "store/store.h"

/* ---- A folder for each test ----------------------------------------------------------------- */

static char folder[64], path[96];

static int set_up (void **state)
{
    (void)state;
    snprintf (folder, sizeof (folder), "/tmp/pollux-store-XXXXXX");
    if (!mkdtemp (folder))
        return -1;
    snprintf (path, sizeof (path), "%s/run.db", folder);
    return 0;
}

static void shell (const char *format, const char *one, const char *two)
{
    char command[256];
    snprintf (command, sizeof (command), format, one, two);
    assert_int_equal (0, system (command));
}

static int tear_down (void **state)
{
    (void)state;
    shell ("rm -rf %s%s", folder, "");
    return 0;
}

static bool there (const char *suffix)
{
    char name[128];
    snprintf (name, sizeof (name), "%s%s", path, suffix);
    return access (name, F_OK) == 0;
}

static int files_in_folder (void)
{
    char command[128];
    snprintf (command, sizeof (command), "ls -A %s | wc -l", folder);
    FILE *pipe = popen (command, "r");
    int count = -1;
    assert_non_null (pipe);
    assert_int_equal (1, fscanf (pipe, "%d", &count));
    pclose (pipe);
    return count;
}

/* ---- Writing and reading -------------------------------------------------------------------- */

static struct store *open_store (enum store_mode mode)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    if (store_open (path, mode, &store, &err) < 0)
        fail_msg ("%s", err.text);
    return store;
}

static void close_store (struct store *store)
{
    struct pollux_error err = {""};
    if (store_close (store, &err) < 0)
        fail_msg ("%s", err.text);
}

static const struct recording ordinary = {.policy = "tiresias", .rounds = 100, .seed = 3};

/* Record the ordinary cluster; what is believed at the end. */
static struct cluster record (enum store_mode mode)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct store *store = open_store (mode);
    if (recording_run (&ordinary, store_journal (store), &cluster, &err) < 0)
        fail_msg ("%s", err.text);
    close_store (store);
    return cluster;
}

/* Fold what is in the file from where the store is: how many events there were, or an error. */
static int64_t fold (struct store *store, struct cluster *cluster, struct pollux_error *err)
{
    struct source source = store_source (store);
    struct event event;
    int64_t count = 0;
    int rc;
    while ((rc = source.next (source.self, cluster, &event, err)) == 1) {
        rc = cluster_apply (cluster, &event, err);
        if (rc < 0)
            break;
        count++;
    }
    return rc < 0 ? rc : count;
}

static void comes_back (void **state)
{
    (void)state;
    static const enum store_mode modes[] = {STORE_RECORD, STORE_DURABLE};
    for (size_t i = 0; i < COUNT (modes); i++) {
        struct cluster believed = record (modes[i]), folded = {0};
        struct store *store = open_store (STORE_READ);
        struct pollux_error err = {""};
        int64_t count = fold (store, &folded, &err);
        if (count < 0)
            fail_msg ("%s", err.text);
        assert_true (count > 500 && count == store_count (store) && count == store_seq (store));
        clusters_equal (&believed, &folded);
        assert_int_equal (0, fold (store, &folded, &err)); /* and no more */
        close_store (store);
        cluster_clear (&believed);
        cluster_clear (&folded);

        struct stat status;
        assert_int_equal (0, stat (path, &status));
        assert_int_equal (status.st_mode & 07777, 0600);
        assert_false (there ("-wal"));
        assert_int_equal (files_in_folder (), 1);
        assert_int_equal (0, unlink (path));
    }
}

/* A journal goes on where it ended, and a reader sees what was committed meanwhile. */
static void goes_on (void **state)
{
    (void)state;
    struct cluster cluster = {0}, other = {0};
    struct store *writer = open_store (STORE_DURABLE), *reader = open_store (STORE_READ);
    for (int life = 0; life < 3; life++) {
        for (int i = 0; i < 10; i++) {
            struct event node = {.at_us = life, .type = EVENT_NODE, .job = -1};
            snprintf (node.node.name, sizeof (node.node.name), "n%d-%d", life, i);
            struct journal journal = store_journal (writer);
            assert_int_equal (0, journal.append (journal.self, &cluster, &node, NULL));
            assert_int_equal (0, cluster_apply (&cluster, &node, NULL));
        }
        assert_int_equal (0, fold (reader, &other, NULL)); /* not yet */
        assert_int_equal (0, store_commit (writer, NULL));
        assert_int_equal (10, fold (reader, &other, NULL));
        close_store (writer);
        writer = open_store (STORE_DURABLE);
        assert_int_equal (store_count (writer), 10 * (life + 1));
    }
    clusters_equal (&cluster, &other);
    close_store (writer);
    close_store (reader);
    cluster_clear (&cluster);
    cluster_clear (&other);
}

static void two_writers_do_not_mix (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct event node = {.type = EVENT_NODE, .job = -1, .node = {.name = "n0"}};
    struct store *first = open_store (STORE_DURABLE), *second = open_store (STORE_DURABLE);
    struct journal one = store_journal (first), two = store_journal (second);
    assert_int_equal (0, one.append (one.self, &cluster, &node, NULL));
    assert_int_equal (0, store_commit (first, NULL));
    struct pollux_error err = {""};
    assert_int_equal (-EBUSY, two.append (two.self, &cluster, &node, &err));
    assert_non_null (strstr (err.text, "run.db: cannot append: another program writes to it"));
    assert_int_equal (-EIO, two.append (two.self, &cluster, &node, &err)); /* and for ever */
    assert_int_equal (-EIO, store_close (second, &err));
    close_store (first);
}

static void unwritable_event_is_final (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct event good = {.type = EVENT_NODE, .job = -1, .node = {.name = "n0"}};
    struct event bad = {.type = EVENT_NODE, .job = -1};
    struct store *store = open_store (STORE_RECORD);
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
            close (open (path, O_CREAT | O_WRONLY, 0644));
        else if (i == 1)
            assert_int_equal (0, symlink ("nowhere", path));
        else
            assert_int_equal (0, mkdir (path, 0700));
        struct store *store = NULL;
        struct pollux_error err = {""};
        assert_int_equal (-EEXIST, store_open (path, STORE_RECORD, &store, &err));
        assert_non_null (strstr (err.text, "run.db: there is a file of that name"));
        assert_null (store);
        assert_int_equal (files_in_folder (), 1);
        assert_int_equal (0, remove (path));
    }
}

/* ---- Death at any moment -------------------------------------------------------------------- */

/* Tells through a pipe how many events were confirmed. */
struct witness {
    struct store *store;
    struct journal journal;
    int pipe;
    int64_t appended;
    int every; /* commit after so many; 0: the store does it */
};

static int witness_append (void *self, const struct cluster *cluster, const struct event *event,
                           struct pollux_error *err)
{
    struct witness *witness = self;
    int rc = witness->journal.append (witness->journal.self, cluster, event, err);
    if (rc < 0)
        return rc;
    witness->appended++;
    bool confirmed = witness->appended % STORE_RECORD_EVENTS == 0;
    if (witness->every > 0) {
        confirmed = witness->appended % witness->every == 0;
        rc = confirmed ? store_commit (witness->store, err) : 0;
    }
    if (rc == 0 && confirmed &&
        write (witness->pipe, &witness->appended, sizeof (witness->appended)) < 0)
        return -errno;
    return rc;
}

/* In a child: record until killed.  Never returns. */
static void record_for_ever (enum store_mode mode, int pipe)
{
    struct witness witness = {.pipe = pipe, .every = mode == STORE_DURABLE ? 7 : 0};
    struct recording endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    struct cluster cluster;
    if (store_open (path, mode, &witness.store, NULL) < 0)
        _exit (1);
    witness.journal = store_journal (witness.store);
    recording_run (&endless, (struct journal){.append = witness_append, .self = &witness}, &cluster,
                   NULL);
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
        record_for_ever (mode, pipes[1]);
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
    struct store *store = open_store (STORE_READ);
    int64_t found = fold (store, &folded, &err);
    if (found < 0)
        fail_msg ("%s", err.text);
    assert_true (found >= confirmed);
    if (mode == STORE_RECORD)
        assert_int_equal (found % STORE_RECORD_EVENTS, 0);
    struct recording endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    struct prefix prefix = {.left = found};
    assert_int_equal (-ECANCELED,
                      recording_run (&endless,
                                     (struct journal){.append = prefix_append, .self = &prefix},
                                     &unused, &err));
    clusters_equal (&prefix.cluster, &folded);
    close_store (store);
    cluster_clear (&folded);
    cluster_clear (&prefix.cluster);

    store = open_store (STORE_DURABLE); /* and it can go on */
    assert_int_equal (store_count (store), found);
    close_store (store);
    assert_int_equal (0, unlink (path));
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

/* ---- Files that are no journals ------------------------------------------------------------- */

static void refused (enum store_mode mode, int code, const char *says)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    int rc = store_open (path, mode, &store, &err);
    if (rc != code || !strstr (err.text, says))
        fail_msg ("expected %d and '%s', got %d and: %s", code, says, rc, err.text);
    assert_non_null (strstr (err.text, "run.db: "));
    assert_null (store);
}

static void write_file (const void *bytes, size_t size)
{
    FILE *file = fopen (path, "w");
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
    refused (STORE_READ, -ENOENT, "cannot open it: No such file");
    for (size_t i = 0; i < COUNT (modes); i++) {
        write_file ("", 0);
        refused (modes[i], -EINVAL, "empty, which a journal never is");
        write_file ("job,time\n", 9);
        refused (modes[i], -EINVAL, "no journal: expected an SQLite database");
        write_file (noise, sizeof (noise));
        refused (modes[i], -EINVAL, "no journal: expected an SQLite database");
        assert_int_equal (0, unlink (path));
        assert_int_equal (0, mkdir (path, 0700));
        refused (modes[i], -EINVAL, "expected a file");
        assert_int_equal (0, rmdir (path));
        assert_int_equal (0, mkfifo (path, 0700));
        refused (modes[i], -EINVAL, "expected a file");
        assert_int_equal (0, unlink (path));
    }
    memcpy (path + strlen (folder), "/no/run.db", sizeof ("/no/run.db"));
    refused (STORE_RECORD, -ENOENT, "cannot create it: No such file");
    refused (STORE_DURABLE, -ENOENT, "cannot create it: No such file");
}

static void sql (const char *statements)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal (SQLITE_OK, sqlite3_open (path, &db));
    if (sqlite3_exec (db, statements, NULL, NULL, &message) != SQLITE_OK)
        fail_msg ("%s: %s", statements, message);
    assert_int_equal (SQLITE_OK, sqlite3_close (db));
}

/* Changes of a good journal that are found when it is opened. */
static void changed_tables_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE meta SET value = '2' WHERE key = 'version'", "its version is 2"},
        {"UPDATE meta SET value = '999999999999' WHERE key = 'version'", "use a newer one"},
        {"UPDATE meta SET value = 'one' WHERE key = 'version'", "does not tell its version"},
        {"UPDATE meta SET value = '-1' WHERE key = 'version'", "does not tell its version"},
        {"DELETE FROM meta", "does not tell its version"},
        {"DROP TABLE meta", "no journal of pollux"},
        {"DROP TABLE meta; CREATE TABLE meta (key, value)", "no journal of pollux"},
        {"DROP TABLE meta; CREATE VIEW meta AS SELECT 'version' AS key, '1' AS value",
         "no journal of pollux"},
        {"DROP TABLE events", "its tables are not those"},
        {"CREATE INDEX extra ON events (job)", "its tables are not those"},
        {"CREATE TRIGGER more AFTER INSERT ON events BEGIN DELETE FROM events; END",
         "its tables are not those"},
        {"INSERT INTO snapshot VALUES (1, '{}')", "begins with a snapshot"},
    };
    struct cluster cluster = record (STORE_RECORD);
    cluster_clear (&cluster);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", path);
    shell ("cp %s %s", path, good);
    for (size_t i = 0; i < COUNT (cases); i++) {
        shell ("cp %s %s", good, path);
        sql (cases[i].sql);
        refused (STORE_READ, -EINVAL, cases[i].says);
        refused (STORE_DURABLE, -EINVAL, cases[i].says);
    }
}

/* Changes that are found when the row is read. */
static void changed_rows_are_refused (void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"DELETE FROM events WHERE seq = 50", "run.db: damaged: event 50 is missing"},
        {"DELETE FROM events WHERE seq = 1", "run.db: damaged: event 1 is missing"},
        {"UPDATE events SET seq = -5 WHERE seq = 1", "run.db: damaged: event 1 is missing"},
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
    snprintf (good, sizeof (good), "%s.good", path);
    shell ("cp %s %s", path, good);
    for (size_t i = 0; i < COUNT (cases); i++) {
        shell ("cp %s %s", good, path);
        sql (cases[i].sql);
        struct store *store = open_store (STORE_READ);
        struct cluster folded = {0};
        struct pollux_error err = {""};
        assert_int_equal (-EINVAL, fold (store, &folded, &err));
        if (!strstr (err.text, cases[i].says))
            fail_msg ("%s: expected '%s' in: %s", cases[i].sql, cases[i].says, err.text);
        close_store (store);
        cluster_clear (&folded);
    }
}

static long file_size (void)
{
    struct stat status;
    assert_int_equal (0, stat (path, &status));
    return (long)status.st_size;
}

/* Cut anywhere, or noise anywhere: refused when opened, or when read, or something in a body was
 * changed into something else that is legal; never a crash, and never silently empty. */
static void damaged_pages (void **state)
{
    (void)state;
    struct cluster believed = record (STORE_RECORD);
    char good[128];
    snprintf (good, sizeof (good), "%s.good", path);
    shell ("cp %s %s", path, good);
    long size = file_size ();
    int refusals = 0, tries = soak_count (1000);
    struct rng rng = rng_seed (4);
    for (int i = 0; i < tries; i++) {
        shell ("cp %s %s", good, path);
        bool cut = i % 4 == 0;
        if (cut) {
            assert_int_equal (0, truncate (path, (off_t)rng_below (&rng, (uint64_t)size)));
        } else {
            FILE *file = fopen (path, "r+");
            assert_non_null (file);
            /* Every other time in the header of a page, where it hurts. */
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
        int64_t rc = store_open (path, STORE_READ, &store, &err);
        if (rc == 0)
            rc = fold (store, &folded, &err);
        store_close (store, NULL);
        refusals += rc < 0;
        if (rc < 0)
            assert_true (strlen (err.text) > 20);
        else
            assert_int_equal (folded.node_count, believed.node_count);
        if (cut)
            assert_true (rc < 0);
        cluster_clear (&folded);
    }
    assert_true (refusals > tries / 2);
    cluster_clear (&believed);
}

/* ---- Places where nothing can be written ---------------------------------------------------- */

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
    int rc = store_open (path, STORE_DURABLE, &store, NULL);
    if (rc == 0)
        rc = recording_run (&ordinary, store_journal (store), &cluster, NULL);
    cluster_clear (&cluster);
    return rc < 0 || store_close (store, NULL) < 0 ? 1 : 0;
}

static int read_only_steps (void)
{
    struct store *store = NULL;
    struct cluster cluster = {0};
    if (store_open (path, STORE_READ, &store, NULL) < 0)
        return 1;
    if (fold (store, &cluster, NULL) < 500)
        return 2;
    cluster_clear (&cluster);
    if (store_close (store, NULL) < 0 || files_in_folder () != 1)
        return 3; /* a reader leaves nothing behind */
    struct pollux_error err = {""};
    if (store_open (path, STORE_DURABLE, &store, &err) != -EROFS ||
        !strstr (err.text, "it may only be read; check"))
        return 4;
    memcpy (path + strlen (folder), "/new.db", sizeof ("/new.db"));
    if (store_open (path, STORE_RECORD, &store, &err) != -EACCES ||
        !strstr (err.text, "new.db: cannot create it: Permission denied"))
        return 5;
    if (store_open (path, STORE_DURABLE, &store, &err) != -EACCES)
        return 6;
    return 0;
}

static int unreadable_steps (void)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    if (store_open (path, STORE_READ, &store, &err) != -EACCES ||
        !strstr (err.text, "run.db: cannot open it: Permission denied"))
        return 1;
    return 0;
}

static void places_of_others (void **state)
{
    (void)state;
    assert_int_equal (0, chmod (folder, 0777));
    assert_int_equal (0, as_nobody (write_steps));
    /* At rest, and as a copy of one in use would be. */
    static const char *const modes[] = {"DELETE", "WAL"};
    for (size_t i = 0; i < COUNT (modes); i++) {
        char statement[64];
        snprintf (statement, sizeof (statement), "PRAGMA journal_mode = %s", modes[i]);
        sql (statement);
        assert_int_equal (0, chmod (path, 0444));
        assert_int_equal (0, chmod (folder, 0555));
        assert_int_equal (0, as_nobody (read_only_steps));
        assert_int_equal (0, chmod (path, 0600));
        assert_int_equal (0, chmod (folder, 0777));
    }
    assert_int_equal (0, chmod (path, 0000));
    assert_int_equal (0, as_nobody (unreadable_steps));
    assert_int_equal (0, chmod (folder, 0777));
}

/* A file that may not grow further stands for a full disk. */
static void full_disk (void **state)
{
    (void)state;
    struct store *store = open_store (STORE_RECORD);
    signal (SIGXFSZ, SIG_IGN);
    struct rlimit before, small = {.rlim_cur = 256 << 10};
    assert_int_equal (0, getrlimit (RLIMIT_FSIZE, &before));
    small.rlim_max = before.rlim_max;
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &small));
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct recording endless = {.policy = "fifo", .rounds = 1 << 20, .seed = 5};
    int rc = recording_run (&endless, store_journal (store), &cluster, &err);
    assert_int_equal (0, setrlimit (RLIMIT_FSIZE, &before));
    signal (SIGXFSZ, SIG_DFL);
    assert_int_equal (rc, -EIO);
    assert_non_null (strstr (err.text, "run.db: cannot commit: writing failed; check the disk"));
    assert_int_equal (-EIO, store_close (store, &err));
    store = open_store (STORE_READ); /* what was committed before is there */
    int64_t count = fold (store, &cluster, &err);
    assert_true (count > 0 && count % STORE_RECORD_EVENTS == 0);
    close_store (store);
    cluster_clear (&cluster);
}

/* Names that SQLite would take for something else. */
static void strange_names (void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "a?mode=ro", "x%20y", "file:z.db", "#1"};
    char before[256];
    assert_non_null (getcwd (before, sizeof (before)));
    assert_int_equal (0, chdir (folder));
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

#define TEST(name) cmocka_unit_test_setup_teardown (name, set_up, tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (comes_back),
        TEST (goes_on),
        TEST (two_writers_do_not_mix),
        TEST (unwritable_event_is_final),
        TEST (recording_never_overwrites),
        TEST (killed_recording_is_a_prefix),
        TEST (killed_daemon_keeps_what_it_confirmed),
        TEST (other_files_are_refused),
        TEST (changed_tables_are_refused),
        TEST (changed_rows_are_refused),
        TEST (damaged_pages),
        TEST (places_of_others),
        TEST (full_disk),
        TEST (strange_names),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
