/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send datagrams to the supervisor's socket.  Sending never blocks a training step: if the socket is
 * full or has no reader, it fails at once (MSG_DONTWAIT) and without a signal (MSG_NOSIGNAL).  Each
 * message is addressed anew, so that a restarted supervisor receives the next one.
 */
#define _GNU_SOURCE
#include "agent/reporter.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Shortest time between two messages. */
static const double least_s = 1;

void reporter_open (struct reporter *reporter, const char *path)
{
    *reporter = (struct reporter){.file = -1, .sent_at_s = -INFINITY};
    if (!path || !*path)
        return;
    reporter->address.sun_family = AF_UNIX;
    if (strlen (path) >= sizeof (reporter->address.sun_path)) {
        reporter->error = ENAMETOOLONG;
        return;
    }
    strcpy (reporter->address.sun_path, path);
    reporter->file = socket (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (reporter->file < 0)
        reporter->error = errno;
}

void reporter_close (struct reporter *reporter)
{
    if (reporter->file >= 0)
        close (reporter->file);
    reporter->file = -1;
}

bool reporter_due (const struct reporter *reporter, bool news, double period_s, double now_s)
{
    return reporter->file >= 0 && now_s - reporter->sent_at_s >= (news ? least_s : period_s);
}

void reporter_send (struct reporter *reporter, const char *text, size_t length, double now_s)
{
    if (reporter->file < 0 || length == 0)
        return;
    reporter->sent_at_s = now_s;
    ssize_t sent = sendto (reporter->file, text, length, MSG_DONTWAIT | MSG_NOSIGNAL,
                           (const struct sockaddr *)&reporter->address, sizeof (reporter->address));
    if (sent == (ssize_t)length) {
        reporter->sent++;
    } else {
        reporter->lost++;
        reporter->error = sent < 0 ? errno : EMSGSIZE;
    }
}
