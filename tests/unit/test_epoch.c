/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State on a shared directory: one of several claimers gets an epoch, a daemon that was suspended at any
 * point never confirms an event that the next one does not have, and a journal is copied whole while it is
 * written.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/epoch.h"
#include "journal_file.h"
#include "store/copy.h"
#include "store/reader.h"
#include "store/store.h"

/* ---- Claims -------------------------------------------------------------------------------- */

static bool there (const char *name)
{
    char path[128];
    snprintf (path, sizeof (path), "%s/%s", journal_folder, name);
    return access (path, F_OK) == 0;
}

static void claim (struct epoch *ret, int64_t number)
{
    struct pollux_error err = {""};
    if (epoch_claim (journal_folder, 0, ret, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (ret->number, number);
    assert_int_equal (0, epoch_check (ret, &err));
}

static void newer_claim_ends_the_older (void **state)
{
    (void)state;
    struct epoch first, second, third;
    struct pollux_error err = {""};
    assert_false (epoch_used (journal_folder));
    claim (&first, 1);
    assert_true (epoch_used (journal_folder));
    claim (&second, 2);
    assert_int_equal (EPOCH_LOST, epoch_check (&first, &err));
    assert_non_null (strstr (err.text, "another polluxd took over"));
    assert_non_null (strstr (err.text, second.owner));
    claim (&third, 3);
    assert_int_equal (EPOCH_LOST, epoch_check (&second, &err));
    /* An epoch that is gone is as bad as a newer one. */
    journal_shell ("rm -r %s/epochs/00000003", journal_folder, "");
    assert_int_equal (-EIO, epoch_check (&third, &err));
    journal_shell ("rm -r %s/epochs", journal_folder, "");
    assert_int_equal (-ENOENT, epoch_check (&third, &err));
}

static void other_names_are_ignored (void **state)
{
    (void)state;
    struct epoch epoch;
    journal_shell ("mkdir -p %s/epochs/x %s/epochs/-7", journal_folder, journal_folder);
    journal_shell ("mkdir %s/epochs/99999999999999999999 %s/epochs/+8", journal_folder,
                   journal_folder);
    claim (&epoch, 1);
}

/* A daemon of an old Slurm job, started again, does not take the state back. */
static void old_slurm_job_does_not_take_it_back (void **state)
{
    (void)state;
    struct epoch first, second, third;
    struct pollux_error err = {""};
    assert_int_equal (0, epoch_claim (journal_folder, 100, &first, &err));
    assert_int_equal (0, epoch_claim (journal_folder, 100, &first, &err)); /* it was killed */
    assert_int_equal (0, epoch_claim (journal_folder, 101, &second, &err));
    assert_int_equal (EPOCH_LOST, epoch_claim (journal_folder, 100, &third, &err));
    assert_non_null (strstr (err.text, "Slurm job 101"));
    assert_int_equal (0, epoch_check (&second, &err));
    assert_int_equal (second.number, 3);
    assert_int_equal (0, epoch_close (&second, &err));
    assert_int_equal (0, epoch_claim (journal_folder, 100, &third, &err)); /* that one has ended */
    assert_int_equal (0, epoch_claim (journal_folder, 0, &third, &err));   /* without Slurm */
    assert_int_equal (0, epoch_claim (journal_folder, 1, &third, &err));
    journal_shell ("echo none > %s/epochs/00000006/order; echo %s", journal_folder, "damaged");
    assert_int_equal (0, epoch_claim (journal_folder, 1, &third, &err));
    assert_int_equal (third.number, 7);
}

/* Processes claim at the same moment: no number is given to two of them. */
static void claimers_at_once (void **state)
{
    (void)state;
    enum { CLAIMERS = 4 };
    int64_t used = 0;
    for (int round = 0; round < soak_count (200); round++) {
        int start[2], done[2], won[CLAIMERS] = {0};
        char byte = 0;
        assert_int_equal (0, pipe (start));
        assert_int_equal (0, pipe (done));
        for (int i = 0; i < CLAIMERS; i++) {
            if (fork () > 0)
                continue;
            struct epoch epoch = {0};
            close (start[1]);
            if (read (start[0], &byte, 1) != 0) /* until the parent closes it */
                _exit (2);
            int code = epoch_claim (journal_folder, 0, &epoch, NULL);
            int64_t number = code == 0 ? epoch.number : code == EPOCH_LOST ? -1 : -2;
            _exit (write (done[1], &number, sizeof (number)) == sizeof (number) ? 0 : 1);
        }
        close (start[0]);
        close (start[1]);
        int winners = 0;
        for (int i = 0; i < CLAIMERS; i++) {
            int64_t number = 0;
            assert_int_equal (sizeof (number), read (done[0], &number, sizeof (number)));
            assert_true (number == -1 || (number > used && number <= used + CLAIMERS));
            if (number > 0) {
                winners++;
                assert_int_equal (0, won[number - used - 1]++);
            }
        }
        for (int i = 0; i < CLAIMERS; i++)
            wait (NULL);
        /* Of several winners all but the last were superseded at once. */
        struct epoch last = {0};
        assert_true (winners >= 1);
        assert_int_equal (0, epoch_claim (journal_folder, 0, &last, NULL));
        assert_true (last.number <= used + CLAIMERS + 1);
        epoch_tidy (&last);
        used = last.number;
        close (done[0]);
        close (done[1]);
    }
}

/* ---- Suspended claimers --------------------------------------------------------------------- */

static int check (void *self, struct pollux_error *err)
{
    return epoch_check (self, err);
}

/* A child that claims, takes the journal over, and commits events until it fails; it is suspended at a fault
 * point.  Each confirmed event is one byte in the pipe. */
static pid_t start_daemon (const char *fault, int *ret_pipe)
{
    int ends[2];
    assert_int_equal (0, pipe (ends));
    pid_t pid = fork ();
    if (pid > 0) {
        close (ends[1]);
        *ret_pipe = ends[0];
        return pid;
    }
    struct epoch epoch;
    struct pollux_error err;
    struct store *store = NULL;
    struct cluster cluster = {0};
    char path[PATH_MAX];
    setenv ("POLLUX_FAULT", fault, 1);
    int code = epoch_claim (journal_folder, 0, &epoch, &err);
    if (code == 0)
        code = epoch_take_journal (&epoch, path, &err);
    if (code == 0)
        code = store_open (path, STORE_ALONE, &store, &err);
    if (code == 0)
        store_guard (store, check, &epoch);
    if (code == 0)
        code = store_restore (store, &cluster, NULL, NULL, &err);
    if (code == 0)
        code = journal_fold (store, &cluster, &err) < 0 ? -EIO : 0;
    struct journal journal = {0};
    if (code == 0)
        journal = store_journal (store);
    for (int i = 0; code == 0 && i < 20; i++) {
        struct event node = {.at_us = cluster.now_us + 1, .type = EVENT_NODE, .job = -1};
        snprintf (node.node.name, sizeof (node.node.name), "%s-%d", strrchr (epoch.owner, ' ') + 1,
                  i);
        code = journal.append (journal.self, &cluster, &node, &err);
        if (code == 0)
            code = cluster_apply (&cluster, &node, &err);
        if (code == 0 && i % 5 == 4)
            code = store_compact (store, &cluster, NULL, 0, NULL, &err);
        if (code == 0)
            code = store_commit (store, &err);
        if (code == 0 && write (ends[1], "", 1) != 1)
            code = -EIO;
    }
    if (code != 0 && code != EPOCH_LOST)
        fprintf (stderr, "# %s\n", err.text);
    _exit (code == 0 ? 0 : code == EPOCH_LOST ? 4 : 1);
}

/* The bytes in the pipe so far. */
static int confirmed (int pipe_end)
{
    char bytes[64];
    int count = 0;
    ssize_t got;
    fcntl (pipe_end, F_SETFL, O_NONBLOCK);
    while ((got = read (pipe_end, bytes, sizeof (bytes))) > 0)
        count += (int)got;
    return count;
}

/* The nodes of a journal: number of events that were ever committed in it. */
static int nodes_in (const char *path)
{
    struct store *store = NULL;
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    if (store_open (path, STORE_READ, &store, &err) < 0 ||
        store_restore (store, &cluster, NULL, NULL, &err) < 0 ||
        journal_fold (store, &cluster, &err) < 0)
        fail_msg ("%s", err.text);
    int count = cluster.node_count;
    store_close (store, NULL);
    cluster_clear (&cluster);
    return count;
}

static void suspended_daemon_confirms_nothing_more (void **state)
{
    (void)state;
    static const char *const points[] = {"epoch-rename", "epoch-renamed",  "epoch-copied",
                                         "append",       "commit",         "committed",
                                         "compact",      "compact-commit", "compacted"};
    for (size_t i = 0; i < COUNT (points); i++)
        for (int visit = 1; visit <= 4; visit += 3) {
            char fault[64];
            int old_end, new_end, old_status, new_status;
            snprintf (fault, sizeof (fault), "%s:%d:stop", points[i],
                      strncmp (points[i], "epoch", 5) == 0 ? 1 : visit);
            pid_t old = start_daemon (fault, &old_end);
            assert_int_equal (old, waitpid (old, &old_status, WUNTRACED));
            if (!WIFSTOPPED (old_status))
                fail_msg ("%s was not visited", fault);
            int before = confirmed (old_end);
            /* The next daemon takes over, and its first event is confirmed before the old one continues. */
            pid_t new = start_daemon ("none:1", &new_end);
            assert_int_equal (new, waitpid (new, &new_status, 0));
            assert_true (WIFEXITED (new_status) && WEXITSTATUS (new_status) == 0);
            kill (old, SIGCONT);
            assert_int_equal (old, waitpid (old, &old_status, 0));
            assert_true (WIFEXITED (old_status) && WEXITSTATUS (old_status) == 4);
            assert_int_equal (0, confirmed (old_end));
            int after = confirmed (new_end);
            assert_int_equal (after, 20);
            /* A third one has all confirmed events. */
            struct epoch third;
            char path[PATH_MAX];
            assert_int_equal (0, epoch_claim (journal_folder, 0, &third, NULL));
            assert_int_equal (0, epoch_take_journal (&third, path, NULL));
            int found = nodes_in (path);
            if (found < before + after || found > before + after + 1)
                fail_msg ("%s: %d and %d events were confirmed, %d are in the journal", fault,
                          before, after, found);
            epoch_tidy (&third);
            close (old_end);
            close (new_end);
            journal_shell ("rm -r %s/epochs", journal_folder, "");
            assert_false (there ("epochs"));
        }
}

/* ---- The journal --------------------------------------------------------------------------- */

static void append_node (struct store *store, struct cluster *cluster, int number)
{
    struct event node = {.at_us = number, .type = EVENT_NODE, .job = -1};
    snprintf (node.node.name, sizeof (node.node.name), "n%d", number);
    journal_take (store, cluster, &node);
}

/* Of a daemon without epochs; then a closed one is moved, and another is copied. */
static void journal_is_taken_over (void **state)
{
    (void)state;
    struct epoch first, second, third, fourth;
    struct pollux_error err = {""};
    char path[PATH_MAX], from[PATH_MAX];
    struct cluster cluster = {0};
    struct store *store;
    snprintf (from, sizeof (from), "%s/journal.db", journal_folder);
    assert_int_equal (0, store_open (from, STORE_DURABLE, &store, &err));
    append_node (store, &cluster, 1);
    assert_int_equal (0, store_commit (store, &err));
    claim (&first, 1);
    assert_int_equal (-EBUSY, epoch_take_journal (&first, path, &err));
    assert_non_null (strstr (err.text, "did not end well"));
    assert_int_equal (0, store_close (store, &err));
    assert_int_equal (0, epoch_take_journal (&first, path, &err));
    assert_false (there ("journal.db"));
    assert_true (there ("epochs/00000001/journal.db"));
    assert_int_equal (nodes_in (path), 1);

    assert_int_equal (0, store_open (path, STORE_ALONE, &store, &err));
    append_node (store, &cluster, 2);
    assert_int_equal (0, store_commit (store, &err));
    assert_true (there ("epochs/00000001/journal.db-wal"));
    assert_false (there ("epochs/00000001/journal.db-shm"));
    claim (&second, 2);
    assert_int_equal (0, epoch_take_journal (&second, path, &err)); /* a copy */
    assert_true (there ("epochs/00000001/journal.db"));
    assert_int_equal (nodes_in (path), 2);
    store_drop (store);
    assert_true (there ("epochs/00000001/journal.db-wal"));
    assert_int_equal (0, epoch_close (&second, &err));
    assert_false (there ("epochs/00000002/closed")); /* not while there is a log */
    assert_int_equal (0, store_open (path, STORE_ALONE, &store, &err));
    assert_int_equal (0, store_close (store, &err));
    assert_int_equal (0, epoch_close (&second, &err));
    claim (&third, 3);
    assert_int_equal (0, epoch_take_journal (&third, path, &err)); /* moved */
    assert_false (there ("epochs/00000002/journal.db"));
    assert_int_equal (nodes_in (path), 2);
    journal_shell ("mkdir %s/.claim-00000002-1 %s/.claim-00000004-2", journal_folder,
                   journal_folder);
    epoch_tidy (&third);
    assert_false (there ("epochs/00000001"));
    assert_true (there ("epochs/00000002"));
    assert_false (there (".claim-00000002-1"));
    assert_true (there (".claim-00000004-2"));
    /* A claimer that died before it took the journal is passed over. */
    claim (&third, 4);
    claim (&fourth, 5);
    assert_int_equal (0, epoch_take_journal (&fourth, path, &err));
    assert_int_equal (nodes_in (path), 2);
    cluster_clear (&cluster);
}

/* A process commits all the time, and truncates its log; copies are whole and have what was confirmed. */
static void copy_of_a_busy_journal_is_whole (void **state)
{
    (void)state;
    int ends[2];
    char copy[128];
    snprintf (copy, sizeof (copy), "%s/copy.db", journal_folder);
    assert_int_equal (0, pipe (ends));
    pid_t writer = fork ();
    if (writer == 0) {
        struct store *store = journal_open (STORE_ALONE);
        struct cluster cluster = {0};
        for (int i = 1;; i++) {
            append_node (store, &cluster, i);
            if (i % 97 == 0 && store_compact (store, &cluster, NULL, 0, NULL, NULL) < 0)
                _exit (1);
            if (store_commit (store, NULL) < 0 || write (ends[1], "", 1) != 1)
                _exit (1);
            usleep (1000); /* the full count of copies takes less time than 65,536 nodes */
        }
    }
    int sum = 0, whole = 0;
    struct rng rng = rng_seed (5);
    while (confirmed (ends[0]) == 0)
        usleep (1000);
    sum = 1;
    for (int i = 0; i < soak_count (600); i++) {
        usleep ((useconds_t)(rng_uniform (&rng) * 5000));
        bool stop = rng_uniform (&rng) < 0.5;
        if (stop)
            kill (writer, SIGSTOP);
        sum += confirmed (ends[0]);
        int code = store_copy (journal_path, copy, NULL);
        if (stop)
            kill (writer, SIGCONT);
        if (code == -EBUSY)
            continue;
        assert_int_equal (code, 0);
        whole++;
        if (nodes_in (copy) < sum)
            fail_msg ("%d events were confirmed, the copy has %d", sum, nodes_in (copy));
        journal_shell ("rm -f %s/copy.db*", journal_folder, "");
    }
    assert_true (whole > 0);
    kill (writer, SIGKILL);
    waitpid (writer, NULL, 0);
    close (ends[0]);
    close (ends[1]);
}

/* The writer writes its log back and begins a new one between the copies of the two files. */
static void copy_notices_a_change (void **state)
{
    (void)state;
    char copy[128];
    struct cluster cluster = {0};
    struct store *store = journal_open (STORE_ALONE);
    int status, number = 0;
    snprintf (copy, sizeof (copy), "%s/copy.db", journal_folder);
    while (number < 1000) /* many pages */
        append_node (store, &cluster, number++);
    assert_int_equal (0, store_commit (store, NULL));
    pid_t pid = fork ();
    if (pid == 0) {
        setenv ("POLLUX_FAULT", "copy-log:1:stop", 1);
        _exit (store_copy (journal_path, copy, NULL) < 0 ? 1 : 0);
    }
    assert_int_equal (pid, waitpid (pid, &status, WUNTRACED));
    assert_true (WIFSTOPPED (status));
    journal_close (store);
    store = journal_open (STORE_ALONE);
    append_node (store, &cluster, number++);
    assert_int_equal (0, store_commit (store, NULL));
    kill (pid, SIGCONT);
    assert_int_equal (pid, waitpid (pid, &status, 0));
    assert_true (WIFEXITED (status) && WEXITSTATUS (status) == 0);
    assert_int_equal (nodes_in (copy), number);
    journal_close (store);
    cluster_clear (&cluster);
}

/* ---- The reader of the same process --------------------------------------------------------- */

static bool count_row (void *self, int64_t seq, const struct wire_row *row)
{
    (void)seq;
    (void)row;
    ++*(int *)self;
    return true;
}

static int refuse (void *self, struct pollux_error *err)
{
    int *left = self;
    if ((*left)-- > 0)
        return 0;
    if (err)
        snprintf (err->text, sizeof (err->text), "not in charge");
    return EPOCH_LOST;
}

static void reader_shows_confirmed_events (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct reader *reader = NULL;
    struct pollux_error err = {""};
    int checks = 3, rows = 0;
    int64_t first = -1, last = -1;
    struct store *store = journal_open (STORE_ALONE);
    assert_int_equal (0, reader_open_store (store, &reader, &err));
    store_guard (store, refuse, &checks);
    append_node (store, &cluster, 1);
    assert_int_equal (0, reader_rows (reader, 0, 10, count_row, &rows, &err));
    assert_int_equal (0, reader_range (reader, &first, &last, &err));
    assert_true (first == 1 && last == 0);
    assert_int_equal (0, store_commit (store, &err)); /* two checks */
    append_node (store, &cluster, 2);
    assert_int_equal (1, reader_rows (reader, 0, 10, count_row, &rows, &err));
    /* The third check is before the commit, and the fourth fails: the event is never shown. */
    assert_int_equal (EPOCH_LOST, store_commit (store, &err));
    assert_string_equal (err.text, "not in charge");
    assert_int_equal (1, reader_rows (reader, 0, 10, count_row, &rows, &err));
    assert_int_equal (0, reader_range (reader, &first, &last, &err));
    assert_true (first == 1 && last == 1);
    assert_int_equal (-EIO, store_commit (store, &err));
    assert_true (reader_bytes (reader) > 0);
    reader_close (reader);
    store_drop (store);
    cluster_clear (&cluster);
}

int main (void)
{
#define TEST(function) cmocka_unit_test_setup_teardown (function, journal_set_up, journal_tear_down)
    const struct CMUnitTest tests[] = {
        TEST (newer_claim_ends_the_older),
        TEST (other_names_are_ignored),
        TEST (old_slurm_job_does_not_take_it_back),
        TEST (claimers_at_once),
        TEST (suspended_daemon_confirms_nothing_more),
        TEST (journal_is_taken_over),
        TEST (copy_of_a_busy_journal_is_whole),
        TEST (copy_notices_a_change),
        TEST (reader_shows_confirmed_events),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
