/* SPDX-License-Identifier: Apache-2.0 */
/* The signals that end a program in order. */
#ifndef DAEMON_STOP_SIGNALS_H
#define DAEMON_STOP_SIGNALS_H

/* Block SIGTERM, SIGINT and SIGHUP, which then arrive at a descriptor that does not block.  It belongs to the caller
 * (close).  -1: errno says why. */
int stop_signals_open (void);

#endif
