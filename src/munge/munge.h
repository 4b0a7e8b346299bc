/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signed requests with MUNGE, the authentication service of Slurm clusters.  A credential proves the uid of
 * its maker on every host that has the same munge key.  Ours signs one whole request:
 *
 *     client   munge_sign:   request -> claim -> munged -> "MUNGE:...:"  (header Authorization: Munge ...)
 *     polluxd  munge_decode: "MUNGE:...:" -> munged -> uid and claim;  munge_claim_check: claim = request?
 *
 * A credential is restricted to one uid, polluxd's: only that user can decode it.  A wrong uid makes the
 * decoding fail and does no other harm.
 *
 * libmunge is loaded when it is used (dlopen): nothing of munge is needed to build, or to run without it.  All
 * calls of munged wait for its answer, some seconds if munged is stopped or frozen; munge/worker.h keeps that
 * out of an event loop.
 *
 * Codes: -ENOENT: libmunge is missing; -EAGAIN: munged does not answer; -EACCES: the credential is refused;
 * -EINVAL: the request cannot be signed; -ENOMEM.
 */
#ifndef MUNGE_MUNGE_H
#define MUNGE_MUNGE_H

#include <stddef.h>
#include <sys/types.h>

#include "munge/claim.h"

/* Sizes of a credential's text and of a header with it.  A claim of at most MUNGE_CLAIM_SIZE bytes becomes
 * about 4/3 of that, and munge adds less than 300 bytes. */
enum { MUNGE_CREDENTIAL_SIZE = 2 * MUNGE_CLAIM_SIZE };

struct munge;

/* Load libmunge.  socket: munged's, NULL: POLLUX_MUNGE_SOCKET from the environment, or libmunge's default.
 * *ret belongs to the caller (munge_close).  Nothing is sent to munged yet. */
int munge_open (const char *socket, struct munge **ret, struct pollux_error *err);
void munge_close (struct munge *munge);

/* Sign a request as this process's user, for reader, the uid of polluxd.  target: path and query as sent.  *ret
 * is the value of the header Authorization, "Munge MUNGE:...:", and belongs to the caller (free). */
int munge_sign (struct munge *munge, uid_t reader, const char *method, const char *target,
                const void *body, size_t length, char **ret, struct pollux_error *err);

/* Decode a credential "MUNGE:...:".  munged refuses one that is expired, was decoded before, or is restricted to
 * another user than this process's. */
int munge_decode_claim (struct munge *munge, const char *credential, uid_t *ret_uid,
                        struct munge_claim *ret, struct pollux_error *err);

#endif
