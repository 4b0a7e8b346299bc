/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the library at run time: a program may run with a newer library than it was built
 * with.
 */
#include "pollux/pollux.h"

const char *pollux_version (void)
{
    return POLLUX_VERSION;
}
