/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend `slurm-steps`: polluxd runs inside an allocation of Slurm, and shares of generations
 * are steps of it.  Its nodes are those of the allocation.
 */
#ifndef BACKEND_SLURM_SLURM_STEPS_H
#define BACKEND_SLURM_SLURM_STEPS_H

#include "backend/backend.h"

extern const struct backend_ops slurm_steps_backend;

#endif
