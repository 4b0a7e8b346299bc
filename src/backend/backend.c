/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of backends.  A new one is a file with a struct backend_ops, and a line here.
 */
#include "backend/backend.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/fake.h"
#include "backend/local.h"
#include "backend/slurm/slurm_steps.h"
#include "backend/slurm/service.h"
#include "base/error.h"

const struct backend_ops *const backends[] = {&local_backend, &slurm_steps_backend, &slurm_backend,
                                              &fake_backend, NULL};

int backend_find (const char *name, const struct backend_ops **ret, struct pollux_error *err)
{
    char names[128] = "";
    for (const struct backend_ops *const *at = backends; *at; at++) {
        size_t used = strlen (names);
        if (strcmp ((*at)->name, name) == 0) {
            *ret = *at;
            return 0;
        }
        snprintf (names + used, sizeof (names) - used, "%s%s", used ? ", " : "", (*at)->name);
    }
    return fail (err, -ENOENT, "no backend is called '%.32s'; there are %s", name, names);
}

struct backend backend_for_loop (const struct backend_ops *ops, void *self)
{
    return (struct backend){.reconcile = ops->reconcile, .act = ops->act, .self = self};
}
