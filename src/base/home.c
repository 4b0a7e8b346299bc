/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The default state directory, where clients find the daemon.
 */
#include "base/home.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

/* An environment variable; NULL: not set or empty. */
static const char *variable (const char *name)
{
    const char *value = getenv (name);
    return value && *value ? value : NULL;
}

int home_state (char ret[PATH_MAX], struct pollux_error *err)
{
    const char *given = variable ("POLLUX_STATE"), *xdg = variable ("XDG_STATE_HOME"),
               *home = variable ("HOME");
    int length;
    if (given)
        length = snprintf (ret, PATH_MAX, "%s", given);
    else if (geteuid () == 0)
        length = snprintf (ret, PATH_MAX, "/var/lib/pollux");
    else if (xdg)
        length = snprintf (ret, PATH_MAX, "%s/pollux", xdg);
    else
        length = snprintf (ret, PATH_MAX, "%s/.local/state/pollux", home ? home : "");
    if (length > PATH_MAX - 32)
        return fail (err, -ENAMETOOLONG, "the state directory's path is too long");
    return 0;
}
