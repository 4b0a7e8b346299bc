/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, checks and locks the state directory, and writes small files in it.
 */
#define _GNU_SOURCE /* asprintf */
#include "daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/number.h"
#include "base/safe_dir.h"

/* What is known of a directory that was opened by its path. */
struct opened {
    bool is_new;  /* it was made here, and is still the same */
    bool is_link; /* the last name is a link to it */
    /* Only this process's user can have put it at this path: no directory on the way belongs to another user, and
     * another one who may write to it (/tmp) can neither have made this one nor lead to it by a link. */
    bool trusted;
};

/* True if only this user can add or replace names in the directory. */
static bool is_ours (const struct stat *stat)
{
    return stat->st_uid == geteuid () && (stat->st_mode & 022) == 0;
}

/* Of a directory of this user in `parent`. */
static bool is_trusted (const struct stat *parent, bool is_link)
{
    if (is_ours (parent))
        return true;
    /* In a sticky directory only its owner can rename it. */
    return parent->st_uid == geteuid () && (parent->st_mode & S_ISVTX) && !is_link;
}

static void learn (int parent, const char *name, int fd, struct opened *about)
{
    struct stat above, entry, found;
    bool known = fstat (parent, &above) == 0 && fstat (fd, &found) == 0 &&
                 fstatat (parent, name, &entry, AT_SYMLINK_NOFOLLOW) == 0;
    about->is_link = !known || entry.st_dev != found.st_dev || entry.st_ino != found.st_ino;
    about->trusted = about->trusted && known && found.st_uid == geteuid () &&
                     is_trusted (&above, about->is_link);
}

/* Open a directory, made if it is missing, and give up the descriptor of its parent.  Another user who may write to
 * the parent could replace it: so a new one is not opened through a link, must belong to this user, and only its
 * owner may have write permission. */
