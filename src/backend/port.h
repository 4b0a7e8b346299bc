/* SPDX-License-Identifier: Apache-2.0 */
/* TCP ports of this machine, for the rendezvous of replicas. */
#ifndef BACKEND_PORT_H
#define BACKEND_PORT_H

#include <stdbool.h>

/* Below the range from which the kernel assigns ports to clients (32768..60999). */
enum { PORT_FIRST = 20000, PORT_COUNT = 12000 };

/* Can a program listen on this port now?  Old connections in TIME_WAIT do not matter. */
bool port_is_free (int port);

#endif
