/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a replica, from any line on, while it is written.  polluxd reads the files itself (base/log_reader.h), or,
 * where they are in the file system of a user and a read could wait for ever, gets pieces of them in memory.
 */
#ifndef API_LOG_TAIL_H
#define API_LOG_TAIL_H

#include "base/log_reader.h"
#include "cluster/node.h"

struct log_tail {
    /* As in backend/backend.h; read_log NULL: polluxd reads the files. */
    int (*open_log) (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err);
    int (*read_log) (void *self, const char *job, int generation, int rank, int64_t lines,
                     const struct log_position *from, struct log_piece *ret,
                     struct pollux_error *err);
    void *self;
    char job[NAME_SIZE];
    int generation, rank;
    struct log_reader reader; /* with read_log only file and offset, of the piece */
    struct log_position next; /* read_log: where the next piece begins */
    bool end;                 /* read_log: the log has no more than this piece */
};

/* Open the log at its last lines; lines < 0: at its first kept byte.  -ENOENT: there is no
 * log (yet); -EAGAIN: it is being read, call again. */
int log_tail_open (struct log_tail *tail, int64_t lines, struct pollux_error *err);
void log_tail_close (struct log_tail *tail);

/* Read the next bytes.  0: no more bytes now; -EAGAIN: they are being read, call again. */
ssize_t log_tail_read (struct log_tail *tail, void *buffer, size_t size);

#endif