static int enter (int parent, const char *name, mode_t mode, struct opened *about)
{
    struct stat stat;
    about->is_new = mkdirat (parent, name, mode) == 0;
    int rc = about->is_new || errno == EEXIST ? 0 : -errno;
    int follow = about->is_new ? O_NOFOLLOW : 0;
    int fd = rc < 0 ? -1 : openat (parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    if (rc == 0 && fd < 0 && errno == EACCES) /* a directory that may be passed, but not listed */
        fd = openat (parent, name, O_PATH | O_DIRECTORY | O_CLOEXEC | follow);
    if (rc == 0 && fd < 0)
        rc = -errno;
    if (rc == 0 && about->is_new && (fstat (fd, &stat) < 0 || !is_ours (&stat)))
        rc = -EPERM;
    if (rc == 0)
        learn (parent, name, fd, about);
    close (parent);
    if (rc < 0 && fd >= 0)
        close (fd);
    return rc < 0 ? rc : fd;
}

/* mkdir -p: missing parents get mode 0755, the directory itself 0700.  Returns a descriptor of it. */
static int make_directories (const char *path, struct opened *about)
{
    char *copy = strdup (path), *rest = NULL;
    int fd = copy ? open (*path == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int rc = copy ? 0 : -ENOMEM;
    if (copy && fd < 0)
        rc = -errno;
    *about = (struct opened){.trusted = *path == '/'};
    char *name = rc == 0 ? strtok_r (copy, "/", &rest) : NULL;
    while (name && fd >= 0) {
        char *next = strtok_r (NULL, "/", &rest);
        fd = enter (fd, name, next ? 0755 : 0700, about);
        name = next;
    }
    free (copy);
    return rc < 0 ? rc : fd;
}

static int is_empty (int directory, bool *ret)
{
    DIR *list;
    int code = safe_dir_list (directory, &list, NULL);
    if (code < 0)
        return code;
    *ret = !safe_dir_next (list);
    closedir (list);
    return 0;
}

/* An existing directory is given to the user if it is root's and empty, as systemd or an administrator made it.
 * The path may name a directory of the system, /etc for example: such a directory is never given away. */
static int hand_over (int fd, const char *path, const struct opened *about, unsigned uid,
                      unsigned gid, struct pollux_error *err)
{
    struct stat stat;
    bool empty = false;
    int rc = fstat (fd, &stat) < 0 ? -errno : 0;
    if (rc == 0 && stat.st_uid != geteuid ())
        return 0; /* the user's, or state_open refuses it */
    if (rc == 0 && !about->is_new)
        rc = is_empty (fd, &empty);
    bool safe = about->trusted && !about->is_link && is_ours (&stat);
    if (rc == 0 && !about->is_new && (!empty || !safe))
        return fail (err, -EPERM,
                     "state directory %s belongs to root, and %s: give it to the user of --run-as "
                     "(chown -R), or choose another with --state",
                     file_name (path).text,
                     empty ? "is a link, or other users can replace it" : "is not empty");
    if (rc == 0 && fchown (fd, uid, gid) < 0)
        rc = -errno;
    return rc < 0 ? fail (err, rc, "state directory %s: %s", file_name (path).text, strerror (-rc))
                  : 0;
}

int state_prepare (const char *path, unsigned uid, unsigned gid, struct pollux_error *err)
{
    struct opened about;
    int fd = make_directories (path, &about);
    if (fd < 0)
        return fail (err, fd, "cannot make the state directory %s: %s", file_name (path).text,
                     strerror (-fd));
    int rc = uid == geteuid () ? 0 : hand_over (fd, path, &about, uid, gid, err);
    close (fd);
    return rc;
}

/* Check that it is a directory of this user, and close it to other users. */
static int check_directory (int fd, const char *path, struct pollux_error *err)
{
    struct stat stat;
    if (fstat (fd, &stat) < 0)
        return fail (err, -errno, "state directory %s: %s", file_name (path).text,
                     strerror (errno));
    if (stat.st_uid != geteuid ())
        return fail (err, -EPERM,
                     "state directory %s belongs to user %u, and polluxd runs as %u; give it to "
                     "that user, or choose another with --state",
                     file_name (path).text, stat.st_uid, geteuid ());
    if ((stat.st_mode & 077) != 0 && fchmod (fd, 0700) < 0)
        return fail (err, -errno, "state directory %s is open to others, and cannot be closed: %s",
                     file_name (path).text, strerror (errno));
    return 0;
}

static int lock_directory (int directory, const char *path, int *ret, struct pollux_error *err)
{
    int fd = openat (directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail (err, -errno, "state directory %s: cannot write there: %s",
                     file_name (path).text, strerror (errno));
    int code = lock_take (fd, 0);
    if (code < 0) {
        close (fd);
        return code == -EBUSY
                   ? fail (err, code,
                           "another polluxd uses %s; stop that one, or choose another directory "
                           "with --state",
                           file_name (path).text)
                   : fail (err, code, "cannot lock %s: %s", file_name (path).text,
                           strerror (-code));
    }
    *ret = fd;
    return 0;
}

/* The number of the Slurm job in which polluxd runs; 0: in none. */
static int64_t slurm_job (void)
{
    const char *text = getenv ("SLURM_JOB_ID");
    int64_t number = 0;
    return text && number_int64 (text, &number) == 0 && number > 0 ? number : 0;
}

static int claim_directory (const struct state *state, bool shared, struct epoch *ret,
                            struct pollux_error *err)
{
    if (shared)
        return epoch_claim (state->path, slurm_job (), ret, err);
    if (epoch_used (state->path))
        return fail (
            err, -EBUSY,
            "state directory %s was used with --shared-state, and another host may use it: "
            "start polluxd with --shared-state, or choose another directory with --state",
            file_name (state->path).text);
    return 0;
}

int state_open (const char *path, bool shared, struct state *ret, struct pollux_error *err)
{
    struct opened about;
    int rc = make_directories (path, &about);
    if (rc < 0 && rc != -ENOTDIR) /* if it is no directory, the next call says so */
        return fail (err, rc, "cannot make the state directory %s: %s", file_name (path).text,
                     strerror (-rc));
    if (rc >= 0)
        close (rc);
    int directory = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0)
        return fail (err, -errno, "state directory %s: %s", file_name (path).text,
                     errno == ELOOP || errno == ENOTDIR ? "is no directory (links are not followed)"
                                                        : strerror (errno));
    struct state state = {.lock = -1};
    rc = check_directory (directory, path, err);
    if (rc == 0 && !shared)
        rc = lock_directory (directory, path, &state.lock, err);
    close (directory);
    if (rc == 0 && !(state.path = realpath (path, NULL)))
        rc = fail (err, -errno, "state directory %s: %s", file_name (path).text, strerror (errno));
    if (rc == 0)
        rc = claim_directory (&state, shared, &state.epoch, err);
    if (rc < 0) {
        state_close (&state);
        return rc;
    }
    *ret = state;
    return 0;
}

void state_close (struct state *state)
{
    if (state->lock >= 0)
        close (state->lock);
    free (state->path);
    *state = (struct state){.lock = -1};
}

char *state_path (const struct state *state, const char *name)
{
    char *path = NULL;
    return asprintf (&path, "%s/%s", state->path, name) < 0 ? NULL : path;
}

int state_check (const struct state *state, const char *name, struct pollux_error *err)
{
    struct stat stat;
    char *path = state_path (state, name);
    if (!path)
        return fail (err, -ENOMEM, "no memory");
    bool there = lstat (path, &stat) == 0;
    free (path);
    if (there && S_ISLNK (stat.st_mode))
        return fail (err, -ELOOP, "%s: a symbolic link: expected a file of polluxd's own", name);
    if (there && (!S_ISREG (stat.st_mode) || stat.st_uid != geteuid ()))
        return fail (err, -EPERM, "%s: expected a regular file that belongs to polluxd's user",
                     name);
    return 0;
}

int state_write (const struct state *state, const char *name, const char *text,
                 struct pollux_error *err)
{
    char temporary[NAME_MAX];
    snprintf (temporary, sizeof (temporary), ".%s.new", name);
    if (state->epoch.number > 0) /* a daemon that was superseded may write, too */
        snprintf (temporary, sizeof (temporary), ".%s.new-%lld", name,
                  (long long)state->epoch.number);
    char *path = state_path (state, name), *from = state_path (state, temporary);
    int rc = path && from ? 0 : -ENOMEM;
    if (rc == 0) {
        unlink (from);
        int fd = open (from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        rc = fd < 0 ? -errno : file_write_all (fd, text, strlen (text));
        if (fd >= 0 && close (fd) < 0 && rc == 0)
            rc = -errno;
        if (rc == 0 && rename (from, path) < 0)
            rc = -errno;
    }
    free (path);
    free (from);
    return rc == 0 ? 0 : fail (err, rc, "cannot write %s: %s", name, strerror (-rc));
}
