/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acting as the owner of a job, for a polluxd that is not root.
 *
 *     root: polluxd --fork--> the root process         owner_helper_start, before polluxd
 *             |                  |                     becomes an ordinary user
 *             | socket           |--fork--> child      becomes the owner, then does one thing:
 *             v                  |                     write files and exec sbatch, exec scancel,
 *           polluxd <-- answers -+                     copy a piece of a log, read a file, or remove old ones
 *
 * The root process takes a request (owner_message.h), starts a child for it, and sends the answer when
 * the child has ended.  It reads and writes no file itself, and parses only messages of limited
 * size.  The child becomes the owner (their uid, gid and groups, with no way back) before it touches
 * anything: links that the owner planted lead only where the owner may go anyway, and a home directory
 * on a file server that trusts no root can be used.
 *
 * Refused are: uid 0, uids below min_uid, names without an account, names and paths outside their
 * alphabets.  A request that takes longer than its deadline is killed.  The root process ends when
 * polluxd ends, and kills what its children still do.
 *
 * Without root the same process serves one owner: the user who started polluxd.
 */
#ifndef BACKEND_SLURM_AS_OWNER_H
#define BACKEND_SLURM_AS_OWNER_H

#include "backend/slurm/owner_message.h"

/* Read at the start; later changes of the configuration need a restart. */
struct owner_helper_options {
    unsigned min_uid;
    /* Of an owner's files: %h is the home, %u the user, %% a percent sign (wire/slurm_config.h). */
    const char *directory;
    double deadline_s; /* of one request; 0: 30 */
    int64_t log_limit; /* bytes of a job's logs; 0: RUN_JOB_LOG_DEFAULT */
};

/* A file in the directory of a generation: the number of the oldest generation that was kept when it was
 * made. */
#define OWNER_OLDEST "oldest"

/* Children at the same time.  OWNER_CHILDREN: in total.  OWNER_CHILDREN_OF_ONE: per owner, counted separately for
 * requests that touch the owner's files and for the others, so that a home directory that does not answer
 * delays only the file requests of its owner. */
enum { OWNER_CHILDREN = 32, OWNER_CHILDREN_OF_ONE = 4 };

/* Start the root process.  *ret is polluxd's end of the socket, the caller's (close ends the process);
 * *ret_pid, if not NULL, is its pid. */
int owner_helper_start (const struct owner_helper_options *options, int *ret, int *ret_pid,
                        struct pollux_error *err);

/* Replace %h, %u and %%.  -EINVAL, -ENAMETOOLONG. */
int owner_directory_expand (const char *text, const char *home, const char *user, char *ret,
                            size_t size);

/* ---- polluxd's side ---- */

struct owner_client;

/* Takes the socket over, also on failure. */
int owner_client_new (int socket, struct owner_client **ret, struct pollux_error *err);
/* NULL is fine.  Requests without an answer may still be done or not. */
void owner_client_free (struct owner_client *client);

/* For epoll: readable if owner_client_next has something. */
int owner_client_fd (const struct owner_client *client);

/* Send a request, now or when others have been answered; never waits.  Its number is set here, and
 * *ret_number has it.  files: of SUBMIT; the first one is the script and has no name.  -EPIPE: the root
 * process has ended. */
int owner_client_send (struct owner_client *client, struct owner_request *request,
                       const struct owner_file *files, int file_count, uint64_t *ret_number,
                       struct pollux_error *err);

/* 1 and an answer (*ret_file: a descriptor of a sealed file in memory, the caller's, or -1); 0: none; -EPIPE:
 * the root process has ended, and no answer will come any more. */
int owner_client_next (struct owner_client *client, struct owner_answer *ret, int *ret_file);

#endif
