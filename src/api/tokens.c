/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens: only hashes are stored, in memory too, and a token's hash is compared with all of them in
 * constant time.  So neither STATE/tokens nor the time of an answer reveals a secret.
 */
#define _GNU_SOURCE /* memrchr */
#include "api/tokens.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

#include "base/safe_dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "wire/submission.h"

#define ADMIN_FILE "admin.token"
#define NAMED_FILE "tokens"
#define KEY_FILE "job.key"

enum {
    SECRET_BYTES = 32,
    TOKEN_LEAST = 32, /* characters; an admin may write an own admin.token, but not a short one */
    TOKEN_MOST = 200, /* characters of any token; more than a job's */
    LINE_MOST = 160,  /* of STATE/tokens: role, name, 64 digits and a time are at most 150 */
    HEX = 2 * SHA256_DIGEST_SIZE,
};
_Static_assert(TOKEN_SIZE == HEX + 1, "a token is as long as a hash in hexadecimal");

#define SECOND_US INT64_C (1000000)

/* The last time of a token: 2^53 us, in the year 2255, as for all times of documents. */
static const int64_t expires_most_s = INT64_C (9007199254);

struct named {
    struct token token;
    uint8_t hash[SHA256_DIGEST_SIZE];
    bool told; /* tokens_expired has returned it */
};

struct tokens {
    int directory;
    uint8_t admin[SHA256_DIGEST_SIZE];
    struct hmac_sha256_ctx key; /* keyed with job.key */
    struct named *named;
    int count;
    int64_t due_us; /* not later than the first expiry that was not told */
};

static const char *const role_names[] = {"admin", "user", "read-only", "job"};

const char *role_name (unsigned role)
{
    for (unsigned i = 0; i < sizeof (role_names) / sizeof (role_names[0]); i++)
        if (role == 1u << i)
            return role_names[i];
    return NULL;
}

unsigned role_by_name (const char *name)
{
    for (unsigned i = 0; i < sizeof (role_names) / sizeof (role_names[0]); i++)
        if (strcmp (name, role_names[i]) == 0)
            return 1u << i;
    return 0;
}

/* ---- Bytes ---------------------------------------------------------------------------------- */

static void hash (const char *text, uint8_t ret[SHA256_DIGEST_SIZE])
{
    struct sha256_ctx context;
    sha256_init (&context);
    sha256_update (&context, strlen (text), (const uint8_t *)text);
    sha256_digest (&context, SHA256_DIGEST_SIZE, ret);
}

static void to_hex (const uint8_t bytes[SHA256_DIGEST_SIZE], char ret[HEX + 1])
{
    base16_encode_update (ret, SHA256_DIGEST_SIZE, bytes);
    ret[HEX] = '\0';
}

/* Exactly 64 digits. */
static bool from_hex (const char *text, uint8_t ret[SHA256_DIGEST_SIZE])
{
    struct base16_decode_ctx context;
    size_t length = SHA256_DIGEST_SIZE;
    if (strspn (text, "0123456789abcdef") != HEX || text[HEX] != '\0')
        return false;
    base16_decode_init (&context);
    return base16_decode_update (&context, &length, ret, HEX, text) == 1 &&
           base16_decode_final (&context) == 1 && length == SHA256_DIGEST_SIZE;
}

static int make_secret (uint8_t ret[SECRET_BYTES], struct pollux_error *err)
{
    if (getrandom (ret, SECRET_BYTES, 0) != SECRET_BYTES)
        return fail (err, -EIO, "the system has no random numbers for a token");
    return 0;
}

