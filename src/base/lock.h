/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <sys/types.h>

/* Lock a byte of an open file for as long as the descriptor is open, in whatever process.  One that
 * is about to go is waited for, a second or two: a process that a killed one had begun to start has
 * its locks until it is another program.  0, -EBUSY: somebody else has it and keeps it, or what
 * fcntl(2) says. */
int lock_take (int fd, off_t byte);

#endif
