/* SPDX-License-Identifier: Apache-2.0 */
/* libmunge's functions that are used here, with the types and numbers of its munge.h (version 2 of the library,
 * unchanged since 2007). */
#ifndef MUNGE_LIBRARY_H
#define MUNGE_LIBRARY_H

#include <sys/types.h>

#include "pollux/pollux.h"

enum {
    MUNGE_OPTION_SOCKET = 8,
    MUNGE_OPTION_UID = 9,
};

enum {
    MUNGE_SUCCESS = 0,
    MUNGE_NO_MEMORY = 5,
    MUNGE_SOCKET = 6,
    MUNGE_TIMEOUT = 7,
    MUNGE_EXPIRED = 15,
    MUNGE_REWOUND = 16,
    MUNGE_REPLAYED = 17,
    MUNGE_UNAUTHORIZED = 18,
};

struct munge_library {
    void *(*ctx_create) (void);
    void (*ctx_destroy) (void *context);
    int (*ctx_set) (void *context, int option, ...);
    const char *(*ctx_strerror) (void *context);
    int (*encode) (char **credential, void *context, const void *payload, int length);
    int (*decode) (const char *credential, void *context, void **payload, int *length, uid_t *uid,
                   gid_t *gid);
    const char *(*strerror) (int code);
};

/* Load it.  It stays loaded until the process ends.  -ENOENT: this machine has none. */
int munge_library_load (struct munge_library *ret, struct pollux_error *err);

/* For tests: as munge_open, with these functions in the place of libmunge's. */
struct munge;
int munge_open_library (const struct munge_library *library, const char *socket, struct munge **ret,
                        struct pollux_error *err);

#endif
