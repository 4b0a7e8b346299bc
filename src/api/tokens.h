/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: secrets in the state directory, and the identities that they prove.
 *
 *     STATE/admin.token   the admin's token, for commands of this user; made at the first start
 *     STATE/tokens        a line `ROLE NAME SHA256 [EXPIRES]` for each named token, without its secret;
 *                         EXPIRES: seconds since 1970, the first at which it is refused
 *     STATE/job.key       32 bytes, from which the token of each generation of a job is computed:
 *                         JOB "." GENERATION "." hex (HMAC-SHA256 (job.key, JOB "/" GENERATION))
 *
 * The directory has mode 0700.  The files must belong to this user, have mode 0600 and be no links;
 * otherwise they are refused, with the repair.  They are written atomically and durably.  A token has
 * 256 random bits: it cannot be guessed, so a plain hash without key stretching is enough.
 */
#ifndef API_TOKENS_H
#define API_TOKENS_H

#include <stdint.h>

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
    TOKEN_LIFETIME_MAX_S = 3650 * 86400,
};

/* A named token, without its secret. */
struct token {
    struct http_identity identity;
    int64_t expires_us; /* a whole second, on the clock of the now_us below; INT64_MAX: never */
};

/* Read the files of an existing state directory; admin.token and job.key are made if they are
 * missing.  On success the caller frees *ret (tokens_free).  -EPERM: another user can read or write
 * them; -EINVAL: damaged. */
int tokens_open (const char *state, struct tokens **ret, struct pollux_error *err);
void tokens_free (struct tokens *tokens);

/* Tokens in memory, without files: one token, made now, for a name.  Its text is in ret_token; *ret is the caller's. */
int tokens_make (unsigned role, const char *name, char ret_token[TOKEN_SIZE], struct tokens **ret,
                 struct pollux_error *err);

/* Read the files again (SIGHUP).  On failure nothing changes. */
int tokens_reload (struct tokens *tokens, struct pollux_error *err);

/* Find a token's identity: its role, and as name the owner ("admin" for STATE/admin.token) or the job; the
 * number is the generation of a job.  -EACCES: unknown; -EKEYEXPIRED: it has expired.  The sentence is for the
 * token's owner.  Takes the same time for every wrong secret. */
int tokens_check (const struct tokens *tokens, const char *token, int64_t now_us,
                  struct http_identity *ret, struct pollux_error *err);

/* Make a token for a name, durably; role: all but ROLE_JOB.  It expires lifetime_s after now_us (1 to
 * TOKEN_LIFETIME_MAX_S; 0: never).  Its text is returned once and not stored; it is the last one of tokens_get.  It
 * replaces an expired token of that name.  -EEXIST: the name has one that is valid; -EINVAL: no name (as of jobs), role
 * or lifetime; -ENOSPC: too many. */
int tokens_add (struct tokens *tokens, unsigned role, const char *name, int64_t lifetime_s,
                int64_t now_us, char ret[TOKEN_SIZE], struct pollux_error *err);

/* Revoke the name's token, durably.  -ENOENT: there is none. */
int tokens_remove (struct tokens *tokens, const char *name, struct pollux_error *err);

/* The named tokens, in the order in which they were made: 0 .. count - 1. */
int tokens_count (const struct tokens *tokens);
const struct token *tokens_get (const struct tokens *tokens, int i);

/* When tokens_expired is to be called next, to end what was begun with a token; INT64_MAX: no token expires. */
int64_t tokens_due_us (const struct tokens *tokens);

/* The name of a token that has expired, each once since it was made or read; NULL: there is no more.  Valid until the
 * next call that changes tokens. */
const char *tokens_expired (struct tokens *tokens, int64_t now_us);

/* The token with which a generation of a job reports. */
void tokens_job (const struct tokens *tokens, const char *job, int generation,
                 char ret[TOKEN_JOB_SIZE]);

#endif
