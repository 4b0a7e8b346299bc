/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads committed rows of a journal while a store writes it: a few rows at a time, from any number on.
 */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "wire/event.h"

struct reader;
struct store;

/* Open a journal that store_open has checked.  On success *ret belongs to the caller
 * (reader_close). */
int reader_open (const char *path, struct reader **ret, struct pollux_error *err);

/* Read through the connection of a store, which must live longer; for STORE_ALONE, which permits no second
 * connection. */
int reader_open_store (struct store *store, struct reader **ret, struct pollux_error *err);

void reader_close (struct reader *reader);

/* Take a row, borrowed for the call.  False: not taken; stop here. */
typedef bool reader_each (void *self, int64_t seq, const struct wire_row *row);

/* Call each for the rows after number `after`, at most `most` of them.  No lock is held after the call.
 * Returns the number of rows taken, or a negative errno value. */
int reader_rows (struct reader *reader, int64_t after, int most, reader_each *each, void *self,
                 struct pollux_error *err);

/* The numbers of the first and the last row; N + 1 and N if there are no rows and the snapshot has N
 * events.  Events before the first are in the snapshot. */
int reader_range (struct reader *reader, int64_t *ret_first, int64_t *ret_last,
                  struct pollux_error *err);

/* The bodies of two PLANs, as text. */
struct reader_plans {
    char *plan;   /* of a ROUND; NULL: it has none, or a snapshot has replaced it */
    char *before; /* of the PLAN before that ROUND; NULL: the same */
    bool first;   /* there was no PLAN before: no snapshot has replaced any event */
};

/* Find the PLAN of the ROUND with this number, and the one before.  On success the caller frees *ret
 * (reader_plans_clear). */
int reader_find_plans (struct reader *reader, int64_t round, struct reader_plans *ret,
                       struct pollux_error *err);
void reader_plans_clear (struct reader_plans *plans);

/* Bytes of the journal and of its write-ahead log. */
int64_t reader_bytes (const struct reader *reader);

#endif
