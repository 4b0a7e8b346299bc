/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The root process: a loop around one socket and the pidfds of its children.  Everything that could
 * wait or fail because of an owner's files happens in a child.
 */
#define _GNU_SOURCE
#include "backend/slurm/as_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/slurm/as_owner_private.h"
#include "backend/slurm/states.h"
#include "backend/slurm/submission.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "wire/slurm_config.h"

#define DEADLINE_S 30.0
/* Of one command: sbatch writes a line for each attempt to reach munged, and then why it failed. */
enum { MESSAGES_SIZE = 4096 };

struct child {
    int pid; /* 0: this place is free */
    int pidfd, output, error;
    uint64_t number;
    bool opens; /* its answer may have a file */
    bool killed;
    int64_t deadline_us;
};

struct queued {
    size_t length;
    int file; /* -1: none */
    uint8_t message[OWNER_MESSAGE_LIMIT];
};

/* While an answer waits for polluxd to read, no request is read, and deadlines are kept.  So the children that are left
 * and one refusal are the most that can be in the queue. */
enum { QUEUE_LIMIT = OWNER_CHILDREN + 1 };

struct helper {
    struct owner_helper_options options;
    int socket;
    struct child children[OWNER_CHILDREN];
    struct queued queue[QUEUE_LIMIT]; /* a ring of answers */
    int queue_first, queue_count;
};

/* ---- Descriptors beside messages ---------------------------------------------------------- */

union control {
    char bytes[CMSG_SPACE (4 * sizeof (int))];
    struct cmsghdr header;
};

