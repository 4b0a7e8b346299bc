/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is identified by its inode: after a rotation the open file is found again under its new number,
 * and the next file to read has the number before it.
 */
#include "api/log_tail.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "wire/run.h"

enum { BLOCK = 1 << 16 };

void log_tail_close (struct log_tail *tail)
{
    if (tail->file >= 0)
        close (tail->file);
    tail->file = -1;
}

static int open_file (const struct log_tail *tail, int number, int *ret, struct pollux_error *err)
{
    return tail->open_log (tail->self, tail->job, tail->generation, tail->rank, number, ret, err);
}

static void move_to (struct log_tail *tail, int file)
{
    log_tail_close (tail);
    tail->file = file;
    tail->offset = 0;
}

static off_t size_of (int file)
{
    struct stat stat;
    return fstat (file, &stat) == 0 ? stat.st_size : 0;
}

/* The offset where the last *lines lines begin.  If the file has fewer, the offset is 0 and *lines is
 * the number of missing lines.  *left: bytes that may still be read. */
static int64_t seek_lines (int file, bool newest, int64_t *lines, int64_t *left)
{
    char block[BLOCK];
    off_t end = size_of (file);
    bool last = newest; /* the newline at the end of the log begins no line */
    while (end > 0 && *left > 0) {
        size_t size = end < BLOCK ? (size_t)end : BLOCK;
        ssize_t got = pread (file, block, size, end - (off_t)size);
        if (got < (ssize_t)size)
            return 0;
        for (size_t i = size; i > 0; i--) {
            bool newline = block[i - 1] == '\n';
            if (newline && !last && --*lines == 0)
                return end - (off_t)size + (off_t)i;
            last = false;
        }
        end -= (off_t)size;
        *left -= (int64_t)size;
    }
    return *left > 0 ? 0 : end;
}

int log_tail_open (struct log_tail *tail, int64_t lines, struct pollux_error *err)
{
    int64_t left = LOG_TAIL_BYTES, offset = 0;
    bool all = lines < 0;
    log_tail_close (tail);
    for (int number = 0; number <= RUN_LOG_FILES_LIMIT; number++) {
        int file = -1;
        int rc = open_file (tail, number, &file, number == 0 ? err : NULL);
        if (rc == -EAGAIN)
            log_tail_close (tail);
        if (rc < 0 && (number == 0 || rc == -EAGAIN))
            return rc;
        if (rc < 0)
            break; /* the log has fewer lines than requested */
        move_to (tail, file);
        if (all)
            continue;
        if (lines == 0)
            offset = size_of (file);
        else
            offset = seek_lines (file, number == 0, &lines, &left);
        if (lines == 0 || left <= 0)
            break;
    }
    if (!all)
        tail->offset = offset > 0 ? offset : 0;
    return 0;
}

/* The number of the open file; -1: it was removed, and *ret_oldest is the oldest existing one; 0 also
 * if that is not known yet. */
static int find_number (const struct log_tail *tail, int *ret_oldest)
{
    struct stat ours, other;
    *ret_oldest = -1;
    if (fstat (tail->file, &ours) < 0)
        return -1;
    for (int number = 0; number <= RUN_LOG_FILES_LIMIT; number++) {
        int file = -1;
        int code = open_file (tail, number, &file, NULL);
        if (code == -EAGAIN)
            return 0;
        if (code < 0)
            break;
        int rc = fstat (file, &other);
        close (file);
        *ret_oldest = number;
        if (rc == 0 && ours.st_ino == other.st_ino && ours.st_dev == other.st_dev)
            return number;
    }
    return -1;
}

static ssize_t read_more (struct log_tail *tail, void *buffer, size_t size)
{
    ssize_t got = pread (tail->file, buffer, size, tail->offset);
    tail->offset += got > 0 ? got : 0;
    return got;
}

ssize_t log_tail_read (struct log_tail *tail, void *buffer, size_t size)
{
    for (;;) {
        if (tail->file < 0)
            return 0;
        ssize_t got = read_more (tail, buffer, size);
        if (got != 0)
            return got > 0 ? got : -errno;
        int oldest = -1, number = find_number (tail, &oldest);
        if (number == 0)
            return 0;
        /* It was rotated, perhaps after the read above: read its last bytes first. */
        got = read_more (tail, buffer, size);
        if (got != 0)
            return got > 0 ? got : -errno;
        int file = -1, next = number > 0 ? number - 1 : oldest;
        if (next < 0 || open_file (tail, next, &file, NULL) < 0)
            return 0;
        move_to (tail, file);
    }
}
