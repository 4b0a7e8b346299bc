/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Journals on full and read-only disks: the message says so, confirmed events are kept, and with
 * free space the journal continues.  Each test runs in a child with its own mount namespace: its
 * file system disappears when the child ends.
 */
#define _GNU_SOURCE
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal_file.h"
#include "random_journal.h"

enum { CANNOT_MOUNT = 77 };

/* Run `steps` in a child on a new file system; they return 0, or the number of the failed step. */
static void on_disk (int (*steps) (void), const char *options)
{
    pid_t child = fork ();
    if (child == 0) {
        if (unshare (CLONE_NEWNS) < 0 ||
            mount ("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount ("pollux-test", journal_folder, "tmpfs", 0, options) < 0)
            _exit (CANNOT_MOUNT);
        _exit (steps ());
    }
    int status;
    assert_int_equal (child, waitpid (child, &status, 0));
    assert_true (WIFEXITED (status));
    if (WEXITSTATUS (status) == CANNOT_MOUNT) {
        fprintf (stderr, "SKIPPED: this needs to mount a file system\n");
        skip ();
    }
    assert_int_equal (WEXITSTATUS (status), 0);
}

static int remount (unsigned long flags, const char *options)
{
    return mount ("pollux-test", journal_folder, "tmpfs", MS_REMOUNT | flags, options);
}

/* ---- Full ----------------------------------------------------------------------------------- */

struct counter {
    struct journal journal;
    int64_t appended, confirmed;
};

static int count_append (void *self, const struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    struct counter *counter = self;
    int rc = counter->journal.append (counter->journal.self, cluster, event, err);
    counter->appended += rc == 0;
    return rc;
}

static int count_commit (void *self, struct pollux_error *err)
{
    struct counter *counter = self;
    int rc = counter->journal.commit (counter->journal.self, err);
    counter->confirmed = rc == 0 ? counter->appended : counter->confirmed;
    return rc;
}

static int full_steps (void)
{
    const struct random_journal endless = {
        .policy = "fifo", .rounds = 1 << 20, .seed = 5, .real = true};
    struct pollux_error err = {""};
    struct cluster cluster = {0};
    struct store *store = NULL;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) < 0)
        return 1;
    struct counter counter = {.journal = store_journal (store)};
    struct journal journal = {.append = count_append, .commit = count_commit, .self = &counter};
    if (random_journal_write (&endless, journal, &cluster, &err) != -ENOSPC ||
        !strstr (err.text, "the disk is full; make room and try again"))
        return 2;
    if (counter.journal.commit (counter.journal.self, &err) != -EIO)
        return 3; /* the first failure is final */
    if (store_close (store, &err) != -EIO || counter.confirmed < 100)
        return 4;
    if (remount (0, "size=64m") < 0 || store_open (journal_path, STORE_DURABLE, &store, &err) < 0)
        return 5;
    if (store_restore (store, &cluster, NULL, NULL, &err) < 0 ||
        journal_fold (store, &cluster, &err) < counter.confirmed)
        return 6;
    if (store_compact (store, &cluster, NULL, 0, NULL, &err) < 0 || store_close (store, &err) < 0)
        return 7;
    cluster_clear (&cluster);
    return 0;
}

static void full_disk (void **state)
{
    (void)state;
    on_disk (full_steps, "size=2m");
}

/* A compaction needs free space for a moment; without it, all events are kept. */
static int full_compaction_steps (void)
{
    const struct random_journal ordinary = {
        .policy = "fifo", .rounds = 200, .seed = 5, .real = true};
    struct pollux_error err = {""};
    struct cluster cluster = {0}, folded = {0};
    struct store *store = NULL;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) < 0 ||
        random_journal_write (&ordinary, store_journal (store), &cluster, &err) < 0 ||
        store_close (store, &err) < 0 || /* shortens its log */
        store_open (journal_path, STORE_DURABLE, &store, &err) < 0)
        return 1;
    /* Fill the disk. */
    char rest[128], page[4096] = "";
    snprintf (rest, sizeof (rest), "%s/rest", journal_folder);
    FILE *file = fopen (rest, "w");
    if (!file)
        return 2;
    while (fwrite (page, 1, sizeof (page), file) == sizeof (page) && fflush (file) == 0)
        ;
    fclose (file);
    int rc = store_compact (store, &cluster, NULL, 0, NULL, &err);
    if (rc != -ENOSPC || !strstr (err.text, "cannot compact it: the disk is full"))
        return 3;
    if (store_close (store, &err) != -EIO || unlink (rest) < 0)
        return 4;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) < 0 ||
        store_restore (store, &folded, NULL, NULL, &err) < 0 || store_snapshot (store) != 0 ||
        journal_fold (store, &folded, &err) < 0)
        return 5;
    clusters_equal (&cluster, &folded);
    if (store_compact (store, &folded, NULL, 0, NULL, &err) < 0 || store_close (store, &err) < 0)
        return 6;
    cluster_clear (&cluster);
    cluster_clear (&folded);
    return 0;
}

static void full_disk_while_compacting (void **state)
{
    (void)state;
    on_disk (full_compaction_steps, "size=16m");
}

/* ---- Read-only ------------------------------------------------------------------------------ */

static int read_only_steps (void)
{
    const struct random_journal ordinary = {.policy = "fifo", .rounds = 20, .seed = 5};
    struct pollux_error err = {""};
    struct cluster cluster = {0}, folded = {0};
    struct store *store = NULL;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) < 0 ||
        random_journal_write (&ordinary, store_journal (store), &cluster, &err) < 0 ||
        store_close (store, &err) < 0 || remount (MS_RDONLY, NULL) < 0)
        return 1;
    if (store_open (journal_path, STORE_DURABLE, &store, &err) != -EROFS ||
        !strstr (err.text, "it may only be read; check"))
        return 2;
    if (store_open (journal_path, STORE_READ, &store, &err) < 0 ||
        journal_fold (store, &folded, &err) < 100 || store_close (store, &err) < 0)
        return 3;
    clusters_equal (&cluster, &folded);
    if (remount (0, NULL) < 0 || store_open (journal_path, STORE_DURABLE, &store, &err) < 0 ||
        store_close (store, &err) < 0)
        return 4;
    cluster_clear (&cluster);
    cluster_clear (&folded);
    return 0;
}

static void read_only_disk (void **state)
{
    (void)state;
    on_disk (read_only_steps, "size=16m");
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, journal_set_up, journal_tear_down)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (full_disk),
        TEST (full_disk_while_compacting),
        TEST (read_only_disk),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
