/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: all events of a cluster, in order, in one SQLite file.  It is the only thing that
 * is remembered: folding it (cluster_apply) gives the cluster, in a daemon that starts again, in
 * `pollux replay` and wherever else somebody wants to know what happened.
 *
 *     meta (key, value)                        version of these tables, software that made them
 *     events (seq, at_us, type, job, body)     seq without gaps; body as in wire/event.h
 *     snapshot (seq, body)                     what the events up to seq have led to: the whole
 *     jobs (job, at_us, name, ended, body)     how its jobs were submitted
 *     states (job, body)                       and what has become of them; as in wire/snapshot.h
 *
 * To record:                                  To read:
 *
 *     store_open (path, STORE_RECORD, &store, err)     store_open (path, STORE_READ, &store, err)
 *     loop.journal = store_journal (store);            store_restore (store, &cluster, NULL, err)
 *     ... append, append, ...                          source = store_source (store);
 *     store_close (store, err)                         while ((rc = source.next (source.self,
 *                                                               &cluster, &event, err)) == 1)
 *                                                          rc = cluster_apply (&cluster, &event,
 *                                                                              err);
 *                                                      store_close (store, err)
 *
 * A store belongs to one thread at a time.  Files are created 0600.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "cluster/round_summary.h"
#include "loop/loop.h"

struct store;
struct wire_past; /* wire/snapshot.h */

enum store_mode {
    /* A journal that exists, whoever writes it meanwhile; the events that are there now. */
    STORE_READ,
    /* A journal to go on with, made if there is none, by one program at a time.  What store_commit
     * has confirmed survives a crash and a power failure. */
    STORE_DURABLE,
    /* A new file, for simulations: fast, committed every STORE_RECORD_EVENTS and at the end.  If
     * the program dies, the file has the events up to one of these commits. */
    STORE_RECORD,
};

/* So many events are lost at most with the program that records; few enough to matter little, and
 * so many that commits cost little beside appending. */
enum { STORE_RECORD_EVENTS = 512 };

/* The version of the tables that this program writes; it reads this one and all before. */
enum { STORE_VERSION = 2 };

/* Open a journal, and check that it is whole: what the file is (-EINVAL otherwise: no database,
 * not ours, damaged, from a newer version), and that it can be read or written as asked (-EACCES,
 * -EROFS, -ENOSPC, ...; -EBUSY: another program writes to it).  STORE_RECORD: -EEXIST if there is anything of that name. */
int store_open (const char *path, enum store_mode mode, struct store **ret,
                struct pollux_error *err);

/* Where a loop remembers its events, and what makes them durable.  The first failure is final: nothing later is written, so
 * that what is in the file is always a beginning of what happened. */
struct journal store_journal (struct store *store);

/* Make all that was appended so far durable. */
int store_commit (struct store *store, struct pollux_error *err);

/* The cluster, zero so far, as the events up to the snapshot have made it; as it is where there is no
 * snapshot.  Comes before the first event.  past, which may be NULL, is what else was kept (rounds);
 * the caller's (wire_past_clear), also on failure. */
int store_restore (struct store *store, struct cluster *cluster, struct wire_past *past,
                   struct pollux_error *err);

/* The events behind the snapshot in order; at the end, asking again gives those that came since.
 * An event borrows from the store until the next one.  Rows that are missing, malformed or of an
 * unknown type, or do not fit what the cluster believes, are refused, with their number.
 * -ESTALE: the next ones are in a snapshot, because nobody has asked for that or because it was
 * made just now. */
struct source store_source (struct store *store);

/* Have there been more than keep_events events since the last snapshot, or STORE_KEEP_BYTES and
 * that again, and is no round waiting for its plan?  Never for 0. */
bool store_compact_due (const struct store *store, int64_t keep_events);

/* 256 MiB, besides as many bytes as the last snapshot had: so that a compaction never writes more
 * than was written since the one before. */
#define STORE_KEEP_BYTES ((int64_t)256 << 20)

/* Commit, and then let the cluster, which is the fold of the snapshot (store_restore) and all events
 * so far, take their place: with the newest rounds, oldest first, and its ended jobs as summaries.
 * Numbers of events go on.  The policy's memory is not kept: the next full round must be cold, or a
 * replay would differ.
 * -EBUSY: a round waits for its plan; -EINVAL or -EFBIG: a text cannot be made; then nothing has
 * changed, and it is due again after as many events more.  Other failures are final. */
int store_compact (struct store *store, const struct cluster *cluster,
                   const struct round_summary *rounds, int round_count, struct pollux_error *err);

/* The number of the last event read, 0 before the first; of the last in the snapshot, 0 without
 * one; and of all, appended ones included. */
int64_t store_seq (const struct store *store);
int64_t store_snapshot (const struct store *store);
int64_t store_count (const struct store *store);

/* Commit and close; a recording becomes one file that can be copied.  The store is gone also on
 * failure, which tells that the last events did not reach the file.  NULL is fine. */
int store_close (struct store *store, struct pollux_error *err);

#endif
