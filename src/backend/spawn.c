/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting supervisors.  Their description, and their standard error until they have a log, are
 * files in memory: unlike a pipe, a file never blocks, and it survives the daemon's death.
 */
#define _GNU_SOURCE /* memfd_create, POSIX_SPAWN_SETSID */
#include "backend/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

int spawn_memory_file (const char *name, const char *text, size_t length)
{
    int file = memfd_create (name, MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    while (length > 0) {
        ssize_t written = write (file, text, length);
        if (written < 0) {
            int code = -errno;
            close (file);
            return code;
        }
        text += written;
        length -= (size_t)written;
    }
    lseek (file, 0, SEEK_SET);
    return file;
}

static int attributes_init (posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigfillset (&all);
    int code = posix_spawnattr_init (attributes);
    if (code != 0)
        return -code;
    posix_spawnattr_setsigmask (attributes, &all);
    sigdelset (&all, SIGKILL);
    sigdelset (&all, SIGSTOP);
    posix_spawnattr_setsigdefault (attributes, &all);
    posix_spawnattr_setflags (attributes,
                              POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return 0;
}

static int actions_init (posix_spawn_file_actions_t *actions, int input, int error)
{
    int code = posix_spawn_file_actions_init (actions);
    if (code != 0)
        return -code;
    code = posix_spawn_file_actions_adddup2 (actions, input, 0);
    if (code == 0)
        code = posix_spawn_file_actions_addopen (actions, 1, "/dev/null", O_WRONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2 (actions, error, 2);
    if (code != 0)
        posix_spawn_file_actions_destroy (actions);
    return -code;
}

/* The pid, or -errno. */
static int start (char *const *words, const char *variable, int input, int error)
{
    char *environment[] = {(char *)variable, fault_variable (), NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int pid = 0, code = attributes_init (&attributes);
    if (code < 0)
        return code;
    code = actions_init (&actions, input, error);
    if (code == 0) {
        code = -posix_spawn (&pid, words[0], &actions, &attributes, words, environment);
        posix_spawn_file_actions_destroy (&actions);
    }
    posix_spawnattr_destroy (&attributes);
    return code < 0 ? code : pid;
}

int spawn (char *const *words, const char *variable, const char *text, size_t length,
           struct spawned *ret, struct pollux_error *err)
{
    int error = -1, pid = 0, code = 0;
    fault_point ("spawn");
    int input = spawn_memory_file ("pollux-description", text, length);
    if (input >= 0)
        error = spawn_memory_file ("pollux-error", "", 0);
    if (input < 0 || error < 0) {
        code = input < 0 ? input : error;
        code = fail (err, code, "no file in memory: %s", strerror (-code));
    } else if ((pid = start (words, variable, input, error)) < 0) {
        code = fail (err, pid, "cannot run %s: %s", file_name (words[0]).text, strerror (-pid));
    } else if ((ret->pidfd = pidfd_open (pid, 0)) < 0) {
        /* It cannot be watched.  If it has made its directory, that is RUN_LOST. */
        code = fail (err, -errno, "cannot watch a process: %s", strerror (errno));
        kill (pid, SIGKILL);
        waitpid (pid, NULL, 0);
    }
    fault_point ("spawned");
    if (input >= 0)
        close (input);
    if (code == 0)
        ret->error = error;
    else if (error >= 0)
        close (error);
    return code;
}

int spawn_reap (int pidfd, int *ret_status)
{
    siginfo_t info = {0};
    if (waitid (P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0)
        return -errno;
    if (info.si_pid == 0)
        return 0;
    *ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    return 1;
}
