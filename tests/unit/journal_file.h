/* SPDX-License-Identifier: Apache-2.0 */
/* A journal in a new folder for every test, and functions that tests apply to it. */
#ifndef TESTS_JOURNAL_FILE_H
#define TESTS_JOURNAL_FILE_H

#include "store/store.h"

/* Of the running test; the journal may not exist yet. */
extern char journal_folder[64], journal_path[96];

int journal_set_up (void **state);
int journal_tear_down (void **state);

/* Open and close; a failure fails the test. */
struct store *journal_open (enum store_mode mode);
void journal_close (struct store *store);

/* Append one event and apply it; a failure fails the test. */
void journal_take (struct store *store, struct cluster *cluster, const struct event *event);

/* Size of the file in bytes; a missing file fails the test. */
int64_t journal_size (void);

/* Apply the events after the store's position.  Returns their number, or an error. */
int64_t journal_fold (struct store *store, struct cluster *cluster, struct pollux_error *err);

/* The cluster of the whole file, with its snapshot; a failure fails the test. */
struct cluster journal_cluster (void);

/* Fail the test unless opening fails with this code and a message that contains `says`. */
void journal_refused (enum store_mode mode, int code, const char *says);

/* Run SQL statements on the file, or a shell command; its format takes two words. */
void journal_sql (const char *statements);
void journal_shell (const char *format, const char *one, const char *two);

#endif
