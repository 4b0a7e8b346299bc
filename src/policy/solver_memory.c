/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch memory of the policies that use the solver.
 */
#include "policy/solver_memory.h"

void solver_memory_clear (void *memory)
{
    struct solver_memory *self = memory;
    solver_free (self->solver);
    arena_clear (&self->arena);
}

int solver_memory_init (void *memory, struct pollux_error *err)
{
    struct solver_memory *self = memory;
    return solver_new (&self->solver, err);
}