ssize_t owner_socket_send (int socket, const void *data, size_t length, int file)
{
    union control control = {.bytes = ""};
    struct iovec piece = {.iov_base = (void *)data, .iov_len = length};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE (sizeof (int));
        struct cmsghdr *header = CMSG_FIRSTHDR (&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN (sizeof (int));
        memcpy (CMSG_DATA (header), &file, sizeof (int));
    }
    ssize_t sent;
    do
        sent = sendmsg (socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

bool owner_socket_is_full (int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM || error == ETOOMANYREFS;
}

ssize_t owner_socket_receive (int socket, void *data, size_t size, int *ret_file)
{
    union control control;
    struct iovec piece = {.iov_base = data, .iov_len = size};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof (control.bytes)};
    ssize_t length;
    *ret_file = -1;
    do
        length = recvmsg (socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (length < 0 && errno == EINTR);
    if (length < 0)
        return length;
    for (struct cmsghdr *at = CMSG_FIRSTHDR (&message); at; at = CMSG_NXTHDR (&message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (at->cmsg_len - CMSG_LEN (0)) / sizeof (int);
        for (size_t i = 0; i < count; i++) {
            int file;
            memcpy (&file, CMSG_DATA (at) + i * sizeof (int), sizeof (int));
            if (*ret_file < 0)
                *ret_file = file;
            else
                close (file);
        }
    }
    if (message.msg_flags & MSG_TRUNC) { /* longer than any message */
        if (*ret_file >= 0)
            close (*ret_file);
        *ret_file = -1;
        errno = EMSGSIZE;
        return -1;
    }
    return length;
}

/* ---- Answers ------------------------------------------------------------------------------ */

/* Send answers until the socket is full.  At the end of polluxd all are dropped. */
static void flush_answers (struct helper *helper)
{
    while (helper->queue_count > 0) {
        struct queued *first = &helper->queue[helper->queue_first];
        if (owner_socket_send (helper->socket, first->message, first->length, first->file) < 0 &&
            owner_socket_is_full (errno))
            return;
        if (first->file >= 0)
            close (first->file);
        helper->queue_first = (helper->queue_first + 1) % QUEUE_LIMIT;
        helper->queue_count--;
    }
}

/* Takes the file over. */
static void send_answer (struct helper *helper, const struct owner_answer *answer, int file)
{
    int at = (helper->queue_first + helper->queue_count) % QUEUE_LIMIT;
    struct queued *last = &helper->queue[at];
    bool full = helper->queue_count == QUEUE_LIMIT; /* it never is */
    int length = full ? -EAGAIN : owner_answer_encode (answer, last->message, NULL);
    if (length < 0) {
        if (file >= 0)
            close (file);
        return;
    }
    last->length = (size_t)length;
    last->file = file;
    helper->queue_count++;
    flush_answers (helper);
}

static void refuse (struct helper *helper, uint64_t number, int code, const char *why)
{
    struct owner_answer answer = {.number = number, .code = code};
    snprintf (answer.text, sizeof (answer.text), "%s", why);
    send_answer (helper, &answer, -1);
}

/* What a command wrote: its first line is for people, all of them tell whether Slurm could be asked, and whether it
 * refuses the job for good. */
static int command_code (const char *messages)
{
    return slurm_sbatch_unreachable (messages) ? OWNER_UNREACHABLE
           : slurm_refuses_for_now (messages)  ? OWNER_NOT_NOW
                                               : OWNER_COMMAND_FAILED;
}

/* Read what is there, without waiting; a NUL ends it. */
static size_t read_rest (int file, char *ret, size_t size)
{
    size_t length = 0;
    ssize_t count = 1;
    while (count > 0 && length < size - 1) {
        count = read (file, ret + length, size - 1 - length);
        length += count > 0 ? (size_t)count : 0;
    }
    ret[length] = '\0';
    return length;
}

/* Texts go into log lines and events: one line, without control characters. */
static void tidy (char *text)
{
    text[strcspn (text, "\n")] = '\0';
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 32 || *at == 127)
            *at = '?';
}

/* What the child wrote before it failed: a code and a sentence. */
static void take_failure (struct owner_answer *answer)
{
    int64_t code;
    char *space = strchr (answer->text, ' ');
    answer->code = OWNER_COMMAND_FAILED;
    if (!space)
        return;
    *space = '\0';
    if (number_int64 (answer->text, &code) == 0 && code < 0 && code > -4096 &&
        code != OWNER_NO_PROCESS && code != OWNER_UNREACHABLE && code != OWNER_NOT_NOW)
        answer->code = (int)code;
    memmove (answer->text, space + 1, strlen (space + 1) + 1);
}

static void describe_end (const struct child *child, int status, const char *messages,
                          struct owner_answer *answer)
{
    if (child->killed) {
        answer->code = -ETIMEDOUT;
        snprintf (answer->text, sizeof (answer->text), "it took too long and was killed");
    } else if (WIFSIGNALED (status)) {
        answer->code = -EINTR;
        snprintf (answer->text, sizeof (answer->text), "it was killed by signal %d",
                  WTERMSIG (status));
    } else if (WEXITSTATUS (status) == CHILD_FAILED) {
        take_failure (answer);
    } else if (WEXITSTATUS (status) != 0) {
        answer->code = command_code (messages);
        if (!answer->text[0])
            snprintf (answer->text, sizeof (answer->text), "it ended with exit code %d",
                      WEXITSTATUS (status));
    }
}

static void finish (struct helper *helper, struct child *child)
{
    struct owner_answer answer = {.number = child->number};
    char messages[MESSAGES_SIZE];
    siginfo_t ended = {0};
    int status = 0, file = -1;
    if (waitid (P_PID, (id_t)child->pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        ended.si_pid == 0)
        return;
    /* What a command left in its process group; before the child is reaped, because after that its id
     * may belong to others. */
    kill (-child->pid, SIGKILL);
    waitpid (child->pid, &status, 0);
    read_rest (child->error, messages, sizeof (messages));
    snprintf (answer.text, sizeof (answer.text), "%.*s", (int)sizeof (answer.text) - 1, messages);
    tidy (answer.text);
    if (child->opens) {
        char byte;
        if (owner_socket_receive (child->output, &byte, 1, &file) < 0)
            file = -1;
    } else {
        read_rest (child->output, answer.output, sizeof (answer.output));
    }
    describe_end (child, status, messages, &answer);
    if (answer.code == 0 && child->opens && file < 0) {
        answer.code = -EIO;
        snprintf (answer.text, sizeof (answer.text), "the file was not handed over");
    }
    if (answer.code < 0 && file >= 0) {
        close (file);
        file = -1;
    }
    send_answer (helper, &answer, file);
    close (child->pidfd);
    close (child->output);
    close (child->error);
    *child = (struct child){0};
}

/* ---- Children ----------------------------------------------------------------------------- */

/* In the child: standard descriptors, the payload as number 3, nothing else. */
static void set_descriptors (int payload, int output, int error)
{
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    /* All above 9 first, so that none is overwritten before it is copied. */
    payload = payload < 0 ? -1 : fcntl (payload, F_DUPFD, 10);
    output = fcntl (output, F_DUPFD, 10);
    error = fcntl (error, F_DUPFD, 10);
    if (null < 0 || dup2 (null, STDIN_FILENO) < 0 || dup2 (output, STDOUT_FILENO) < 0 ||
        dup2 (error, STDERR_FILENO) < 0 || (payload >= 0 && dup3 (payload, 3, O_CLOEXEC) < 0))
        _exit (CHILD_FAILED);
    if (syscall (SYS_close_range, payload < 0 ? 3u : 4u, ~0u, 0u) < 0)
        _exit (CHILD_FAILED);
}

static void set_signals (void)
{
    sigset_t none;
    sigemptyset (&none);
    for (int i = 1; i < NSIG; i++)
        signal (i, SIG_DFL);
    sigprocmask (SIG_SETMASK, &none, NULL);
}

static int start_child (struct helper *helper, struct child *child, const uint8_t *message,
                        size_t length, int payload)
{
    int output[2] = {-1, -1}, error[2] = {-1, -1};
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, output) < 0 ||
        pipe2 (error, O_CLOEXEC) < 0) {
        int code = -errno;
        if (output[0] >= 0) {
            close (output[0]);
            close (output[1]);
        }
        return code;
    }
    fcntl (output[1], F_SETFL, 0); /* the command's end waits, ours does not */
    fcntl (error[0], F_SETFL, O_NONBLOCK);
    pid_t pid = fork ();
    if (pid == 0) {
        setsid ();
        set_signals ();
        set_descriptors (payload, output[1], error[1]);
        owner_child_run (&helper->options, message, length, payload < 0 ? -1 : 3);
    }
    int code = pid < 0 ? -errno : 0;
    close (output[1]);
    close (error[1]);
    int pidfd = pid > 0 ? (int)syscall (SYS_pidfd_open, pid, 0) : -1;
    if (pid > 0 && pidfd < 0) {
        code = -errno;
        kill (pid, SIGKILL);
        waitpid (pid, NULL, 0);
    }
    if (code < 0) {
        close (output[0]);
        close (error[0]);
        return code;
    }
    *child = (struct child){.pid = pid,
                            .pidfd = pidfd,
                            .output = output[0],
                            .error = error[0],
                            .deadline_us = clock_monotonic_us () +
                                           (int64_t)(helper->options.deadline_s * 1e6)};
    return 0;
}

static struct child *free_place (struct helper *helper)
{
    for (int i = 0; i < OWNER_CHILDREN; i++)
        if (helper->children[i].pid == 0)
            return &helper->children[i];
    return NULL;
}

/* ---- Requests ----------------------------------------------------------------------------- */

/* The kind is at a fixed place behind the number; the child decodes the rest. */
static bool opens_file (const uint8_t *message, size_t length)
{
    return length > 14 && message[14] == OWNER_LOG;
}

static void take_request (struct helper *helper, const uint8_t *message, size_t length, int payload)
{
    struct child *child = free_place (helper);
    uint64_t number;
    if (owner_request_peek (message, length, &number) < 0) {
        refuse (helper, 0, -EINVAL, "the request is damaged or has an unknown version");
        return;
    }
    int code = child ? start_child (helper, child, message, length, payload) : 0;
    if (!child || code < 0) {
        refuse (helper, number, OWNER_NO_PROCESS,
                child ? "no process could be started for it" : "too many requests at once");
        return;
    }
    child->number = number;
    child->opens = opens_file (message, length);
}

/* False: polluxd has ended. */
static bool receive (struct helper *helper)
{
    static uint8_t message[OWNER_MESSAGE_LIMIT];
    int payload;
    ssize_t length = owner_socket_receive (helper->socket, message, sizeof (message), &payload);
    if (length == 0)
        return false;
    if (length < 0 && errno == EMSGSIZE)
        refuse (helper, 0, -EMSGSIZE, "the request is too long");
    else if (length < 0)
        return errno == EAGAIN || errno == ENOBUFS;
    else
        take_request (helper, message, (size_t)length, payload);
    if (payload >= 0)
        close (payload);
    explicit_bzero (message, sizeof (message));
    return true;
}

/* ---- The loop ----------------------------------------------------------------------------- */

static void kill_late (struct helper *helper, int64_t now_us)
{
    for (int i = 0; i < OWNER_CHILDREN; i++) {
        struct child *child = &helper->children[i];
        if (child->pid == 0 || child->killed || now_us < child->deadline_us)
            continue;
        child->killed = true;
        kill (-child->pid, SIGKILL);
        kill (child->pid, SIGKILL); /* it may have no group of its own yet */
    }
}

static int wait_ms (const struct helper *helper)
{
    int64_t now_us = clock_monotonic_us (), first_us = INT64_MAX;
    for (int i = 0; i < OWNER_CHILDREN; i++) {
        const struct child *child = &helper->children[i];
        if (child->pid > 0 && !child->killed && child->deadline_us < first_us)
            first_us = child->deadline_us;
    }
    if (first_us == INT64_MAX)
        return -1;
    return first_us <= now_us ? 0 : (int)((first_us - now_us) / 1000 + 1);
}

static void kill_all (struct helper *helper)
{
    for (int i = 0; i < OWNER_CHILDREN; i++) {
        if (helper->children[i].pid == 0)
            continue;
        kill (-helper->children[i].pid, SIGKILL);
        kill (helper->children[i].pid, SIGKILL);
    }
}

static void serve (struct helper *helper)
{
    for (bool alive = true; alive;) {
        struct pollfd files[OWNER_CHILDREN + 1] = {
            {.fd = helper->socket, .events = helper->queue_count > 0 ? POLLOUT : POLLIN}};
        for (int i = 0; i < OWNER_CHILDREN; i++) {
            const struct child *child = &helper->children[i];
            files[i + 1] =
                (struct pollfd){.fd = child->pid > 0 ? child->pidfd : -1, .events = POLLIN};
        }
        if (poll (files, OWNER_CHILDREN + 1, wait_ms (helper)) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < OWNER_CHILDREN; i++)
            if (files[i + 1].revents)
                finish (helper, &helper->children[i]);
        kill_late (helper, clock_monotonic_us ());
        if (files[0].revents && helper->queue_count > 0)
            flush_answers (helper);
        else if (files[0].revents)
            alive = receive (helper);
    }
    kill_all (helper);
}

/* It ends with polluxd, not by signals: `systemctl stop` sends SIGTERM to both. */
_Noreturn static void run_helper (const struct owner_helper_options *options, int socket)
{
    static struct helper helper;
    static const int ignored[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
    for (size_t i = 0; i < sizeof (ignored) / sizeof (ignored[0]); i++)
        signal (ignored[i], SIG_IGN);
    signal (SIGCHLD, SIG_DFL);
    prctl (PR_SET_NAME, "polluxd-owner");
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2 (null, STDIN_FILENO);
    /* Nothing of polluxd's is kept open but standard output and error. */
    if (socket != 3 && dup3 (socket, 3, O_CLOEXEC) < 0)
        _exit (1);
    if (syscall (SYS_close_range, 4u, ~0u, 0u) < 0 || chdir ("/") < 0)
        _exit (1);
    helper.options = *options;
    if (!(helper.options.deadline_s > 0))
        helper.options.deadline_s = DEADLINE_S;
    helper.socket = 3;
    fcntl (helper.socket, F_SETFL, O_NONBLOCK);
    serve (&helper);
    _exit (0);
}

int owner_helper_start (const struct owner_helper_options *options, int *ret, int *ret_pid,
                        struct pollux_error *err)
{
    int sockets[2];
    const char *wrong = wire_wrong_slurm_directory (options->directory);
    if (wrong)
        return fail (err, -EINVAL, "slurm directory: %s", wrong);
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return fail (err, -errno, "cannot make a socket: %s", strerror (errno));
    fflush (NULL);
    pid_t pid = fork ();
    if (pid == 0) {
        close (sockets[0]);
        run_helper (options, sockets[1]);
    }
    close (sockets[1]);
    if (pid < 0) {
        close (sockets[0]);
        return fail (err, -errno, "cannot start the process that acts for owners: %s",
                     strerror (errno));
    }
    fcntl (sockets[0], F_SETFL, O_NONBLOCK);
    *ret = sockets[0];
    if (ret_pid)
        *ret_pid = pid;
    return 0;
}
