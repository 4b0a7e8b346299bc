/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims: made, written, read, compared.  munge has authenticated the user, but the
 * user can sign any text; so the parser is strict and bounded.
 */
#include "munge/claim.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"

#define FIRST_LINE "pollux-request 1"
#define DIGITS "0123456789"
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* 13 digits: until the year 318857. */
enum { TIME_DIGITS = 13 };

static void to_hex (const uint8_t *bytes, size_t count, char *ret)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * count] = '\0';
}

static void hash_body (const void *body, size_t length, char ret[MUNGE_HASH_SIZE])
{
    struct sha256_ctx hash;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init (&hash);
    sha256_update (&hash, length, body);
    sha256_digest (&hash, sizeof (digest), digest);
    to_hex (digest, sizeof (digest), ret);
}

/* Visible ASCII that starts with a slash. */
static bool is_target (const char *text)
{
    if (*text != '/')
        return false;
    for (; *text != '\0'; text++)
        if (*text < '!' || *text > '~')
            return false;
    return true;
}

/* All bytes are of this set, and there are least or more of them. */
static bool consists_of (const char *text, const char *set, size_t least)
{
    size_t length = strlen (text);
    return length >= least && strspn (text, set) == length;
}

int munge_claim_make (const char *method, const char *target, const void *body, size_t length,
                      int64_t now_s, struct munge_claim *ret, struct pollux_error *err)
{
    struct munge_claim claim = {.time_s = now_s};
    uint8_t nonce[(MUNGE_NONCE_SIZE - 1) / 2];
    if (!consists_of (method, LETTERS, 1) || strlen (method) >= sizeof (claim.method) ||
        !is_target (target) || strlen (target) >= sizeof (claim.target))
        return fail (err, -EINVAL,
                     "munge cannot sign %.20s %.80s: expected a method and a target of at most %zu "
                     "visible characters",
                     method, target, sizeof (claim.target) - 1);
    if (getrandom (nonce, sizeof (nonce), 0) != (ssize_t)sizeof (nonce))
        return fail (err, -errno, "no random numbers: %s", strerror (errno));
    strcpy (claim.method, method);
    strcpy (claim.target, target);
    to_hex (nonce, sizeof (nonce), claim.nonce);
    hash_body (body != NULL ? body : "", length, claim.hash);
    *ret = claim;
    return 0;
}

size_t munge_claim_format (const struct munge_claim *claim, char ret[MUNGE_CLAIM_SIZE])
{
    return (size_t)snprintf (ret, MUNGE_CLAIM_SIZE, FIRST_LINE "\n%s\n%s\n%" PRId64 "\n%s\n%s\n",
                             claim->method, claim->target, claim->time_s, claim->nonce,
                             claim->hash);
}

/* Copy the next line, without its end.  False: there is none, or it does not fit. */
static bool next_line (const char **at, const char *end, char *ret, size_t size)
{
    const char *newline = memchr (*at, '\n', (size_t)(end - *at));
    if (newline == NULL || (size_t)(newline - *at) >= size)
        return false;
    size_t length = (size_t)(newline - *at);
    memcpy (ret, *at, length);
    ret[length] = '\0';
    *at = newline + 1;
    return strlen (ret) == length;
}

static bool parse (const char *text, size_t length, struct munge_claim *ret)
{
    const char *at = text, *end = text + length;
    char first[sizeof (FIRST_LINE)], time[TIME_DIGITS + 1];
    if (!next_line (&at, end, first, sizeof (first)) || strcmp (first, FIRST_LINE) != 0 ||
        !next_line (&at, end, ret->method, sizeof (ret->method)) ||
        !consists_of (ret->method, LETTERS, 1) ||
        !next_line (&at, end, ret->target, sizeof (ret->target)) || !is_target (ret->target) ||
        !next_line (&at, end, time, sizeof (time)) || !consists_of (time, DIGITS, 1) ||
        !next_line (&at, end, ret->nonce, sizeof (ret->nonce)) ||
        !consists_of (ret->nonce, DIGITS "abcdef", sizeof (ret->nonce) - 1) ||
        !next_line (&at, end, ret->hash, sizeof (ret->hash)) ||
        !consists_of (ret->hash, DIGITS "abcdef", sizeof (ret->hash) - 1) || at != end)
        return false;
    ret->time_s = 0;
    for (const char *digit = time; *digit != '\0'; digit++)
        ret->time_s = 10 * ret->time_s + (*digit - '0');
    return true;
}

int munge_claim_parse (const char *text, size_t length, struct munge_claim *ret,
                       struct pollux_error *err)
{
    struct munge_claim claim = {.time_s = 0};
    if (text == NULL || !parse (text, length, &claim))
        return fail (err, -EACCES,
                     "the munge credential does not name a request: it is of another program, or "
                     "of another version of pollux");
    *ret = claim;
    return 0;
}

int munge_claim_check (const struct munge_claim *claim, const char *method, const char *target,
                       const void *body, size_t length, int64_t now_s, struct pollux_error *err)
{
    char hash[MUNGE_HASH_SIZE];
    if (now_s - claim->time_s > MUNGE_AGE_S)
        return fail (err, -EACCES,
                     "the munge credential was signed %" PRId64 " seconds ago, and %d are allowed: "
                     "compare the clocks of both machines, and try again",
                     now_s - claim->time_s, MUNGE_AGE_S);
    if (claim->time_s - now_s > MUNGE_AGE_S)
        return fail (err, -EACCES,
                     "the munge credential was signed %" PRId64 " seconds in the future: compare "
                     "the clocks of both machines",
                     claim->time_s - now_s);
    if (strcmp (claim->method, method) != 0 || strcmp (claim->target, target) != 0)
        return fail (err, -EACCES, "the munge credential is for another request, %s %.100s",
                     claim->method, claim->target);
    hash_body (body != NULL ? body : "", length, hash);
    if (strcmp (claim->hash, hash) != 0)
        return fail (err, -EACCES,
                     "the munge credential is for another body: this one was altered on its way");
    return 0;
}
