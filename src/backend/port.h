/* SPDX-License-Identifier: Apache-2.0 */
/* TCP ports of this machine, where the replicas of a generation meet. */
#ifndef BACKEND_PORT_H
#define BACKEND_PORT_H

#include <stdbool.h>

/* Below those that the kernel gives to whoever does not care (32768..60999): there nobody takes one
 * by chance. */
enum { PORT_FIRST = 20000, PORT_COUNT = 12000 };

/* Could a program listen there now?  Connections of earlier ones that linger do no harm. */
bool port_is_free (int port);

#endif
