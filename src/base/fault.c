/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points: the program kills or suspends itself at a named point, in test builds only.  The number of visits
 * is a global variable, because fault points are in functions without a suitable parameter.
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
    const char *setting = getenv ("POLLUX_FAULT");
    size_t length = strlen (name);
    if (setting && strcmp (setting, "*:stop") == 0)
        kill (getpid (), SIGSTOP);
    if (!setting || strncmp (setting, name, length) != 0 || setting[length] != ':')
        return;
    char *end;
    if (atomic_fetch_add (&visits, 1) + 1 == strtol (setting + length + 1, &end, 10))
        kill (getpid (), strcmp (end, ":stop") == 0 ? SIGSTOP : SIGKILL);
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

/* ISO C requires at least one declaration in a file. */
typedef int fault_none;

#endif
