/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_REPORTER_H
#define AGENT_REPORTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "pollux/pollux.h"

/* The way to the supervisor: messages leave at once or are lost. */
struct reporter {
    int file; /* -1: nobody listens */
    struct sockaddr_un address;
    int64_t sent, lost;
    int error;        /* errno value of the last one lost */
    double sent_at_s; /* the last try; -INFINITY: none */
};

/* A path, or NULL and "" for none.  One that cannot be a socket's is a reason in error, no
 * failure: training goes on without. */
void reporter_open (struct reporter *reporter, const char *path);
void reporter_close (struct reporter *reporter);

/* Whether another message may leave: period_s after the last one; one second if it has news. */
bool reporter_due (const struct reporter *reporter, bool news, double period_s, double now_s);

/* Send without waiting for anybody. */
void reporter_send (struct reporter *reporter, const char *text, size_t length, double now_s);

#endif
