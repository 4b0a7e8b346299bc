/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: all events of a cluster, in order, in one SQLite file.  It is the only durable state:
 * applying its events (cluster_apply) gives the cluster, in a restarted daemon and in `pollux replay`.
 *
 *     meta (key, value)                        version of these tables, software that made them
 *     events (seq, at_us, type, job, body)     seq without gaps; body as in wire/event.h
 *     snapshot (seq, body)                     the cluster after event seq, without its jobs
 *     jobs (job, at_us, name, ended, body)     the snapshot's jobs as they were submitted
 *     states (job, body)                       the snapshot's jobs after event seq (wire/snapshot.h)
 *     history (job, body)                      their past, and as job -1 the cluster's (wire/history.h)
 *
 * To record:                                  To read:
 *
 *     store_open (path, STORE_RECORD, &store, err)     store_open (path, STORE_READ, &store, err)
 *     loop.journal = store_journal (store);            store_restore (store, &cluster, NULL, NULL, err)
 *     ... append, append, ...                          source = store_source (store);
 *     store_close (store, err)                         while ((rc = source.next (source.self,
 *                                                               &cluster, &event, err)) == 1)
 *                                                          rc = cluster_apply_checked (&cluster,
 *                                                                                      &event, err);
 *                                                      store_close (store, err)
 *
 * A store belongs to one thread at a time.  Files are created 0600.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "cluster/round_summary.h"
#include "loop/history.h"
#include "loop/loop.h"

struct store;
struct wire_past; /* wire/snapshot.h */

enum store_mode {
    /* Read an existing journal; another program may write to it meanwhile. */
    STORE_READ,
    /* Read and append, by one program at a time; the file is made if it is missing.  Events survive a
     * crash and a power failure once store_commit returned 0. */
    STORE_DURABLE,
    /* The same without locks and without shared memory, for a file on a shared file system that no other
     * program opens meanwhile.  The caller makes sure of that (daemon/epoch.h). */
    STORE_ALONE,
    /* Write a new file, for simulations: fast, committed every STORE_RECORD_EVENTS events and at the
     * end.  If the program dies, the file has the events up to one of these commits. */
    STORE_RECORD,
};

/* Events per commit of STORE_RECORD: at most this many are lost if the program dies, and commits take
 * little time compared with appending. */
enum { STORE_RECORD_EVENTS = 512 };

/* The version of the tables that this program writes.  It reads this version and all earlier ones. */
enum { STORE_VERSION = 4 };

/* Open and check a journal.  -EINVAL: no database, no journal, damaged, or of a newer version; -EACCES,
 * -EROFS, -ENOSPC, ...: it cannot be read or written; -EBUSY: another program writes to it; -EEXIST:
 * STORE_RECORD, and the file exists. */
int store_open (const char *path, enum store_mode mode, struct store **ret,
                struct pollux_error *err);

/* Read an existing journal; one without events is refused, because there is nothing to show. */
int store_open_recorded (const char *path, struct store **ret, struct pollux_error *err);

/* Call check before each commit and again after it.  If it fails, the commit fails with the same code and
 * sentence, and nothing is written any more: events whose commit was not confirmed are never shown by a
 * reader of this store (reader_open_store). */
typedef int store_check (void *self, struct pollux_error *err);
void store_guard (struct store *store, store_check *check, void *self);

/* The journal for a loop.  After the first failure nothing is written any more, so the file always has a
 * prefix of the events. */
struct journal store_journal (struct store *store);

/* Make all appended events durable. */
int store_commit (struct store *store, struct pollux_error *err);

/* Read the snapshot into the cluster, which is zero; without a snapshot it stays so.  Call it before the
 * first event is read.  past, which may be NULL, gets the summaries of rounds; the caller frees it
 * (wire_past_clear), also after a failure.  history, which may be NULL and need not be initialised, begins
 * with the cluster and what was kept of its past; the caller frees it (history_clear), also after a
 * failure.  Rows of it that cannot be read are no failure: history->lost_rows counts them. */
int store_restore (struct store *store, struct cluster *cluster, struct wire_past *past,
                   struct history *history, struct pollux_error *err);

/* Begin again: the next call is store_restore, with an empty cluster. */
void store_rewind (struct store *store);

/* Between events: let a program that writes to the journal shorten its log. */
void store_pause (struct store *store);

/* The time of the last event; 0: no event follows the snapshot, or the journal is empty. */
int store_last_us (struct store *store, int64_t *ret, struct pollux_error *err);

/* The events after the snapshot, in order; after the end, next returns events that were added since.
 * An event borrows from the store until the next one, and has passed cluster_check.  -EINVAL, with the
 * event's number: a row is missing, malformed, of an unknown type, or does not fit the cluster's state.
 * -ESTALE: the next events are in a snapshot, which store_restore was not called for or which another
 * program has just made. */
struct source store_source (struct store *store);

/* True if more than keep_events events, or STORE_KEEP_BYTES plus the last snapshot's size, were written
 * since that snapshot, and no PLAN is pending.  keep_events 0: always false. */
bool store_compact_due (const struct store *store, int64_t keep_events);

/* 256 MiB.  With the last snapshot's size added, a compaction does not write more than was appended
 * since the one before. */
#define STORE_KEEP_BYTES ((int64_t)256 << 20)

/* Commit, then replace snapshot and events by a snapshot of the cluster, which must be the result of
 * store_restore and all events so far.  rounds are the newest summaries, oldest first; history, which may
 * be NULL, is the result of the same events; ended jobs are kept as summaries.  Numbers of events
 * continue.  The policy's memory is not kept: the next full round must be cold, or a replay would differ.
 * -EBUSY: a PLAN is pending; -EINVAL or -EFBIG: the snapshot cannot be encoded.  Then nothing has
 * changed, and compaction is due again after keep_events more events.  After any other failure nothing
 * is written any more. */
int store_compact (struct store *store, const struct cluster *cluster,
                   const struct round_summary *rounds, int round_count,
                   const struct history *history, struct pollux_error *err);

/* The number of the last event that was read, 0 before the first; of the last event in the snapshot, 0
 * without one; and of the last event in the journal, appended ones included. */
int64_t store_seq (const struct store *store);
int64_t store_snapshot (const struct store *store);
int64_t store_count (const struct store *store);

/* Commit, then write how a recording (STORE_RECORD) was made into the table meta; if the program
 * dies in between, the journal is complete and has none.  And read it: *ret, to be freed by the
 * caller, is NULL for a journal without one.  wire/recording.h has its text. */
int store_write_recording (struct store *store, const char *text, size_t length,
                           struct pollux_error *err);
int store_read_recording (struct store *store, char **ret, struct pollux_error *err);

/* Commit and close; the journal is then one file that can be copied, if no other program reads it.  The
 * store is freed also on failure, which means that the last events were not written.  NULL is fine. */
int store_close (struct store *store, struct pollux_error *err);

/* Free without writing anything, not even what a close usually tidies up.  NULL is fine. */
void store_drop (struct store *store);

#endif
