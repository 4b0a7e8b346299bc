/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: secrets in the state directory, and the identities that they prove.
 *
 *     STATE/admin.token   the admin's token, for commands of this user; made at the first start
 *     STATE/tokens        a line `ROLE NAME SHA256` for each named token, without its secret
 *     STATE/job.key       32 bytes, from which the token of each generation of a job is computed:
 *                         JOB "." GENERATION "." hex (HMAC-SHA256 (job.key, JOB "/" GENERATION))
 *
 * The directory has mode 0700.  The files must belong to this user, have mode 0600 and be no links;
 * otherwise they are refused, with the repair.  They are written atomically and durably.  A token has
 * 256 random bits: it cannot be guessed, so a plain hash without key stretching is enough.
 */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include "http/http.h"

struct tokens;

/* Bits, for http_route.roles. */
enum role { ROLE_ADMIN = 1, ROLE_USER = 2, ROLE_READ_ONLY = 4, ROLE_JOB = 8 };

/* "admin", "user", "read-only", "job"; NULL for anything else. */
const char *role_name (unsigned role);
/* The role of that name; 0 if there is none. */
unsigned role_by_name (const char *name);

enum {
    TOKEN_SIZE = 65, /* of a named token's text, with its NUL */
    TOKEN_JOB_SIZE =
        HTTP_NAME_SIZE + 11 + 65, /* of a job's: ten digits at most for the generation */
    TOKEN_NAMES_MAX = 1000,       /* named tokens */
};

/* Read the files of an existing state directory; admin.token and job.key are made if they are
 * missing.  On success the caller frees *ret (tokens_free).  -EPERM: another user can read or write
 * them; -EINVAL: damaged. */
int tokens_open (const char *state, struct tokens **ret, struct pollux_error *err);
void tokens_free (struct tokens *tokens);

/* Read the files again (SIGHUP).  On failure nothing changes. */
int tokens_reload (struct tokens *tokens, struct pollux_error *err);

/* Find a token's identity: its role, and as name the owner ("admin" for STATE/admin.token) or the job; the
 * number is the generation of a job.  -EACCES: unknown.  Takes the same time for every wrong secret. */
int tokens_check (const struct tokens *tokens, const char *token, struct http_identity *ret);

/* Make a token for a name, durably; role: all but ROLE_JOB.  Its text is returned once and not stored.
 * -EEXIST: the name has one; -EINVAL: no name (as of jobs) or role; -ENOSPC: too many. */
int tokens_add (struct tokens *tokens, unsigned role, const char *name, char ret[TOKEN_SIZE],
                struct pollux_error *err);

/* Revoke the name's token, durably.  -ENOENT: there is none. */
int tokens_remove (struct tokens *tokens, const char *name, struct pollux_error *err);

/* The named tokens, in the order in which they were made: 0 .. count - 1. */
int tokens_count (const struct tokens *tokens);
const struct http_identity *tokens_get (const struct tokens *tokens, int i);

/* The token with which a generation of a job reports. */
void tokens_job (const struct tokens *tokens, const char *job, int generation,
                 char ret[TOKEN_JOB_SIZE]);

#endif
