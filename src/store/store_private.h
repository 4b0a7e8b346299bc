/* SPDX-License-Identifier: Apache-2.0 */
/* What a store is, for the files of this room alone. */
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
    int lock;    /* a writer's, -1 for none */
    struct file_name name;
    char path[PATH_MAX];
    int64_t seq;            /* of the last event read */
    int64_t count;          /* events in all, appended ones and those in the snapshot too */
    int64_t snapshot;       /* of these, up to this one, in the snapshot */
    int64_t refused;        /* of these, when a compaction was refused last */
    int64_t bytes;          /* of the events behind it, as far as they were read or appended */
    int64_t snapshot_bytes; /* of the snapshot, once read or made */
    int pending;            /* events not committed yet */
    bool deciding;          /* the last ROUND waits for its PLAN */
    bool failed;
    bool *ended; /* of the snapshot's jobs: nothing will ever change */
    int job_count, job_capacity;
    struct wire_text_buffer text;
    struct wire_event event;
};

/* Nothing that was not committed is kept, and nothing comes after.  Returns the code. */
int store_give_up (struct store *store, int code);

/* Free without a commit. */
void store_free (struct store *store);

/* The number of the snapshot's last event, 0 without one. */
int store_read_snapshot_seq (struct store *store, int64_t *ret, struct pollux_error *err);

#endif
