/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <sys/types.h>

/* Lock a byte of an open file until the descriptor is closed in all processes that have it.  Waits
 * up to two seconds: a child that a killed process was just starting keeps its locks until exec.
 * -EBUSY: another process holds the lock; else the error of fcntl(2). */
int lock_take (int fd, off_t byte);

#endif
