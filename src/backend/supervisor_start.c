/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run from its description to the replica's exec.  All that can fail without the replica is done
 * before the run directory is published; after that, the status reports failures.
 */
#define _GNU_SOURCE
#include "backend/supervisor_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/agent_socket.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

void supervisor_stop_signals (sigset_t *ret)
{
    sigemptyset (ret);
    sigaddset (ret, SIGTERM);
    sigaddset (ret, SIGINT);
    sigaddset (ret, SIGURG);
}

void supervisor_signals (sigset_t *ret)
{
    supervisor_stop_signals (ret);
    sigaddset (ret, SIGCHLD);
}

int supervisor_watch (const struct supervisor *supervisor, int file, enum tag tag,
                      struct pollux_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};
    return epoll_ctl (supervisor->epoll, EPOLL_CTL_ADD, file, &event) < 0
               ? fail (err, -errno, "epoll: %s", strerror (errno))
               : 0;
}

/* ---- The run directory -------------------------------------------------------------------- */

int supervisor_identify (struct supervisor *supervisor, const struct run_name *name,
                         struct pollux_error *err)
{
    struct run_info *info = &supervisor->info;
    uint64_t random;
    setsid (); /* fails for the leader of a process group, as a shell starts it: that is fine */
    if (prctl (PR_SET_CHILD_SUBREAPER, 1) < 0)
        return fail (err, -errno, "cannot become a subreaper: %s", strerror (errno));
    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        return fail (err, -errno, "no random number: %s", strerror (errno));
    struct run_family family = run_family (supervisor->root, name);
    snprintf (info->id, sizeof (info->id), "%.110s.%016" PRIx64, family.text, random);
    info->slots = supervisor->description->slots;
    int guardian = supervisor->options->guardian;
    if (guardian == 0 || guardian != getppid () ||
        process_identify (guardian, &info->guardian, NULL) < 0)
        info->guardian = (struct run_process){0}; /* it has none, or it was killed */
    int code = process_boot (info->boot, err);
    return code < 0 ? code : process_identify (getpid (), &info->supervisor, err);
}

/* A cgroup is optional: without one, the processes of the run are found in /proc. */
static void make_cgroup (struct supervisor *supervisor)
{
    const char *cgroup = supervisor->description->cgroup;
    if (!cgroup)
        return;
    if (mkdir (cgroup, 0755) < 0)
        log_mark (&supervisor->log, "no cgroup %s: %s", file_name (cgroup).text, strerror (errno));
    else
        strcpy (supervisor->info.cgroup, cgroup);
}

/* Sign a request.  A healthy munged takes less than a millisecond; a frozen one delays the supervisor by SIGN_MS at
 * each attempt, and the sender pauses between them. */
static int sign (void *self, const char *method, const char *target, const void *body,
                 size_t length, char *ret, size_t size)
{
    enum { SIGN_MS = 100 };
    struct supervisor *supervisor = self;
    return munge_worker_sign_now (supervisor->munge, SIGN_MS,
                                  (uid_t)supervisor->description->munge_uid, method, target, body,
                                  length, ret, size, NULL);
}

/* Reports are not essential: without libmunge the replica runs without them. */
static bool open_munge (struct supervisor *supervisor)
{
    struct pollux_error why;
    struct munge *munge = NULL;
    int code = munge_open (NULL, &munge, &why);
    if (code == 0)
        code = munge_worker_new (munge, &supervisor->munge, &why);
    if (code < 0)
        log_mark (&supervisor->log, "no reports to polluxd: %s", why.text);
    return code == 0;
}

static int open_sender (struct supervisor *supervisor, struct pollux_error *err)
{
    const struct run_description *description = supervisor->description;
    bool munge = description->auth == RUN_AUTH_MUNGE;
    if (!description->url || (munge && !open_munge (supervisor)))
        return 0;
    struct hint_sender_options options = {
        .url = description->url,
        .token = description->token,
        .ca = description->ca,
        .job = supervisor->name.job,
        .epoll = supervisor->epoll,
        .tag = TAG_SENDER,
        .sign = munge ? sign : NULL,
        .self = supervisor,
    };
    return hint_sender_new (&options, &supervisor->sender, err);
}

