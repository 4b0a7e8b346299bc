/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File locks that the kernel releases when the process ends, for any reason.
 */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

enum { TRIES = 40, PAUSE_NS = 50000000 };

int lock_take (int fd, off_t byte)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    for (int i = 0; fcntl (fd, F_OFD_SETLK, &lock) < 0; i++) {
        if (errno != EAGAIN && errno != EACCES)
            return -errno;
        if (i == TRIES)
            return -EBUSY;
        nanosleep (&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return 0;
}
