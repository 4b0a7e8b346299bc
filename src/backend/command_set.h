/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that run beside the event loop: each is a child process in its own session with a text as
 * its standard input and a deadline.  What it writes is collected up to a limit.  No function waits.
 *
 *     command_set_start ... command_set_descriptor becomes readable, or command_set_due_us passes
 *                    ... command_set_turn reads, reaps and calls `done` once for each ended command
 */
#ifndef BACKEND_COMMAND_SET_H
#define BACKEND_COMMAND_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pollux/pollux.h"

struct command_set;

/* 64 commands at once: a start or stop of every share goes through few at a time.  64 MB of output:
 * squeue with 100 bytes for each of 600,000 jobs.  4 KB of diagnostics. */
enum { COMMANDS_LIMIT = 64, COMMAND_OUTPUT_LIMIT = 64 << 20, COMMAND_ERROR_LIMIT = 4096 };

/* How a command ended.  All pointers are valid during the call of `done` only. */
struct command_result {
    uint64_t id; /* of command_set_start */
    int code;    /* 0: it exited with 0.  -EREMOTEIO: it exited with another code.  -EINTR: a signal
                    * ended it.  -ETIMEDOUT: killed at its deadline.  -EFBIG: killed, too much output */
    int exit_code;      /* 0..255 if it exited, else -1 */
    int signal;         /* that ended it, else 0 */
    const char *output; /* standard output; a NUL follows */
    size_t output_length;
    const char *
        error; /* the first COMMAND_ERROR_LIMIT bytes of standard error, as they came; a NUL follows */
    size_t error_length;
    int64_t began_us, ended_us; /* monotonic */
    struct pollux_error
        why; /* code < 0: a sentence with the command's name and its first message */
};

struct command_request {
    const char *const
        *words;        /* NULL-terminated; words[0] is looked up in PATH if it has no slash */
    const char *name;  /* in sentences; NULL: words[0] without its folder */
    const char *input; /* standard input; NULL: empty */
    size_t input_length;
    const char *const
        *environment;      /* NAME=VALUE besides the basic ones; NULL-terminated, or NULL */
    const char *directory; /* where it runs; NULL: / */
    int64_t deadline_us;   /* monotonic; 0: none */
    size_t output_limit;   /* 0: COMMAND_OUTPUT_LIMIT */
    /* It is not killed by command_set_free, has no deadline, and lives on after this process.  Its standard
     * output is dropped, its standard error goes to a file in memory.  For srun of a share. */
    bool detached;
    void (*done) (void *user, const struct command_result *result); /* NULL: no callback */
    void *user;
};

int command_set_new (struct command_set **ret, struct pollux_error *err);

/* Kill all commands that are not detached; their `done` is not called.  NULL is allowed. */
void command_set_free (struct command_set *set);

/* Start a command.  Everything of the request is copied except `user`.  The environment is PATH, HOME,
 * USER, LOGNAME, LD_LIBRARY_PATH, TMPDIR and SLURM_CONF of this process where set, LC_ALL=C,
 * SLURM_TIME_FORMAT=%s (times in seconds since 1970), and the request's, which replace them.  *ret_id (may be NULL) is never 0.
 * -ENOENT: there is no such program; -EAGAIN: COMMANDS_LIMIT run already (detached ones do not count). */
int command_set_start (struct command_set *set, const struct command_request *request,
                       int64_t now_us, uint64_t *ret_id, struct pollux_error *err);

/* Kill a command; its `done` is not called.  False: there is none of this id. */
bool command_set_cancel (struct command_set *set, uint64_t id);

/* Send a signal to the process of a command (not to its group). False: there is none of this id. */
bool command_set_signal (struct command_set *set, uint64_t id, int signal);

/* The process id of a command; 0: there is none of this id. */
int command_set_pid (const struct command_set *set, uint64_t id);

/* An epoll descriptor, for the loop's own epoll: readable when command_set_turn has something to do. */
int command_set_descriptor (const struct command_set *set);

/* The next deadline, monotonic; INT64_MAX: none. */
int64_t command_set_due_us (const struct command_set *set);

/* Number of commands that have not ended, detached ones included. */
int command_set_count (const struct command_set *set);

/* Read output, reap, kill what is past its deadline, call `done`.  `done` may start and cancel commands,
 * but not call command_set_turn, _wait or _free.
 * Returns the number of commands that ended. */
int command_set_turn (struct command_set *set, int64_t now_us);

/* Wait until a command has ended or its deadline has passed, and call `done`: for programs without an
 * event loop.  Other commands of the set go on. */
void command_set_wait (struct command_set *set, uint64_t id);

#endif
