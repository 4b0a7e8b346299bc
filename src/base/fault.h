/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments at which a program may die, for tests of what is left then.
 *
 * In builds with -DPOLLUX_FAULTS (all that have a FLAVOUR: those of the tests) the variable
 * POLLUX_FAULT=POINT:N lets a program kill itself with SIGKILL when it comes to the point of that
 * name for the N-th time.
 * docs/architecture.md lists the points.  Other builds have none of it, and look at no variable.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stddef.h>

#ifdef POLLUX_FAULTS
void fault_point (const char *name);
/* "POLLUX_FAULT=POINT:N", for a program that starts another with an environment of its own; NULL
 * if nothing is wished. */
char *fault_variable (void);
#else
static inline char *fault_variable (void)
{
    return NULL;
}
static inline void fault_point (const char *name)
{
    (void)name;
}
#endif

#endif
