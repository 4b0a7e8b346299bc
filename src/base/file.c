/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read whole files into memory, up to a limit.  All input files are small compared with memory, and a
 * parser of one buffer is simpler, faster and easier to fuzz than one of a stream.  The limit also
 * applies to pipes and devices, whose size is unknown in advance.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

struct file_name file_name (const char *path)
{
    struct file_name name;
    if (strcmp (path, "-") == 0)
        path = "standard input";
    size_t length = strlen (path);
    if (length < sizeof (name.text)) {
        memcpy (name.text, path, length + 1);
        return name;
    }
    const char *tail = path + length - (sizeof (name.text) - sizeof ("..."));
    while (((unsigned char)*tail & 0xc0) == 0x80)
        tail++;
    snprintf (name.text, sizeof (name.text), "...%s", tail);
    return name;
}

static int fail_errno (const char *path, int code, struct pollux_error *err)
{
    const char *repair = code == EISDIR ? "; expected a file" : "";
    return fail (err, -code, "%s: cannot read: %s%s", file_name (path).text, strerror (code),
                 repair);
}

static int fail_large (const char *path, size_t limit, struct pollux_error *err)
{
    return fail (err, -EFBIG, "%s: too large: expected at most %zu bytes", file_name (path).text,
                 limit);
}

/* Read fd to its end into a buffer of at first `guess` bytes. */
static int read_all (int fd, const char *path, size_t guess, size_t limit, char **ret,
                     size_t *ret_length, struct pollux_error *err)
{
    int code = 0;
    size_t length = 0;
    /* One byte to detect the end of the file without growing, and one for the NUL. */
    size_t size = guess + 2;
    char *buffer = malloc (size);
    if (!buffer)
        return fail_errno (path, ENOMEM, err);
    for (;;) {
        ssize_t got = read (fd, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            code = fail_errno (path, errno, err);
            goto out;
        }
        if (got == 0)
            break;
        length += (size_t)got;
        if (length > limit) {
            code = fail_large (path, limit, err);
            goto out;
        }
        if (length == size - 1) {
            size_t larger = size <= limit / 2 ? size * 2 : limit + 2;
            char *grown = realloc (buffer, larger);
            if (!grown) {
                code = fail_errno (path, ENOMEM, err);
                goto out;
            }
            buffer = grown;
            size = larger;
        }
    }
    buffer[length] = '\0';
    *ret = buffer;
    *ret_length = length;
    buffer = NULL;
out:
    free (buffer);
    return code;
}

int file_read (const char *path, size_t limit, char **ret, size_t *ret_length,
               struct pollux_error *err)
{
    bool standard = strcmp (path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno (path, errno, err);
    struct stat status;
    int code;
    if (fstat (fd, &status) < 0)
        code = fail_errno (path, errno, err);
    else if (S_ISREG (status.st_mode) && status.st_size > 0 && (uintmax_t)status.st_size > limit)
        code = fail_large (path, limit, err);
    else {
        size_t guess = S_ISREG (status.st_mode) ? (size_t)status.st_size : 65536;
        code = read_all (fd, path, guess < limit ? guess : limit, limit, ret, ret_length, err);
    }
    if (!standard)
        close (fd);
    return code;
}

int file_copy_text (const char *name, const char *text, size_t length, size_t limit, char **ret,
                    struct pollux_error *err)
{
    if (length > limit)
        return fail_large (name, limit, err);
    char *copy = malloc (length + 1);
    if (!copy)
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    memcpy (copy, text, length);
    copy[length] = '\0';
    *ret = copy;
    return 0;
}

ssize_t file_read_full (int file, void *ret, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read (file, (char *)ret + filled, size - filled);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (got == 0)
            break;
        filled += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)filled;
}

int file_write_all (int file, const void *data, size_t length)
{
    for (const char *at = data; length > 0;) {
        ssize_t written = write (file, at, length);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

int file_open_standard (struct pollux_error *err)
{
    int lowest;
    do {
        lowest = open ("/dev/null", O_RDWR);
    } while (lowest >= 0 && lowest < 3);
    if (lowest < 0)
        return fail (err, -errno, "/dev/null: %s", strerror (errno));
    close (lowest);
    return 0;
}
