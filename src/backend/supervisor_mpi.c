/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of MPI whose replica is a child of its supervisor, not of mpirun (mpirun.h).  mpirun starts a proxy in its place:
 *
 *     proxy                                         supervisor
 *       writes RANK.mpi: its identity, that of
 *       its parent, and the variables of MPI  ---->   reads and removes it
 *       watches the supervisor                <----   SIGURG; starts the replica with these variables
 *       ends                                  <----   SIGTERM: the replica has ended
 *
 * The parent of the proxy is Open MPI's daemon of this node, or mpirun.  If the proxy ends first, mpirun has ended the rank.
 * If the supervisor ends first, the proxy ends, too.
 *
 * The supervisor stays until that parent has ended.  Otherwise the Slurm job of a node whose ranks end early would end with
 * Open MPI's daemon in it, and mpirun would kill the ranks of all other nodes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "backend/process.h"
#include "backend/run_open.h"
#include "backend/supervisor_private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/safe_dir.h"

/* Between looks. */
enum { LOOK_MS = 50, PROXY_LOOK_MS = 500 };
/* For all shares to begin, and mpirun to start its ranks. */
#define MPI_US (180 * SECOND_US)
/* Open MPI sets about 40 variables of 100 bytes. */
enum { MPI_LIMIT = 1 << 18, END_LIMIT = 1 << 10 };

static void file_name (const struct run_name *name, char ret[32])
{
    snprintf (ret, 32, "%d.mpi", name->rank);
}

/* ---- The proxy ---------------------------------------------------------------------------- */

/* "BOOT PID START PID START": the proxy and its parent.  Then the variables.  Each item ends with a NUL. */
static int write_variables (int directory, const struct run_name *name, char *const *variables,
                            struct pollux_error *err)
{
    char boot[RUN_BOOT_SIZE], file_text[32], *text = NULL;
    struct run_process self, parent;
    size_t length;
    int code = process_boot (boot, err);
    if (code == 0)
        code = process_identify (getpid (), &self, err);
    if (code == 0)
        code = process_identify (getppid (), &parent, err);
    if (code < 0)
        return code;
    FILE *file = open_memstream (&text, &length);
    if (!file)
        return fail (err, -ENOMEM, "not enough memory");
    fprintf (file, "%s %d %" PRIu64 " %d %" PRIu64, boot, self.pid, self.start, parent.pid,
             parent.start);
    fputc ('\0', file);
    for (; *variables; variables++)
        fwrite (*variables, 1, strlen (*variables) + 1, file);
    bool broken = ferror (file);
    code = fclose (file) != 0 || broken ? fail (err, -ENOMEM, "not enough memory") : 0;
    file_name (name, file_text);
    if (code == 0)
        code = safe_dir_replace (directory, file_text, text, length, err);
    free (text);
    return code;
}

/* Has the run ended, or is its generation gone? */
static bool has_ended (int root, const struct run_name *name)
{
    int directory, generation;
    if (run_open_generation (root, name->job, name->generation, &generation, NULL) < 0)
        return true;
    close (generation);
    if (run_open_directory (root, name, &directory, NULL) < 0)
        return false; /* its supervisor has not begun */
    bool ended = faccessat (directory, RUN_STATUS, F_OK, 0) == 0;
    close (directory);
    return ended;
}

/* SIGURG comes from the supervisor, with its pid.  False: the end. */
static bool take_signal (int signals, int *supervisor)
{
    struct signalfd_siginfo signal;
    if (read (signals, &signal, sizeof (signal)) != sizeof (signal))
        return true;
    if (signal.ssi_signo != SIGURG)
        return false;
    if (*supervisor < 0)
        *supervisor = pidfd_open ((pid_t)signal.ssi_pid, 0);
    return *supervisor >= 0;
}

int supervisor_mpi_proxy (int root, const struct run_name *name, char *const *variables,
                          struct pollux_error *err)
{
    int directory, supervisor = -1, parent = pidfd_open (getppid (), 0);
    sigset_t stop;
    supervisor_stop_signals (&stop);
    int signals = signalfd (-1, &stop, SFD_NONBLOCK | SFD_CLOEXEC);
    int code = parent < 0 || signals < 0 ? fail (err, -errno, "pidfd: %s", strerror (errno)) : 0;
    if (code == 0)
        code = run_open_generation (root, name->job, name->generation, &directory, err);
    if (code == 0) {
        code = write_variables (directory, name, variables, err);
        close (directory);
    }
    while (code == 0) {
        struct pollfd files[] = {{.fd = signals, .events = POLLIN},
                                 {.fd = parent, .events = POLLIN},
                                 {.fd = supervisor, .events = POLLIN}};
        int ready = poll (files, 3, supervisor < 0 ? PROXY_LOOK_MS : -1);
        if (files[1].revents || files[2].revents ||
            (files[0].revents && !take_signal (signals, &supervisor)) ||
            (ready == 0 && has_ended (root, name)))
            break;
    }
    int all[] = {signals, parent, supervisor};
    for (size_t i = 0; i < sizeof (all) / sizeof (all[0]); i++)
        if (all[i] >= 0)
            close (all[i]);
    return code;
}

