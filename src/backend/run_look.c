/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's side of run directories: reading their state, killing what a lost run left, removing
 * them.
 */
#define _GNU_SOURCE /* F_OFD_GETLK */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "backend/agent_socket.h"
#include "base/safe_dir.h"
#include "backend/run_open.h"
#include "base/error.h"
#include "wire/submission.h"

/* Looked at for the first failure: all run the same program. */
enum { FAILURE_RANKS = 64 };

const char *const run_state_names[] = {"none", "running", "ended", "lost", "begun"};
static_assert (sizeof (run_state_names) / sizeof (run_state_names[0]) == RUN_STATES,
               "a name for every state");

/* ---- Looking at a run --------------------------------------------------------------------- */

/* 1 if a process holds the lock, 0 if none does or the file is missing.  F_OFD_GETLK only asks; it
 * sees the locks of all processes. */
static int lock_held (int directory, struct pollux_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file;
    int code = safe_dir_open_file (directory, RUN_LOCK, &file, err);
    if (code < 0)
        return code == -ENOENT ? 0 : code;
    code = fcntl (file, F_OFD_GETLK, &lock) < 0
               ? fail (err, -errno, "%s: %s", RUN_LOCK, strerror (errno))
               : lock.l_type != F_UNLCK;
    close (file);
    return code;
}

/* Read a file of a run that may be missing: 1, and *text belongs to the caller; 0: it is. */
static int read_file (int directory, const char *name, char **text, size_t *length,
                      struct pollux_error *err)
{
    int code = safe_dir_read (directory, name, RUN_FILE_LIMIT, text, length, err);
    return code == 0 ? 1 : code == -ENOENT ? 0 : code;
}

/* 1 if there is a status, 0 if not. */
static int look_status (int directory, struct run_view *ret, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = read_file (directory, RUN_STATUS, &text, &length, err);
    if (code <= 0)
        return code;
    code = run_status_decode (RUN_STATUS, text, length, &ret->status, err);
    free (text);
    ret->has_status = code == 0;
    return code < 0 ? code : 1;
}

/* Read info, and replica if it exists: it is written after the start. */
static int look_identity (int directory, struct run_view *ret, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = safe_dir_read (directory, RUN_INFO, RUN_FILE_LIMIT, &text, &length, err);
    if (code < 0)
        return code;
    code = run_info_decode (RUN_INFO, text, length, &ret->info, err);
    free (text);
    ret->has_info = code == 0;
    if (code < 0)
        return code;
    code = read_file (directory, RUN_REPLICA, &text, &length, err);
    if (code <= 0)
        return code;
    code = run_replica_decode (RUN_REPLICA, text, length, &ret->replica, err);
    free (text);
    ret->has_replica = code == 0;
    return code;
}

/* Otherwise this program lacks memory, descriptors or the like. */
bool run_is_damage (int code)
{
    return code == -EINVAL || code == -EFBIG || code == -EPROTO || code == -ELOOP ||
           code == -ENOENT || code == -ENOTDIR || code == -EISDIR || code == -EPERM ||
           code == -EACCES;
}

/* The lock is free and there is no status. */
static void set_lost (struct run_view *ret, const char *damage)
{
    ret->state = RUN_LOST;
    fail (&ret->why, 0, "the supervisor died before it wrote how its replica ended%s%s",
          *damage ? "; " : "", damage);
}

static int look (int directory, struct run_view *ret, struct pollux_error *err)
{
    struct pollux_error why = {.text = ""};
    /* The status is written before the lock is released: if the lock is free, read the status
     * again. */
    int ended = look_status (directory, ret, &why), held = lock_held (directory, err);
    if (held < 0 && !run_is_damage (held))
        return held;
    held = held > 0; /* a damaged lock, such as a link or a directory, counts as free */
    if (ended == 0 && !held)
        ended = look_status (directory, ret, &why);
    struct pollux_error identity_why = {.text = ""};
    int identity = look_identity (directory, ret, &identity_why);
    if (ended > 0) {
        ret->state = RUN_ENDED;
        return 0;
    }
    if (ended < 0 && !run_is_damage (ended))
        return fail (err, ended, "%s", why.text);
    if (identity < 0 && (held || !run_is_damage (identity)))
        return fail (err, identity == -ENOENT ? -EINVAL : identity, "%s", identity_why.text);
    if (held)
        ret->state = RUN_RUNNING;
    else
        set_lost (ret, ended < 0 ? why.text : identity < 0 ? identity_why.text : "");
    return 0;
}

