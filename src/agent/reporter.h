/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_REPORTER_H
#define AGENT_REPORTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "pollux/pollux.h"

/* Messages to the supervisor.  They are sent at once or lost. */
struct reporter {
    int file; /* socket; -1: none */
    struct sockaddr_un address;
    int64_t sent, lost;
    int error;        /* errno value of the last lost message */
    double sent_at_s; /* time of the last attempt; -INFINITY: none */
};

/* Open a socket to a path; NULL or "": no reports.  An impossible path only sets error: training
 * continues without reports. */
void reporter_open (struct reporter *reporter, const char *path);
void reporter_close (struct reporter *reporter);

/* True if a message may be sent: period_s after the last one, or one second after it with news. */
bool reporter_due (const struct reporter *reporter, bool news, double period_s, double now_s);

/* Send without blocking. */
void reporter_send (struct reporter *reporter, const char *text, size_t length, double now_s);

#endif
