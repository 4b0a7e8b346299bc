/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend that starts no process, for tests and for trying out a configuration or the API.  A
 * job whose command is `true` finishes at once, `false` fails, and any other runs until it is
 * stopped.
 */
#ifndef BACKEND_FAKE_H
#define BACKEND_FAKE_H

#include "backend/backend.h"

extern const struct backend_ops fake_backend;

#endif
