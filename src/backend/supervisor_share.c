/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A share: one process with a supervisor per replica.  A guardian: the same with one.
 *
 *     share --fork--> supervisor of rank 0 --> replica
 *           --fork--> supervisor of rank 1 --> replica
 *
 * The share is a subreaper: processes of a run whose supervisor was killed become its children.
 * Every child that is not a supervisor is such a process and is killed.
 */
#define _GNU_SOURCE /* pids of signals */
#include "backend/supervisor_share.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/process.h"
#include "backend/supervisor_private.h"
#include "base/error.h"

/* Between passes of SIGKILL or SIGCONT, doubling. */
#define PAUSE_NS INT64_C (10000000)
#define PAUSE_LIMIT_NS INT64_C (500000000)

struct share {
    int *pids; /* of supervisors; 0: it has ended */
    int count;
    bool guardian; /* pass the values of signals on, too */
    bool stopping; /* a signal was passed on */
    bool no_children;
    bool lost; /* a supervisor was killed */
    bool left; /* and processes of its run may be left */
    int code;  /* of the first supervisor that did not end with 0 */
};

static void pass_on (const struct share *share, int pid, const siginfo_t *signal)
{
    if (share->guardian && signal->si_code == SI_QUEUE)
        sigqueue (pid, signal->si_signo, signal->si_value);
    else
        kill (pid, signal->si_signo);
}

static void stop_all (struct share *share, const siginfo_t *signal)
{
    share->stopping = true;
    for (int i = 0; i < share->count; i++)
        if (share->pids[i] > 0)
            pass_on (share, share->pids[i], signal);
}

/* A halted supervisor does not take the signal that asks it to stop. */
static void wake_halted (const struct share *share)
{
    for (int i = 0; i < share->count; i++)
        if (process_is_halted (share->pids[i]))
            kill (share->pids[i], SIGCONT);
}

static void start (struct share *share, int index, int (*run) (void *, int), void *self)
{
    int parent = getpid (), pid = fork ();
    if (pid == 0) {
        if (prctl (PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid () != parent)
            _exit (126);
        _exit (run (self, index));
    }
    share->pids[index] = pid;
}

static void note_end (struct share *share, int pid, int wait_status)
{
    int code = WIFEXITED (wait_status) ? WEXITSTATUS (wait_status) : 128 + WTERMSIG (wait_status);
    for (int i = 0; i < share->count; i++) {
        if (share->pids[i] != pid)
            continue;
        share->pids[i] = 0;
        if (!WIFEXITED (wait_status))
            share->lost = share->left = true;
        if (share->code == 0)
            share->code = code;
    }
    /* A lost run has no status: polluxd sees its end only when the whole share ends.  So end it now. */
    if (share->lost && !share->guardian)
        stop_all (share, &(siginfo_t){.si_signo = SIGURG});
}

static void reap (struct share *share)
{
    int pid, wait_status;
    while ((pid = waitpid (-1, &wait_status, WNOHANG | __WALL)) > 0)
        note_end (share, pid, wait_status);
    share->no_children = pid < 0 && errno == ECHILD;
}

/* Returns after a signal, or after the pause. */
static void wait_for_signal (struct share *share, struct timespec *pause)
{
    sigset_t signals;
    siginfo_t info;
    supervisor_signals (&signals);
    int signal = pause ? sigtimedwait (&signals, &info, pause) : sigwaitinfo (&signals, &info);
    if (signal > 0 && signal != SIGCHLD)
        stop_all (share, &info);
}

static void wait_for_all (struct share *share)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    reap (share);
    while (!share->no_children) {
        struct process_tree tree = {
            .ancestor = getpid (), .spared = share->pids, .spared_count = share->count};
        if (share->left && process_signal_tree (&tree, SIGKILL, NULL) == 0)
            share->left = false;
        if (share->stopping)
            wake_halted (share);
        bool again = share->left || share->stopping;
        wait_for_signal (share, again ? &pause : NULL);
        if (again && pause.tv_nsec < PAUSE_LIMIT_NS)
            pause.tv_nsec *= 2;
        reap (share);
    }
}

int supervisor_share (int count, int (*run) (void *self, int index), void *self, int *ret,
                      struct pollux_error *err)
{
    struct share share = {.pids = calloc ((size_t)count, sizeof (int)), .count = count};
    int code = 0;
    if (!share.pids)
        return fail (err, -ENOMEM, "not enough memory");
    if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
        code = fail (err, -errno, "cannot become a subreaper: %s", strerror (errno));
    for (int i = 0; code == 0 && i < count; i++) {
        start (&share, i, run, self);
        if (share.pids[i] < 0) {
            share.pids[i] = 0;
            code = fail (err, -EIO, "cannot start a process: %s", strerror (errno));
            stop_all (&share, &(siginfo_t){.si_signo = SIGURG});
        }
    }
    wait_for_all (&share);
    free (share.pids);
    if (code == 0)
        *ret = share.code;
    return code;
}

int supervisor_guard (int *ret, struct pollux_error *err)
{
    int self = getpid (), pid;
    struct share share = {.pids = &pid, .count = 1, .guardian = true};
    if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
        return fail (err, -errno, "cannot become a subreaper: %s", strerror (errno));
    pid = fork ();
    if (pid < 0)
        return fail (err, -EIO, "cannot start a process: %s", strerror (errno));
    if (pid == 0) {
        *ret = self;
        return 0;
    }
    wait_for_all (&share);
    if (share.lost)
        kill (getpid (), SIGKILL); /* the run is lost, for the daemon, too */
    *ret = share.code;
    return 1;
}
