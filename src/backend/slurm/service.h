/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend `slurm`: a service for several users.  A share of a generation is a Slurm job on one
 * node, submitted as the owner of the Pollux job by the root process (as_owner.h).  Its nodes are those
 * of a partition, a list or a reservation; their slots are the GRES that other Slurm jobs do not use.
 */
#ifndef BACKEND_SLURM_SERVICE_H
#define BACKEND_SLURM_SERVICE_H

#include "backend/backend.h"

extern const struct backend_ops slurm_backend;

#endif
