/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a journal for whoever wants to see what happened, while somebody else writes it: only
 * what has been committed, a few rows at a time, from any number on.
 */
#ifndef STORE_READER_H
#define STORE_READER_H

#include "wire/event.h"

struct reader;

/* Of a journal that exists and has been checked (store_open).  On success *ret belongs to the caller
 * (reader_close). */
int reader_open (const char *path, struct reader **ret, struct pollux_error *err);
void reader_close (struct reader *reader);

/* Take a row, borrowed for the call; false: it was one too many, and will be asked for again. */
typedef bool reader_each (void *self, int64_t seq, const struct wire_row *row);

/* Offer the rows behind number `after`, at most `most` of them.  Nothing stays locked behind the
 * call.  Returns how many were taken, or an error. */
int reader_rows (struct reader *reader, int64_t after, int most, reader_each *each, void *self,
                 struct pollux_error *err);

/* The numbers of the first and the last row; N + 1 and N if there is none and N events are in the
 * snapshot.  Those before the first are all there, as the cluster that they led to. */
int reader_range (struct reader *reader, int64_t *ret_first, int64_t *ret_last,
                  struct pollux_error *err);

/* Bytes of the journal and of the log beside it. */
int64_t reader_bytes (const struct reader *reader);

#endif