/* The files of a run, without its lock. */
static int read_files (int directory, struct run_view *ret, struct pollux_error *err)
{
    struct pollux_error why = {.text = ""}, identity_why = {.text = ""};
    int ended = look_status (directory, ret, &why);
    int identity = look_identity (directory, ret, &identity_why);
    if (ended < 0 && !run_is_damage (ended))
        return fail (err, ended, "%s", why.text);
    if (identity < 0 && !run_is_damage (identity))
        return fail (err, identity, "%s", identity_why.text);
    ret->state = ended > 0 ? RUN_ENDED : RUN_BEGUN;
    if (ended < 0 || identity < 0)
        ret->why = ended < 0 ? why : identity_why;
    return 0;
}

static int look_with (int (*how) (int, struct run_view *, struct pollux_error *), int root,
                      const struct run_name *name, struct run_view *ret, struct pollux_error *err)
{
    int directory;
    struct pollux_error why = {.text = ""};
    int code = run_open_directory (root, name, &directory, &why);
    if (code == -ENOENT) {
        memset (ret, 0, sizeof (*ret));
        return 0;
    }
    if (how == read_files && run_is_damage (code)) {
        *ret = (struct run_view){.state = RUN_BEGUN, .why = why};
        return 0;
    }
    struct run_view *view = code == 0 ? calloc (1, sizeof (*view)) : NULL;
    if (code == 0) {
        code = view ? how (directory, view, &why) : fail (&why, -ENOMEM, "not enough memory");
        close (directory);
    }
    if (code == 0)
        *ret = *view;
    else
        fail (err, code, "run %s: %s", run_path (name).text, why.text);
    free (view);
    return code;
}

int run_look (int root, const struct run_name *name, struct run_view *ret, struct pollux_error *err)
{
    return look_with (look, root, name, ret, err);
}

int run_read (int root, const struct run_name *name, struct run_view *ret, struct pollux_error *err)
{
    return look_with (read_files, root, name, ret, err);
}

int run_open_log (int root, const struct run_name *name, int number, int *ret,
                  struct pollux_error *err)
{
    char log[32] = "out.log";
    int directory;
    if (number > 0)
        snprintf (log, sizeof (log), "out.log.%d", number);
    int code = run_open_directory (root, name, &directory, err);
    if (code < 0)
        return code;
    code = safe_dir_open_file (directory, log, ret, err);
    close (directory);
    return code;
}

int run_open_job_log (int root, const char *job, int generation, int rank, int number, int *ret,
                      struct pollux_error *err)
{
    struct run_name name = {.generation = generation, .rank = rank};
    if (!wire_is_job (job)) /* such a job never had a directory */
        return fail (err, -ENOENT, "there are no logs of job %.63s", job);
    snprintf (name.job, sizeof (name.job), "%s", job);
    return run_open_log (root, &name, number, ret, err);
}

int run_first_failure (int root, const char *job, int generation, bool elsewhere, int *ret_rank)
{
    struct run_view *view = malloc (sizeof (*view));
    struct run_name name = {.generation = generation};
    int code = 0;
    *ret_rank = 0;
    snprintf (name.job, sizeof (name.job), "%s", job);
    for (; view && code == 0 && name.rank < FAILURE_RANKS; name.rank++) {
        int rc =
            elsewhere ? run_read (root, &name, view, NULL) : run_look (root, &name, view, NULL);
        if (rc < 0 || view->state == RUN_NONE)
            break;
        if (view->has_status && !view->status.stopped && run_status_code (&view->status) != 0) {
            *ret_rank = name.rank;
            code = run_status_code (&view->status);
        }
    }
    free (view);
    return code;
}

