/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: datagrams to the supervisor's socket from an untrusted process.  Each one is dropped
 * with an error, or passed on as a message that the daemon accepts or refuses.  Bytes 0xff separate
 * the datagrams of the input.
 */
#include "backend/agent_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/report.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void demand (bool truth)
{
    if (!truth)
        abort ();
}

static void receive (int file)
{
    char text[RUN_MESSAGE_LIMIT];
    struct pollux_error err = {.text = ""};
    ssize_t length = agent_socket_receive (file, text, &err);
    if (length < 0) {
        demand (length == -EAGAIN || ((length == -EINVAL || length == -EFBIG) && *err.text));
        return;
    }
    struct wire_report report;
    demand ((size_t)length <= RUN_MESSAGE_LIMIT);
    int code = wire_report_parse ("hints", text, (size_t)length, &report, &err);
    demand (code == 0 ? report.generation >= 1 : *err.text != '\0');
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    int files[2];
    if (socketpair (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, files) < 0)
        return 0;
    for (size_t at = 0; at <= size;) {
        const uint8_t *end = size > at ? memchr (data + at, 0xff, size - at) : NULL;
        size_t length = end ? (size_t)(end - data) - at : size - at;
        if (send (files[0], data + at, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
            receive (files[1]);
        at += length + 1;
    }
    receive (files[1]);
    close (files[0]);
    close (files[1]);
    return 0;
}
