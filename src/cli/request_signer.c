/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of signed requests: munge_sign with the uid that the daemon tells.  A wrong uid makes requests
 * fail: the daemon cannot decode the credential, so another user cannot use it either.
 */
#define _GNU_SOURCE
#include "cli/request_signer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "munge/munge.h"

enum { HEALTH_MS = 10000 };

static size_t ignore_bytes (char *bytes, size_t size, size_t count, void *self)
{
    (void)bytes;
    (void)self;
    return size * count;
}

/* The uid in the value of a header, "Munge uid=123". */
static bool read_challenge (const char *value, uid_t *ret)
{
    static const char before[] = "Munge uid=";
    int64_t uid;
    if (strncasecmp (value, before, sizeof (before) - 1) != 0 ||
        number_int64 (value + sizeof (before) - 1, &uid) < 0 || uid < 0 || uid >= UINT32_MAX)
        return false;
    *ret = (uid_t)uid;
    return true;
}

/* The uid in one of the headers of an answer. */
static bool find_challenge (CURL *easy, uid_t *ret)
{
    struct curl_header *header;
    for (size_t i = 0;
         curl_easy_header (easy, "WWW-Authenticate", i, CURLH_HEADER, -1, &header) == CURLHE_OK;
         i++)
        if (read_challenge (header->value, ret))
            return true;
    return false;
}

/* Ask the daemon whether it takes signatures, and its uid.  If it does not answer, no error is reported here: the
 * request itself will fail, with the reason. */
static void ask_daemon (struct request_signer *signer, const struct daemon_access *access,
                        CURL *easy, bool *ret)
{
    char url[sizeof (access->url) + 16];
    CURL *copy = curl_easy_duphandle (easy);
    if (!copy)
        return;
    snprintf (url, sizeof (url), "%s/healthz", access->url);
    curl_easy_setopt (copy, CURLOPT_URL, url);
    curl_easy_setopt (copy, CURLOPT_ERRORBUFFER, NULL);
    curl_easy_setopt (copy, CURLOPT_WRITEFUNCTION, ignore_bytes);
    curl_easy_setopt (copy, CURLOPT_HTTPHEADER, NULL);
    curl_easy_setopt (copy, CURLOPT_CUSTOMREQUEST, NULL);
    curl_easy_setopt (copy, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt (copy, CURLOPT_TIMEOUT_MS, (long)HEALTH_MS);
    signer->known = curl_easy_perform (copy) == CURLE_OK;
    *ret = signer->known && find_challenge (copy, &signer->reader);
    curl_easy_cleanup (copy);
}

int request_signer_find (struct request_signer *signer, struct daemon_access *access, CURL *easy,
                         struct pollux_error *err)
{
    struct pollux_error why = {.text = ""};
    bool wanted = access->auth == DAEMON_AUTH_MUNGE, taken = false;
    if (signer->known || access->auth == DAEMON_AUTH_TOKEN || access->token[0])
        return 0;
    ask_daemon (signer, access, easy, &taken);
    if (signer->known && !taken && wanted)
        snprintf (access->no_token, sizeof (access->no_token),
                  "POLLUX_AUTH is munge, which it does not take (see polluxd --auth)");
    if (!taken || munge_open (NULL, &signer->munge, &why) == 0)
        return 0;
    if (wanted)
        return fail (err, -EREMOTEIO, "%s", why.text);
    snprintf (access->no_token, sizeof (access->no_token), "there is none, and %.150s", why.text);
    return 0;
}

bool request_signer_active (const struct request_signer *signer)
{
    return signer->munge;
}

int request_signer_sign (struct request_signer *signer, const char *method, const char *target,
                         const void *body, size_t length, char **ret, struct pollux_error *err)
{
    char *value = NULL, *header = NULL;
    if (!signer->munge)
        return 0;
    int rc = munge_sign (signer->munge, signer->reader, method, target, body, length, &value, err);
    if (rc < 0)
        return rc == -ENOMEM ? rc : -EREMOTEIO;
    if (asprintf (&header, "Authorization: %s", value) < 0)
        header = NULL;
    free (value);
    if (!header)
        return fail (err, -ENOMEM, "not enough memory for a request");
    *ret = header;
    return 0;
}

void request_signer_clear (struct request_signer *signer)
{
    munge_close (signer->munge);
    *signer = (struct request_signer){.known = false};
}
