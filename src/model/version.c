/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of the library, asked at run time: a program may run with a newer one than it
 * was built with.
 */
#include "pollux/pollux.h"

const char *pollux_version (void)
{
    return POLLUX_VERSION;
}
