/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The change of user, by polluxd (run-as) and by the process that acts for owners.  The uid comes last:
 * without root's the others cannot be changed.
 */
#define _GNU_SOURCE /* setresuid */
#include "backend/become_user.h"

#include <errno.h>
#include <grp.h>
#include <unistd.h>

int become_user (const char *name, uid_t uid, gid_t gid)
{
    if (initgroups (name, gid) < 0 || setresgid (gid, gid, gid) < 0 ||
        setresuid (uid, uid, uid) < 0)
        return -errno;
    return 0;
}
