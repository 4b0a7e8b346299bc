/* SPDX-License-Identifier: Apache-2.0 */
/* A journal in a folder of its own, for every test a fresh one; and what tests do with it. */
#ifndef TESTS_JOURNAL_FILE_H
#define TESTS_JOURNAL_FILE_H

#include "store/store.h"

/* Of the test that runs; the journal need not be there. */
extern char journal_folder[64], journal_path[96];

int journal_set_up (void **state);
int journal_tear_down (void **state);

/* Open and close, or fail the test. */
struct store *journal_open (enum store_mode mode);
void journal_close (struct store *store);

/* Write one event and let it happen, or fail the test. */
void journal_take (struct store *store, struct cluster *cluster, const struct event *event);

/* Bytes of the file, which is there. */
int64_t journal_size (void);

/* Fold what is in the file from where the store is: how many events there were, or an error. */
int64_t journal_fold (struct store *store, struct cluster *cluster, struct pollux_error *err);

/* The same from the beginning, with the snapshot, of the whole file; or fail the test. */
struct cluster journal_cluster (void);

/* Fail the test unless opening is refused with that code and a sentence that has these words. */
void journal_refused (enum store_mode mode, int code, const char *says);

/* Run statements on the file, or a command of the shell with two words in its format. */
void journal_sql (const char *statements);
void journal_shell (const char *format, const char *one, const char *two);

#endif
