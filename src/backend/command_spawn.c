/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a command.  Its environment is small and known: variables such as SQUEUE_FORMAT,
 * SLURM_CLUSTERS or, inside an allocation, SLURM_NTASKS would change what the Slurm commands do.
 */
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addchdir_np */
#include "backend/command_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/words.h"
#include "backend/spawn.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

/* Does a list have a variable of this name? */
static bool has_variable (const char *const *list, const char *name)
{
    size_t length = strlen (name);
    for (; list && *list; list++)
        if (strncmp (*list, name, length) == 0 && (*list)[length] == '=')
            return true;
    return false;
}

static int environment_make (const char *const *extra, struct words *ret)
{
    static const char *const passed[] = {
        "PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "TMPDIR", "SLURM_CONF"};
    for (size_t i = 0; i < sizeof (passed) / sizeof (passed[0]); i++) {
        const char *value = getenv (passed[i]);
        if (value && !has_variable (extra, passed[i]))
            words_add (ret, "%s=%s", passed[i], value);
    }
    words_add (ret, "LC_ALL=C");
    words_add (ret, "SLURM_TIME_FORMAT=%%s");
    const char *fault = fault_variable ();
    if (fault)
        words_add (ret, "%s", fault);
    for (; extra && *extra; extra++)
        words_add (ret, "%s", *extra);
    return words_check (ret);
}

/* The descriptors of a command: those of the child, and those that this process reads. */
struct ends {
    int input, child[2], own[2]; /* output and error */
};

static void ends_close (struct ends *ends)
{
    int files[] = {ends->input, ends->child[0], ends->child[1], ends->own[0], ends->own[1]};
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++)
        if (files[i] >= 0)
            close (files[i]);
}

static int ends_open (const struct command_request *request, struct ends *ends)
{
    ends->input = spawn_memory_file ("pollux-command", request->input ? request->input : "",
                                     request->input ? request->input_length : 0);
    if (ends->input < 0)
        return ends->input;
    if (request->detached) {
        ends->child[0] = open ("/dev/null", O_WRONLY | O_CLOEXEC);
        ends->own[1] = ends->child[0] < 0 ? -1 : spawn_memory_file ("pollux-command", "", 0);
        /* The same open file: what the child writes is read from its start. */
        ends->child[1] = ends->own[1] < 0 ? -1 : fcntl (ends->own[1], F_DUPFD_CLOEXEC, 0);
        return ends->child[1] < 0 ? -errno : 0;
    }
    for (int i = 0; i < 2; i++) {
        int pair[2];
        if (pipe2 (pair, O_CLOEXEC) < 0)
            return -errno;
        ends->own[i] = pair[0];
        ends->child[i] = pair[1];
        if (fcntl (pair[0], F_SETFL, O_NONBLOCK) < 0)
            return -errno;
    }
    return 0;
}

static int actions_init (posix_spawn_file_actions_t *actions, const struct ends *ends,
                         const char *directory)
{
    int code = posix_spawn_file_actions_init (actions);
    if (code != 0)
        return -code;
    code = posix_spawn_file_actions_adddup2 (actions, ends->input, 0);
    for (int i = 0; code == 0 && i < 2; i++)
        code = posix_spawn_file_actions_adddup2 (actions, ends->child[i], i + 1);
    if (code == 0)
        code = posix_spawn_file_actions_addchdir_np (actions, directory ? directory : "/");
    if (code != 0)
        posix_spawn_file_actions_destroy (actions);
    return -code;
}

static int attributes_init (posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset (&none);
    sigfillset (&all);
    sigdelset (&all, SIGKILL);
    sigdelset (&all, SIGSTOP);
    int code = posix_spawnattr_init (attributes);
    if (code != 0)
        return -code;
    posix_spawnattr_setsigmask (attributes, &none);
    posix_spawnattr_setsigdefault (attributes, &all);
    posix_spawnattr_setflags (attributes,
                              POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return 0;
}

/* The pid, or -errno. */
static int start (const struct command_request *request, const struct ends *ends,
                  char *const *environment)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int pid = 0, code = attributes_init (&attributes);
    if (code < 0)
        return code;
    code = actions_init (&actions, ends, request->directory);
    if (code == 0) {
        code = -posix_spawnp (&pid, request->words[0], &actions, &attributes,
                              (char *const *)(uintptr_t)request->words, environment);
        posix_spawn_file_actions_destroy (&actions);
    }
    posix_spawnattr_destroy (&attributes);
    return code < 0 ? code : pid;
}

int command_spawn (const struct command_request *request, struct spawned_command *ret,
                   struct pollux_error *err)
{
    struct ends ends = {.input = -1, .child = {-1, -1}, .own = {-1, -1}};
    struct words environment = {.count = 0};
    int pidfd = -1, pid = 0;
    int code = environment_make (request->environment, &environment);
    if (code == 0)
        code = ends_open (request, &ends);
    if (code < 0)
        code = fail (err, code, "%s: no memory or files: %s", file_name (request->words[0]).text,
                     strerror (-code));
    else if ((pid = start (request, &ends, environment.list)) < 0)
        code = fail (err, pid, "cannot run %s: %s%s", file_name (request->words[0]).text,
                     strerror (-pid), pid == -ENOENT ? "; is it in PATH?" : "");
    else if ((pidfd = pidfd_open (pid, 0)) < 0) {
        code = fail (err, -errno, "cannot watch a process: %s", strerror (errno));
        kill (-pid, SIGKILL);
        waitpid (pid, NULL, 0);
    }
    words_clear (&environment);
    if (code == 0) {
        *ret = (struct spawned_command){pid, pidfd, ends.own[0], ends.own[1]};
        ends.own[0] = ends.own[1] = -1;
    }
    ends_close (&ends);
    return code;
}
