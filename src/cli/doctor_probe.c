/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux doctor --probe: the side of doctor_node.c that runs on a node.
 */
#define _GNU_SOURCE
#include "cli/doctor_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backend/slurm/slurm_settings.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/safe_dir.h"
#include "cli/doctor.h"

/* ---- Files -------------------------------------------------------------------------------- */

bool probe_read (const char *directory, const char *name, char ret[PROBE_TEXT_SIZE])
{
    int folder = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = folder < 0 ? -1 : openat (folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t length = file < 0 ? -1 : read (file, ret, PROBE_TEXT_SIZE - 1);
    if (file >= 0)
        close (file);
    if (folder >= 0)
        close (folder);
    ret[length > 0 ? length : 0] = '\0';
    return length > 0;
}

int probe_write (const char *directory, const char *name, struct pollux_error *err,
                 const char *format, ...)
{
    char text[PROBE_TEXT_SIZE];
    va_list arguments;
    int folder;
    va_start (arguments, format);
    vsnprintf (text, sizeof (text), format, arguments);
    va_end (arguments);
    int code = safe_dir_open_root (directory, &folder, err);
    if (code < 0)
        return code;
    code = safe_dir_replace (folder, name, text, strlen (text), err);
    close (folder);
    return code;
}

int64_t probe_number (const char *text, const char *key)
{
    char value[32];
    int64_t number = -1;
    if (slurm_config_value (text, strlen (text), key, value, sizeof (value)))
        number_int64 (value, &number);
    return number;
}

/* ---- On the node -------------------------------------------------------------------------- */

/* Can this side lock the file that the other side has locked? */
static const char *try_lock (const char *directory)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int folder = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = folder < 0 ? -1 : openat (folder, "lock", O_RDWR | O_CLOEXEC);
    const char *state = "missing";
    if (file >= 0)
        state = fcntl (file, F_OFD_SETLK, &lock) == 0 ? "free"
                : errno == EAGAIN || errno == EACCES  ? "held"
                                                      : "fails";
    if (file >= 0)
        close (file);
    if (folder >= 0)
        close (folder);
    return state;
}

static int drop_bytes (void *self, const char *bytes, size_t length, struct pollux_error *err)
{
    (void)self, (void)bytes, (void)length, (void)err;
    return 0;
}

/* Ask the daemon as a supervisor on this node would. */
static void ask_daemon (const char *question, char ret[1024])
{
    char address[256], ca[PATH_MAX], state[PATH_MAX];
    struct client *client = NULL;
    struct pollux_error err = {.text = ""};
    slurm_config_value (question, strlen (question), "server", address, sizeof (address));
    slurm_config_value (question, strlen (question), "ca", ca, sizeof (ca));
    slurm_config_value (question, strlen (question), "state", state, sizeof (state));
    setenv ("POLLUX_STATE", state, 1);
    struct client_server server = {.address = address[0] ? address : NULL, .ca = ca[0] ? ca : NULL};
    int rc = client_open (&server, &client, &err);
    if (rc == 0)
        rc = client_stream (client, "/healthz", (struct client_sink){.take = drop_bytes}, &err);
    snprintf (ret, 1024, "%s", rc == 0 ? "reached" : err.text);
    for (char *at = ret; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    client_close (client);
}

int doctor_probe (const char *directory)
{
    char question[PROBE_TEXT_SIZE], reply[PROBE_TEXT_SIZE], host[256] = "", daemon[1024] = "";
    struct pollux_error err = {.text = ""};
    const char *node = getenv ("SLURMD_NODENAME"); /* Slurm's name of it */
    if (node)
        snprintf (host, sizeof (host), "%s", node);
    else
        gethostname (host, sizeof (host) - 1);
    int64_t sent_us = clock_wall_us ();
    if (!probe_read (directory, "question", question) ||
        probe_write (directory, "started", &err, "host = %s\nsent_us = %lld\n", host,
                     (long long)sent_us) < 0)
        return PROBE_FAILED;
    int64_t end_us = clock_monotonic_us () + (int64_t)(PROBE_FILE_S * 1e6);
    bool replied;
    while (!(replied = probe_read (directory, "reply", reply)) && clock_monotonic_us () < end_us)
        nanosleep (&(struct timespec){.tv_nsec = 20000000}, NULL);
    int64_t received_us = clock_wall_us ();
    if (probe_number (question, "ask") == 1)
        ask_daemon (question, daemon);
    const char *lock = try_lock (directory);
    if (probe_write (directory, "answer", &err,
                     "reply = %s\nreceived_us = %lld\nlock = %s\ndaemon = %s\n",
                     replied ? "seen" : "missing", (long long)received_us, lock, daemon) < 0)
        return PROBE_FAILED;
    return 0;
}