/* No name has a slash, so different pairs give different texts. */
static void job_mac (const struct tokens *tokens, const char *job, int generation,
                     uint8_t ret[SHA256_DIGEST_SIZE])
{
    struct hmac_sha256_ctx key = tokens->key;
    char text[HTTP_NAME_SIZE + 12];
    snprintf (text, sizeof (text), "%.63s/%d", job, generation);
    hmac_sha256_update (&key, strlen (text), (const uint8_t *)text);
    hmac_sha256_digest (&key, SHA256_DIGEST_SIZE, ret);
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* Read a file that only this user can read.  -ENOENT: there is none. */
static int read_secret (int directory, const char *name, size_t limit, char **ret,
                        size_t *ret_length, struct pollux_error *err)
{
    struct stat status;
    int file;
    int code = safe_dir_open_file (directory, name, &file, err);
    if (code < 0)
        return code;
    code = fstat (file, &status) < 0 ? -errno : 0;
    close (file);
    if (code < 0)
        return fail (err, code, "%s: %s", name, strerror (-code));
    if (status.st_uid != geteuid ())
        return fail (err, -EPERM, "%s: belongs to user %u: expected this user, %u", name,
                     status.st_uid, geteuid ());
    if (status.st_mode & 077)
        return fail (
            err, -EPERM,
            "%s: others may read or write it (mode %04o): remove it if they could have, so "
            "that a new one is made; otherwise chmod 600",
            name, status.st_mode & 07777u);
    /* Only this user can change the directory, so the file is the one that was checked. */
    return safe_dir_read (directory, name, limit, ret, ret_length, err);
}

static int read_admin (struct tokens *tokens, struct pollux_error *err)
{
    char *text;
    size_t length;
    uint8_t secret[SECRET_BYTES];
    char fresh[HEX + 2];
    int code = read_secret (tokens->directory, ADMIN_FILE, TOKEN_MOST, &text, &length, err);
    if (code == -ENOENT) {
        code = make_secret (secret, err);
        if (code < 0)
            return code;
        to_hex (secret, fresh);
        hash (fresh, tokens->admin);
        memcpy (fresh + HEX, "\n", 2);
        return safe_dir_replace (tokens->directory, ADMIN_FILE, fresh, HEX + 1, err);
    }
    if (code < 0)
        return code;
    text[strcspn (text, "\r\n")] = '\0';
    size_t visible =
        strspn (text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-");
    if (visible >= TOKEN_LEAST && text[visible] == '\0')
        hash (text, tokens->admin);
    else
        code = fail (err, -EINVAL,
                     ADMIN_FILE ": expected one line of at least %d letters and digits; remove the "
                                "file, and a new one is made",
                     TOKEN_LEAST);
    free (text);
    return code;
}

static int read_key (struct tokens *tokens, struct pollux_error *err)
{
    char *text;
    size_t length;
    uint8_t secret[SECRET_BYTES];
    int code = read_secret (tokens->directory, KEY_FILE, SECRET_BYTES, &text, &length, err);
    if (code == 0) {
        if (length == SECRET_BYTES)
            memcpy (secret, text, SECRET_BYTES);
        else
            code = fail (err, -EINVAL,
                         KEY_FILE ": expected %d bytes, found %zu; remove the file, and a new one "
                                  "is made (jobs that run cannot report until they restart)",
                         SECRET_BYTES, length);
        free (text);
    } else if (code == -ENOENT) {
        code = make_secret (secret, err);
        if (code == 0)
            code = safe_dir_replace (tokens->directory, KEY_FILE, (const char *)secret,
                                     SECRET_BYTES, err);
    }
    if (code == 0)
        hmac_sha256_set_key (&tokens->key, SECRET_BYTES, secret);
    return code;
}

static int find (const struct tokens *tokens, const char *name)
{
    for (int i = 0; i < tokens->count; i++)
        if (strcmp (tokens->named[i].token.identity.name, name) == 0)
            return i;
    return -1;
}

/* The time of a line; text NULL: there is none, and the token does not expire. */
static bool read_expiry (const char *text, int64_t *ret_us)
{
    int64_t seconds;
    *ret_us = INT64_MAX;
    if (text == NULL)
        return true;
    if (number_int64 (text, &seconds) < 0 || seconds < 1 || seconds > expires_most_s)
        return false;
    *ret_us = seconds * SECOND_US;
    return true;
}

/* One line without its end. */
static int read_line (struct tokens *tokens, char *line, int number, struct pollux_error *err)
{
    struct named *named = &tokens->named[tokens->count];
    struct token *token = &named->token;
    char *rest = NULL;
    const char *role = strtok_r (line, " ", &rest), *name = strtok_r (NULL, " ", &rest);
    const char *digits = strtok_r (NULL, " ", &rest);
    const char *expires = strtok_r (NULL, " ", &rest), *more = strtok_r (NULL, " ", &rest);
    unsigned bit = role != NULL ? role_by_name (role) : 0;
    if (name == NULL || digits == NULL || bit == 0 || bit == ROLE_JOB || !wire_is_job (name) ||
        find (tokens, name) >= 0 || !from_hex (digits, named->hash) ||
        !read_expiry (expires, &token->expires_us) || more != NULL)
        return fail (err, -EINVAL,
                     NAMED_FILE ":%d: expected ROLE NAME SHA256 [EXPIRES], with a name that has no "
                                "line yet and a time in seconds since 1970; correct or remove the "
                                "line",
                     number);
    token->identity.role = bit;
    snprintf (token->identity.name, sizeof (token->identity.name), "%s", name);
    if (token->expires_us < tokens->due_us)
        tokens->due_us = token->expires_us;
    tokens->count++;
    return 0;
}

static int read_named (struct tokens *tokens, struct pollux_error *err)
{
    char *text, *rest;
    size_t length;
    tokens->due_us = INT64_MAX;
    tokens->named = calloc (TOKEN_NAMES_MAX, sizeof (*tokens->named));
    if (tokens->named == NULL)
        return fail (err, -ENOMEM, NAMED_FILE ": not enough memory");
    int code = read_secret (tokens->directory, NAMED_FILE, TOKEN_NAMES_MAX * LINE_MOST, &text,
                            &length, err);
    if (code < 0)
        return code == -ENOENT ? 0 : code;
    rest = text;
    for (int number = 1; code == 0 && rest != NULL && *rest != '\0'; number++) {
        char *line = strsep (&rest, "\n");
        if (tokens->count == TOKEN_NAMES_MAX)
            code = fail (err, -EINVAL, NAMED_FILE ": more than %d lines", TOKEN_NAMES_MAX);
        else
            code = read_line (tokens, line, number, err);
    }
    free (text);
    return code;
}

static int write_named (const struct tokens *tokens, struct pollux_error *err)
{
    char *text = malloc ((size_t)(tokens->count + 1) * LINE_MOST);
    size_t length = 0;
    if (text == NULL)
        return fail (err, -ENOMEM, NAMED_FILE ": not enough memory");
    for (int i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->named[i].token;
        char digits[HEX + 1], expires[24] = "";
        to_hex (tokens->named[i].hash, digits);
        if (token->expires_us != INT64_MAX)
            snprintf (expires, sizeof (expires), " %lld",
                      (long long)(token->expires_us / SECOND_US));
        length += (size_t)snprintf (text + length, LINE_MOST, "%s %s %s%s\n",
                                    role_name (token->identity.role), token->identity.name, digits,
                                    expires);
    }
    int code = safe_dir_replace (tokens->directory, NAMED_FILE, text, length, err);
    free (text);
    return code;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static int read_all (struct tokens *tokens, struct pollux_error *err)
{
    int code = read_admin (tokens, err);
    if (code == 0)
        code = read_key (tokens, err);
    if (code == 0)
        code = read_named (tokens, err);
    return code;
}

/* Check that other users cannot enter the state directory, which has journal and logs, too. */
static int check_mode (int directory, const char *path, struct pollux_error *err)
{
    struct stat status;
    if (fstat (directory, &status) < 0)
        return fail (err, -errno, "%s: %s", file_name (path).text, strerror (errno));
    if (status.st_mode & 077)
        return fail (err, -EPERM, "%s: others may look into it (mode %04o): chmod 700 repairs that",
                     file_name (path).text, status.st_mode & 07777u);
    return 0;
}

int tokens_open (const char *state, struct tokens **ret, struct pollux_error *err)
{
    struct tokens *tokens = calloc (1, sizeof (*tokens));
    if (tokens == NULL)
        return fail (err, -ENOMEM, "no memory for tokens");
    tokens->directory = -1;
    int code = safe_dir_open_root (state, &tokens->directory, err);
    if (code == 0)
        code = check_mode (tokens->directory, state, err);
    if (code == 0)
        code = read_all (tokens, err);
    if (code < 0)
        tokens_free (tokens);
    else
        *ret = tokens;
    return code;
}

/* It does not expire. */
static void name_token (struct named *named, unsigned role, const char *name)
{
    named->token.identity.role = role;
    named->token.expires_us = INT64_MAX;
    snprintf (named->token.identity.name, sizeof (named->token.identity.name), "%s", name);
}

/* A token, its text and its hash. */
static int make_token (char ret[TOKEN_SIZE], uint8_t ret_hash[SHA256_DIGEST_SIZE],
                       struct pollux_error *err)
{
    uint8_t secret[SECRET_BYTES];
    int code = make_secret (secret, err);
    if (code < 0)
        return code;
    to_hex (secret, ret);
    hash (ret, ret_hash);
    return 0;
}

int tokens_make (unsigned role, const char *name, char ret_token[TOKEN_SIZE], struct tokens **ret,
                 struct pollux_error *err)
{
    struct tokens *tokens = calloc (1, sizeof (*tokens));
    struct named *named = calloc (1, sizeof (*named));
    char text[TOKEN_SIZE], unused[TOKEN_SIZE];
    uint8_t key[SECRET_BYTES];
    int code = tokens && named ? 0 : fail (err, -ENOMEM, "no memory for tokens");
    /* Nobody knows the secrets of the admin and of jobs. */
    if (code == 0)
        code = make_token (unused, tokens->admin, err);
    if (code == 0)
        code = make_secret (key, err);
    if (code == 0)
        code = make_token (text, named->hash, err);
    if (code < 0) {
        free (named);
        free (tokens);
        return code;
    }
    hmac_sha256_set_key (&tokens->key, sizeof (key), key);
    name_token (named, role, name);
    tokens->directory = -1;
    tokens->due_us = INT64_MAX;
    tokens->named = named;
    tokens->count = 1;
    memcpy (ret_token, text, sizeof (text));
    *ret = tokens;
    return 0;
}

void tokens_free (struct tokens *tokens)
{
    if (tokens == NULL)
        return;
    if (tokens->directory >= 0)
        close (tokens->directory);
    free (tokens->named);
    free (tokens);
}

int tokens_reload (struct tokens *tokens, struct pollux_error *err)
{
    struct tokens fresh = {.directory = tokens->directory};
    int code = read_all (&fresh, err);
    if (code < 0) {
        free (fresh.named);
        return code;
    }
    free (tokens->named);
    *tokens = fresh;
    return 0;
}

/* ---- Asking --------------------------------------------------------------------------------- */

/* JOB.GENERATION of a token, whose last dot is given. */
static bool parse_job (const char *token, const char *last, struct http_identity *ret)
{
    char digits[12] = "";
    int64_t generation;
    const char *dot = memrchr (token, '.', (size_t)(last - token));
    size_t length = dot ? (size_t)(dot - token) : 0, count = dot ? (size_t)(last - dot) - 1 : 0;
    if (!dot || length >= sizeof (ret->name) || count >= sizeof (digits) || dot[1] == '0')
        return false;
    memcpy (digits, dot + 1, count);
    if (strspn (digits, "0123456789") != count || number_int64 (digits, &generation) < 0 ||
        generation > INT_MAX)
        return false;
    ret->number = (int)generation;
    memcpy (ret->name, token, length);
    return wire_is_job (ret->name);
}

static int fail_unknown (struct pollux_error *err)
{
    return fail (err, -EACCES, "the token is not known here");
}

static int check_job (const struct tokens *tokens, const char *token, const char *dot,
                      struct http_identity *ret)
{
    struct http_identity identity = {.role = ROLE_JOB};
    uint8_t given[SHA256_DIGEST_SIZE], right[SHA256_DIGEST_SIZE];
    if (!from_hex (dot + 1, given) || !parse_job (token, dot, &identity))
        return -EACCES;
    job_mac (tokens, identity.name, identity.number, right);
    if (!memeql_sec (given, right, sizeof (right)))
        return -EACCES;
    *ret = identity;
    return 0;
}

static int fail_expired (const struct token *token, struct pollux_error *err)
{
    time_t at = (time_t)(token->expires_us / SECOND_US);
    struct tm utc;
    char text[32] = "";
    if (gmtime_r (&at, &utc))
        strftime (text, sizeof (text), "%Y-%m-%d %H:%M:%S UTC", &utc);
    return fail (err, -EKEYEXPIRED,
                 "the token has expired (%s); ask an administrator to make a new one with pollux "
                 "token new",
                 text);
}

int tokens_check (const struct tokens *tokens, const char *token, int64_t now_us,
                  struct http_identity *ret, struct pollux_error *err)
{
    static const struct token admin = {.identity = {.role = ROLE_ADMIN, .name = "admin"},
                                       .expires_us = INT64_MAX};
    const struct token *found = NULL;
    uint8_t given[SHA256_DIGEST_SIZE];
    bool is_long = strnlen (token, TOKEN_MOST + 1) > TOKEN_MOST;
    const char *dot = is_long ? NULL : strrchr (token, '.'); /* other tokens have none */
    if (dot != NULL && check_job (tokens, token, dot, ret) == 0)
        return 0;
    if (is_long || dot != NULL)
        return fail_unknown (err);
    hash (token, given);
    for (int i = 0; i < tokens->count; i++)
        if (memeql_sec (given, tokens->named[i].hash, sizeof (given)))
            found = &tokens->named[i].token;
    if (memeql_sec (given, tokens->admin, sizeof (given)))
        found = &admin;
    if (found == NULL)
        return fail_unknown (err);
    if (found->expires_us <= now_us)
        return fail_expired (found, err);
    *ret = found->identity;
    return 0;
}

void tokens_job (const struct tokens *tokens, const char *job, int generation,
                 char ret[TOKEN_JOB_SIZE])
{
    uint8_t mac[SHA256_DIGEST_SIZE];
    char digits[HEX + 1];
    job_mac (tokens, job, generation, mac);
    to_hex (mac, digits);
    snprintf (ret, TOKEN_JOB_SIZE, "%.63s.%d.%s", job, generation, digits);
}

int tokens_count (const struct tokens *tokens)
{
    return tokens->count;
}

const struct token *tokens_get (const struct tokens *tokens, int i)
{
    return &tokens->named[i].token;
}

int64_t tokens_due_us (const struct tokens *tokens)
{
    return tokens->due_us;
}

const char *tokens_expired (struct tokens *tokens, int64_t now_us)
{
    int64_t due_us = INT64_MAX;
    for (int i = 0; tokens->due_us <= now_us && i < tokens->count; i++) {
        struct named *named = &tokens->named[i];
        if (named->told)
            continue;
        if (named->token.expires_us <= now_us) {
            named->told = true;
            return named->token.identity.name;
        }
        if (named->token.expires_us < due_us)
            due_us = named->token.expires_us;
    }
    if (tokens->due_us <= now_us)
        tokens->due_us = due_us;
    return NULL;
}

/* ---- Changes -------------------------------------------------------------------------------- */

/* Write the named tokens without the one at an index (-1: with all) and with a further one (NULL: none); then they are
 * in force.  On failure nothing changes. */
static int change (struct tokens *tokens, int without, const struct named *with,
                   struct pollux_error *err)
{
    struct tokens fresh = *tokens;
    fresh.count = 0;
    fresh.named = calloc (TOKEN_NAMES_MAX, sizeof (*fresh.named));
    if (fresh.named == NULL)
        return fail (err, -ENOMEM, NAMED_FILE ": not enough memory");
    for (int i = 0; i < tokens->count; i++)
        if (i != without)
            fresh.named[fresh.count++] = tokens->named[i];
    if (with != NULL)
        fresh.named[fresh.count++] = *with;
    if (with != NULL && with->token.expires_us < fresh.due_us)
        fresh.due_us = with->token.expires_us;
    int code = write_named (&fresh, err);
    if (code < 0) {
        free (fresh.named);
        return code;
    }
    free (tokens->named);
    *tokens = fresh;
    return 0;
}

int tokens_add (struct tokens *tokens, unsigned role, const char *name, int64_t lifetime_s,
                int64_t now_us, char ret[TOKEN_SIZE], struct pollux_error *err)
{
    struct named named = {.told = false};
    if (role != ROLE_ADMIN && role != ROLE_USER && role != ROLE_READ_ONLY)
        return fail (err, -EINVAL, "a token's role is user, read-only or admin");
    if (lifetime_s < 0 || lifetime_s > TOKEN_LIFETIME_MAX_S)
        return fail (err, -EINVAL, "a token expires after 1 to %d seconds, or never",
                     TOKEN_LIFETIME_MAX_S);
    if (!wire_is_job (name))
        return fail (err, -EINVAL,
                     "'%s' is no name for a token: expected 1 to 63 letters, digits, dots, dashes "
                     "and underscores, not starting with a dot or a dash",
                     name);
    int at = find (tokens, name);
    if ((at >= 0 && tokens->named[at].token.expires_us > now_us) || strcmp (name, "admin") == 0)
        return fail (err, -EEXIST,
                     "%s has a token already: revoke it first, or choose another name", name);
    if (at < 0 && tokens->count == TOKEN_NAMES_MAX)
        return fail (err, -ENOSPC, "there are %d tokens already: delete one first",
                     TOKEN_NAMES_MAX);
    char text[TOKEN_SIZE];
    int code = make_token (text, named.hash, err);
    if (code < 0)
        return code;
    name_token (&named, role, name);
    /* A whole second, as in the file: rounded up, so that no token has less than was asked for. */
    if (lifetime_s > 0)
        named.token.expires_us = ((now_us + SECOND_US - 1) / SECOND_US + lifetime_s) * SECOND_US;
    code = change (tokens, at, &named, err);
    if (code == 0)
        memcpy (ret, text, sizeof (text));
    return code;
}

int tokens_remove (struct tokens *tokens, const char *name, struct pollux_error *err)
{
    int at = find (tokens, name);
    if (at < 0)
        return fail (err, -ENOENT, "%s has no token", name);
    return change (tokens, at, NULL, err);
}
