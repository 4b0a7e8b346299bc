/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Death at a named moment, in builds for tests alone.  The count of visits is the one global
 * variable of the house: points are anywhere, and nobody is to hand a state to them.
 */
#define _GNU_SOURCE /* environ */
#include "base/fault.h"

#ifdef POLLUX_FAULTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_point (const char *name)
{
    static atomic_long visits;
    const char *wish = getenv ("POLLUX_FAULT");
    size_t length = strlen (name);
    if (!wish || strncmp (wish, name, length) != 0 || wish[length] != ':')
        return;
    if (atomic_fetch_add (&visits, 1) + 1 == strtol (wish + length + 1, NULL, 10))
        kill (getpid (), SIGKILL);
}

char *fault_variable (void)
{
    static const char name[] = "POLLUX_FAULT=";
    for (char **at = environ; *at; at++)
        if (strncmp (*at, name, sizeof (name) - 1) == 0)
            return *at;
    return NULL;
}

#else

/* ISO C wants a file to declare something. */
typedef int fault_none;

#endif
