/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The change from root to the owner of a job.  The order matters: groups and gid can only be changed
 * as root, so uid comes last; then the ids are read back, and an attempt to become
 * root again must fail.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/become_user.h"
#include "backend/slurm/as_owner_private.h"
#include "base/error.h"
#include "wire/slurm_config.h"

static int copy (const char *from, char *ret, size_t size)
{
    if (!from || strlen (from) >= size)
        return -ENAMETOOLONG;
    strcpy (ret, from);
    return 0;
}

static int look_up (const char *name, unsigned min_uid, struct owner_account *ret,
                    struct pollux_error *err)
{
    char buffer[16384];
    struct passwd entry, *found = NULL;
    int code = getpwnam_r (name, &entry, buffer, sizeof (buffer), &found);
    /* With a code, ENOENT for example, a database did not answer; without one, the user is in none of them. */
    if (!found && code != 0)
        return fail (err, OWNER_LOOKUP_FAILED, "owner %s cannot be looked up: %s", name,
                     strerror (code));
    if (!found)
        return fail (err, OWNER_NO_ACCOUNT, "owner %s has no account on this machine", name);
    if (entry.pw_uid == 0)
        return fail (err, -EPERM, "owner %s is root: jobs of root are not run", name);
    if (entry.pw_uid < min_uid)
        return fail (err, -EPERM,
                     "owner %s has uid %u: only uids from %u on are served (see --min-uid)", name,
                     entry.pw_uid, min_uid);
    ret->uid = entry.pw_uid;
    ret->gid = entry.pw_gid;
    if (copy (entry.pw_dir, ret->home, sizeof (ret->home)) < 0 ||
        copy (*entry.pw_shell ? entry.pw_shell : "/bin/sh", ret->shell, sizeof (ret->shell)) < 0)
        return fail (err, -ENAMETOOLONG, "owner %s: the home directory's path is too long", name);
    return 0;
}

/* Are all ids those of the owner, and is root out of reach? */
static bool is_owner (const struct owner_account *account)
{
    uid_t uid[3];
    gid_t gid[3];
    if (getresuid (&uid[0], &uid[1], &uid[2]) < 0 || getresgid (&gid[0], &gid[1], &gid[2]) < 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (uid[i] != account->uid || gid[i] != account->gid)
            return false;
    return seteuid (0) < 0 && setresuid ((uid_t)-1, 0, (uid_t)-1) < 0;
}

static int change (const char *name, const struct owner_account *account, struct pollux_error *err)
{
    if (geteuid () != 0) {
        if (account->uid == geteuid () && account->gid == getegid ())
            return 0;
        return fail (err, -EPERM,
                     "polluxd was not started as root and can run jobs of its own user only, not "
                     "of owner %s",
                     name);
    }
    int code = become_user (name, account->uid, account->gid);
    return code < 0 ? fail (err, code, "cannot become owner %s: %s", name, strerror (-code)) : 0;
}

int become_owner (const char *name, unsigned min_uid, struct owner_account *ret,
                  struct pollux_error *err)
{
    pid_t parent = getppid ();
    int code = look_up (name, min_uid, ret, err);
    if (code == 0)
        code = change (name, ret, err);
    if (code < 0)
        return code;
    if (!is_owner (ret))
        return fail (err, -EPERM, "cannot become owner %s for good", name);
    umask (077);
    /* After the change of the uid, which clears both.  Other processes of the owner cannot trace this
     * one or read its memory; an exec allows it again. */
    if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl (PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl (PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return fail (err, -errno, "cannot give up privileges: %s", strerror (errno));
    if (getppid () != parent) /* it died before the kernel was asked */
        return fail (err, -EPIPE, "the root process has ended");
    return 0;
}

/* ---- The owner's directory ---------------------------------------------------------------- */

int owner_directory_expand (const char *text, const char *home, const char *user, char *ret,
                            size_t size)
{
    size_t length = 0;
    if (wire_wrong_slurm_directory (text) || home[0] != '/')
        return -EINVAL;
    for (const char *at = text; *at; at++) {
        char one[2] = {*at, '\0'};
        const char *piece = one;
        if (*at == '%' && *++at != '%')
            piece = *at == 'h' ? home : user;
        if (length + strlen (piece) >= size)
            return -ENAMETOOLONG;
        strcpy (ret + length, piece);
        length += strlen (piece);
    }
    return 0;
}
