/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands beside the event loop.
 *
 *     set->running   commands whose process lives, also those whose `done` was called at the deadline and
 *                    that are only reaped
 *     set->finished  commands whose `done` is called in this turn
 *
 * Standard input is a file in memory, which never blocks.  Output comes through pipes; the end is the
 * end of the process, not of the pipe, because a descendant can keep a pipe open.  The process leads a
 * session of its own, and its group is killed before it is reaped: until then its id is not used again.
 */
#define _GNU_SOURCE
#include "backend/command_set.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/command_spawn.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/excerpt.h"

/* One read; and what one command may read in a turn, so that a turn stays below some milliseconds. */
enum { READ_SIZE = 64 << 10, TURN_SIZE = 4 << 20, EVENTS = 64, FREE_WAIT_MS = 100 };

struct buffer {
    int epoll; /* of the set */
    int file;  /* a pipe or a file in memory; -1: none */
    char *text;
    size_t length, capacity, limit;
};

struct running {
    struct running *next;
    struct command_request request; /* words, input, environment and directory are not kept */
    struct command_result result;
    char *name; /* in sentences */
    int pid, pidfd;
    struct buffer output, error;
    bool ready;    /* one of its descriptors has something */
    bool ended;    /* the process was reaped */
    bool answered; /* `done` was called, or must not be */
};

struct command_set {
    int epoll;
    uint64_t last_id;
    struct running *running, *finished;
};

/* ---- Making and freeing ------------------------------------------------------------------- */

/* Closing is not enough to end the events of a file: a child that is about to execute its program has a
 * copy of the descriptor for some microseconds. */
static void unwatch (int epoll, int *file)
{
    if (*file < 0)
        return;
    epoll_ctl (epoll, EPOLL_CTL_DEL, *file, NULL);
    close (*file);
    *file = -1;
}

static void buffer_clear (struct buffer *buffer)
{
    unwatch (buffer->epoll, &buffer->file);
    free (buffer->text);
}

static void running_free (struct running *command)
{
    unwatch (command->output.epoll, &command->pidfd);
    buffer_clear (&command->output);
    buffer_clear (&command->error);
    free (command->name);
    free (command);
}

int command_set_new (struct command_set **ret, struct pollux_error *err)
{
    struct command_set *set = calloc (1, sizeof (*set));
    if (!set)
        return fail (err, -ENOMEM, "not enough memory");
    set->epoll = epoll_create1 (EPOLL_CLOEXEC);
    if (set->epoll < 0) {
        int code = fail (err, -errno, "cannot watch commands: %s", strerror (errno));
        free (set);
        return code;
    }
    *ret = set;
    return 0;
}

static void kill_group (const struct running *command)
{
    if (!command->ended)
        kill (-command->pid, SIGKILL);
}

static void reap (struct running *command, int *ret_status)
{
    siginfo_t info = {0};
    if (waitid (P_PIDFD, (id_t)command->pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return;
    command->ended = true;
    if (ret_status)
        *ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
}

void command_set_free (struct command_set *set)
{
    if (!set)
        return;
    for (struct running *at = set->running; at; at = at->next)
        if (!at->request.detached)
            kill_group (at);
    for (struct running *at = set->running, *next; at; at = next) {
        struct pollfd wait = {.fd = at->pidfd, .events = POLLIN};
        next = at->next;
        /* A killed process ends at once, unless a file system holds it: then init reaps it. */
        if (!at->request.detached && poll (&wait, 1, FREE_WAIT_MS) > 0)
            reap (at, NULL);
        running_free (at);
    }
    close (set->epoll);
    free (set);
}

static int watch (struct command_set *set, int file, struct running *command)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = command};
    return epoll_ctl (set->epoll, EPOLL_CTL_ADD, file, &event) < 0 ? -errno : 0;
}

static struct running *running_new (int epoll, const struct command_request *request,
                                    int64_t now_us)
{
    const char *slash = strrchr (request->words[0], '/');
    struct running *command = calloc (1, sizeof (*command));
    if (!command)
        return NULL;
    command->request = *request;
    command->request.words = command->request.environment = NULL;
    command->request.name = NULL;
    command->request.input = command->request.directory = NULL;
    command->result = (struct command_result){.exit_code = -1, .began_us = now_us};
    command->name = strdup (request->name ? request->name : slash ? slash + 1 : request->words[0]);
    command->output.epoll = command->error.epoll = epoll;
    command->pidfd = command->output.file = command->error.file = -1;
    command->output.limit = request->output_limit ? request->output_limit : COMMAND_OUTPUT_LIMIT;
    command->error.limit = COMMAND_ERROR_LIMIT;
    if (!command->name) {
        running_free (command);
        return NULL;
    }
    return command;
}

