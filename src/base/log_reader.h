/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a log from any line on, across its rotated files, while it is written:
 *
 *     out.log.2  |------|   oldest
 *     out.log.1  |------|   <- the open file may be renamed to this at any time
 *     out.log    |--        newest
 *
 * A reader holds one file open.  A position is the same without an open file, for a later reader in another process.
 */
#ifndef BASE_LOG_READER_H
#define BASE_LOG_READER_H

#include <stdint.h>
#include <sys/types.h>

#include "pollux/pollux.h"

struct log_reader {
    /* Open file `number` of the log, 0 the newest: a descriptor, the reader's.  -ENOENT: there is none. */
    int (*open) (void *self, int number, int *ret, struct pollux_error *err);
    void *self;
    int file;       /* -1: none is open */
    int64_t offset; /* of the next byte; other readers may have the same open file */
};

/* A file, and the offset of the next byte.  inode 0: none. */
struct log_position {
    uint64_t device, inode;
    int64_t born_ns; /* an inode number is used again when its file is removed; 0: not known */
    int64_t offset;
};

/* Bytes of a log in a file in memory, from `offset` to its end: a read of it never waits. */
struct log_piece {
    int file; /* the caller's */
    int64_t offset;
    struct log_position next; /* where the log goes on */
    bool end;                 /* it has no more bytes now */
};

/* Rotated files that are looked for. */
enum { LOG_READER_FILES = 1000 };

/* At most this many bytes are searched for the last lines; a longer text is cut at its start. */
#define LOG_READER_TAIL_BYTES ((int64_t)4 << 20)

/* Open the log at its last lines; lines < 0: at its first kept byte.  -ENOENT: there is no log (yet). */
int log_reader_open (struct log_reader *reader, int64_t lines, struct pollux_error *err);
/* Open it at a position; if its file was removed, at the first kept byte. */
int log_reader_resume (struct log_reader *reader, const struct log_position *from,
                       struct pollux_error *err);
void log_reader_close (struct log_reader *reader);

/* Read the next bytes; at the end of a file, from the next newer file.  0: no more bytes now. */
ssize_t log_reader_read (struct log_reader *reader, void *buffer, size_t size);

int log_reader_position (const struct log_reader *reader, struct log_position *ret);

#endif
