/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is identified by its inode: after a rotation the open file is found again under its new number,
 * and the next file to read has the number before it.
 */
#define _GNU_SOURCE /* statx */
#include "base/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* FILES: rotated ones that are looked for; supervisors keep fewer. */
enum { BLOCK = 1 << 16, FILES = LOG_READER_FILES };

void log_reader_close (struct log_reader *reader)
{
    if (reader->file >= 0)
        close (reader->file);
    reader->file = -1;
}

static int open_file (const struct log_reader *reader, int number, int *ret,
                      struct pollux_error *err)
{
    return reader->open (reader->self, number, ret, err);
}

static void move_to (struct log_reader *reader, int file)
{
    log_reader_close (reader);
    reader->file = file;
    reader->offset = 0;
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

int log_reader_open (struct log_reader *reader, int64_t lines, struct pollux_error *err)
{
    int64_t left = LOG_READER_TAIL_BYTES, offset = 0;
    bool all = lines < 0;
    log_reader_close (reader);
    for (int number = 0; number <= FILES; number++) {
        int file = -1;
        int rc = open_file (reader, number, &file, number == 0 ? err : NULL);
        if (rc < 0 && number == 0)
            return rc;
        if (rc < 0)
            break; /* the log has fewer lines than requested */
        move_to (reader, file);
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
        reader->offset = offset > 0 ? offset : 0;
    return 0;
}

static bool identify (int file, struct log_position *ret)
{
    struct statx stat;
    if (statx (file, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &stat) < 0)
        return false;
    *ret = (struct log_position){.device = (uint64_t)stat.stx_dev_major << 32 | stat.stx_dev_minor,
                                 .inode = stat.stx_ino};
    if (stat.stx_mask & STATX_BTIME)
        ret->born_ns = stat.stx_btime.tv_sec * INT64_C (1000000000) + stat.stx_btime.tv_nsec;
    return true;
}

/* Open the file of a position: its number.  -1: it was removed, and *ret_oldest is the oldest existing one.  During a
 * rotation there is no newest file for a moment. */
static int find_file (const struct log_reader *reader, const struct log_position *at, int *ret,
                      int *ret_oldest, struct pollux_error *err)
{
    *ret_oldest = -1;
    for (int number = 0; number <= FILES; number++) {
        struct log_position found;
        int file;
        if (open_file (reader, number, &file, number == 0 ? err : NULL) < 0) {
            if (number == 0)
                continue;
            break;
        }
        *ret_oldest = number;
        *ret = file;
        if (identify (file, &found) && found.inode == at->inode && found.device == at->device &&
            found.born_ns == at->born_ns)
            return number;
        close (file);
    }
    return -1;
}

/* The number of the open file; -1: it was removed, and *ret_oldest is the oldest existing one. */
static int find_number (const struct log_reader *reader, int *ret_oldest)
{
    struct log_position ours;
    int file;
    *ret_oldest = -1;
    if (!identify (reader->file, &ours))
        return -1;
    int number = find_file (reader, &ours, &file, ret_oldest, NULL);
    if (number >= 0)
        close (file);
    return number;
}

int log_reader_position (const struct log_reader *reader, struct log_position *ret)
{
    if (reader->file < 0 || !identify (reader->file, ret))
        return -ENOENT;
    ret->offset = reader->offset;
    return 0;
}

int log_reader_resume (struct log_reader *reader, const struct log_position *from,
                       struct pollux_error *err)
{
    int file, oldest, number = find_file (reader, from, &file, &oldest, err);
    if (number < 0 && oldest < 0)
        return fail (err, -ENOENT, "the log was removed");
    bool whole = number < 0 || size_of (file) < from->offset; /* not the file that it was */
    if (number < 0) {
        int code = open_file (reader, oldest, &file, err);
        if (code < 0)
            return code;
    }
    move_to (reader, file);
    reader->offset = whole ? 0 : from->offset;
    return 0;
}

static ssize_t read_more (struct log_reader *reader, void *buffer, size_t size)
{
    ssize_t got = pread (reader->file, buffer, size, reader->offset);
    reader->offset += got > 0 ? got : 0;
    return got;
}

ssize_t log_reader_read (struct log_reader *reader, void *buffer, size_t size)
{
    for (;;) {
        if (reader->file < 0)
            return 0;
        ssize_t got = read_more (reader, buffer, size);
        if (got != 0)
            return got > 0 ? got : -errno;
        int oldest = -1, number = find_number (reader, &oldest);
        if (number == 0)
            return 0;
        /* It was rotated, perhaps after the read above: read its last bytes first. */
        got = read_more (reader, buffer, size);
        if (got != 0)
            return got > 0 ? got : -errno;
        int file = -1, next = number > 0 ? number - 1 : oldest;
        if (next < 0 || open_file (reader, next, &file, NULL) < 0)
            return 0;
        move_to (reader, file);
    }
}