int command_set_start (struct command_set *set, const struct command_request *request,
                       int64_t now_us, uint64_t *ret_id, struct pollux_error *err)
{
    struct spawned_command spawned;
    int bound = 0;
    for (struct running *at = set->running; at; at = at->next)
        bound += !at->request.detached;
    if (bound >= COMMANDS_LIMIT && !request->detached)
        return fail (err, -EAGAIN, "%s: %d commands run already", request->words[0],
                     COMMANDS_LIMIT);
    struct running *command = running_new (set->epoll, request, now_us);
    if (!command)
        return fail (err, -ENOMEM, "not enough memory");
    int code = command_spawn (request, &spawned, err);
    if (code < 0) {
        running_free (command);
        return code;
    }
    command->pid = spawned.pid;
    command->pidfd = spawned.pidfd;
    command->output.file = spawned.output;
    command->error.file = spawned.error;
    code = watch (set, command->pidfd, command);
    if (code == 0 && !request->detached)
        code = watch (set, command->output.file, command);
    if (code == 0 && !request->detached)
        code = watch (set, command->error.file, command);
    if (code < 0) {
        kill_group (command);
        waitpid (command->pid, NULL, 0);
        running_free (command);
        return fail (err, code, "cannot watch a command: %s", strerror (-code));
    }
    command->result.id = ++set->last_id;
    command->next = set->running;
    set->running = command;
    if (ret_id)
        *ret_id = command->result.id;
    return 0;
}

/* ---- Asking ------------------------------------------------------------------------------- */

static struct running *find (const struct command_set *set, uint64_t id)
{
    for (struct running *at = set->running; at; at = at->next)
        if (at->result.id == id && !at->answered)
            return at;
    for (struct running *at = set->finished; at; at = at->next)
        if (at->result.id == id && !at->answered)
            return at;
    return NULL;
}

bool command_set_cancel (struct command_set *set, uint64_t id)
{
    struct running *command = find (set, id);
    if (!command)
        return false;
    kill_group (command);
    command->answered = true;
    return true;
}

bool command_set_signal (struct command_set *set, uint64_t id, int signal)
{
    struct running *command = find (set, id);
    return command && pidfd_send_signal (command->pidfd, signal, NULL, 0) == 0;
}

int command_set_pid (const struct command_set *set, uint64_t id)
{
    const struct running *command = find (set, id);
    return command ? command->pid : 0;
}

int command_set_descriptor (const struct command_set *set)
{
    return set->epoll;
}

static bool has_deadline (const struct running *command)
{
    return !command->answered && !command->request.detached && command->request.deadline_us > 0;
}

int64_t command_set_due_us (const struct command_set *set)
{
    int64_t due_us = INT64_MAX;
    for (const struct running *at = set->running; at; at = at->next)
        if (has_deadline (at) && at->request.deadline_us < due_us)
            due_us = at->request.deadline_us;
    return due_us;
}

int command_set_count (const struct command_set *set)
{
    int count = 0;
    for (const struct running *at = set->running; at; at = at->next)
        count += !at->answered;
    return count;
}

/* ---- A turn ------------------------------------------------------------------------------- */

/* Make room for one read; false: no memory, or the limit is reached. */
static bool buffer_reserve (struct buffer *buffer)
{
    size_t wanted = buffer->length + READ_SIZE + 1;
    if (wanted <= buffer->capacity)
        return true;
    wanted = wanted > 2 * buffer->capacity ? wanted : 2 * buffer->capacity;
    char *text = realloc (buffer->text, wanted);
    if (!text)
        return false;
    buffer->text = text;
    buffer->capacity = wanted;
    return true;
}

/* Read what is there, at most TURN_SIZE.  What is beyond the limit is read and dropped.  Returns whether
 * the limit was passed. */
static bool buffer_read (struct buffer *buffer)
{
    bool passed = false;
    for (size_t sum = 0; buffer->file >= 0 && sum < TURN_SIZE;) {
        if (!buffer_reserve (buffer))
            return true;
        ssize_t got = read (buffer->file, buffer->text + buffer->length, READ_SIZE);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            unwatch (buffer->epoll, &buffer->file);
            break;
        }
        sum += (size_t)got;
        buffer->length += (size_t)got;
        if (buffer->length > buffer->limit) {
            buffer->length = buffer->limit;
            passed = true;
        }
    }
    return passed;
}

