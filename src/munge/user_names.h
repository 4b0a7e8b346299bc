/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users by uid, with a cache.  A directory service (NSS) may not answer for minutes, and nothing can
 * interrupt a lookup; so a thread of its own makes them, and the caller waits at most USER_NAMES_WAIT_MS.
 *
 * A name in the cache is used for a minute.  After that it is looked up again; if that does not succeed in time, the
 * name is used further, for an hour.  While a lookup hangs, no call waits: names in the cache are found, others are not.
 *
 * "There is no such user" counts five minutes after the last answer with a name: NSS with `sss files` says so of all
 * users of a directory while sssd restarts.
 *
 * The cache has 256 places, one per uid modulo 256.  Two users of one place replace each other: then each request is a
 * lookup, and without answers only the last of the two is found.
 */
#ifndef MUNGE_USER_NAMES_H
#define MUNGE_USER_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "pollux/pollux.h"

enum { USER_NAME_SIZE = 64, USER_NAMES_WAIT_MS = 1000 };

struct user_names;

/* NULL: no memory.  The thread starts with the first lookup. */
struct user_names *user_names_new (void);
/* Does not wait for a lookup that hangs.  NULL is fine. */
void user_names_free (struct user_names *names);

/* For one thread.  now_s: of any clock, above 0.  -EACCES: there is no such user, the name is not one printable word, or
 * by the name another uid is found; -EAGAIN: the directory
 * service does not answer. */
int user_names_find (struct user_names *names, uid_t uid, int64_t now_s, char ret[USER_NAME_SIZE],
                     struct pollux_error *err);

#endif
