/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of journal_file.h, on a temporary folder per test.
 */
#include "journal_file.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

char journal_folder[64], journal_path[96];

int journal_set_up (void **state)
{
    (void)state;
    snprintf (journal_folder, sizeof (journal_folder), "%s/pollux-store-XXXXXX",
              temporary_folder ());
    if (!mkdtemp (journal_folder))
        return -1;
    snprintf (journal_path, sizeof (journal_path), "%s/run.db", journal_folder);
    return 0;
}

void journal_shell (const char *format, const char *one, const char *two)
{
    char command[256];
    snprintf (command, sizeof (command), format, one, two);
    assert_int_equal (0, system (command));
}

int journal_tear_down (void **state)
{
    (void)state;
    journal_shell ("rm -rf %s%s", journal_folder, "");
    return 0;
}

struct store *journal_open (enum store_mode mode)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    if (store_open (journal_path, mode, &store, &err) < 0)
        fail_msg ("%s", err.text);
    return store;
}

void journal_close (struct store *store)
{
    struct pollux_error err = {""};
    if (store_close (store, &err) < 0)
        fail_msg ("%s", err.text);
}

void journal_take (struct store *store, struct cluster *cluster, const struct event *event)
{
    struct journal journal = store_journal (store);
    struct pollux_error err = {""};
    if (journal.append (journal.self, cluster, event, &err) < 0 ||
        cluster_apply (cluster, event, &err) < 0)
        fail_msg ("%s", err.text);
}

int64_t journal_size (void)
{
    struct stat status;
    assert_int_equal (0, stat (journal_path, &status));
    return status.st_size;
}

int64_t journal_fold (struct store *store, struct cluster *cluster, struct pollux_error *err)
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

struct cluster journal_cluster (void)
{
    struct cluster cluster = {0};
    struct pollux_error err = {""};
    struct store *store = journal_open (STORE_READ);
    if (store_restore (store, &cluster, NULL, NULL, &err) < 0 ||
        journal_fold (store, &cluster, &err) < 0)
        fail_msg ("%s", err.text);
    journal_close (store);
    return cluster;
}

void journal_refused (enum store_mode mode, int code, const char *says)
{
    struct store *store = NULL;
    struct pollux_error err = {""};
    int rc = store_open (journal_path, mode, &store, &err);
    if (rc != code || !strstr (err.text, says))
        fail_msg ("expected %d and '%s', got %d and: %s", code, says, rc, err.text);
    assert_non_null (strstr (err.text, "run.db: "));
    assert_null (store);
}

void journal_sql (const char *statements)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    assert_int_equal (SQLITE_OK, sqlite3_open (journal_path, &db));
    if (sqlite3_exec (db, statements, NULL, NULL, &message) != SQLITE_OK)
        fail_msg ("%.200s: %s", statements, message);
    assert_int_equal (SQLITE_OK, sqlite3_close (db));
}
