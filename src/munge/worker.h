/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that talks to munged, for event loops: munged may be stopped or frozen, and then each call takes
 * seconds.
 *
 *     munge_worker_decode (worker, ticket, source, credential)   returns at once
 *     ... when munge_worker_fd is readable:
 *     while ((answer = munge_worker_next (worker)) != NULL)
 *         ... answer->ticket, code, uid, name, claim ...
 *         munge_answer_free (answer)
 *
 * Sources take turns: a source with many requests delays those of another one by one decoding each.  The requests of one
 * source keep their order.
 *
 * A frozen munged: libmunge gives up after 10 s.  Then all requests that wait behind that one get the same answer at
 * once; and while a call takes longer than MUNGE_PATIENCE_S, new requests are refused.  So each request
 * waits for one attempt at most.  The caller's side of the worker belongs to one thread.
 */
#ifndef MUNGE_WORKER_H
#define MUNGE_WORKER_H

#include <stdint.h>

#include "munge/munge.h"
#include "munge/user_names.h"

/* Requests that may wait, in all and of one source.  A decoding takes 0.2 ms, so the last of them waits for 0.2 s. */
enum {
    MUNGE_WAITING_MAX = 1024,
    MUNGE_SHARE_MAX = MUNGE_WAITING_MAX / 4 * 3,
    MUNGE_SOURCE_SIZE = 64,
    MUNGE_PATIENCE_S = 2,
    MUNGE_NAME_SIZE = USER_NAME_SIZE
};

struct munge_worker;

struct munge_answer {
    uint64_t ticket;
    int code; /* 0, or as in munge.h, with the sentence in err */
    struct pollux_error err;
    /* of a decoding: */
    uid_t uid;
    char name[MUNGE_NAME_SIZE]; /* the user of that uid on this machine */
    struct munge_claim claim;
    /* of a signing: */
    char *header;
    struct munge_answer *next; /* private */
};

/* munge belongs to the worker from now on, also if this fails.  The thread starts with the first request. */
int munge_worker_new (struct munge *munge, struct munge_worker **ret, struct pollux_error *err);
/* Does not wait for munged: a call that runs ends by itself, later.  NULL is fine. */
void munge_worker_free (struct munge_worker *worker);

/* Decode a credential and look up the user's name.  source: the client's address, cut at
 * MUNGE_SOURCE_SIZE.  -EACCES: it cannot be a credential; -EAGAIN: munged does not answer, or too many requests
 * wait; -ENOMEM. */
int munge_worker_decode (struct munge_worker *worker, uint64_t ticket, const char *source,
                         const char *credential, struct pollux_error *err);

/* Sign a request, as munge_sign; everything is copied.  Fails as above. */
int munge_worker_sign (struct munge_worker *worker, uint64_t ticket, uid_t reader,
                       const char *method, const char *target, const void *body, size_t length,
                       struct pollux_error *err);

/* Sign a request, and wait for the answer at most wait_ms; not to be mixed with the two above.  ret: the value of
 * the header, with its NUL; size MUNGE_CREDENTIAL_SIZE is enough.  -EAGAIN: munged does not answer in time. */
int munge_worker_sign_now (struct munge_worker *worker, int wait_ms, uid_t reader,
                           const char *method, const char *target, const void *body, size_t length,
                           char *ret, size_t size, struct pollux_error *err);

/* Readable while there are answers. */
int munge_worker_fd (const struct munge_worker *worker);

/* The next answer; NULL: none.  It belongs to the caller. */
struct munge_answer *munge_worker_next (struct munge_worker *worker);
void munge_answer_free (struct munge_answer *answer);

#endif
