/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotated logs.  A file ends after the first line that ends in its last eighth; only a longer line
 * is split, where the file is full:
 *
 *     |<--------------- limit -------------->|
 *     | line\n line\n ... line\n   li|ne\n    |        -> rotate after this line
 *
 * Writes block: a replica that is faster than the disk waits at its pipe.
 */
#include "backend/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME "out.log"

static int file_open (struct log *log)
{
    log->file = openat (log->directory, NAME,
                        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    log->size = 0;
    return log->file < 0 ? -errno : 0;
}

struct log log_open (int directory, int64_t limit, int files)
{
    struct log log = {.directory = directory, .file = -1, .limit = limit, .files = files};
    file_open (&log); /* on failure, again with the first line */
    return log;
}

/* Rename out.log -> out.log.1 -> out.log.2 -> ..; the last one is overwritten. */
static int rotate (struct log *log)
{
    char from[32], to[32];
    for (int i = log->files; i > 0; i--) {
        snprintf (from, sizeof (from), i > 1 ? NAME ".%d" : NAME, i - 1);
        snprintf (to, sizeof (to), NAME ".%d", i);
        if (renameat (log->directory, from, log->directory, to) < 0 && errno != ENOENT)
            return -errno;
    }
    if (log->files == 0 && unlinkat (log->directory, NAME, 0) < 0 && errno != ENOENT)
        return -errno;
    if (log->file >= 0)
        close (log->file);
    return file_open (log);
}

/* Write all to the open file.  On -errno, *text and *length are what is left. */
static int put (struct log *log, const char **text, size_t *length)
{
    while (*length > 0) {
        ssize_t written = write (log->file, *text, *length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        log->in_line = (*text)[written - 1] != '\n';
        log->size += written;
        *text += written;
        *length -= (size_t)written;
    }
    return 0;
}

/* How many bytes of a text belong into this file; 0: rotate first. */
static size_t fitting (const struct log *log, const char *text, size_t length)
{
    int64_t room = log->limit - log->size, early = room - log->limit / 8;
    if (room <= 0 || (early <= 0 && !log->in_line))
        return 0;
    if ((int64_t)length <= early)
        return length;
    size_t part = (int64_t)length < room ? length : (size_t)room;
    size_t from = early > 0 ? (size_t)early - 1 : 0;
    const char *newline = memchr (text + from, '\n', part - from);
    return newline ? (size_t)(newline - text) + 1 : part;
}

static int put_rotated (struct log *log, const char **text, size_t *length)
{
    int code = log->file < 0 ? file_open (log) : 0;
    while (code == 0 && *length > 0) {
        size_t part = fitting (log, *text, *length), left = part;
        code = part == 0 ? rotate (log) : put (log, text, &left);
        *length -= part - left;
    }
    return code;
}

/* Write how much was lost, if anything was; -errno if there is still no space. */
static int put_loss (struct log *log)
{
    char line[160];
    if (log->lost == 0)
        return 0;
    int size =
        snprintf (line, sizeof (line), "%spollux: %" PRId64 " bytes of output are lost: %s\n",
                  log->in_line ? "\n" : "", log->lost, strerror (log->why));
    const char *text = line;
    size_t length = (size_t)size;
    int code = put_rotated (log, &text, &length);
    if (code == 0)
        log->lost = 0;
    return code;
}

void log_write (struct log *log, const char *text, size_t length)
{
    int code = put_loss (log);
    if (code == 0)
        code = put_rotated (log, &text, &length);
    if (code == 0)
        return;
    log->lost += (int64_t)length;
    log->why = -code;
}

void log_mark (struct log *log, const char *format, ...)
{
    char line[512];
    va_list arguments;
    int start = snprintf (line, sizeof (line), "%spollux: ", log->in_line ? "\n" : "");
    va_start (arguments, format);
    vsnprintf (line + start, sizeof (line) - (size_t)start - 1, format, arguments);
    va_end (arguments);
    strcat (line, "\n");
    log_write (log, line, strlen (line));
}

void log_close (struct log *log)
{
    put_loss (log);
    if (log->file >= 0)
        close (log->file);
    log->file = -1;
}
