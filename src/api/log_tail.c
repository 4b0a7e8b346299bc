/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to read a log: its files, or one piece after the other.
 */
#include "api/log_tail.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/run.h"

_Static_assert((int)LOG_READER_FILES >= (int)RUN_LOG_FILES_LIMIT, "all rotated files are found");

static int open_file (void *self, int number, int *ret, struct pollux_error *err)
{
    const struct log_tail *tail = self;
    return tail->open_log (tail->self, tail->job, tail->generation, tail->rank, number, ret, err);
}

void log_tail_close (struct log_tail *tail)
{
    log_reader_close (&tail->reader);
}

/* The next piece takes the place of this one. */
static int take_piece (struct log_tail *tail, int64_t lines, struct pollux_error *err)
{
    struct log_piece piece;
    int code = tail->read_log (tail->self, tail->job, tail->generation, tail->rank, lines,
                               &tail->next, &piece, err);
    if (code < 0)
        return code;
    log_reader_close (&tail->reader);
    tail->reader.file = piece.file;
    tail->reader.offset = piece.offset;
    tail->next = piece.next;
    tail->end = piece.end;
    return 0;
}

int log_tail_open (struct log_tail *tail, int64_t lines, struct pollux_error *err)
{
    log_tail_close (tail);
    tail->reader.open = open_file;
    tail->reader.self = tail;
    tail->next = (struct log_position){.inode = 0};
    return tail->read_log ? take_piece (tail, lines, err)
                          : log_reader_open (&tail->reader, lines, err);
}

static ssize_t read_pieces (struct log_tail *tail, void *buffer, size_t size)
{
    for (;;) {
        ssize_t got = pread (tail->reader.file, buffer, size, tail->reader.offset);
        if (got < 0)
            return -errno;
        tail->reader.offset += got;
        if (got > 0)
            return got;
        if (tail->end) { /* the next call asks for more */
            tail->end = false;
            return 0;
        }
        int code = take_piece (tail, 0, NULL);
        if (code < 0)
            return code;
    }
}

ssize_t log_tail_read (struct log_tail *tail, void *buffer, size_t size)
{
    if (tail->reader.file < 0)
        return 0;
    tail->reader.self = tail; /* it may have been copied */
    return tail->read_log ? read_pieces (tail, buffer, size)
                          : log_reader_read (&tail->reader, buffer, size);
}
