/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for one machine.  Each replica runs under a supervisor (backend/supervisor.h) that
 * outlives the daemon; its run directory (backend/run.h) holds all that is known of it.
 */
#ifndef BACKEND_LOCAL_H
#define BACKEND_LOCAL_H

#include "backend/backend.h"

extern const struct backend_ops local_backend;

#endif