/* ---- The supervisor ----------------------------------------------------------------------- */

/* mpirun has ended, before it started this rank: -EIO with its reason. */
static int look_for_end (int directory, const struct run_name *name, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = safe_dir_read (directory, RUN_MPIRUN, END_LIMIT, &text, &length, err);
    if (code < 0)
        return code;
    code = fail (err, -EIO, "mpirun did not start it: %.100s; see run/%s/%d/share-0.out", text,
                 name->job, name->generation);
    free (text);
    return code;
}

static int open_processes (struct supervisor *supervisor, struct pollux_error *err)
{
    struct run_process proxy, parent;
    char boot[RUN_BOOT_SIZE];
    _Static_assert(RUN_BOOT_SIZE == 40, "the format below has this width");
    if (sscanf (supervisor->mpi.text, "%39s %d %" SCNu64 " %d %" SCNu64, boot, &proxy.pid,
                &proxy.start, &parent.pid, &parent.start) != 5)
        return fail (err, -EINVAL, "the variables of MPI are damaged");
    int code = process_open (&proxy, boot, &supervisor->mpi.proxy, err);
    if (code == 0)
        code = process_open (&parent, boot, &supervisor->mpi.parent, err);
    if (code == -ESRCH)
        return fail (err, -EIO, "mpirun ended before the replica was started");
    if (code == 0 && pidfd_send_signal (supervisor->mpi.proxy, SIGURG, NULL, 0) < 0)
        code = fail (err, -errno, "the proxy of mpirun: %s", strerror (errno));
    if (code == 0)
        code = supervisor_watch (supervisor, supervisor->mpi.proxy, TAG_MPI, err);
    return code;
}

static int split_variables (struct supervisor *supervisor, size_t length, struct pollux_error *err)
{
    char *text = supervisor->mpi.text, *end = text + length;
    size_t count = 0;
    for (const char *at = text; at < end; at++)
        count += *at == '\0';
    char **list = calloc (count + 1, sizeof (char *));
    if (!list)
        return fail (err, -ENOMEM, "not enough memory");
    supervisor->mpi.variables = list;
    for (char *at = text + strlen (text) + 1; at < end; at += strlen (at) + 1)
        *list++ = at;
    return 0;
}

/* One look; -ENOENT: not there so far. */
static int look_for_variables (struct supervisor *supervisor, struct pollux_error *err)
{
    const struct run_name *name = &supervisor->name;
    char file[32];
    size_t length;
    int directory;
    int code = run_open_generation (supervisor->root, name->job, name->generation, &directory, err);
    if (code < 0)
        return code;
    file_name (name, file);
    code = safe_dir_read (directory, file, MPI_LIMIT, &supervisor->mpi.text, &length, err);
    if (code == 0) {
        unlinkat (directory, file, 0);
        code = split_variables (supervisor, length, err);
        if (code == 0)
            code = open_processes (supervisor, err);
    } else if (code == -ENOENT) {
        code = look_for_end (directory, name, err);
    }
    close (directory);
    return code;
}

int supervisor_find_mpi (struct supervisor *supervisor, struct pollux_error *err)
{
    int64_t end_us = clock_monotonic_us () + MPI_US;
    int code;
    while ((code = look_for_variables (supervisor, err)) == -ENOENT) {
        struct pollfd signals = {.fd = supervisor->signals, .events = POLLIN};
        if (clock_monotonic_us () >= end_us)
            return fail (err, -ETIMEDOUT, "mpirun has not started it for %d s",
                         (int)(MPI_US / SECOND_US));
        if (poll (&signals, 1, LOOK_MS) > 0)
            return fail (err, -ECANCELED, "stopped before it was started");
    }
    return code;
}

void supervisor_mpi_lost (struct supervisor *supervisor, int64_t now_us)
{
    epoll_ctl (supervisor->epoll, EPOLL_CTL_DEL, supervisor->mpi.proxy, NULL);
    supervisor->mpi.lost_us = now_us;
}

void supervisor_mpi_ended (const struct supervisor *supervisor)
{
    if (supervisor->mpi.proxy < 0)
        return;
    epoll_ctl (supervisor->epoll, EPOLL_CTL_DEL, supervisor->mpi.proxy, NULL);
    pidfd_send_signal (supervisor->mpi.proxy, SIGTERM, NULL, 0);
}

void supervisor_mpi_close (struct supervisor *supervisor)
{
    struct pollfd parent = {.fd = supervisor->mpi.parent, .events = POLLIN};
    if (parent.fd >= 0) {
        while (poll (&parent, 1, -1) < 0 && errno == EINTR)
            ;
        close (parent.fd);
    }
    if (supervisor->mpi.proxy >= 0)
        close (supervisor->mpi.proxy);
    free (supervisor->mpi.variables);
    free (supervisor->mpi.text);
}