/* ---- The end of a run --------------------------------------------------------------------- */

int run_stop (int supervisor, struct pollux_error *err)
{
    siginfo_t request = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
    request.si_pid = getpid ();
    request.si_uid = getuid ();
    request.si_value.sival_int = RUN_STOP_VALUE;
    if (pidfd_send_signal (supervisor, SIGTERM, &request, 0) < 0)
        return fail (err, -errno, "cannot stop a supervisor: %s", strerror (errno));
    if (process_is_halted (process_of_pidfd (supervisor)))
        pidfd_send_signal (supervisor, SIGCONT, NULL, 0);
    return 0;
}

int run_kill (int root, const struct run_name *name, const struct run_view *view,
              struct pollux_error *err)
{
    struct run_family family = run_family (root, name);
    struct process_tree tree = {.family = family.text};
    char boot[RUN_BOOT_SIZE];
    int code = process_boot (boot, err);
    if (code < 0)
        return code;
    if (view->has_info && strcmp (boot, view->info.boot) == 0) {
        tree.id = view->info.id;
        tree.cgroup = view->info.cgroup;
        if (view->has_replica) {
            tree.session = view->info.supervisor.pid;
            tree.group = view->replica.pid;
        }
    }
    int count = process_signal_tree (&tree, SIGKILL, err);
    if (count == 0 && view->has_info) {
        agent_socket_remove (view->info.socket);
        if (*view->info.cgroup)
            rmdir (view->info.cgroup);
    }
    return count;
}

/* -EBUSY if a supervisor holds a lock in a generation's directory, published or not. */
static int any_held (int generation, struct pollux_error *err)
{
    DIR *list;
    int code = safe_dir_list (generation, &list, err);
    if (code < 0)
        return code;
    const char *name;
    while (code == 0 && (name = safe_dir_next (list))) {
        int directory;
        if (safe_dir_open (generation, name, &directory, NULL) < 0)
            continue;
        code = lock_held (directory, err);
        if (code > 0)
            code = fail (err, -EBUSY, "run %s still runs", name);
        else if (run_is_damage (code))
            code = 0; /* a damaged lock, such as a link or a directory, counts as free */
        close (directory);
    }
    closedir (list);
    return code;
}

/* Remove an entry of a generation's directory: a file, a link or a directory. */
static void remove_entry (int directory, const char *name)
{
    if (unlinkat (directory, name, 0) < 0)
        safe_dir_remove (directory, name, NULL);
}

/* Names of unpublished runs and of files that are being written begin with a dot. */
void run_tidy (int root, const char *job, int generation)
{
    int directory;
    DIR *list;
    const char *name;
    if (run_open_generation (root, job, generation, &directory, NULL) < 0)
        return;
    if (safe_dir_list (directory, &list, NULL) == 0) {
        while ((name = safe_dir_next (list))) {
            int run, held = 0;
            if (*name != '.')
                continue;
            if (safe_dir_open (directory, name, &run, NULL) == 0) {
                held = lock_held (run, NULL);
                close (run);
            }
            if (held <= 0)
                remove_entry (directory, name);
        }
        closedir (list);
    }
    close (directory);
}

int run_remove (int root, const char *job, int generation, struct pollux_error *err)
{
    char number[16];
    int directory, parent;
    int code = run_open_generation (root, job, generation, &directory, err);
    if (code == -ENOENT)
        return 0;
    if (code == 0) {
        code = any_held (directory, err);
        close (directory);
    } else if (code == -ELOOP || code == -ENOTDIR) {
        code = 0; /* not a directory: it is removed as what it is */
    }
    if (code == 0)
        code = safe_dir_open (root, job, &parent, err);
    if (code < 0)
        return code;
    snprintf (number, sizeof (number), "%d", generation);
    if (unlinkat (parent, number, 0) < 0)
        code = safe_dir_remove (parent, number, err);
    close (parent);
    if (code == 0)
        unlinkat (root, job, AT_REMOVEDIR); /* if this was the last */
    return code;
}
