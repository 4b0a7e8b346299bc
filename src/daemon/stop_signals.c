/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals as a descriptor, for programs that wait for several things.
 */
#include "daemon/stop_signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

int stop_signals_open (void)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, SIGTERM);
    sigaddset (&set, SIGINT);
    sigaddset (&set, SIGHUP);
    sigprocmask (SIG_BLOCK, &set, NULL);
    return signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
