/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: all events of a cluster, in order, in one SQLite file.  It is the only thing that
 * is remembered: folding it (cluster_apply) gives the cluster, in a daemon that starts again, in
 * `pollux replay` and wherever else somebody wants to know what happened.
 *
 *     meta (key, value)                        version of these tables, software that made them
 *     events (seq, at_us, type, job, body)     seq from 1 without gaps; body as in wire/event.h
 *     snapshot (seq, body)                     empty in this version
 *
 * To record:                                       To read:
 *
 *     store_open (path, STORE_RECORD, &store, err)     store_open (path, STORE_READ, &store, err)
 *     loop.journal = store_journal (store);            source = store_source (store);
 *     ... append, append, ...                          while ((rc = source.next (source.self,
 *     store_close (store, err)                                  &cluster, &event, err)) == 1)
 *                                                          rc = cluster_apply (&cluster, &event, err);
 *                                                      store_close (store, err)
 *
 * A store belongs to one thread at a time.  Files are created 0600.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "loop/loop.h"

struct store;

enum store_mode {
    /* A journal that exists, whoever writes it meanwhile; the events that are there now. */
    STORE_READ,
    /* A journal to go on with, made if there is none.  What store_commit has confirmed survives
     * a crash and a power failure. */
    STORE_DURABLE,
    /* A new file, for simulations: fast, committed every STORE_RECORD_EVENTS and at the end.  If
     * the program dies, the file has the events up to one of these commits. */
    STORE_RECORD,
};

/* So many events are lost at most with the program that records; few enough to matter little, and
 * so many that commits cost little beside appending. */
enum { STORE_RECORD_EVENTS = 512 };

/* The version of the tables that this program writes; it reads this one and all before. */
enum { STORE_VERSION = 1 };

/* Open a journal, and check that it is whole: what the file is (-EINVAL otherwise: no database,
 * not ours, damaged, from a newer version), and that it can be read or written as asked (-EACCES,
 * -EROFS, -ENOSPC, ...).  STORE_RECORD: -EEXIST if there is anything of that name. */
int store_open (const char *path, enum store_mode mode, struct store **ret,
                struct pollux_error *err);

/* Where a loop remembers its events, and what makes them durable.  The first failure is final: nothing later is written, so
 * that what is in the file is always a beginning of what happened. */
struct journal store_journal (struct store *store);

/* Make all that was appended so far durable. */
int store_commit (struct store *store, struct pollux_error *err);

/* The events in order; at the end, asking again gives those that came since.  An event borrows from
 * the store until the next one.  Rows that are missing, malformed or of an unknown type are refused, with their number. */
struct source store_source (struct store *store);

/* The number of the last event read, 0 before the first; and of all, appended ones included. */
int64_t store_seq (const struct store *store);
int64_t store_count (const struct store *store);

/* Commit and close; a recording becomes one file that can be copied.  The store is gone also on
 * failure, which tells that the last events did not reach the file.  NULL is fine. */
int store_close (struct store *store, struct pollux_error *err);

#endif