int supervisor_open_run (struct supervisor *supervisor, int root, const struct run_name *name,
                         struct pollux_error *err)
{
    const struct run_description *description = supervisor->description;
    int code = run_create (root, name, &supervisor->run, err);
    if (code < 0)
        return code;
    supervisor->log =
        log_open (supervisor->run.directory, description->log_size, description->log_files);
    code = agent_socket_open (root, name, supervisor->run.directory, &supervisor->agent,
                              supervisor->info.socket, err);
    if (code == 0)
        code = supervisor_watch (supervisor, supervisor->agent, TAG_AGENT, err);
    if (code == 0)
        code = open_sender (supervisor, err);
    if (code < 0)
        return code;
    make_cgroup (supervisor);
    fault_point ("run-publish");
    return run_publish (&supervisor->run, name, &supervisor->info, err);
}

/* ---- Starting ----------------------------------------------------------------------------- */

static size_t count_strings (char **strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* Is a variable NAME=value replaced by one of the list? */
static bool is_replaced (const char *variable, char *const *by)
{
    size_t length = strcspn (variable, "=") + 1;
    while (*by && strncmp (*by, variable, length) != 0)
        by++;
    return *by;
}

/* A list of borrowed strings, the caller's (free): the description's variables, the extra ones,
 * those of the node, which replace others, and the two that are written into run and socket. */
static char **make_environment (const struct supervisor *supervisor, char *run, size_t run_size,
                                char *socket, size_t socket_size)
{
    char **given = supervisor->description->environment, **extra = supervisor->mpi.variables;
    char *const *node = supervisor->node_variables;
    extra = extra ? extra : supervisor->options->extra;
    size_t count = 0, capacity = count_strings (given) + count_strings (extra) + 6;
    char **environment = calloc (capacity, sizeof (char *));
    if (!environment)
        return NULL;
    snprintf (run, run_size, "POLLUX_RUN=%s", supervisor->info.id);
    snprintf (socket, socket_size, "POLLUX_SOCKET=%s", supervisor->info.socket);
    for (; given && *given; given++)
        if (!is_replaced (*given, node))
            environment[count++] = *given;
    for (; extra && *extra; extra++)
        if (!is_replaced (*extra, node))
            environment[count++] = *extra;
    while (*node)
        environment[count++] = *node++;
    environment[count++] = run;
    environment[count] = socket;
    return environment;
}

static int open_cgroup (const struct supervisor *supervisor)
{
    char path[RUN_PATH_SIZE + 16];
    if (!*supervisor->info.cgroup)
        return -1;
    snprintf (path, sizeof (path), "%s/cgroup.procs", supervisor->info.cgroup);
    return open (path, O_WRONLY | O_CLOEXEC);
}

int supervisor_start (struct supervisor *supervisor, struct pollux_error *err)
{
    char run[RUN_ID_SIZE + 16], socket[RUN_PATH_SIZE + 16];
    int ends[2];
    char **environment = make_environment (supervisor, run, sizeof (run), socket, sizeof (socket));
    if (!environment)
        return fail (err, -ENOMEM, "not enough memory");
    int code = 0, cgroup = open_cgroup (supervisor);
    fault_point ("run-start");
    if (pipe2 (ends, O_CLOEXEC) < 0) {
        code = fail (err, -errno, "no pipe: %s", strerror (errno));
    } else {
        supervisor->output = ends[0];
        fcntl (ends[0], F_SETFL, O_NONBLOCK); /* this end only: the replica's writes block */
        code = replica_start (supervisor->description, environment, ends[1], cgroup,
                              &supervisor->replica, err);
        close (ends[1]);
    }
    if (cgroup >= 0)
        close (cgroup);
    free (environment);
    if (code == 0)
        code = supervisor_watch (supervisor, supervisor->output, TAG_OUTPUT, err);
    if (code == 0)
        code = supervisor_watch (supervisor, supervisor->replica.report, TAG_REPORT, err);
    return code;
}

void supervisor_take_report (struct supervisor *supervisor)
{
    struct run_process replica;
    struct pollux_error err;
    if (supervisor->replica.report < 0)
        return;
    int code =
        replica_report (&supervisor->replica, supervisor->description, supervisor->status.why);
    fault_point ("run-started");
    supervisor->status.started = code == 0;
    supervisor->status.code = code;
    if (code > 0) {
        log_mark (&supervisor->log, "%s", supervisor->status.why);
        return;
    }
    /* If this process is killed, run_kill finds the process group by it. */
    code = process_identify (supervisor->replica.pid, &replica, &err);
    if (code == 0)
        code = run_write_replica (&supervisor->run, &replica, &err);
    if (code < 0 && code != -ESRCH) /* ESRCH: it has ended */
        log_mark (&supervisor->log, "%s", err.text);
}
