/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault points, for tests of crash recovery.
 *
 * In builds with -DPOLLUX_FAULTS (all builds with a FLAVOUR, which are for tests), the environment
 * variable POLLUX_FAULT=POINT:N makes the program kill itself with SIGKILL at the N-th visit of
 * that point; POLLUX_FAULT=POINT:N:stop suspends it there, until a SIGCONT, and
 * POLLUX_FAULT=*:stop at every visit of every point.  docs/architecture.md lists the points.  Other builds do not read the variable.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stddef.h>

#ifdef POLLUX_FAULTS
void fault_point (const char *name);
/* "POLLUX_FAULT=POINT:N", for the environment of a program that this one starts; NULL: not set. */
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
