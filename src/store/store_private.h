/* SPDX-License-Identifier: Apache-2.0 */
/* The store, for the files of this room. */
#ifndef STORE_STORE_PRIVATE_H
#define STORE_STORE_PRIVATE_H

#include <limits.h>
#include <sqlite3.h>

#include "base/file.h"
#include "store/store.h"
#include "wire/event.h"

struct store {
    sqlite3 *db;
    sqlite3_stmt *insert, *select;
    enum store_mode mode;
    int version; /* of the file's tables */
    int lock;    /* descriptor that holds the writer's lock; -1: none */
    struct file_name name;
    char path[PATH_MAX];
    int64_t seq;            /* of the last event read */
    int64_t count;          /* number of the last event, appended ones included */
    int64_t snapshot;       /* number of the last event in the snapshot */
    int64_t refused;        /* count when a compaction was last refused */
    int64_t bytes;          /* of events after the snapshot that were read or appended */
    int64_t snapshot_bytes; /* of the snapshot, after it was read or written */
    store_check *check;     /* before and after each commit; NULL: none */
    void *check_self;
    int pending;   /* appended events that are not committed */
    bool deciding; /* the PLAN of the last ROUND is pending */
    bool failed;
    bool *ended; /* by index of the snapshot's jobs: it has ended and its row is final */
    int job_count, job_capacity;
    struct wire_text_buffer text;
    struct wire_event event;
};

/* Run a statement of a compaction, which returns no rows, and make it ready for the next row. */
int store_compact_step (struct store *store, sqlite3_stmt *statement, struct pollux_error *err);

/* What history_rows_write has done. */
struct history_written {
    int64_t bytes;
    bool refused; /* a record could not be encoded */
};

/* Write the history that belongs to the snapshot of the cluster, in the caller's transaction.  Rows
 * of jobs that had ended at the snapshot before are final.  NULL: the snapshot has none. */
int history_rows_write (struct store *store, const struct cluster *cluster,
                        const struct history *history, struct history_written *ret,
                        struct pollux_error *err);

/* Begin the history with a cluster that was just restored, and read what was kept. */
int history_rows_read (struct store *store, const struct cluster *cluster, struct history *history,
                       struct pollux_error *err);

/* The number of the last event that is committed. */
static inline int64_t store_committed (const struct store *store)
{
    return store->count - store->pending;
}

/* Roll back what was not committed, and write nothing any more.  Returns the code. */
int store_give_up (struct store *store, int code);

/* Free without a commit. */
void store_free (struct store *store);

/* The number of the snapshot's last event, 0 without one. */
int store_read_snapshot_seq (struct store *store, int64_t *ret, struct pollux_error *err);

#endif
