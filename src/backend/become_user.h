/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_BECOME_USER_H
#define BACKEND_BECOME_USER_H

#include <sys/types.h>

/* Take a user's groups, gid and uid for good; root only.  0 or -errno. */
int become_user (const char *name, uid_t uid, gid_t gid);

#endif
