/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

/* Tell the service manager, if there is one (NOTIFY_SOCKET): "READY=1", "STOPPING=1", ... */
void notify (const char *state);

#endif
