/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file before a hook starts, removes it after its end, and ends a hook that an earlier polluxd left. */
#define _GNU_SOURCE
#include "daemon/hook_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/process.h"
#include "base/error.h"
#include "base/file.h"

/* "PID START BOOT HOST": 10 + 20 + 39 + 64 bytes, and blanks.  Records of earlier versions have no host. */
enum { HOST_SIZE = 65, RECORD_SIZE = 160 };

static void own_host (char ret[HOST_SIZE])
{
    memset (ret, 0, HOST_SIZE);
    gethostname (ret, HOST_SIZE - 1);
}

/* hook.grow, then hook.grow.1 and so on. */
static char *record_path (const char *state, const char *kind, int number, struct pollux_error *err)
{
    char *path, suffix[16] = "";
    if (number > 0)
        snprintf (suffix, sizeof (suffix), ".%d", number);
    if (asprintf (&path, "%s/hook.%s%s", state, kind, suffix) >= 0)
        return path;
    fail (err, -ENOMEM, "not enough memory");
    return NULL;
}

/* The file is small and has no other reader at the same time: it is not written atomically.  A part of it is no record. */
static int write_text (const char *path, const char *text, struct pollux_error *err)
{
    int file = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = file < 0 ? -errno : file_write_all (file, text, strlen (text));
    if (file >= 0)
        close (file);
    return code < 0 ? fail (err, code, "%s: %s", path, strerror (-code)) : 0;
}

int hook_record_write (const char *state, const char *kind, int number, int pid,
                       struct pollux_error *err)
{
    char *path = record_path (state, kind, number, err), text[RECORD_SIZE], boot[RUN_BOOT_SIZE];
    struct run_process process;
    if (!path)
        return -ENOMEM;
    int code = 0;
    if (pid == 0) {
        if (unlink (path) < 0 && errno != ENOENT)
            code = fail (err, -errno, "%s: %s", path, strerror (errno));
    } else {
        code = process_identify (pid, &process, err);
        if (code == 0)
            code = process_boot (boot, err);
        if (code == 0) {
            char host[HOST_SIZE];
            own_host (host);
            snprintf (text, sizeof (text), "%d %" PRIu64 " %s %s\n", process.pid, process.start,
                      boot, host);
            code = write_text (path, text, err);
        }
        code = code == -ESRCH ? 0 : code; /* it has ended already */
    }
    free (path);
    return code;
}

/* host: "" if the record has none. */
static bool parse (const char *text, struct run_process *ret, char boot[RUN_BOOT_SIZE],
                   char host[HOST_SIZE])
{
    _Static_assert(RUN_BOOT_SIZE == 40 && HOST_SIZE == 65, "as in the formats");
    int end = 0;
    host[0] = '\0';
    if (sscanf (text, "%d %" SCNu64 " %39s%n", &ret->pid, &ret->start, boot, &end) != 3)
        return false;
    if (text[end] == ' ') {
        int length = 0;
        sscanf (text + end, " %64s%n", host, &length);
        end += length;
    }
    return strcmp (text + end, "\n") == 0 && ret->pid > 1;
}

/* True if the record is of another host, whose processes cannot be seen from here. */
static bool is_elsewhere (const char *host)
{
    char own[HOST_SIZE];
    own_host (own);
    return *host && strcmp (host, own) != 0;
}

int hook_record_kill (const char *state, const char *kind, int number, struct pollux_error *err)
{
    char *path = record_path (state, kind, number, err), *text = NULL, boot[RUN_BOOT_SIZE];
    char host[HOST_SIZE];
    size_t length;
    struct run_process process;
    int pidfd, code = path ? file_read (path, RECORD_SIZE, &text, &length, err) : -ENOMEM;
    bool known = code == 0 && parse (text, &process, boot, host);
    int killed = 0;
    bool elsewhere = known && is_elsewhere (host);
    if (known && !elsewhere && process_open (&process, boot, &pidfd, NULL) == 0) {
        struct process_tree tree = {.session = process.pid, .group = process.pid};
        close (pidfd);
        code = process_signal_tree (&tree, SIGKILL, err);
        killed = code > 0;
        code = code < 0 ? code : 0;
    }
    if (path && code == 0)
        unlink (path);
    if (elsewhere)
        code =
            fail (err, -EXDEV,
                  "it was started on host %s as process %d, which cannot be killed from here: look "
                  "there whether it still runs",
                  host, process.pid);
    free (path);
    free (text);
    return code == -ENOENT ? 0 : code < 0 ? code : killed;
}
