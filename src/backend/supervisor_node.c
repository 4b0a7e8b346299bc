/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a replica that only its node knows.
 *
 * MASTER_PORT: the first rank chooses a free port of its node and writes it to a file in the
 * generation's directory, which all nodes share; the others wait for the file.  The directory is
 * opened by its name for every look: then NFS asks the server instead of its cache.
 *
 * CUDA_VISIBLE_DEVICES: the devices of all ranks of the share, of those that Slurm gave to it.
 */
#define _GNU_SOURCE /* asprintf */
#include "backend/supervisor_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/port.h"
#include "backend/run_open.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "base/safe_dir.h"

/* Between looks, and altogether. */
enum { LOOK_MS = 50 };
#define MASTER_US (60 * SECOND_US)
enum { MASTER_LIMIT = 16 }; /* bytes of the file */

/* ---- MASTER_PORT -------------------------------------------------------------------------- */

/* The port in the file, or -ENOENT if there is none so far. */
static int read_port (int directory, const char *file, struct pollux_error *err)
{
    char *text;
    size_t length;
    int64_t port;
    int code = safe_dir_read (directory, file, MASTER_LIMIT, &text, &length, err);
    if (code < 0)
        return code;
    bool complete = length > 0 && text[length - 1] == '\n';
    text[complete ? length - 1 : 0] = '\0';
    code = number_int64 (text, &port) == 0 && port > 0 && port < 65536
               ? (int)port
               : fail (err, -EINVAL, "%s: expected a port and a newline", file);
    free (text);
    return code;
}

/* A port of this node that is free; -errno. */
static int choose_port (struct pollux_error *err)
{
    unsigned short random = 0; /* other generations choose on this node, too */
    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        random = (unsigned short)getpid ();
    for (int i = 0; i < PORT_COUNT; i++) {
        int port = PORT_FIRST + (random + i) % PORT_COUNT;
        if (port_is_free (port))
            return port;
    }
    return fail (err, -EADDRINUSE, "no port from %d to %d is free", PORT_FIRST,
                 PORT_FIRST + PORT_COUNT - 1);
}

int supervisor_write_once (int directory, const char *file, const char *text, size_t length,
                           struct pollux_error *err)
{
    char fresh[32];
    uint32_t random;
    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        return fail (err, -errno, "no random number: %s", strerror (errno));
    snprintf (fresh, sizeof (fresh), ".once.%08" PRIx32, random);
    int code = safe_dir_write (directory, fresh, text, length, err);
    if (code == 0 && linkat (directory, fresh, directory, file, 0) < 0) {
        /* A file system without links: the run directory of the first rank excludes others. */
        if (errno == EEXIST || renameat (directory, fresh, directory, file) < 0)
            code = fail (err, -errno, "%s: %s", file, strerror (errno));
    }
    unlinkat (directory, fresh, 0);
    return code;
}

/* Choose a port and write the file, unless another one did that at the same time. */
static int write_port (int directory, const char *file, struct pollux_error *err)
{
    char text[MASTER_LIMIT];
    int port = choose_port (err);
    if (port < 0)
        return port;
    int length = snprintf (text, sizeof (text), "%d\n", port);
    int code = supervisor_write_once (directory, file, text, (size_t)length, err);
    return code < 0 && code != -EEXIST ? code : read_port (directory, file, err);
}

/* One look: the port; -ENOENT: not there so far. */
static int look_for_port (const struct supervisor *supervisor, struct pollux_error *err)
{
    const struct run_description *description = supervisor->description;
    int directory;
    int code = run_open_generation (supervisor->root, supervisor->name.job,
                                    supervisor->name.generation, &directory, err);
    if (code < 0)
        return code;
    code = read_port (directory, description->master, err);
    if (code == -ENOENT && description->master_first)
        code = write_port (directory, description->master, err);
    close (directory);
    return code;
}

/* Look until it is there.  A signal that asks to stop ends the wait; it is not read. */
static int find_port (const struct supervisor *supervisor, struct pollux_error *err)
{
    int64_t end_us = clock_monotonic_us () + MASTER_US;
    int code;
    while ((code = look_for_port (supervisor, err)) < 0) {
        struct pollfd signals = {.fd = supervisor->signals, .events = POLLIN};
        if (supervisor->description->master_first)
            return code; /* no other process makes it */
        if (clock_monotonic_us () >= end_us)
            return fail (err, -ETIMEDOUT,
                         "no MASTER_PORT: the first rank has not written %s to the generation's "
                         "directory for %d s",
                         supervisor->description->master, (int)(MASTER_US / SECOND_US));
        if (poll (&signals, 1, LOOK_MS) > 0)
            return fail (err, -ECANCELED, "stopped before it was started");
    }
    return code;
}

/* ---- CUDA_VISIBLE_DEVICES ----------------------------------------------------------------- */

/* The item at a position of a list with commas; its length, or -1. */
static int find_item (const char *list, int position, const char **ret)
{
    for (; position > 0 && *list; position--) {
        list += strcspn (list, ",");
        list += *list == ',';
    }
    *ret = list;
    return *list ? (int)strcspn (list, ",") : -1;
}

int supervisor_devices (const struct run_list *devices, const char *visible, char **ret,
                        struct pollux_error *err)
{
    size_t size = 1;
    for (int i = 0; i < devices->count; i++)
        size += (visible ? strlen (visible) : 10) + 1;
    char *text = malloc (size), *at = text;
    if (!text)
        return fail (err, -ENOMEM, "not enough memory");
    for (int i = 0; i < devices->count; i++) {
        const char *item = "";
        int position = devices->items[i],
            length = visible ? find_item (visible, position, &item) : 0;
        if (length < 0) {
            free (text);
            return fail (
                err, -EINVAL,
                "device number %d of this step does not exist: CUDA_VISIBLE_DEVICES is '%.40s'",
                position, visible);
        }
        at += i > 0 ? sprintf (at, ",") : 0;
        at += visible ? sprintf (at, "%.*s", length, item) : sprintf (at, "%d", position);
    }
    *at = '\0';
    *ret = text;
    return 0;
}

/* ---- Both --------------------------------------------------------------------------------- */

int supervisor_find_node_variables (struct supervisor *supervisor, struct pollux_error *err)
{
    const char *visible = getenv ("CUDA_VISIBLE_DEVICES");
    char **next = supervisor->node_variables, *devices;
    if (visible && strcmp (visible, "NoDevFiles") == 0) /* Slurm: GPUs without device files */
        visible = NULL;
    if (supervisor->description->devices.count > 0) {
        int code = supervisor_devices (&supervisor->description->devices, visible, &devices, err);
        if (code < 0)
            return code;
        code = asprintf (next, "CUDA_VISIBLE_DEVICES=%s", devices);
        free (devices);
        if (code < 0) {
            *next = NULL;
            return fail (err, -ENOMEM, "not enough memory");
        }
        next++;
    }
    if (!supervisor->description->master)
        return 0;
    int port = find_port (supervisor, err);
    if (port < 0)
        return port;
    if (asprintf (next, "MASTER_PORT=%d", port) < 0) {
        *next = NULL;
        return fail (err, -ENOMEM, "not enough memory");
    }
    return 0;
}
