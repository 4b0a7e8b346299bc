/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica of a job that only counts samples, for tests/soak/slurm_storm.sh.
 *
 *     storm_replica SAMPLES PASSES TRACE END
 *
 * Replicas meet at MASTER_ADDR:MASTER_PORT.  In each update rank 0 sends the position in the data to the others; each takes its
 * samples with pollux_sampler_take and sends their indices back; rank 0 counts them.  The checkpoint has the position and the
 * count of every sample, so that whatever was trained twice or never in the life of the job is seen at its end.  The job ends after
 * PASSES passes over the samples, or after one if the file END exists.
 *
 * Lines in the file TRACE:
 *
 *     start JOB GENERATION RANK WORLD NODE
 *     begin JOB GENERATION UPDATE     rank 0 has read its checkpoint
 *     saved JOB GENERATION UPDATE     rank 0 has published one
 *     done JOB GENERATION SAMPLES     every sample was counted as often as it should be
 *     wrong JOB GENERATION TEXT       a count or a position is wrong
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <pollux/checkpoint.h>

enum { SAMPLES_MOST = 4096, WORLD_MOST = 64, SAVE_EVERY = 10, PATIENCE_S = 60 };
static const struct pollux_batch batch = {.m = 2, .s = 0};
static const struct timespec update_time = {.tv_nsec = 100 * 1000 * 1000};

struct progress {
    struct pollux_sampler sampler;
    int64_t updates, passes;
    int64_t counts[SAMPLES_MOST];
};

static volatile sig_atomic_t stopped;
static const char *trace_path;

static void on_stop (int number)
{
    (void)number;
    stopped = 1;
}

static const char *variable (const char *name)
{
    const char *value = getenv (name);
    if (!value) {
        fprintf (stderr, "storm_replica: no %s\n", name);
        exit (125);
    }
    return value;
}

/* One line, with one write. */
__attribute__ ((format (printf, 2, 3))) static void trace (const char *what, const char *format,
                                                           ...)
{
    char text[512];
    va_list arguments;
    int length = snprintf (text, sizeof (text), "%s %s %s ", what, variable ("POLLUX_JOB"),
                           variable ("POLLUX_GENERATION"));
    va_start (arguments, format);
    length += vsnprintf (text + length, sizeof (text) - (size_t)length - 1, format, arguments);
    va_end (arguments);
    text[length++] = '\n';
    int fd = open (trace_path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write (fd, text, (size_t)length) != length) {
        perror (trace_path);
        exit (125);
    }
    close (fd);
}

/* ---- Messages ---- */

