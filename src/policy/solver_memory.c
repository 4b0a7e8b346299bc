/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch memory of the policies that use the solver.
 */
#include "policy/solver_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

void solver_memory_free (void *memory)
{
    struct solver_memory *self = memory;
    if (!self)
        return;
    solver_free (self->solver);
    arena_clear (&self->arena);
    free (self);
}

int solver_memory_new (void **ret, struct pollux_error *err)
{
    struct solver_memory *self = calloc (1, sizeof (*self));
    if (!self)
        return fail (err, -ENOMEM, "no memory for the solver");
    int rc = solver_new (&self->solver, err);
    if (rc < 0) {
        solver_memory_free (self);
        return rc;
    }
    *ret = self;
    return 0;
}
