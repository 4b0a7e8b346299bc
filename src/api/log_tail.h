/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a replica's log from any line on, across its rotated files, while it is written:
 *
 *     out.log.2  |------|   oldest
 *     out.log.1  |------|   <- the open file may be renamed to this at any time
 *     out.log    |--        newest
 */
#ifndef API_LOG_TAIL_H
#define API_LOG_TAIL_H

#include <stdint.h>
#include <sys/types.h>

#include "cluster/node.h"
#include "pollux/pollux.h"

/* A position in a log. */
struct log_tail {
    /* Open file `number` of a replica's log, 0 the newest: as open_log of backend/backend.h. */
    int (*open_log) (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err);
    void *self;
    char job[NAME_SIZE];
    int generation, rank;
    int file;       /* -1: none is open */
    int64_t offset; /* of the next byte; other readers may have the same open file */
};

/* At most this many bytes are searched for the last lines; a longer text is cut at its start. */
#define LOG_TAIL_BYTES ((int64_t)4 << 20)

/* Open the log at its last lines; lines < 0: at its first kept byte.  -ENOENT: there is no
 * log (yet); -EAGAIN: it is being opened, call again. */
int log_tail_open (struct log_tail *tail, int64_t lines, struct pollux_error *err);
void log_tail_close (struct log_tail *tail);

/* Read the next bytes; at the end of a file, from the next newer file.  0: no more bytes now. */
ssize_t log_tail_read (struct log_tail *tail, void *buffer, size_t size);

#endif
