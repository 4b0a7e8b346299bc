/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fork to exec.  The child reports a failure in between through a pipe that exec closes: an
 * empty report means that the command runs.
 */
#define _GNU_SOURCE
#include "backend/replica.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/excerpt.h"

enum step { STEP_PREPARE, STEP_CGROUP, STEP_DIRECTORY, STEP_CPUS, STEP_COMMAND };

struct report {
    enum step step;
    int code; /* errno */
};

/* ---- The child ---------------------------------------------------------------------------- */

/* By a system call, because the C library refuses to reset its two internal signals, which a parent
 * that used posix_spawn (make, for example) can leave ignored. */
static void reset_signal (int number)
{
    static const unsigned char by_default[64]; /* the kernel's struct sigaction, all zero */
    const size_t mask_size = 8;
    syscall (SYS_rt_sigaction, number, by_default, NULL, mask_size); /* SIGKILL, SIGSTOP: refused */
}

static void reset_signals (void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        reset_signal (i);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

/* 0 to 2 are for the replica; 3 is the report until exec; all others are closed. */
static bool arrange_descriptors (int output, int *report)
{
    int null = open ("/dev/null", O_RDONLY);
    if (null < 0 || dup2 (null, 0) < 0 || dup2 (output, 1) < 0 || dup2 (output, 2) < 0)
        return false;
    if (*report != 3 && dup3 (*report, 3, O_CLOEXEC) < 0)
        return false;
    *report = 3;
    return close_range (4, ~0u, 0) == 0;
}

static bool set_cpus (const struct run_list *cpus)
{
    union {
        unsigned char bytes[RUN_CPU_LIMIT / 8];
        cpu_set_t set;
    } mask;
    if (cpus->count == 0)
        return true;
    memset (&mask, 0, sizeof (mask));
    for (int i = 0; i < cpus->count; i++)
        CPU_SET_S ((size_t)cpus->items[i], sizeof (mask), &mask.set);
    return sched_setaffinity (0, sizeof (mask), &mask.set) == 0;
}

static enum step prepare (const struct run_description *description, int parent, int output,
                          int cgroup, int *report)
{
    if (setpgid (0, 0) < 0 || prctl (PR_SET_PDEATHSIG, SIGKILL) < 0)
        return STEP_PREPARE;
    if (getppid () != parent)
        _exit (126); /* the parent died before prctl */
    if (cgroup >= 0 && write (cgroup, "0", 1) != 1)
        return STEP_CGROUP;
    if (!arrange_descriptors (output, report))
        return STEP_PREPARE;
    umask (022); /* as in a login; the daemon's is stricter */
    if (chdir (description->directory) < 0)
        return STEP_DIRECTORY;
    return set_cpus (&description->cpus) ? STEP_COMMAND : STEP_CPUS;
}

static _Noreturn void exec_command (const struct run_description *description, char **environment,
                                    int parent, int output, int cgroup, int report)
{
    struct report failure = {.step = prepare (description, parent, output, cgroup, &report)};
    if (failure.step == STEP_COMMAND) {
        reset_signals ();
        environ = environment; /* also for PATH */
        execvp (description->command[0], description->command);
    }
    failure.code = errno;
    ssize_t written = write (report, &failure, sizeof (failure));
    _exit (written == sizeof (failure) ? 126 : 125);
}

/* ---- The parent --------------------------------------------------------------------------- */

int replica_start (const struct run_description *description, char **environment, int output,
                   int cgroup, struct replica *ret, struct pollux_error *err)
{
    int ends[2], parent = getpid ();
    if (pipe2 (ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return fail (err, -errno, "no pipe: %s", strerror (errno));
    int pid = fork ();
    if (pid == 0)
        exec_command (description, environment, parent, output, cgroup, ends[1]);
    int code = pid < 0 ? fail (err, -errno, "cannot start a process: %s", strerror (errno)) : 0;
    close (ends[1]);
    if (code < 0) {
        close (ends[0]);
        return code;
    }
    setpgid (pid, pid); /* also here: a stop may come before the child's own call */
    *ret = (struct replica){.pid = pid, .report = ends[0]};
    return 0;
}

/* A sentence about the failure; returns the exit code, as of a shell. */
static int explain (struct report report, const struct run_description *description,
                    char why[RUN_WHY_SIZE])
{
    const char *command = description->command[0], *reason = strerror (report.code);
    const char *directory = description->directory;
    switch (report.step) {
    case STEP_PREPARE:
        snprintf (why, RUN_WHY_SIZE, "cannot start a process: %s", reason);
        break;
    case STEP_CGROUP:
        snprintf (why, RUN_WHY_SIZE, "cannot join the cgroup: %s", reason);
        break;
    case STEP_DIRECTORY:
        snprintf (why, RUN_WHY_SIZE, "cannot enter the directory %s: %s",
                  excerpt (directory, strlen (directory)).text, reason);
        break;
    case STEP_CPUS:
        snprintf (why, RUN_WHY_SIZE, "cannot run on the CPUs given: %s", reason);
        break;
    case STEP_COMMAND:
        snprintf (why, RUN_WHY_SIZE, "cannot run %s: %s%s",
                  excerpt (command, strlen (command)).text, reason,
                  report.code != ENOENT   ? ""
                  : strchr (command, '/') ? " (the program, or the interpreter that it names)"
                                          : " in the PATH of its environment");
        return report.code == ENOENT ? 127 : 126;
    }
    return 126;
}

int replica_report (struct replica *replica, const struct run_description *description,
                    char why[RUN_WHY_SIZE])
{
    struct report report;
    ssize_t got = read (replica->report, &report, sizeof (report));
    close (replica->report);
    replica->report = -1;
    if (got != sizeof (report))
        return 0;
    int code = explain (report, description, why);
    for (char *at = why; *at; at++) /* no control characters from a command's name */
        *at = (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at;
    return code;
}