/* Read or write all bytes.  false: the other side has gone, or rank 0 is asked to stop. */
static bool transfer (int fd, void *data, size_t size, bool out, bool give_up_if_stopped)
{
    char *at = data;
    while (size > 0) {
        struct pollfd ready = {.fd = fd, .events = out ? POLLOUT : POLLIN};
        if (stopped && give_up_if_stopped)
            return false;
        if (poll (&ready, 1, 200) <= 0)
            continue;
        ssize_t done = out ? send (fd, at, size, MSG_NOSIGNAL) : recv (fd, at, size, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

/* A TCP socket on the rendezvous: rank 0 listens, the others connect.  -1: not yet. */
static int meet (bool listens)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    int one = 1;
    if (getaddrinfo (variable ("MASTER_ADDR"), variable ("MASTER_PORT"), &hints, &found) != 0)
        return -1;
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    int code = listens ? bind (fd, found->ai_addr, found->ai_addrlen)
                       : connect (fd, found->ai_addr, found->ai_addrlen);
    if (code == 0 && listens)
        code = listen (fd, WORLD_MOST);
    freeaddrinfo (found);
    if (code == 0)
        return fd;
    close (fd);
    return -1;
}

/* ---- The other ranks ---- */

static int follow (int rank, int world)
{
    struct pollux_sampler sampler;
    int64_t indices[2], number = rank;
    int fd = -1;
    for (int i = 0; i < PATIENCE_S * 10 && fd < 0 && !stopped; i++) {
        fd = meet (false);
        if (fd < 0)
            nanosleep (&update_time, NULL);
    }
    if (stopped)
        return 143;
    if (fd < 0 || !transfer (fd, &number, sizeof (number), true, false))
        return stopped ? 143 : 1;
    /* Rank 0 decides about the end; a sampler without samples says that the job is done. */
    while (transfer (fd, &sampler, sizeof (sampler), false, false)) {
        if (sampler.length == 0)
            return 0;
        if (pollux_sampler_take (&sampler, world, rank, batch, 0, indices, NULL) < 0 ||
            !transfer (fd, indices, sizeof (indices), true, false))
            break;
    }
    return stopped ? 143 : 1;
}

/* ---- Rank 0 ---- */

/* Every sample was counted once per pass, and those before the offset once more. */
static bool is_exact (const struct progress *progress)
{
    const struct pollux_sampler *at = &progress->sampler;
    static int64_t expected[SAMPLES_MOST];
    for (int64_t i = 0; i < at->length; i++)
        expected[i] = at->pass;
    for (int64_t i = 0; i < at->offset; i++)
        expected[pollux_sampler_index (at->seed, at->length, at->pass, i)]++;
    return memcmp (expected, progress->counts, (size_t)at->length * sizeof (expected[0])) == 0;
}

static bool load (struct progress *progress)
{
    struct pollux_checkpoint *saved = NULL;
    struct pollux_error err;
    int code = pollux_checkpoint_open (variable ("POLLUX_CHECKPOINT_DIR"), &saved, NULL, &err);
    if (code == 0)
        code = pollux_checkpoint_read (saved, "progress", progress, sizeof (*progress), &err);
    pollux_checkpoint_close (saved);
    if (code == 0 && !is_exact (progress))
        trace ("wrong", "the counts of update %" PRId64 " as read", progress->updates);
    if (code == -EBADMSG)
        trace ("wrong", "%s", err.text);
    if (code < 0 && code != -ENOENT)
        fprintf (stderr, "storm_replica: %s\n", err.text);
    return code == 0 || code == -ENOENT;
}

static bool save (const struct progress *progress)
{
    struct pollux_checkpoint *next = NULL;
    struct pollux_error err;
    int code = pollux_checkpoint_begin (variable ("POLLUX_CHECKPOINT_DIR"), &next, &err);
    if (code == 0)
        code = pollux_checkpoint_write (next, "progress", progress, sizeof (*progress), &err);
    if (code == 0)
        code = pollux_checkpoint_commit (next, 2, &err);
    pollux_checkpoint_close (next);
    if (code == 0)
        trace ("saved", "%" PRId64, progress->updates);
    else
        fprintf (stderr, "storm_replica: %s\n", err.text);
    return code == 0;
}

/* Wait for the other ranks. */
static bool gather (int world, int *fds)
{
    int listener = meet (true);
    int64_t rank;
    bool all = listener >= 0;
    for (int i = 0, waited = 0; all && i < world - 1;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (stopped || waited > PATIENCE_S * 10) {
            all = false;
        } else if (poll (&ready, 1, 100) == 1) {
            int fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC);
            all = transfer (fd, &rank, sizeof (rank), false, true) && rank > 0 && rank < world;
            if (all)
                fds[rank] = fd;
            i++;
        } else {
            waited++;
        }
    }
    close (listener);
    return all;
}

/* One update with all ranks.  false: a rank is lost or a stop is asked; progress has not changed. */
static bool update (struct progress *progress, int world, const int *fds)
{
    int64_t indices[WORLD_MOST][2];
    if (pollux_sampler_take (&progress->sampler, world, 0, batch, 0, indices[0], NULL) < 0)
        return false;
    for (int i = 1; i < world; i++)
        if (!transfer (fds[i], &progress->sampler, sizeof (progress->sampler), true, true))
            return false;
    for (int i = 1; i < world; i++)
        if (!transfer (fds[i], indices[i], sizeof (indices[i]), false, true))
            return false;
    for (int i = 0; i < world; i++)
        for (int k = 0; k < 2; k++)
            if (indices[i][k] >= 0 && indices[i][k] < progress->sampler.length)
                progress->counts[indices[i][k]]++;
    pollux_sampler_advance (&progress->sampler, world, batch, NULL);
    progress->updates++;
    return true;
}

static int lead (int world, int64_t samples, int64_t passes, const char *end)
{
    static struct progress progress;
    struct pollux_sampler over = {.length = 0};
    int fds[WORLD_MOST];
    progress.sampler = (struct pollux_sampler){.seed = 7, .length = samples};
    if (!load (&progress))
        return stopped ? 143 : 1;
    trace ("begin", "%" PRId64, progress.updates);
    bool good = gather (world, fds), done = false;
    while (good && !done && !stopped) {
        nanosleep (&update_time, NULL);
        good = update (&progress, world, fds);
        done = progress.sampler.pass >= passes ||
               (progress.sampler.pass >= 1 && access (end, F_OK) == 0);
        if (good && (done || progress.updates % SAVE_EVERY == 0) && !save (&progress))
            return stopped ? 143 : 1;
    }
    if (!done) {
        if (stopped)
            save (&progress);
        return stopped ? 143 : 1;
    }
    if (is_exact (&progress))
        trace ("done", "%" PRId64, progress.sampler.pass * samples + progress.sampler.offset);
    else
        trace ("wrong", "the counts of update %" PRId64, progress.updates);
    for (int i = 1; i < world; i++)
        transfer (fds[i], &over, sizeof (over), true, true);
    return 0;
}

int main (int argc, char *argv[])
{
    struct sigaction action = {.sa_handler = on_stop};
    if (argc != 5 || atoi (argv[1]) > SAMPLES_MOST || atoi (variable ("WORLD_SIZE")) > WORLD_MOST) {
        fprintf (stderr, "usage: storm_replica SAMPLES PASSES TRACE END\n");
        return 125;
    }
    sigaction (SIGTERM, &action, NULL);
    trace_path = argv[3];
    int rank = atoi (variable ("RANK")), world = atoi (variable ("WORLD_SIZE"));
    trace ("start", "%d %d %s", rank, world, variable ("POLLUX_NODE"));
    return rank == 0 ? lead (world, atoi (argv[1]), atoi (argv[2]), argv[4]) : follow (rank, world);
}