/* Put the sentence into the result.  The first line of standard error is the command's own reason. */
static void explain (struct running *command)
{
    struct command_result *result = &command->result;
    const char *error = result->error;
    size_t skipped = strspn (error, "\n");
    size_t length = strcspn (error + skipped, "\n");
    struct excerpt reason = excerpt (error + skipped, length);
    double seconds = (double)(result->ended_us - result->began_us) / 1e6;
    const char *because = length > 0 ? ": " : "", *text = length > 0 ? reason.text : "";
    switch (result->code) {
    case 0:
        return;
    case -ETIMEDOUT:
        fail (&result->why, 0, "%s did not end within %.1f s and was killed%s%s", command->name,
              seconds, because, text);
        return;
    case -EFBIG:
        fail (&result->why, 0, "%s wrote more than %zu bytes and was killed", command->name,
              command->output.limit);
        return;
    case -EINTR:
        fail (&result->why, 0, "%s was ended by signal %d%s%s", command->name, result->signal,
              because, text);
        return;
    default:
        fail (&result->why, 0, "%s exited with %d%s%s", command->name, result->exit_code, because,
              text);
    }
}

static void answer (struct running *command, int64_t now_us)
{
    struct command_result *result = &command->result;
    if (command->answered)
        return;
    command->answered = true;
    result->ended_us = now_us;
    struct buffer *buffers[] = {&command->output, &command->error};
    for (size_t i = 0; i < 2; i++)
        if (buffers[i]->text)
            buffers[i]->text[buffers[i]->length] = '\0';
    result->output = command->output.text ? command->output.text : "";
    result->output_length = command->output.length;
    result->error = command->error.text ? command->error.text : "";
    result->error_length = command->error.length;
    explain (command);
    if (command->request.done)
        command->request.done (command->request.user, result);
}

static bool has_ended (const struct running *command)
{
    struct pollfd wait = {.fd = command->pidfd, .events = POLLIN};
    return poll (&wait, 1, 0) > 0;
}

/* The end of the process: the rest of its output, its descendants, its exit status. */
static void take_end (struct running *command)
{
    int status = 0;
    if (command->request.detached)
        lseek (command->error.file, 0, SEEK_SET);
    if (buffer_read (&command->output) && command->result.code == 0)
        command->result.code = -EFBIG;
    buffer_read (&command->error);
    if (!command->request.detached)
        kill_group (command);
    reap (command, &status);
    if (command->answered || command->result.code < 0)
        return;
    if (WIFEXITED (status)) {
        command->result.exit_code = WEXITSTATUS (status);
        command->result.code = WEXITSTATUS (status) == 0 ? 0 : -EREMOTEIO;
    } else {
        command->result.signal = WTERMSIG (status);
        command->result.code = -EINTR;
    }
}

/* Look at one command.  True: `done` is due. */
static bool look (struct running *command, int64_t now_us)
{
    bool ready = command->ready, ended = ready && has_ended (command);
    command->ready = false;
    if (ready && !ended && !command->request.detached) {
        if (buffer_read (&command->output) && command->result.code == 0 && !command->answered) {
            command->result.code = -EFBIG;
            kill_group (command);
            return true;
        }
        buffer_read (&command->error);
    }
    /* A command that has ended is not late. */
    if (ended) {
        take_end (command);
        return true;
    }
    if (has_deadline (command) && now_us >= command->request.deadline_us) {
        command->result.code = -ETIMEDOUT;
        kill_group (command);
        return true;
    }
    return false;
}

int command_set_turn (struct command_set *set, int64_t now_us)
{
    struct epoll_event events[EVENTS];
    struct running **at = &set->running;
    int count = 0, ready;
    /* What does not fit into `events` is found in the next turn: the descriptor stays readable. */
    do
        ready = epoll_wait (set->epoll, events, EVENTS, 0);
    while (ready < 0 && errno == EINTR);
    for (int i = 0; i < ready; i++)
        ((struct running *)events[i].data.ptr)->ready = true;
    while (*at) {
        struct running *command = *at;
        bool due = look (command, now_us);
        if (due && command->ended) {
            *at = command->next;
            command->next = set->finished;
            set->finished = command;
        } else {
            at = &command->next;
        }
    }
    /* Commands that were killed now have an answer; their process is reaped later. */
    for (struct running *command = set->running; command; command = command->next)
        if (!command->answered && command->result.code < 0) {
            count++;
            answer (command, now_us);
        }
    while (set->finished) {
        struct running *command = set->finished;
        count += !command->answered;
        answer (command, now_us);
        set->finished = command->next;
        running_free (command);
    }
    return count;
}

void command_set_wait (struct command_set *set, uint64_t id)
{
    while (find (set, id)) {
        struct pollfd wait = {.fd = set->epoll, .events = POLLIN};
        int64_t due_us = command_set_due_us (set), now_us = clock_monotonic_us ();
        int64_t left_ms = due_us == INT64_MAX ? 60000 : (due_us - now_us) / 1000 + 1;
        left_ms = left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : left_ms;
        poll (&wait, 1, (int)left_ms);
        command_set_turn (set, clock_monotonic_us ());
    }
}
