/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libmunge.  Its license and its presence are the cluster's affair; pollux is built without it.
 */
#include "munge/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "base/error.h"

#define LIBRARY "libmunge.so.2"

int munge_library_load (struct munge_library *ret, struct pollux_error *err)
{
    struct munge_library library;
    const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"munge_ctx_create", offsetof (struct munge_library, ctx_create)},
        {"munge_ctx_destroy", offsetof (struct munge_library, ctx_destroy)},
        {"munge_ctx_set", offsetof (struct munge_library, ctx_set)},
        {"munge_ctx_strerror", offsetof (struct munge_library, ctx_strerror)},
        {"munge_encode", offsetof (struct munge_library, encode)},
        {"munge_decode", offsetof (struct munge_library, decode)},
        {"munge_strerror", offsetof (struct munge_library, strerror)},
    };
    void *handle = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL)
        return fail (err, -ENOENT,
                     "munge cannot be used: %s; install it (Debian's package libmunge2)",
                     dlerror ());
    for (size_t i = 0; i < sizeof (functions) / sizeof (functions[0]); i++) {
        void *symbol = dlsym (handle, functions[i].name);
        if (symbol == NULL) {
            dlclose (handle);
            return fail (err, -ENOENT, "munge cannot be used: " LIBRARY " has no function %s",
                         functions[i].name);
        }
        *(void **)(void *)((char *)&library + functions[i].offset) = symbol;
    }
    dlclose (handle);
    *ret = library;
    return 0;
}
